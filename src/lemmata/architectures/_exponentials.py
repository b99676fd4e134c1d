"""Activations made of exponentials, whose Gaussian moments are elementary."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError

from ._correlation import safe_sqrt
from ._layer import AbstractLayer
from ._moments import check_finite, push_moments
from ._state import State


class Exp(AbstractLayer):
    """exp(alpha u), alpha = `scale`.

    E[phi phi] = exp(alpha² (xx + yy + 2 nngp) / 2) and E[phi' phi'] = alpha² E[phi phi].
    """

    scale: float = 1.0

    def __check_init__(self):
        check_finite("scale", self.scale)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The exponential of every coordinate."""
        return jnp.exp(self.scale * x)

    def push(self, state: State) -> State:
        """The moments of a lognormal pair."""

        def moments(pair):
            nngp = jnp.exp(self.scale**2 * (0.5 * (pair.a + pair.b) + pair.k))
            return nngp, self.scale**2 * nngp

        return push_moments(state, moments, lambda a: jnp.exp(0.5 * self.scale**2 * a))


class Softmax(AbstractLayer):
    r"""d softmax(alpha x) over the d coordinates of x, alpha = `scale`; in a field, over those of every position.

    The factor d makes the mean of the outputs 1 at every point and keeps each of them of order 1.

    As d grows the mean of exp(alpha x_j) over the coordinates tends to exp(alpha² xx / 2), so that the layer is a
    normalised exponential of every coordinate, and

        E[phi phi] = exp(alpha² nngp),    ntk' = alpha² exp(alpha² nngp) ntk.

    The derivative of the normalisation drops out of ntk': the Jacobian is alpha (diag(p) - p p^T / d), p the outputs,
    and its second term moves one coordinate by O(1/d). The averages settle slowly at large variances: the relative
    variance of the mean of d exponentials is (exp(alpha² xx) - 1) / d.
    """

    scale: float = 1.0

    def __check_init__(self):
        check_finite("scale", self.scale)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The probabilities times their number."""
        return x.shape[-1] * jax.nn.softmax(self.scale * x, axis=-1)

    def push(self, state: State) -> State:
        """The moments of a lognormal pair of mean 1."""

        def moments(pair):
            nngp = jnp.exp(self.scale**2 * pair.k)
            return nngp, self.scale**2 * nngp

        return push_moments(state, moments, jnp.ones_like)


class Gaussian(AbstractLayer):
    r"""exp(-alpha u²), alpha = `scale` >= 0.

    E[phi phi] = D^(-1/2) with D = (1 + 2 alpha xx)(1 + 2 alpha yy) - 4 alpha² nngp², the determinant of
    I + 2 alpha times the covariance of the pair, and E[phi' phi'] = 4 alpha² nngp D^(-3/2), its derivative in nngp.
    """

    scale: float = 1.0

    def __check_init__(self):
        if not 0.0 <= self.scale < math.inf:
            raise SettingError("scale of a Gaussian", found=self.scale, rule="a finite number that is not negative")

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The Gaussian function of every coordinate."""
        return jnp.exp(-self.scale * x * x)

    def push(self, state: State) -> State:
        """The inverse root of the determinant."""
        twice = 2.0 * self.scale

        def moments(pair):
            rho, rest, one, other, slope = pair.widened(twice)
            nngp = pair.sure(jnp.sqrt(one) * jnp.sqrt(other) / jnp.sqrt(rest), 3.0 * slope)
            return nngp, twice * nngp * rho * (jnp.sqrt(one) * jnp.sqrt(other)) / rest

        return push_moments(state, moments, lambda a: 1.0 / jnp.sqrt(1.0 + twice * a))


class Rbf(AbstractLayer):
    """sqrt(2) sin(sqrt(2 gamma) u + pi / 4): the random features of the Gaussian kernel (Rahimi and Recht, 2007).

    E[phi phi] = exp(-gamma (xx + yy - 2 nngp)), which is 1 at equal inputs, and E[phi' phi'] = 2 gamma times it. After
    Dense without biases on d inputs it is exp(-gamma w² |x - y|² / d).
    """

    gamma: float = 1.0

    def __check_init__(self):
        if not 0.0 <= self.gamma < math.inf:
            raise SettingError("gamma", found=self.gamma, rule="a finite number that is not negative")

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The shifted sine of every coordinate."""
        return math.sqrt(2.0) * jnp.sin(math.sqrt(2.0 * self.gamma) * x + 0.25 * math.pi)

    def push(self, state: State) -> State:
        """The Gaussian kernel."""

        def moments(pair):
            nngp = jnp.exp(-self.gamma * pair.square_of_difference())
            nngp = pair.sure(nngp, 2.0 * self.gamma * safe_sqrt(pair.a) * safe_sqrt(pair.b) * nngp)
            return nngp, 2.0 * self.gamma * nngp

        return push_moments(state, moments, lambda a: jnp.exp(-self.gamma * a))
