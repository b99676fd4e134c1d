"""Reading functions of JAX into affine maps and ReLUs, from what they compute.

A module of Flax is such a function: whatever its layers are called and however its code joins them, tracing it leaves
sums, products, convolutions and maxima. A value that depends on the input is kept as an affine function of the units of
the layer before it, by one column a unit; its maximum with 0 begins the next layer.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.extend.core import Jaxpr, JaxprEqn, Literal, Primitive

from lemmata.errors import SettingError, ShapeError

from ._network import ReluNetwork

RULE = "layers that can be bounded are ReLU and affine ones: dense, convolution, average pooling, flattening"
# names of calls, whose body is read in their place
_CALLS = {"jit": "jaxpr", "pjit": "jaxpr", "closed_call": "call_jaxpr", "core_call": "call_jaxpr"}
_CALLS |= {"custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr", "checkpoint": "jaxpr", "remat2": "jaxpr"}
# linear in all operands together, in the first one, and in each one
_SUMS = frozenset(("add", "sub", "add_any", "concatenate", "neg", "reduce_sum", "reduce_window_sum", "cumsum"))
_MOVES = frozenset(
    ("reshape", "transpose", "squeeze", "broadcast_in_dim", "rev", "slice", "copy", "convert_element_type")
)
_PRODUCTS = frozenset(("mul", "dot_general", "conv_general_dilated"))


@dataclasses.dataclass(frozen=True)
class _Signal:
    """sum over units u of u * columns[u], plus offset; the units are those that follow the ReLUs `layer`."""

    layer: int
    columns: jax.Array
    offset: jax.Array

    @property
    def pair(self) -> tuple[np.ndarray, np.ndarray]:
        """Matrix and bias of the flat value."""
        columns = np.asarray(self.columns, float)
        return columns.reshape(len(columns), -1).T, np.asarray(self.offset, float).ravel()


def _units(layer: int, shape: tuple[int, ...]) -> _Signal:
    size = math.prod(shape)
    return _Signal(layer, jnp.eye(size).reshape(size, *shape), jnp.zeros(shape))


def read_function(call: Callable[[jax.Array], jax.Array], shape: tuple[int, ...], name: str) -> ReluNetwork:
    """The affine maps and ReLUs of a function of a batch of inputs, at a batch of one.

    Args:
        call: the function, from (1, *shape) to (1, outputs).
        shape: that of one input.
        name: of the function, for messages.

    Raises:
        SettingError: for anything else than affine maps and ReLUs one after the other, and a function that fails.
        ShapeError: where its outputs are not one number a class.
    """
    with jax.enable_x64(True):
        try:
            closed = jax.make_jaxpr(call)(jnp.zeros((1, *shape)))
        except Exception as error:  # whatever the user's code raises
            why = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            rule = f"reads a batch of inputs, here of shape {(1, *shape)}, out of training"
            raise SettingError(f"network {name}", found=why, rule=rule) from error
        reader = _Reader(name, [])
        (found,) = reader.run(closed.jaxpr, closed.consts, [_units(0, (1, *shape))])[:1] or (None,)
    if not isinstance(found, _Signal):
        raise SettingError(f"network {name}", found="outputs that do not depend on the input", rule=RULE)
    if found.offset.ndim != 2 or len(found.offset) != 1:
        shown = f"shape {found.offset.shape} for one input"
        raise ShapeError("outputs of the network", found=shown, rule="one number a class, shape (1, classes)")
    maps = [*reader.maps, reader.checked(found, "the output").pair]
    return ReluNetwork(tuple(weight for weight, _ in maps), tuple(bias for _, bias in maps))


@dataclasses.dataclass(frozen=True)
class _Reader:
    """Runs a traced function on signals; `maps` are the affine maps before each ReLU so far."""

    name: str
    maps: list[tuple[np.ndarray, np.ndarray]]

    def run(self, jaxpr: Jaxpr, consts: Any, inputs: list[Any], inside: str = "") -> list[Any]:
        known = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*consts, *inputs], strict=True))
        look_up = lambda var: var.val if isinstance(var, Literal) else known[var]
        for step in jaxpr.eqns:
            results = self.step(step, [look_up(var) for var in step.invars], inside)
            known.update(zip(step.outvars, results, strict=True))
        return [look_up(var) for var in jaxpr.outvars]

    def step(self, step: JaxprEqn, values: list[Any], inside: str) -> list[Any]:
        primitive, params = step.primitive, step.params
        if primitive.name in _CALLS:
            body = params[_CALLS[primitive.name]]
            called = str(params.get("name", inside))
            return self.run(getattr(body, "jaxpr", body), getattr(body, "consts", ()), values, called)
        which = [place for place, value in enumerate(values) if isinstance(value, _Signal)]
        if not which:
            made = primitive.bind(*values, **params)
            return list(made) if primitive.multiple_results else [made]
        if primitive.name == "max" and len(which) == 1 and not np.any(np.asarray(values[1 - which[0]])):
            before = self.checked(values[which[0]], "a ReLU", step)
            self.maps.append(before.pair)
            return [_units(len(self.maps), before.offset.shape)]
        alone = primitive.name in _PRODUCTS or (primitive.name == "div" and which == [0])
        rounded = primitive.name == "convert_element_type" and not jnp.issubdtype(params["new_dtype"], jnp.floating)
        if rounded or not (primitive.name in _SUMS | _MOVES or (alone and len(which) == 1)):
            raise self.refused(step, f"{primitive.name} in {inside}" if inside else primitive.name)
        signals = [self.checked(values[place], f"a {primitive.name}", step) for place in which]
        return [_mapped(primitive, params, values, which, signals, fixed=alone)]

    def checked(self, signal: _Signal, what: str, step: JaxprEqn | None = None) -> _Signal:
        """The signal, where no ReLU came since."""
        if signal.layer != len(self.maps):
            raise self.refused(step, f"{what} of values from before and after a ReLU")
        return signal

    def refused(self, step: JaxprEqn | None, found: str) -> SettingError:
        where = "" if step is None else str(step.source_info.name_stack)
        return SettingError(f"layer {where or self.name}", found=found, rule=RULE)


def _mapped(
    primitive: Primitive, params: Any, values: list[Any], which: list[int], signals: list[_Signal], *, fixed: bool
) -> _Signal:
    """The primitive on offsets as it is, on columns as its linear part.

    Of that a product keeps its other factor, and a sum drops its other terms.
    """
    others = [value if fixed or place in which else jnp.zeros_like(value) for place, value in enumerate(values)]

    def run(parts: Any, rest: list[Any]) -> jax.Array:
        own = dict(zip(which, parts, strict=True))
        return primitive.bind(*[own.get(place, value) for place, value in enumerate(rest)], **params)

    columns = jax.vmap(lambda *parts: run(parts, others))(*[signal.columns for signal in signals])
    return _Signal(signals[0].layer, columns, run([signal.offset for signal in signals], values))
