"""Activations made of exponentials, whose Gaussian moments are elementary.

At two points x and y, the inputs u and v of an activation phi are Gaussian. A `State` holds their variances xx and yy,
their covariance nngp and their tangent kernel ntk. `push` returns the state of the outputs. Their tangent kernel is ntk
times E[phi' phi'], the mean of phi'(u) phi'(v), where phi' is the derivative of phi.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_real

from ._correlation import safe_sqrt
from ._layer import AbstractLayer
from ._moments import check_finite, push_moments
from ._state import Means, State, versine_of


class Exp(AbstractLayer):
    """The activation phi(u) = exp(alpha u) with alpha = `scale`.

    E[phi phi] is the mean of phi(u) phi(v) for Gaussian u and v of variances xx and yy and covariance nngp. E[phi phi]
    = exp(alpha² (xx + yy + 2 nngp) / 2) and E[phi' phi'] = alpha² E[phi phi].
    """

    scale: float = 1.0

    def __check_init__(self):
        check_finite("scale", self.scale)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the exponential of every coordinate."""
        return jnp.exp(self.scale * x)

    def push(self, state: State) -> State:
        """Return the moments of exp(alpha u) and exp(alpha v), which are jointly lognormal."""

        def moments(pair):
            nngp = jnp.exp(self.scale**2 * (0.5 * (pair.a + pair.b) + pair.k))
            return nngp, self.scale**2 * nngp

        return push_moments(state, moments, lambda a: jnp.exp(0.5 * self.scale**2 * a))


class Softmax(AbstractLayer):
    r"""The layer d softmax(alpha x) over the d coordinates of x, with alpha = `scale`.

    In a field, the softmax is over the coordinates of each position.

    With the factor d, the outputs have mean 1 over the coordinates at every point, and each output stays of order 1 as
    d grows.

    As d grows, the mean of exp(alpha x_j) over the coordinates tends to exp(alpha² xx / 2). In the limit, the layer is
    a normalised exponential of each coordinate, and

        E[phi phi] = exp(alpha² nngp),    ntk' = alpha² exp(alpha² nngp) ntk.

    The derivative of the normalisation disappears from ntk'. The Jacobian is alpha (diag(p) - p p^T / d), where p are
    the outputs. The second term of the Jacobian moves one coordinate by only O(1/d). Averages over coordinates converge
    slowly if the variance xx is large. The relative variance of the mean of d exponentials is (exp(alpha² xx) - 1) / d.
    """

    scale: float = 1.0

    def __check_init__(self):
        check_finite("scale", self.scale)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the softmax probabilities, multiplied by the number of coordinates."""
        return x.shape[-1] * jax.nn.softmax(self.scale * x, axis=-1)

    def push(self, state: State) -> State:
        """Return the moments of the outputs, which are jointly lognormal with means 1 in the limit."""

        def moments(pair):
            nngp = jnp.exp(self.scale**2 * pair.k)
            return nngp, self.scale**2 * nngp

        return push_moments(state, moments, jnp.ones_like)


class Gaussian(AbstractLayer):
    r"""The activation phi(u) = exp(-alpha u²) with alpha = `scale` >= 0.

    E[phi phi] is the mean of phi(u) phi(v) for Gaussian u and v of variances xx and yy and covariance nngp. E[phi phi]
    = D^(-1/2), where D = (1 + 2 alpha xx)(1 + 2 alpha yy) - 4 alpha² nngp² is the determinant of I + 2 alpha times the
    covariance of the pair. Its derivative in nngp is E[phi' phi'] = 4 alpha² nngp D^(-3/2).
    """

    scale: float = 1.0

    def __check_init__(self):
        check_real(
            "scale of a Gaussian", self.scale, "a finite number that is not negative", lambda number: number >= 0
        )

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the Gaussian function of every coordinate."""
        return jnp.exp(-self.scale * x * x)

    def push(self, state: State) -> State:
        """Return the moments, by the inverse root of the determinant."""
        twice = 2.0 * self.scale

        def moments(pair):
            rho, rest, one, other, slope = pair.widened(twice)
            nngp = pair.sure(jnp.sqrt(one) * jnp.sqrt(other) / jnp.sqrt(rest), 3.0 * slope)
            return nngp, twice * nngp * rho * (jnp.sqrt(one) * jnp.sqrt(other)) / rest

        return push_moments(state, moments, lambda a: 1.0 / jnp.sqrt(1.0 + twice * a))


class Gabor(AbstractLayer):
    r"""The activation phi(u) = exp(-u²) sin(u), a sine in a Gaussian window.

    E[phi phi] is the mean of phi(u) phi(v) for Gaussian u and v of variances xx and yy and covariance nngp. Let A = 1 +
    2 xx, B = 1 + 2 yy, D = A B - 4 nngp², q = nngp / D and g = exp((A + B) / (4D) - 1/2) / sqrt(D). Then

        E[phi phi] = g sinh q,    E[phi' phi'] = g [(4q + 2q (A + B) / D) sinh q + ((A B + 4 nngp²) / D²) cosh q].

    The two formulas are the Gaussian integral of exp(-u² - v²) [cos(u - v) - cos(u + v)] / 2, and its derivative in
    nngp. The number q satisfies |q| <= 1/2.
    """

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the window times the sine, for every coordinate."""
        return jnp.exp(-x * x) * jnp.sin(x)

    def push(self, state: State) -> State:
        """Return the moments, by the two hyperbolic functions of the class. All their terms have the same sign."""

        def moments(pair):
            rho, rest, one, other, slope = pair.widened(2.0)
            root, both = jnp.sqrt(one) * jnp.sqrt(other), (one + other) / rest
            q, g = 0.5 * rho * root / rest, jnp.exp(0.25 * both - 0.5) * root / jnp.sqrt(rest)
            g = pair.sure(g, 6.0 * slope)
            even = (1.0 + rho * rho) * (root / rest) ** 2
            sinh = jnp.sinh(q)
            return g * sinh, g * ((4.0 + 2.0 * both) * q * sinh + even * jnp.cosh(q))

        return push_moments(state, moments)


class ExpNormalized(AbstractLayer):
    r"""The layer r exp(sqrt(gamma) x / r + gamma (s - 1) / 2).

    Here, r is the root mean square of the d coordinates of x, and s = `shift`.

    As d grows, r tends to sqrt(xx). Let c be the correlation of two inputs. Then

        E[phi phi] = sqrt(xx yy) exp(gamma (c + s)),    ntk' = gamma exp(gamma (c + s)) ntk,

    which for s = -1 is the normalised Gaussian kernel of Shankar et al. (2020). For s = -1, the outputs have the same
    variances as the inputs. The derivative of r disappears from ntk', because this derivative has rank one and moves
    one coordinate by only O(1/d). In a field, every position is normalised over its own coordinates. A point 0 is
    mapped to 0.

    Args:
        gamma: the rate gamma of the exponential, at least 0. For a negative gamma, E[phi phi] would not be positive
            semidefinite.
        shift: the number s, which is added to the correlation.

    Raises:
        SettingError: for a gamma that is negative, or settings that are not finite.
    """

    gamma: float = 1.0
    shift: float = -1.0

    def __check_init__(self):
        _check_gamma(self.gamma)
        check_finite("shift", self.shift)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the exponential of every coordinate of the normalised point, times its root mean square."""
        root = safe_sqrt(jnp.mean(x * x, axis=-1, keepdims=True))
        unit = x / jnp.where(root > 0, root, 1.0)
        return root * jnp.exp(math.sqrt(self.gamma) * unit + 0.5 * self.gamma * (self.shift - 1.0))

    def push(self, state: State) -> State:
        """Return the moments, by the exponential of the correlation."""
        law, apart = state.law.activated(), versine_of(state)
        left, right, obtuse = safe_sqrt(state.xx), safe_sqrt(state.yy), state.nngp < 0
        gap = jnp.where(obtuse, 2.0 - apart, apart)  # 1 - c
        growth = math.exp(self.gamma * (1.0 + self.shift))
        both = growth * jnp.exp(-self.gamma * gap)
        mean = math.exp(0.5 * self.gamma * self.shift)
        return state.replace(
            nngp=left * right * both,
            ntk=state.ntk * (self.gamma * both),
            xx=growth * state.xx,
            yy=growth * state.yy,
            law=law,
            means=Means(mean * left, mean * right),
            versine=jnp.where((left > 0) & (right > 0), -jnp.expm1(-self.gamma * gap), 1.0),
        )


class Rbf(AbstractLayer):
    """The activation phi(u) = sqrt(2) sin(sqrt(2 gamma) u + pi / 4).

    The activation gives the random features of the Gaussian kernel (Rahimi and Recht, 2007). E[phi phi] is the mean of
    phi(u) phi(v) for Gaussian u and v of variances xx and yy and covariance nngp.

    E[phi phi] = exp(-gamma (xx + yy - 2 nngp)), which is 1 at equal inputs, and E[phi' phi'] = 2 gamma E[phi phi].
    After a Dense layer without biases on d inputs and with w = `weight_std`, E[phi phi] = exp(-gamma w² |x - y|² / d).
    """

    gamma: float = 1.0

    def __check_init__(self):
        _check_gamma(self.gamma)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the shifted sine of every coordinate."""
        return math.sqrt(2.0) * jnp.sin(math.sqrt(2.0 * self.gamma) * x + 0.25 * math.pi)

    def push(self, state: State) -> State:
        """Return the moments, by the Gaussian kernel."""

        def moments(pair):
            nngp = jnp.exp(-self.gamma * pair.square_of_difference())
            nngp = pair.sure(nngp, 2.0 * self.gamma * safe_sqrt(pair.a) * safe_sqrt(pair.b) * nngp)
            return nngp, 2.0 * self.gamma * nngp

        return push_moments(state, moments, lambda a: jnp.exp(-self.gamma * a))


def _check_gamma(gamma: float) -> None:
    check_real("gamma", gamma, "a finite number that is not negative", lambda number: number >= 0)
