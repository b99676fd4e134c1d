"""Networks of dense layers and bends at 0, with biases. One loop over the layers computes a kernel of all pairs.

A bend is an activation that is linear on each side of 0, such as ReLU. A network has two kernels: "nngp", the
covariance of its outputs, and "ntk", its tangent kernel. An argument `face` names one of these.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._correlation import angle_and_bow, safe_sqrt
from ._dense import Dense
from ._homogeneous import BendStep, homogeneous_steps
from ._layer import AbstractLayer
from ._serial import parts
from ._state import State, versine_of


class BentLayer(NamedTuple):
    """A bend with slope a below 0 and slope b above 0, and the dense layer after it.

    Attributes:
        share: (b - a)² / (a² + b²).
        line: 2 a b / (a² + b²).
        both: (a + b)² / (a² + b²).
        half: (a² + b²) / 2, by which the bend multiplies a variance.
        variance: the factor by which the dense layer multiplies covariances and tangent kernels.
        gradient: the squared gradient of an output with respect to the dense layer's weights, divided by the covariance
            of the outputs without biases.
        bias: the variance of a bias.
        bias_gradient: the squared gradient of an output with respect to its bias.
    """

    share: Any
    line: Any
    both: Any
    half: Any
    variance: Any
    gradient: Any
    bias: Any
    bias_gradient: Any


class Rows(NamedTuple):
    """The shares of weights and biases in the variance of a dense layer's outputs, for each point and layer.

    Let A be the variance of the layer's outputs. For an angle alpha, the weights contribute the share cos² alpha of A,
    and the biases the share sin² alpha.

    Attributes:
        weights: cos alpha, the root of the share of the weights.
        sine: sin(alpha / 2).
        cosine: cos(alpha / 2).
        bias: the root of `bias_gradient` / A.
    """

    weights: Float[Array, "..."]
    sine: Float[Array, "..."]
    cosine: Float[Array, "..."]
    bias: Float[Array, "..."]


def bent_layers(network: AbstractLayer, fan_in: int) -> tuple[BentLayer, ...] | None:
    """Return the layers of a `Serial` of `Dense` layers and bends whose settings are plain numbers, or None.

    The result is None for all other networks. The first layer has no bend, so its slopes are 1 and 1.
    """
    found: list[BentLayer] = []
    bend: BendStep | None = BendStep(1.0)
    for part in parts(network):
        if type(part) is Dense and all(isinstance(value, int | float) for value in (part.weight_std, part.bias_std)):
            found.append(_bent(bend or BendStep(1.0), part, fan_in))
            bend, fan_in = None, part.width
            continue
        steps = homogeneous_steps(part) or ()
        if bend is not None or len(steps) != 1 or not isinstance(steps[0], BendStep):
            return None
        bend = steps[0]
    usable = all(math.isfinite(sum(layer)) and layer.variance > 0.0 for layer in found)
    return tuple(found) if bend is None and len(found) > 1 and usable else None


def _bent(bend: BendStep, dense: Dense, fan_in: int) -> BentLayer:
    a, b, own = bend.slope, bend.above, dense.scales(fan_in)
    even, biased = a * a + b * b, dense.bias_std > 0
    gradient = own.gradient / own.variance if own.variance > 0 else 0.0
    return BentLayer(
        share=(b - a) ** 2 / even,
        line=2.0 * a * b / even,
        both=(a + b) ** 2 / even,
        half=0.5 * even,
        variance=own.variance,
        gradient=gradient,
        bias=dense.bias_std**2,
        bias_gradient=own.bias_multiplier**2 if biased else 0.0,
    )


def is_bent(network: AbstractLayer, fan_in: int) -> bool:
    """Return whether `bent_push` can compute the network's kernel."""
    return bent_layers(network, fan_in) is not None


def bent_push(network: AbstractLayer, face: str, fan_in: int) -> Callable[[State], Array] | None:
    """Return a function from the moments of the inputs to one kernel, or None.

    The result is None for networks that `bent_layers` does not describe.

    The function computes the same kernel as `push` of all layers, with fewer operations for each pair. The function is
    one loop, which is compiled once for all layers and stores only the arrays that one layer needs.
    """
    layers = bent_layers(network, fan_in)
    return None if layers is None else lambda state: _loop(layers, face, state)


def _loop(layers: tuple[BentLayer, ...], face: str, state: State) -> Array:
    """Return the kernel, computed by a loop over layers.

    Let c be the correlation after a dense layer, s = 1 - c, A and B the variances, and t = ntk / sqrt(A B). Then

        s' = 2 sin²((alpha - beta) / 2) + P (1 - d), with P = cos alpha cos beta, and t' = gradient P d + bias_gradient
        / sqrt(A' B') + P (share kappa0 + line) t,

    where d is the correlation after the bend, of which `_bend` gives 1 - d. A prime marks the next dense layer. The
    angles alpha and beta are those of `Rows` for x and for y. At nearly parallel points, no digits are lost by
    cancellation. The names gradient, bias_gradient, share and line are attributes of `BentLayer`, and kappa0 is the
    arc-cosine kernel of degree 0.
    """
    each = BentLayer(*(jnp.asarray(part, state.nngp.dtype) for part in zip(*layers, strict=True)))
    (rows, end), (columns, other_end) = _rows(each, state.xx), _rows(each, state.yy)
    first, rest = (jax.tree.map(lambda part, at=at: part[at], (each, rows, columns)) for at in (0, slice(1, None)))
    apart, negative = versine_of(state), state.nngp < 0
    near, weights = _apart(first, jnp.where(negative, 2.0 - apart, apart))
    t = _own(first, weights, jnp.where(negative, apart - 1.0, 1.0 - apart)) if face == "ntk" else None
    # Only inputs can be opposite points. For such points, 1 + c must not cancel.
    obtuse = negative & (near > 1.0)
    _, row, column = first
    sum_of_angles = row.sine * column.cosine + row.cosine * column.sine
    v = jnp.where(obtuse, 2.0 * sum_of_angles * sum_of_angles + weights * apart, near)
    second, rest = (jax.tree.map(lambda part, at=at: part[at], rest) for at in (0, slice(1, None)))
    s, t = _step(second, _bend(second[0], obtuse, v), t)
    # After a bend whose slopes have different signs, or with a slope of 0, no correlation is below 0.
    folds = any(layer.line > 0.0 for layer in layers[1:])

    def step(carried: tuple[Array, Array | None], layer: Any) -> tuple[tuple[Array, Array | None], None]:
        s, t = carried
        bent = _bend(layer[0], s > 1.0, jnp.minimum(s, 2.0 - s)) if folds else _bend(layer[0], None, s)
        return _step(layer, bent, t), None

    if len(layers) > 2:
        (s, t), _ = jax.lax.scan(step, (s, t), rest)
    return safe_sqrt(end) * safe_sqrt(other_end) * (1.0 - s if t is None else t)


def _rows(layers: BentLayer, variance: Float[Array, "..."]) -> tuple[Rows, Float[Array, "..."]]:
    """Return the `Rows` of every layer, with the layers along the first axis, and the variance of the last outputs."""

    def step(before: Array, layer: BentLayer) -> tuple[Array, Rows]:
        own = layer.variance * layer.half * before
        after = own + layer.bias
        safe = jnp.where(after > 0, after, 1.0)
        weights = safe_sqrt(own / safe)
        cosine = jnp.sqrt(0.5 * (1.0 + weights))
        bias = jnp.where(after > 0, safe_sqrt(layer.bias_gradient) / jnp.sqrt(safe), 0.0)
        return after, Rows(weights, 0.5 * jnp.sqrt(layer.bias / safe) / cosine, cosine, bias)

    after, rows = jax.lax.scan(step, variance, layers)
    return rows, after


def _bend(layer: BentLayer, obtuse: Array | None, v: Array) -> tuple[Array, Array]:
    """Return 1 - the correlation after the bend, and the factor of the tangent kernel divided by `half`.

    Here, v is the versine (1 - cosine) of the angle before the bend. If this angle is obtuse, v is the versine of its
    supplement.
    """
    u, bow = angle_and_bow(v)
    share, kappa0 = layer.share * bow, 1.0 - u / math.pi
    near = v - share
    if obtuse is not None:
        near = jnp.where(obtuse, layer.both - layer.line * v - share, near)
        kappa0 = jnp.where(obtuse, 1.0 - kappa0, kappa0)
    return near, layer.share * kappa0 + layer.line


def _step(at: tuple[BentLayer, Rows, Rows], bent: tuple[Array, Array], t: Array | None) -> tuple[Array, Array | None]:
    near, slope = bent
    s, weights = _apart(at, near)
    return s, None if t is None else _own(at, weights, 1.0 - near) + weights * slope * t


def _apart(at: tuple[BentLayer, Rows, Rows], near: Array) -> tuple[Array, Array]:
    """Return 1 - the correlation after a dense layer, from 1 - the correlation before it, and cos alpha cos beta."""
    _, row, column = at
    weights, between = row.weights * column.weights, row.sine * column.cosine - row.cosine * column.sine
    return 2.0 * between * between + weights * near, weights


def _own(at: tuple[BentLayer, Rows, Rows], weights: Array, correlation: Array) -> Array:
    """Return the term that the dense layer's own parameters add to the tangent kernel."""
    layer, row, column = at
    return layer.gradient * weights * correlation + row.bias * column.bias
