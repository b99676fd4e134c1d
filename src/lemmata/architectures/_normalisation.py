"""Normalisation over the coordinates of one point."""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.errors import SettingError

from ._correlation import safe_sqrt
from ._layer import AbstractLayer
from ._state import State


class RMSNorm(AbstractLayer):
    r"""x / sqrt(|x|² / d + epsilon): every point is scaled to mean square 1 over its d coordinates.

    As d grows, |h(x)|² / d tends to xx, so with r = 1 / sqrt(xx + epsilon) for x and s likewise for y

        nngp' = r s nngp,    ntk' = r s ntk,    xx' = r² xx.

    The derivative of the norm drops out of ntk': the Jacobian is r (I - r² h h^T / d), and its second term has rank one
    and moves one coordinate by O(1/d). At the inputs of a network the formulas are exact at every d: the points are
    projected to the sphere of radius sqrt(d).

    Args:
        epsilon: added to the mean square. At 0 a point 0 is mapped to 0.

    Raises:
        SettingError: for an epsilon that is negative or not finite.
    """

    epsilon: float = 0.0

    def __check_init__(self):
        _check_epsilon(self.epsilon)

    def init(self, key: Key[Array, ""], fan_in: int, *, dtype: Any = float) -> tuple[tuple[()], int]:
        """No parameters, as many outputs as inputs."""
        return (), fan_in

    def apply(self, params: Any, x: Float[Array, " fan_in"]) -> Float[Array, " fan_in"]:
        """The point divided by its root mean square."""
        return x * _inverse_root(jnp.mean(x * x) + self.epsilon)

    def push(self, state: State) -> State:
        """The moments divided by the root mean squares."""
        return _normalised(state, self.epsilon)


class LayerNorm(AbstractLayer):
    r"""(x - m) / sqrt(v + epsilon), m and v the mean and the variance over the coordinates of x; no learned scale.

    At infinite width, for coordinates of mean 0, m vanishes and v tends to xx, so the moments are those of `RMSNorm`.
    Coordinates have mean 0 after Dense, after odd activations of it, and after sums of such; the means over coordinates
    of a rectified layer and of the inputs of a network are not part of the second moments that a `push` receives.

    Args:
        epsilon: added to the variance. At 0 a point with equal coordinates is mapped to 0.

    Raises:
        SettingError: for an epsilon that is negative or not finite.

    `push` raises SettingError where the mean over coordinates is not known to be 0.
    """

    epsilon: float = 0.0

    def __check_init__(self):
        _check_epsilon(self.epsilon)

    def init(self, key: Key[Array, ""], fan_in: int, *, dtype: Any = float) -> tuple[tuple[()], int]:
        """No parameters, as many outputs as inputs."""
        return (), fan_in

    def apply(self, params: Any, x: Float[Array, " fan_in"]) -> Float[Array, " fan_in"]:
        """The point less its mean, divided by its standard deviation."""
        centred = x - jnp.mean(x)
        return centred * _inverse_root(jnp.mean(centred * centred) + self.epsilon)

    def push(self, state: State) -> State:
        """The moments divided by the standard deviations."""
        if state.law.centred < 0:
            raise SettingError(
                "input of LayerNorm", found="coordinates whose mean is not known to be 0",
                rule="LayerNorm follows Dense, or odd activations of it",
                remedy="RMSNorm, which subtracts no mean, or LayerNorm after the next Dense layer",
            )
        return _normalised(state, self.epsilon)


def _normalised(state: State, epsilon: float) -> State:
    left, right = _inverse_root(state.xx + epsilon), _inverse_root(state.yy + epsilon)
    both = left * right
    xx, yy = state.xx * (left * left), state.yy * (right * right)
    return State(state.nngp * both, state.ntk * both, xx, yy, state.fan_in, state.law)


def _inverse_root(square: Float[Array, "..."]) -> Float[Array, "..."]:
    """1 / sqrt, and 0 at 0."""
    positive = square > 0
    return jnp.where(positive, 1.0 / jnp.where(positive, safe_sqrt(square), 1.0), 0.0)


def _check_epsilon(epsilon: float) -> None:
    if not 0.0 <= epsilon < math.inf:
        raise SettingError("epsilon", found=epsilon, rule="a finite number that is not negative")
