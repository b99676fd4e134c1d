"""Activation functions whose moments under a bivariate Gaussian have a closed form."""

import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._correlation import arc_cosine_kernels, correlation, safe_sqrt
from ._layer import AbstractLayer
from ._moments import check_finite, push_moments
from ._state import Means, State


class Relu(AbstractLayer):
    """max(u, 0): E[phi phi] = sqrt(xx yy) kappa1(c) / 2 and E[phi' phi'] = kappa0(c) / 2 (Cho and Saul, 2009).

    c is the correlation, kappa0 and kappa1 the arc-cosine kernels, normalised to 1 at c = 1.
    """

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """max(x, 0)."""
        return jax.nn.relu(x)

    def push(self, state: State) -> State:
        """The arc-cosine kernels of degree 1 and 0."""
        return _piecewise_linear(state, 0.0)


class LeakyRelu(AbstractLayer):
    """u for u > 0 and slope * u below: the arc-cosine kernels of ReLU, mixed.

    With a = `slope`: E[phi phi] = sqrt(xx yy) [(1 - a)² kappa1(c) + 2 a c] / 2, and
    E[phi' phi'] = [(1 - a)² kappa0(c) + 2 a] / 2. Slope -1 is the absolute value, slope 1 the identity.
    """

    slope: float = 0.01

    def __check_init__(self):
        check_finite("slope", self.slope)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The leaky rectifier of every coordinate."""
        return jax.nn.leaky_relu(x, self.slope)

    def push(self, state: State) -> State:
        """The mixed arc-cosine kernels."""
        return _piecewise_linear(state, self.slope)


def absolute() -> LeakyRelu:
    """|u|: `LeakyRelu` of slope -1."""
    return LeakyRelu(-1.0)


def _piecewise_linear(state: State, a: float) -> State:
    # With q = P(u, v > 0) moments: both positive or both negative give (1 + a²) q(c), opposite signs -2 a q(-c), and
    # q(-c) = q(c) - c for degree 1, 1 - q(c) for degree 0.
    law = state.law.activated()
    scale, c = correlation(state.nngp, state.xx, state.yy)
    kappa0, kappa1 = arc_cosine_kernels(c)
    bend, line = (1.0 - a) ** 2, 2.0 * a
    half = 0.5 * (bend + line)
    nngp = scale * (0.5 * (bend * kappa1 + line * c)) if a else scale * (0.5 * kappa1)
    ntk = state.ntk * (0.5 * (bend * kappa0 + line))
    mean = (1.0 - a) / math.sqrt(2.0 * math.pi)
    means = Means(mean * safe_sqrt(state.xx), mean * safe_sqrt(state.yy))
    return state.replace(nngp=nngp, ntk=ntk, xx=half * state.xx, yy=half * state.yy, law=law, means=means)


class Erf(AbstractLayer):
    """erf(u): E[phi phi] = (2 / pi) arcsin(2 k / sqrt((1 + 2 xx)(1 + 2 yy))), k = nngp (Williams, 1997).

    Its derivative in k is E[phi' phi'] = (4 / pi) / sqrt((1 + 2 xx)(1 + 2 yy) - 4 k²).
    """

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The error function of every coordinate."""
        return jax.scipy.special.erf(x)

    def push(self, state: State) -> State:
        """Williams' arcsine kernel, the arcsine taken as an arctangent so that it is accurate near 1."""

        def moments(k, a, b):
            root = jnp.sqrt(1.0 + 2.0 * (a + b) + 4.0 * (a * b - k * k))
            return (2.0 / math.pi) * jnp.arctan2(2.0 * k, root), (4.0 / math.pi) / root

        return push_moments(state, moments)


class Gelu(AbstractLayer):
    r"""u Phi(u), Phi the normal distribution function (the exact form, not the approximation by tanh).

    With k = nngp, a = xx, b = yy, A = 1 + a, B = 1 + b and D = sqrt(A B - k²):

        E[phi phi] = k / 4 + k arcsin(k / sqrt(A B)) / (2 pi) + (a b + k² (1/A + 1/B - 1)) / (2 pi D),

    by Stein's identity from E[Phi(u) Phi(v)] = 1/4 + arcsin(k / sqrt(A B)) / (2 pi); E[phi' phi'] is its derivative
    in k (Price's theorem).
    """

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """GELU of every coordinate."""
        return jax.nn.gelu(x, approximate=False)

    def push(self, state: State) -> State:
        """The closed form above."""

        def moments(k, a, b):
            mix = 1.0 / (1.0 + a) + 1.0 / (1.0 + b) - 1.0
            square = 1.0 + a + b + (a * b - k * k)
            root = jnp.sqrt(square)
            both = 0.25 + jnp.arctan2(k, root) / (2.0 * math.pi)
            top = a * b + k * k * mix
            nngp = k * both + top / (2.0 * math.pi * root)
            return nngp, both + k * (1.0 + 2.0 * mix + top / square) / (2.0 * math.pi * root)

        return push_moments(state, moments, lambda a: a / jnp.sqrt(2.0 * math.pi * (1.0 + a)))


class Sin(AbstractLayer):
    r"""sin(alpha u + beta), alpha = `frequency`, beta = `phase`.

    E[phi phi] = [exp(-alpha² (xx + yy - 2k) / 2) - cos(2 beta) exp(-alpha² (xx + yy + 2k) / 2)] / 2 with k = nngp, and
    E[phi' phi'] = alpha² [exp(-alpha² (xx + yy - 2k) / 2) + cos(2 beta) exp(-alpha² (xx + yy + 2k) / 2)] / 2.
    """

    frequency: float = 1.0
    phase: float = 0.0

    def __check_init__(self):
        check_finite("frequency or phase", self.frequency, self.phase)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The sine of every coordinate."""
        return jnp.sin(self.frequency * x + self.phase)

    def push(self, state: State) -> State:
        """The two exponentials above."""
        moments = _sine_moments(self.frequency, math.cos(2.0 * self.phase))
        mean = lambda a: math.sin(self.phase) * jnp.exp(-0.5 * self.frequency**2 * a)
        return push_moments(state, moments, None if self.phase == 0.0 else mean)


class Cos(AbstractLayer):
    """cos(alpha u), alpha = `frequency`: a sine with phase pi / 2."""

    frequency: float = 1.0

    def __check_init__(self):
        check_finite("frequency", self.frequency)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_in"]:
        """The cosine of every coordinate."""
        return jnp.cos(self.frequency * x)

    def push(self, state: State) -> State:
        """The exponentials of `Sin`, with cos(2 beta) = -1."""
        mean = lambda a: jnp.exp(-0.5 * self.frequency**2 * a)
        return push_moments(state, _sine_moments(self.frequency, -1.0), mean)


def _sine_moments(frequency: float, double_phase: float):
    half = 0.5 * frequency**2

    def moments(k, a, b):
        near, far = jnp.exp(-half * (a + b - 2.0 * k)), double_phase * jnp.exp(-half * (a + b + 2.0 * k))
        return 0.5 * (near - far), half * (near + far)

    return moments
