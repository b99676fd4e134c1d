"""Runs of a model in which the values at named sites are replaced by the values of another run."""

import copy
import difflib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.core import known, numbers_of, single_of
from lemmata.errors import DataError, LemmataError, SettingError, ShapeError, UnknownNameError

_UNTRACEABLE = (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError, TypeError)
_LARGEST = 1e300
Metric = Callable[[Any], Any] | None


def value_of(output: Any, metric: Metric) -> Float[np.ndarray, " rows"]:
    """Return the model's output, or the metric of the output, as an array with one number for each row.

    Args:
        output: the output of the model.
        metric: a function of the output, or None for the output itself.

    Raises:
        SettingError: if the value is neither a number nor an array with one number for each row.
        DataError: if a number is not finite, or too large for sums.
    """
    if metric is None and not hasattr(output, "shape") and not isinstance(output, int | float):
        raise _no_number("output of the model", f"a {type(output).__name__}")
    found = output if metric is None else _tried("metric", lambda: metric(output), "a function of the model's output")
    what = "output of the model" if metric is None else "metric"
    values = single_of(what, found)
    if values.ndim > 2 or (values.ndim == 2 and values.shape[1] != 1):
        raise _no_number(what, f"shape {values.shape}")
    numbers = numbers_of(what, values).astype(float).reshape(-1)
    if np.abs(numbers).max() > _LARGEST:
        found = f"{np.abs(numbers).max():.3g} as the largest absolute value"
        raise DataError(what, found=found, rule=f"at most {_LARGEST:g}", remedy="change the unit")
    return numbers


def _no_number(what: str, found: str) -> SettingError:
    remedy = "pass a metric, for example metric=lambda output: output[:, 3] - output[:, 5]"
    return SettingError(what, found=found, rule="a number, or one number for each row", remedy=remedy)


def _tried(what: str, call: Callable[[], Any], rule: str) -> Any:
    try:
        return call()
    except LemmataError:
        raise
    except Exception as error:  # a user's function may raise any error
        found = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
        raise SettingError(what, found=found, rule=rule) from error


def _copied(value: Any) -> Any:
    """Copy arrays, tensors and their containers, because a model may change them in place."""
    if isinstance(value, jax.Array):
        return value
    if callable(getattr(value, "detach", None)) and callable(getattr(value, "clone", None)):
        return value.detach().clone()
    if isinstance(value, tuple) and type(value) is not tuple and hasattr(value, "_fields"):
        return type(value)(*map(_copied, value))
    if type(value) in (tuple, list):
        return type(value)(map(_copied, value))
    if type(value) is dict:
        return {key: _copied(own) for key, own in value.items()}
    return copy.deepcopy(value)


def _unknown(site: str, names: list[str]) -> UnknownNameError:
    near = difflib.get_close_matches(site, names, n=3, cutoff=0.4) or names[:5]
    found = "no such site" if names else "a run without any named site"
    remedy = f"choose for example {', '.join(near)}" if near else "name a submodule, or call site(name, value)"
    return UnknownNameError(f"site '{site}'", found=found, rule="the name of a site of the model", remedy=remedy)


class FunctionRuns:
    """Runs of a function model(x, site), which calls site(name, value) and continues with the returned value.

    Args:
        model: the function.
        sites: the names of the sites.
        metric: a function of the output, or None for the output itself.
    """

    def __init__(self, model: Callable[..., Any], sites: tuple[str, ...], metric: Metric):
        self.model, self.sites, self.metric = model, sites, metric
        self._compiled: Any = jax.jit(self._masked)
        self.first: np.ndarray | None = None  # the output of the first run, if later runs are compiled

    def record(self, x: Any) -> dict[str, Any]:
        """Run the function on an input, and return the value at each site.

        Args:
            x: the input.

        Raises:
            SettingError, UnknownNameError: if the function fails, names a site twice, or does not name one of the
                sites.
        """
        found: dict[str, Any] = {}

        def site(name: str, value: Any) -> Any:
            if name in found:
                remedy = "give each call a different name"
                raise SettingError(
                    f"site '{name}'", found="two calls in one run", rule="one call for each name", remedy=remedy
                )
            if any(isinstance(leaf, jax.Array) and known(leaf) is None for leaf in jax.tree.leaves(value)):
                rule = "a value outside jax.jit, jax.vmap and loops of jax.lax"
                raise SettingError(f"site '{name}'", found="a traced value", rule=rule, remedy="call the model eagerly")
            found[name] = _copied(value)
            return value

        output = self._called(lambda: self.model(_copied(x), site))
        for name in self.sites:
            if name not in found:
                raise _unknown(name, list(found))
        if not any(isinstance(leaf, jax.Array) for leaf in jax.tree.leaves(found)):
            self._compiled = None  # values of NumPy have double precision, which JAX might reduce
        if self.first is None and self._compiled is not None:
            self.first = value_of(output, self.metric)
        return {name: found[name] for name in self.sites}

    def run(self, x: Any, patch: dict[str, Any], chosen: tuple[bool, ...]) -> Float[np.ndarray, " rows"]:
        """Return the output (or its metric) of a run in which the chosen sites take their values from another run.

        Args:
            x: the input.
            patch: the values of the other run.
            chosen: for each site, whether its value is replaced.
        """
        if self._compiled is not None:
            try:
                mask = {name: jnp.asarray(own) for name, own in zip(self.sites, chosen, strict=True)}
                return value_of(self._called(lambda: self._compiled(x, patch, mask), _UNTRACEABLE), self.metric)
            except _UNTRACEABLE:
                self._compiled = None
        taken = {name for name, own in zip(self.sites, chosen, strict=True) if own}
        site = lambda name, value: _copied(_fitting(name, value, patch[name])) if name in taken else value
        return value_of(self._called(lambda: self.model(_copied(x), site)), self.metric)

    def _masked(self, x: Any, patch: dict[str, Any], mask: dict[str, Any]) -> Any:
        def site(name: str, value: Any) -> Any:
            if name not in patch:
                return value
            own = _fitting(name, value, patch[name])
            return jax.tree.map(lambda new, old: jnp.where(mask[name], new, old), own, value)

        return self.model(x, site)

    @staticmethod
    def _called(call: Callable[[], Any], let: tuple[type[Exception], ...] = ()) -> Any:
        rule = (
            "a function model(x, site) that calls site(name, value) and continues with the value that this call returns"
        )
        try:
            return call()
        except (LemmataError, *let):
            raise
        except Exception as error:  # a user's function may raise any error
            found = f"{type(error).__name__}: {' '.join(str(error).split())[:120]}"
            raise SettingError("model", found=found, rule=rule) from error

    def __enter__(self) -> "FunctionRuns":
        return self

    def __exit__(self, *error: object) -> None:
        pass


def _fitting(name: str, value: Any, other: Any) -> Any:
    one, two = ([tuple(np.shape(leaf)) for leaf in jax.tree.leaves(own)] for own in (value, other))
    _check_shapes(name, one, two)
    return other


def _check_shapes(name: str, one: list[tuple[int, ...]], two: list[tuple[int, ...]]) -> None:
    if one != two:
        text = lambda shapes: ", ".join(str(own) for own in shapes) or "none"
        raise ShapeError(
            f"site '{name}'", found=f"shape {text(one)} in one run and {text(two)} in the other", rule="equal shapes",
            remedy="pass inputs of equal shape, for example prompts with equally many tokens",
        )  # fmt: skip


class TorchRuns:
    """Runs of a PyTorch module in evaluation mode. Submodules have hooks inside a `with` block, and none after it.

    Args:
        model: the module.
        sites: names of submodules.
        metric: a function of the output, or None for the output itself.

    Raises:
        SettingError, UnknownNameError: if a name is not a submodule, or if two names belong to the same module.
    """

    def __init__(self, model: Any, sites: tuple[str, ...], metric: Metric):
        self.model, self.sites, self.metric = model, sites, metric
        modules = {name: own for name, own in model.named_modules(remove_duplicate=False) if name}
        for site in sites:
            if site not in modules:
                raise _unknown(site, list(modules))
        self._modules = {site: modules[site] for site in sites}
        for place, site in enumerate(sites):
            for other in sites[:place]:
                if modules[site] is modules[other]:
                    raise SettingError(f"sites '{other}' and '{site}'", found="one module", rule="different modules",
                                       remedy=f"drop '{site}'")  # fmt: skip
        self._patch: dict[str, list[Any]] = {}
        self._calls: dict[str, int] = {}
        self._kept: dict[str, list[Any]] | None = None
        self.first = None  # no run is compiled

    def __enter__(self) -> "TorchRuns":
        self._modes = [(own, own.training) for own in self.model.modules()]
        self._handles = []
        try:
            self.model.eval()
            for name, own in self._modules.items():
                added = lambda own=own, name=name: own.register_forward_hook(self._hook(name))
                self._handles.append(_tried(f"site '{name}'", added, "a submodule that takes forward hooks"))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        for handle in self._handles:
            handle.remove()
        for own, training in self._modes:
            own.training = training

    def _hook(self, name: str) -> Callable[..., Any]:
        def hook(module: Any, given: Any, output: Any) -> Any:
            call = self._calls[name] = self._calls.get(name, -1) + 1
            if self._kept is not None:
                self._kept.setdefault(name, []).append(_copied(output))  # later layers may change it in place
            if name not in self._patch:
                return None
            stored = self._patch[name]
            if call >= len(stored):
                raise self._uneven(name)
            _check_shapes(name, list(_shapes(output)), list(_shapes(stored[call])))
            return _copied(stored[call])

        return hook

    @staticmethod
    def _uneven(name: str) -> ShapeError:
        return ShapeError(
            f"site '{name}'", found="more calls in one run than in the other", rule="equally many calls in both runs"
        )

    def record(self, x: Any) -> dict[str, Any]:
        """Run the module on an input. Return a list for each site, with the output of each call of the site.

        Args:
            x: the input.

        Raises:
            SettingError: if a site is not called.
        """
        self._kept = {}
        try:
            self._output(x, {})
            kept = self._kept
        finally:
            self._kept = None
        for name in self.sites:
            if name not in kept:
                remedy = "choose a submodule that the forward pass calls; fused layers do not call their submodules"
                raise SettingError(
                    f"site '{name}'", found="no call", rule="a submodule that the forward pass calls", remedy=remedy
                )
        return kept

    def run(self, x: Any, patch: dict[str, Any], chosen: tuple[bool, ...]) -> Float[np.ndarray, " rows"]:
        """Return the output (or its metric) of a run in which the chosen sites take their values from another run.

        Args:
            x: the input.
            patch: the values of the other run.
            chosen: for each site, whether its value is replaced.
        """
        taken = {name: patch[name] for name, own in zip(self.sites, chosen, strict=True) if own}
        output = self._output(x, taken)
        for name in taken:
            if self._calls.get(name, -1) + 1 != len(taken[name]):
                raise self._uneven(name)
        return value_of(output, self.metric)

    def _output(self, x: Any, patch: dict[str, list[Any]]) -> Any:
        import torch  # the user's module needs torch  # pyright: ignore[reportMissingImports]

        self._patch, self._calls = patch, {}
        given, named = self._inputs(x)
        rule = "a module that takes the inputs: a tensor, a tuple of arguments, or a dictionary of them"
        try:
            with torch.no_grad():
                return _tried("model", lambda: self.model(*given, **named), rule)
        finally:
            self._patch = {}

    def _inputs(self, x: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        if isinstance(x, Mapping):
            return (), {name: self._tensor(own) for name, own in x.items()}
        if isinstance(x, tuple):
            return tuple(self._tensor(own) for own in x), {}
        return (self._tensor(x),), {}

    def _tensor(self, values: Any) -> Any:
        """Return an array as a tensor with the precision of the module's parameters, and other values unchanged."""
        import torch  # pyright: ignore[reportMissingImports]

        own = [leaf for leaf in self.model.parameters() if leaf.is_floating_point()]
        if isinstance(values, torch.Tensor):
            other = bool(own) and values.is_floating_point() and values.dtype not in {leaf.dtype for leaf in own}
            return values.to(own[0].dtype) if other else values.clone()
        if values is None or isinstance(values, bool | str | int | float):
            return values
        array = numbers_of("input", single_of("input", values))
        kind = own[0] if own else torch.zeros(())
        tensor = torch.as_tensor(np.array(array), device=kind.device)
        return tensor.to(kind.dtype) if tensor.is_floating_point() else tensor


def _shapes(output: Any) -> Iterator[tuple[int, ...]]:
    """Yield the shapes of all tensors of a module's output."""
    if hasattr(output, "shape"):
        yield tuple(output.shape)
    elif isinstance(output, tuple | list | Mapping):
        for own in output.values() if isinstance(output, Mapping) else output:
            yield from _shapes(own)
