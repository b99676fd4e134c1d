"""Convert modules of other libraries to functions f(params, x) of their trainable parameters."""

from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx

from lemmata.errors import SettingError


def function_of(f: Any) -> Callable[..., Any]:
    """The function f(params, x) itself, or the method `apply` of an object that has this method."""
    return f.apply if hasattr(f, "apply") else f


def equinox_function(module: Any) -> tuple[Any, Any]:
    """Return (f, params) for an Equinox module that takes one point: f(params, x) is module(x) at these parameters.

    Args:
        module: the module. Every floating-point array of the module is a parameter, and everything else is part of f.

    Raises:
        SettingError: if the argument is not an Equinox module, or if the module cannot be called.
    """
    if not (isinstance(module, eqx.Module) and callable(module)):
        raise SettingError("module", found=repr(module), rule="an equinox.Module that is called with one point")
    params, rest = eqx.partition(module, eqx.is_inexact_array)
    return _Called(rest), params


def flax_function(module: Any, variables: Mapping[str, Any], **settings: Any) -> tuple[Any, Any]:
    """Return (f, params) for a Flax linen module: f(params, x) = module.apply(variables, x, **settings).

    Only the collection "params" is trained. All other collections, for example running statistics of batch
    normalisation, are part of f.

    Args:
        module: an object with a method `apply` that takes one point.
        variables: the collections of the module, as `module.init` returns them.
        settings: further arguments of every call, such as `train=False`.

    Raises:
        SettingError: for a module without `apply`, or variables without "params".
    """
    if not callable(getattr(module, "apply", None)):
        raise SettingError("module", found=repr(module), rule="an object with a method apply(variables, x)")
    if not isinstance(variables, Mapping) or "params" not in variables:
        found = sorted(variables) if isinstance(variables, Mapping) else type(variables).__name__
        raise SettingError("variables", found=found, rule="a mapping with the collection 'params'")
    rest = {name: part for name, part in variables.items() if name != "params"}
    # A function is hashed by its identity. A module that contains a list (linen.Sequential) has no hash for jax.jit.
    return _Applied(lambda own, x: module.apply(own, x, **settings), rest), variables["params"]


def check_variables(f: Any, params: Any) -> None:
    """Refuse the complete variables of a Flax module, because running statistics are not trained.

    Args:
        f: the function or module.
        params: the parameters that were passed.

    Raises:
        SettingError: if there are other collections besides "params"; the message names `flax_function`.
    """
    if not isinstance(params, Mapping) or "params" not in params or len(params) == 1:
        return
    if hasattr(f, "apply") or "batch_stats" in params:
        raise SettingError(
            "params",
            found=f"the collections {sorted(params)}",
            rule="only the collection 'params', which is trained",
            remedy="use EmpiricalKernel(*flax_function(module, variables))",
        )


class _Called(eqx.Module):
    rest: Any

    def __call__(self, params: Any, x: Any) -> Any:
        return eqx.combine(params, self.rest)(x)


class _Applied(eqx.Module):
    called: Any
    rest: dict[str, Any]

    def __call__(self, params: Any, x: Any) -> Any:
        return self.called({**self.rest, "params": params}, x)
