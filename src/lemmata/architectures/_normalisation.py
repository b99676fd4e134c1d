"""Normalisation over the coordinates of one point.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_real
from lemmata.errors import SettingError

from ._correlation import safe_sqrt
from ._layer import AbstractLayer
from ._state import Centred, Means, State, less_mean


class RMSNorm(AbstractLayer):
    r"""The layer x / sqrt(|x|² / d + epsilon), which scales every point to mean square 1 over its d coordinates.

    Let h(x) be the input of this layer. As d grows, |h(x)|² / d tends to xx. Let r = 1 / sqrt(xx + epsilon), and let s
    be the same number for y. Then

        nngp' = r s nngp,    ntk' = r s ntk,    xx' = r² xx.

    The derivative of the norm disappears from ntk'. The Jacobian is r (I - r² h h^T / d). The second term of the
    Jacobian has rank one and moves one coordinate by only O(1/d). At the inputs of a network, the formulas are exact
    for every d, because the layer projects the points to the sphere of radius sqrt(d).

    Args:
        epsilon: added to the mean square. If epsilon is 0, the point 0 is mapped to 0.

    Raises:
        SettingError: for an epsilon that is negative or not finite.
    """

    epsilon: float = 0.0

    def __check_init__(self):
        _check_epsilon(self.epsilon)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The point divided by its root mean square."""
        return x * _inverse_root(jnp.mean(x * x, axis=-1, keepdims=True) + self.epsilon)

    def push(self, state: State) -> State:
        """The moments divided by the root mean squares."""
        return _normalised(state, self.epsilon)


class LayerNorm(AbstractLayer):
    r"""The layer (x - m) / sqrt(v + epsilon), where m and v are the mean and the variance over the coordinates of x.

    There is no learned scale.

    Let h(x) be the input of this layer. At infinite width, m(x) tends to E[h(x)], and v tends to xx - m(x)². Let r = 1
    / sqrt(v(x) + epsilon), and let s be the same number for y. Then

        nngp' = r s (nngp - m(x) m(y)),    ntk' = r s ntk,    xx' = r² (xx - m(x)²).

    Coordinates have mean 0 after Dense, after odd activations of a Dense layer's outputs, and after sums of these.
    After an activation, the mean is E[phi(sqrt(xx) z)], where z is standard normal. After Flatten, patches and pools,
    the mean also runs over positions. At the inputs of a network, nngp' is exact for every number of coordinates. In a
    field, every position is normalised over its own coordinates.

    Args:
        epsilon: added to the variance. If epsilon is 0, a point with equal coordinates is mapped to 0.

    Raises:
        SettingError: for an epsilon that is negative or not finite.

    `push` raises SettingError if a state does not determine the means over coordinates.
    """

    epsilon: float = 0.0

    def __check_init__(self):
        _check_epsilon(self.epsilon)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The point minus its mean, divided by its standard deviation."""
        centred = less_mean(x)
        return centred * _inverse_root(jnp.mean(centred * centred, axis=-1, keepdims=True) + self.epsilon)

    def push(self, state: State) -> State:
        """The moments minus the products of the means, divided by the standard deviations."""
        if state.law.centred < 0:
            if state.means is None:
                raise SettingError(
                    "input of LayerNorm",
                    found="coordinates whose mean is unknown",
                    rule="the output of a layer for which the mean over the coordinates is known",
                    remedy="use RMSNorm, which does not subtract the mean, or put LayerNorm after the next Dense layer",
                )
            x, y = state.means
            # Differences of moments lose digits if the mean is large, so the remaining moments are computed from the
            # inputs.
            inner = state.centred or Centred(state.nngp - x * y, state.xx - x * x, state.yy - y * y)
            state = state.replace(**inner._asdict())
        none = None if state.means is None else Means(*(jnp.zeros_like(mean) for mean in state.means))
        return _normalised(state, self.epsilon).replace(means=none)


def _normalised(state: State, epsilon: float) -> State:
    left, right = _inverse_root(state.xx + epsilon), _inverse_root(state.yy + epsilon)
    both = left * right
    xx, yy = state.xx * (left * left), state.yy * (right * right)
    means = state.means
    if means is not None:
        means = Means(means.x * left, means.y * right)
    moments = {"nngp": state.nngp * both, "ntk": state.ntk * both, "xx": xx, "yy": yy, "versine": state.versine}
    return state.replace(**moments, means=means)


def _inverse_root(square: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return 1 / sqrt(square), or 0 where the square is 0."""
    positive = square > 0
    return jnp.where(positive, 1.0 / jnp.where(positive, safe_sqrt(square), 1.0), 0.0)


def _check_epsilon(epsilon: float) -> None:
    check_real("epsilon", epsilon, "a finite number that is not negative", lambda number: number >= 0)
