"""Convert PyTorch modules into affine maps and ReLUs, from the graph of operations that torch.fx traces.

Any operation whose outputs are affine in the inputs counts as a layer. This file tests on random numbers whether an
operation is affine. ReLUs, leaky ReLUs, clips and maxima are recognised by their names. Any other operation raises an
error that gives the name of the operation.
"""

import copy
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from lemmata.errors import ShapeError

from ._graph import Graph, Signal, combined, refused
from ._network import ReluNetwork

_TRIED = 1e-9  # relative error that is allowed in the test of an affine operation


def read_module(module: Any, shape: tuple[int, ...]) -> ReluNetwork:
    """Return a PyTorch module that takes a batch of inputs as a network of affine maps and ReLUs.

    Args:
        module: the module. A module with layers that behave differently in training must be in evaluation mode.
        shape: the shape of one input.

    Raises:
        SettingError: if an operation cannot be bounded, or torch.fx cannot trace the module.
        ShapeError: if the input does not fit the module, or there is not one output for each class.
    """
    import torch  # the user's module needs torch  # pyright: ignore[reportMissingImports]
    from torch import fx  # pyright: ignore[reportMissingImports]

    name = type(module).__name__
    for path, own in module.named_modules():
        kinds = (torch.nn.modules.batchnorm._BatchNorm, torch.nn.modules.dropout._DropoutNd)
        if isinstance(own, kinds) and own.training:
            raise refused(_path(name, path, own), "training mode; call module.eval()")
    whole = copy.deepcopy(module).double()
    try:
        traced = fx.symbolic_trace(whole)
    except Exception as error:  # torch.fx cannot trace code that depends on numbers or shapes
        raise refused(name, f"code that torch.fx cannot trace: {str(error).splitlines()[0][:120]}") from error
    run = _Run(whole, name, Graph((1, *shape), torch.from_numpy))
    with torch.no_grad():
        known: dict[Any, Any] = {}
        for node in traced.graph.nodes:
            known[node] = run.node(node, known)
            if node.op == "output":
                return run.network(known[node])
    raise refused(name, "no output")


def _path(name: str, path: str, layer: Any) -> str:
    parts = [f"[{part}]" if part.isdigit() else f".{part}" for part in path.split(".") if part]
    return f"{name}{''.join(parts)}: {type(layer).__name__}"


class _Run:
    """An interpreter that runs the nodes of a torch.fx graph on signals (affine functions of units)."""

    def __init__(self, module: Any, name: str, graph: Graph):
        self.module, self.name, self.graph = module, name, graph

    def network(self, found: Any) -> ReluNetwork:
        if not isinstance(found, Signal):
            raise refused(self.name, "an output that does not depend on the input, or several outputs")
        if found.offset.ndim != 2 or len(found.offset) != 1:
            shown = f"shape {tuple(found.offset.shape)} for one input"
            raise ShapeError(
                "outputs of the network", found=shown, rule="shape (1, classes), one number for each class"
            )
        return self.graph.network(found)

    def node(self, node: Any, known: dict[Any, Any]) -> Any:
        from torch import fx  # pyright: ignore[reportMissingImports]

        own = lambda value: known[value] if isinstance(value, fx.Node) else value
        given, named = (fx.map_arg(part, own) for part in (node.args, node.kwargs))
        if node.op == "placeholder":
            return self.graph.input if not [one for one in known.values() if one is self.graph.input] else None
        if node.op == "output":
            return given[0]
        if node.op == "get_attr":
            return operator.attrgetter(node.target)(self.module)
        if node.op == "call_module":
            layer = self.module.get_submodule(node.target)
            return self.apply(type(layer).__name__, layer, _path(self.name, node.target, layer), given, vars(layer))
        call = node.target if node.op == "call_function" else lambda first, *rest, **more: getattr(first, node.target)(
            *rest, **more
        )  # fmt: skip
        kind = node.target if node.op == "call_method" else getattr(node.target, "__name__", str(node.target))
        return self.apply(kind, call, f"{self.name}: {kind}", given, named, named)

    def apply(
        self, kind: str, call: Callable[..., Any], where: str, given: tuple[Any, ...], settings: Any, named: Any = None
    ) -> Any:
        """Return the result of one operation. ReLUs and maxima are recognised by name; others are tested as affine
        maps.
        """
        named, kind = named or {}, kind.lower().strip("_")
        signals = [one for one in _flat((given, named)) if isinstance(one, Signal)]
        if not signals:
            return call(*given, **named)
        if kind in ("size", "dim") or (kind == "getattr" and given[1] in ("shape", "ndim", "dtype", "device")):
            return call(*[one.offset if isinstance(one, Signal) else one for one in given], **named)
        first = signals[0]
        if kind in ("float", "double", "to", "type", "contiguous", "detach"):
            return first
        if kind == "relu":
            return self.graph.relu(first)
        if kind in ("leaky_relu", "leakyrelu"):
            return self.graph.leaky(first, _setting(settings, given, 1, "negative_slope", 0.01))
        weight: Any = getattr(call, "weight", None)
        if kind == "prelu" and weight is not None:
            return self.graph.leaky(first, weight.reshape(1, -1, *[1] * (first.offset.ndim - 2)))
        if kind in ("relu6", "hardtanh"):
            usual = (0.0, 6.0) if kind == "relu6" else (-1.0, 1.0)
            names = enumerate(zip(("min_val", "max_val"), usual, strict=True), 1)
            return self.graph.clipped(first, *[_setting(settings, given, place, *own) for place, own in names])
        if kind in ("clamp", "clip"):
            ends = [_setting(settings, given, place, name, None) for place, name in ((1, "min"), (2, "max"))]
            return self.graph.clipped(first, *ends)
        if kind == "abs":
            return combined([1.0, 1.0], [self.graph.relu(first), self.graph.relu(combined([-1.0], [first]))])
        if kind in ("maximum", "max") and len(signals) == 2 and len(given) == 2:
            return self.graph.largest(*signals)
        if kind.replace("_", "").startswith("maxpool"):
            return self._max_pool(call, where, first, settings, given)
        return self._affine(call, where, given, named)

    def _max_pool(self, call: Callable[..., Any], where: str, signal: Signal, settings: Any, given: Any) -> Signal:
        """Return the largest entry of each pooling window. Each offset within a window gives one shifted slice of the
        input, and the result is the maximum of these slices.
        """
        import torch  # pyright: ignore[reportMissingImports]

        padding, ceil = (_setting(settings, given, *own) for own in ((3, "padding", 0), (5, "ceil_mode", False)))
        outside = bool(np.any(np.asarray(padding))) or ceil
        if _setting(settings, given, 6, "return_indices", False):
            raise refused(where, "return_indices=True")
        if outside and not _positive(signal):
            raise refused(where, "windows beyond the edge, with values that may be negative")
        shape = tuple(signal.offset.shape)
        spatial = len(shape) - 2
        window = _tuple(_setting(settings, given, 1, "kernel_size", 2), spatial)
        stride = _setting(settings, given, 2, "stride", None)
        strides = window if stride in (None, []) else _tuple(stride, spatial)
        dilation = _tuple(_setting(settings, given, 4, "dilation", 1), spatial)
        beyond = _tuple(padding, spatial)
        out = call(signal.offset, *given[1:]).shape[2:]
        pads = [size for one in reversed(beyond) for size in (one, one + max(window) * max(dilation))]
        parts = []
        for at in itertools.product(*[range(size) for size in window]):
            steps = zip(at, dilation, out, strides, strict=True)
            spans = [slice(a * d, a * d + (n - 1) * s + 1, s) for a, d, n, s in steps]
            take = lambda value, spans=spans: torch.nn.functional.pad(value, pads)[(..., *spans)]
            parts.append(self._affine(take, where, (signal,), {}))
        return self.graph.largest_of(parts)

    def _affine(self, call: Callable[..., Any], where: str, given: Any, named: Any) -> Any:
        """Return the signal that an affine operation gives.

        The operation is applied to the offset, and its linear part to each column.
        """
        import torch  # pyright: ignore[reportMissingImports]

        signals = [one for one in _flat((given, named)) if isinstance(one, Signal)]

        def run(values: list[Any]) -> Any:
            left = iter([own.clone() for own in values])  # the operation may change its arguments in place
            filled = _mapped(lambda one: next(left) if isinstance(one, Signal) else one, (given, named))
            try:
                return call(*filled[0], **filled[1])
            except (RuntimeError, TypeError, ValueError, IndexError) as error:
                shown, why = tuple(self.graph.input.offset.shape[1:]), str(error).splitlines()[0][:160]
                raise ShapeError(
                    "x", found=f"shape {shown}", rule=f"an input that the network can read ({why})"
                ) from error

        zeros = [torch.zeros_like(one.offset) for one in signals]
        at_zero, offset = run(zeros), run([one.offset for one in signals])
        if not isinstance(offset, torch.Tensor):
            raise refused(where, f"{type(offset).__name__} that depends on the input")
        self._try(run, where, zeros, at_zero)
        columns: dict[int, Any] = {}
        for block in dict.fromkeys(block for one in signals for block in one.columns):
            count = next(len(one.columns[block]) for one in signals if block in one.columns)
            none = [torch.zeros((count, *one.offset.shape), dtype=torch.float64) for one in signals]
            parts = [one.columns.get(block, other) for one, other in zip(signals, none, strict=True)]
            columns[block] = torch.func.vmap(lambda *own: run(list(own)))(*parts) - at_zero
        return Signal(columns, offset)

    @staticmethod
    def _try(run: Callable[[list[Any]], Any], where: str, zeros: list[Any], at_zero: Any) -> None:
        """Raise SettingError if the operation is not affine on test numbers."""
        import torch  # pyright: ignore[reportMissingImports]

        draw = torch.Generator().manual_seed(0)
        drawn = lambda: [3 * torch.randn(own.shape, generator=draw, dtype=torch.float64) for own in zeros]
        one, other = drawn(), drawn()
        both = run([2.0 * a - 3.0 * b for a, b in zip(one, other, strict=True)]) - at_zero
        apart = both - 2.0 * (run(one) - at_zero) + 3.0 * (run(other) - at_zero)
        if not float(apart.abs().max()) <= _TRIED * (1.0 + float(both.abs().max())):
            raise refused(where, None)


def _positive(signal: Signal) -> bool:
    """Return whether each value is a sum of units that are at least 0, with factors and an offset of at least 0."""
    return 0 not in signal.columns and all(bool((own >= 0).all()) for own in [*signal.columns.values(), signal.offset])


def _setting(settings: Any, given: tuple[Any, ...], place: int, name: str, usual: Any) -> Any:
    """Return a setting of a layer or a call, from an attribute, a keyword argument or a positional argument."""
    if isinstance(settings, dict) and name in settings:
        return settings[name]
    return given[place] if len(given) > place else usual


def _tuple(value: Any, count: int) -> tuple[int, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (int(value),) * count


def _flat(value: Any) -> list[Any]:
    if isinstance(value, tuple | list):
        return [part for own in value for part in _flat(own)]
    return [part for own in value.values() for part in _flat(own)] if isinstance(value, dict) else [value]


def _mapped(call: Callable[[Any], Any], value: Any) -> Any:
    if isinstance(value, tuple | list):
        return type(value)([_mapped(call, own) for own in value])
    return {name: _mapped(call, own) for name, own in value.items()} if isinstance(value, dict) else call(value)
