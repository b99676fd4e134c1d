"""Activation functions phi whose means E[phi(u) phi(v)] for Gaussian u and v have a closed form.

At two points x and y, the inputs u and v of an activation phi are Gaussian. A `State` holds their variances xx and yy,
their covariance nngp and their tangent kernel ntk. `push` returns the state of the outputs. Their tangent kernel is ntk
times E[phi' phi'], the mean of phi'(u) phi'(v), where phi' is the derivative of phi.
"""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._correlation import quadrant_angle, safe_sqrt
from ._gelu_versine import after_gelu
from ._layer import AbstractLayer
from ._moments import Pair, check_finite, push_moments
from ._state import Means, State, versine_of
from ._versine import after_bend


class Relu(AbstractLayer):
    """The rectifier phi(u) = max(u, 0) (Cho and Saul, 2009).

    Let u and v be Gaussian with variances xx and yy and correlation c. The means of phi(u) phi(v) and phi'(u) phi'(v)
    are E[phi phi] = sqrt(xx yy) kappa1(c) / 2 and E[phi' phi'] = kappa0(c) / 2. Here, kappa0 = (pi - theta) / pi and
    kappa1 = (sin theta + (pi - theta) c) / pi with theta = arccos c. kappa0 and kappa1 are the arc-cosine kernels,
    normalised to 1 at c = 1.
    """

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return max(x, 0) for every coordinate."""
        return jax.nn.relu(x)

    def push(self, state: State) -> State:
        """Return the state of the outputs, from the arc-cosine kernels kappa1 and kappa0."""
        return piecewise_linear(state, 0.0)


class LeakyRelu(AbstractLayer):
    """The activation phi(u) = u for u > 0 and slope * u for u <= 0.

    Its kernels are combinations of kappa0 and kappa1, the arc-cosine kernels (see `Relu`). Let u and v be Gaussian with
    variances xx and yy and correlation c. With a = `slope`, E[phi phi] = sqrt(xx yy) [(1 - a)² kappa1(c) + 2 a c] / 2,
    and E[phi' phi'] = [(1 - a)² kappa0(c) + 2 a] / 2. Slope -1 is the absolute value, slope 1 the identity.
    """

    slope: float = 0.01

    def __check_init__(self):
        check_finite("slope", self.slope)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return phi of every coordinate."""
        return jax.nn.leaky_relu(x, self.slope)

    def push(self, state: State) -> State:
        """Return the moments, as mixtures of the arc-cosine kernels."""
        return piecewise_linear(state, self.slope)


def absolute() -> LeakyRelu:
    """Return the absolute value |u|, which is `LeakyRelu` of slope -1."""
    return LeakyRelu(-1.0)


def piecewise_linear(state: State, below: float, above: float = 1.0) -> State:
    """Return the state after the piecewise linear function with slope `below` below 0 and slope `above` above 0."""
    law = state.law.activated()
    # For fields, versines would cost as much as the kernels. Versines would only improve angles near a kink, where the
    # error without them is sqrt(eps).
    known = None if state.grid.sites else state.versine
    slope, c, versine = after_bend(state.nngp, versine_of(state.replace(versine=known)), below, above)
    left, right, half = safe_sqrt(state.xx), safe_sqrt(state.yy), 0.5 * (below * below + above * above)
    mean = (above - below) / math.sqrt(2.0 * math.pi)
    return state.replace(
        nngp=left * right * (half * c),
        ntk=state.ntk * slope,
        xx=half * state.xx,
        yy=half * state.yy,
        law=law,
        means=Means(mean * left, mean * right),
        versine=None if known is None else versine,
    )


class Erf(AbstractLayer):
    """The activation phi(u) = erf(u) (Williams, 1997).

    Let u and v be Gaussian with variances xx and yy and covariance k = nngp. The mean of phi(u) phi(v) is E[phi phi] =
    (2 / pi) arcsin(2 k / sqrt((1 + 2 xx)(1 + 2 yy))). Its derivative in k is E[phi' phi'] = (4 / pi) / sqrt((1 + 2
    xx)(1 + 2 yy) - 4 k²).
    """

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the error function of every coordinate."""
        return jax.scipy.special.erf(x)

    def push(self, state: State) -> State:
        """Return the state of the outputs. The arcsine is computed as an arctangent, which stays accurate near 1."""

        def moments(pair):
            rho, rest, one, other, slope = pair.widened(2.0)
            root = jnp.sqrt(rest)
            dot = (4.0 / math.pi) * (jnp.sqrt(one) * jnp.sqrt(other)) / root
            return (2.0 / math.pi) * jnp.arctan2(rho, root), pair.sure(dot, slope)

        return push_moments(state, moments)


class Gelu(AbstractLayer):
    r"""The activation phi(u) = u Phi(u), where Phi is the normal distribution function.

    The layer uses the exact form of GELU, not the usual approximation by tanh.

    E[phi phi] is the mean of phi(u) phi(v) for Gaussian u and v of variances xx and yy and covariance nngp. Let k =
    nngp, a = xx, b = yy, A = 1 + a, B = 1 + b and D = sqrt(A B - k²). Then

        E[phi phi] = k / 4 + k arcsin(k / sqrt(A B)) / (2 pi) + (a b + k² (1/A + 1/B - 1)) / (2 pi D),

    by Stein's identity from E[Phi(u) Phi(v)] = 1/4 + arcsin(k / sqrt(A B)) / (2 pi). Its derivative in k is
    (Price's theorem)

        E[phi' phi'] = 1/4 + arcsin(k / sqrt(A B)) / (2 pi) + k (1/A + 1/B + 1/D²) / (2 pi D).
    """

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return GELU of every coordinate."""
        return jax.nn.gelu(x, approximate=False)

    def push(self, state: State) -> State:
        """Return the moments, by the closed form of the class."""

        def moments(pair):
            rho, rest, one, other, _ = pair.widened(1.0)
            root, both = jnp.sqrt(rest), one + other
            mean = 0.25 + quadrant_angle(rho, root) / (2.0 * math.pi)
            # a b + k² (1/A + 1/B - 1) = (a b - k²) + k² (1/A + 1/B), over sqrt(A B), where k = (1 - v) sqrt(a b)
            scale = safe_sqrt(pair.a) * safe_sqrt(pair.b)
            share = jnp.sqrt(one) * safe_sqrt(pair.a) * (jnp.sqrt(other) * safe_sqrt(pair.b))
            top = scale * share * (pair.v * (2.0 - pair.v) + (1.0 - pair.v) ** 2 * both)
            nngp = pair.k * mean + top / (2.0 * math.pi * root)
            return nngp, mean + rho * (both + one * other / rest) / (2.0 * math.pi * root)

        pushed = push_moments(state, moments, lambda a: a / jnp.sqrt(2.0 * math.pi * (1.0 + a)))
        if state.grid.sites:  # as for rectifiers: for fields, the versines would take as much time as the kernels
            return pushed
        pair = Pair(state.nngp, state.xx, state.yy, versine_of(state))
        return pushed.replace(versine=after_gelu(pair, pushed.nngp, pushed.xx, pushed.yy))


class Sin(AbstractLayer):
    r"""The activation phi(u) = sin(alpha u + beta) with alpha = `frequency` and beta = `phase`.

    E[phi phi] is the mean of phi(u) phi(v) for Gaussian u and v of variances xx and yy and covariance k = nngp:

        E[phi phi] = [exp(-alpha² (xx + yy - 2k) / 2) - cos(2 beta) exp(-alpha² (xx + yy + 2k) / 2)] / 2,
        E[phi' phi'] = alpha² [exp(-alpha² (xx + yy - 2k) / 2) + cos(2 beta) exp(-alpha² (xx + yy + 2k) / 2)] / 2.
    """

    frequency: float = 1.0
    phase: float = 0.0

    def __check_init__(self):
        check_finite("frequency or phase", self.frequency, self.phase)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the sine of every coordinate."""
        return jnp.sin(self.frequency * x + self.phase)

    def push(self, state: State) -> State:
        """Return the moments, by the two exponentials of the class."""
        moments = _sine_moments(self.frequency, math.cos(2.0 * self.phase))
        mean = lambda a: math.sin(self.phase) * jnp.exp(-0.5 * self.frequency**2 * a)
        return push_moments(state, moments, None if self.phase == 0.0 else mean)


class Cos(AbstractLayer):
    """The activation cos(alpha u) with alpha = `frequency`. The activation equals `Sin` with phase pi / 2."""

    frequency: float = 1.0

    def __check_init__(self):
        check_finite("frequency", self.frequency)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """Return the cosine of every coordinate."""
        return jnp.cos(self.frequency * x)

    def push(self, state: State) -> State:
        """Return the moments, by the exponentials of `Sin` with cos(2 beta) = -1."""
        mean = lambda a: jnp.exp(-0.5 * self.frequency**2 * a)
        return push_moments(state, _sine_moments(self.frequency, -1.0), mean)


def _sine_moments(frequency: float, double_phase: float):
    # Let E be the exponentials of the squares of the difference and of the sum. E(near) - E(far) loses digits for small
    # k; it equals sign(k) max(near, far) (1 - exp(-2 alpha² |k|)).
    square, even, odd = frequency**2, 0.5 * (1.0 - double_phase), 0.5 * (1.0 + double_phase)

    def moments(pair):
        scale = square * safe_sqrt(pair.a) * safe_sqrt(pair.b)
        near, far = (jnp.exp(-0.5 * square * side.square_of_difference()) for side in (pair, pair.opposite()))
        near, far = pair.sure(near, scale * near), pair.sure(far, scale * far)
        positive = pair.k >= 0
        gap = -jnp.expm1(-2.0 * square * jnp.where(positive, pair.k, -pair.k))
        minus = 0.5 * jnp.where(positive, near, -far) * gap
        plus = 0.5 * (near + far)
        return even * plus + odd * minus, square * (odd * plus + even * minus)

    return moments
