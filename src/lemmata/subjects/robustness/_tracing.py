"""Convert JAX functions into affine maps and ReLUs, by tracing the functions.

A Flax module is such a function. Its trace consists of sums, products, convolutions and maxima, whatever the names and
connections of the layers are. A value that depends on the input is stored as an affine function of units, with one
column for each unit. Units are the coordinates of the input and ReLUs. A maximum adds new units.
"""

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Jaxpr, JaxprEqn, Literal, Primitive

from lemmata.errors import SettingError, ShapeError

from ._graph import Graph, Signal, combined, refused
from ._network import ReluNetwork

# names of call primitives, each with the parameter that contains the called function
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr"}
_CALLS |= {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "checkpoint": "jaxpr", "remat2": "jaxpr"}
# operations that are linear in all operands together (_SUMS), in the first (_MOVES), and in each operand (_PRODUCTS)
_SUMS = frozenset(("add", "sub", "add_any", "concatenate", "neg", "reduce_sum", "reduce_window_sum", "cumsum"))
_MOVES = frozenset(
    ("reshape", "transpose", "squeeze", "broadcast_in_dim", "rev", "slice", "copy", "convert_element_type")
)
_PRODUCTS = frozenset(("mul", "dot_general", "conv_general_dilated"))


def read_function(call: Callable[[jax.Array], jax.Array], shape: tuple[int, ...], name: str) -> ReluNetwork:
    """Return a function of a batch of inputs, traced with a batch of one, as a network of affine maps and ReLUs.

    Args:
        call: the function, from (1, *shape) to (1, outputs).
        shape: the shape of one input.
        name: the name of the function, for messages.

    Raises:
        SettingError: if an operation is neither an affine map nor a maximum that can be bounded, or the function fails.
        ShapeError: if there is not one output for each class.
    """
    with jax.enable_x64(True):
        try:
            closed = jax.make_jaxpr(call)(jnp.zeros((1, *shape)))
        except Exception as error:  # the user's code may raise any error
            why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            rule = f"a network in evaluation mode that reads a batch of inputs, here of shape {(1, *shape)}"
            raise SettingError(f"network {name}", found=why, rule=rule) from error
        reader = _Reader(name, Graph((1, *shape), jnp.asarray))
        (found,) = reader.run(closed.jaxpr, closed.consts, [reader.graph.input])[:1] or (None,)
    if not isinstance(found, Signal):
        raise refused(name, "outputs that do not depend on the input")
    if found.offset.ndim != 2 or len(found.offset) != 1:
        shown = f"shape {found.offset.shape} for one input"
        raise ShapeError("outputs of the network", found=shown, rule="shape (1, classes), one number for each class")
    return reader.graph.network(found)


@dataclasses.dataclass(frozen=True)
class _Reader:
    """An interpreter that runs a traced function on signals (affine functions of units)."""

    name: str
    graph: Graph

    def run(self, jaxpr: Jaxpr, consts: Any, inputs: list[Any], inside: str = "") -> list[Any]:
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *inputs], strict=True))
        look_up = lambda var: var.val if isinstance(var, Literal) else known[var]
        for step in jaxpr.eqns:
            results = self.step(step, [look_up(var) for var in step.invars], inside)
            known.update(zip(step.outvars, results, strict=True))
        return [look_up(var) for var in jaxpr.outvars]

    def step(self, step: JaxprEqn, values: list[Any], inside: str) -> list[Any]:
        primitive, params = step.primitive, step.params
        name, which = primitive.name, [place for place, value in enumerate(values) if isinstance(value, Signal)]
        if name in _CALLS:
            body = params[_CALLS[name]]
            body, consts = getattr(body, "jaxpr", body), getattr(body, "consts", ())
            called = str(params.get("name", inside))
            if called == "leaky_relu" and which == [0]:
                below = self.run(body, consts, [-jnp.ones_like(values[0].offset), *values[1:]], called)[0]
                return [self.graph.leaky(values[0], -below)]
            return self.run(body, consts, values, called)
        if not which:
            made = primitive.bind(*values, **params)
            return list(made) if primitive.multiple_results else [made]
        signals = [values[place] for place in which]
        if name in ("max", "min"):
            sign = 1.0 if name == "max" else -1.0
            return [combined([sign], [self._larger([_times(sign, value) for value in values])])]
        if name == "reduce_window_max":
            return [self._pooled(step, signals[0])]
        if name == "abs":
            return [combined([1.0, 1.0], [self.graph.relu(combined([sign], signals)) for sign in (1.0, -1.0)])]
        alone = name in _PRODUCTS or (name == "div" and which == [0])
        rounded = name == "convert_element_type" and not jnp.issubdtype(params["new_dtype"], jnp.floating)
        if rounded or not (name in _SUMS | _MOVES or (alone and len(which) == 1)):
            raise self.refused(step, f"{name} in {inside}" if inside else name)
        return [_mapped(primitive, params, values, which, signals, fixed=alone)]

    def _larger(self, values: list[Any]) -> Signal:
        """Return the elementwise maximum of two values, one of which may be constant."""
        signals = [value for value in values if isinstance(value, Signal)]
        if len(signals) == 2:
            return self.graph.largest(*signals)
        (constant,) = [value for value in values if not isinstance(value, Signal)]
        return self.graph.clipped(signals[0], low=constant)

    def _pooled(self, step: JaxprEqn, signal: Signal) -> Signal:
        """Return the largest entry of each pooling window."""
        own = step.params
        window, strides, apart = own["window_dimensions"], own["window_strides"], own["window_dilation"]
        if any(end for ends in own["padding"] for end in ends) or any(size != 1 for size in own["base_dilation"]):
            raise self.refused(step, "windows beyond the edge")
        out, parts = step.outvars[0].aval.shape, []  # pyright: ignore[reportAttributeAccessIssue]
        for at in itertools.product(*[range(size) for size in window]):
            steps = zip(at, apart, out, strides, strict=True)
            spans = tuple(slice(a * d, a * d + (n - 1) * s + 1, s) for a, d, n, s in steps)
            taken = {block: columns[(slice(None), *spans)] for block, columns in signal.columns.items()}
            parts.append(Signal(taken, signal.offset[spans]))
        return self.graph.largest_of(parts)

    def refused(self, step: JaxprEqn, found: str) -> SettingError:
        return refused(str(step.source_info.name_stack) or self.name, found)


def _times(sign: float, value: Any) -> Any:
    return combined([sign], [value]) if isinstance(value, Signal) else sign * value


def _mapped(
    primitive: Primitive, params: Any, values: list[Any], which: list[int], signals: list[Signal], *, fixed: bool
) -> Signal:
    """Return the signal that an affine operation of JAX (a primitive) gives on signals.

    The offset is the operation applied to the offsets, and the columns are its linear part applied to the columns.

    The linear part of a product keeps the constant factor. The linear part of a sum drops the constant terms.
    """
    others = [value if fixed or place in which else jnp.zeros_like(value) for place, value in enumerate(values)]

    def run(parts: Any, rest: list[Any]) -> jax.Array:
        own = dict(zip(which, parts, strict=True))
        return primitive.bind(*[own.get(place, value) for place, value in enumerate(rest)], **params)

    columns = {}
    for block in dict.fromkeys(block for signal in signals for block in signal.columns):
        count = next(len(signal.columns[block]) for signal in signals if block in signal.columns)
        none = [jnp.zeros((count, *signal.offset.shape)) for signal in signals]
        own = [signal.columns.get(block, other) for signal, other in zip(signals, none, strict=True)]
        columns[block] = jax.vmap(lambda *parts: run(parts, others))(*own)
    return Signal(columns, run([signal.offset for signal in signals], values))
