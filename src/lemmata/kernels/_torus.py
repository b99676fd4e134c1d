"""Kernels for periodic inputs: the kernels of Sobolev spaces on the torus, and the exponentiated sine."""

import math

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float

from ._base import AbstractKernel
from ._parameters import check_number, counting, for_columns, learnable

_TERMS = 85  # the largest j for which (2j)! is a double-precision number


class TorusSobolev(AbstractKernel):
    """The reproducing kernel of the Sobolev space of integer order s on the torus [0, 1)^d.

    The Sobolev space is the one of dominating mixed smoothness, so its kernel is a product over coordinates.

    The factor of coordinate i is

        k_s(t) = 1 + 2 sum_{k>=1} k^(-2s) cos(2πkt) = 1 + (-1)^(s+1) (2π)^(2s) / (2s)! B_2s({t}),    t = x_i - y_i,

    where B_2s is the Bernoulli polynomial and {t} is the fractional part of t. The eigenfunctions of the kernel are the
    Fourier basis, with the frequencies k_i. Its eigenvalues are the products over i of max(1, |k_i|)^(-2s).

    >>> import jax.numpy as jnp
    >>> from lemmata.kernels import TorusSobolev
    >>> print(TorusSobolev(order=1)(jnp.array([0.25]), jnp.array([0.25])).round(4))  # 1 + π²/3
    4.2899

    Args:
        order: the integer s of at least 1. For s = 1 the kernel has a kink at x = y, and its derivatives there are the
            subgradient 0.

    Raises:
        SettingError: if the order is not an integer or is below 1.
    """

    order: int = eqx.field(static=True, converter=counting("TorusSobolev.order"))
    cheap_points = True

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The product over coordinates of k_s(x_i - y_i)."""
        return jnp.prod(_sobolev_profile(self.order, _difference(x, y, 1.0)))


def _difference(x: Float[Array, " d"], y: Float[Array, " d"], period: float | Float[Array, "*d"]) -> Float[Array, " d"]:
    """The difference x - y up to whole periods, as accurate as if x and y lay within one period of 0.

    `fmod` of a floating-point number is exact, but the difference of two large numbers is not. The rounding error of
    this difference may be many periods, and differs between pairs of points.
    """
    whole = x - y
    return jnp.where(jnp.abs(whole) < period, whole, jnp.fmod(x, period) - jnp.fmod(y, period))


def _sobolev_profile(s: int, t: Float[Array, " d"]) -> Float[Array, " d"]:
    from scipy.special import zeta  # slow to import

    # Let r = t - round(t) in [-1/2, 1/2] and angle = 2πr, and expand B_2s about 0. The coefficients of B_2s are
    # Bernoulli numbers, B_2k (2π)^(2k) / (2k)! = 2 (-1)^(k+1) zeta(2k) (with zeta(0) = -1/2). The only odd term of B_2s
    # is -s |r|^(2s-1). Hence
    #   k_s = 1 + sum_{j=0}^{s} 2 (-1)^j zeta(2s - 2j) angle^(2j) / (2j)!  +  (-1)^s π |angle|^(2s-1) / (2s-1)!.
    # The terms stay below 4 cosh(π) in size for every s, so no order suffers from bad cancellation. The odd term in the
    # form sign(angle) angle^(2s-1) has the right derivatives at 0 up to order 2s - 2, and the subgradient 0 for s = 1.
    angle = 2 * math.pi * (t - jnp.round(t))
    square = angle**2
    even = jnp.zeros_like(angle)
    # The terms with j > 85, and the odd term for s > 85, are below 4 π^170 / 170! < 1e-220 in size.
    for j in range(min(s, _TERMS), -1, -1):
        even = even * square + (-1) ** j * 2 * float(zeta(2 * (s - j))) / math.factorial(2 * j)
    if s > _TERMS:
        return 1 + even
    odd = (-1) ** s * math.pi / math.factorial(2 * s - 1) * jnp.sign(angle) * angle ** (2 * s - 1)
    return 1 + even + odd


class Periodic(AbstractKernel):
    """K(x, y) = exp(-(2 / lengthscale²) sum_i sin²(π (x_i - y_i) / period)).

    This kernel is the Gaussian kernel of the points with coordinates cos(2π x_i / period) and sin(2π x_i / period), so
    it is positive semidefinite in every dimension. (The sine of the Euclidean distance, which some libraries use, is
    positive definite only in one dimension.)

    Args:
        period: a positive number in the units of the points, or an array with one number for each column.
        lengthscale: a positive number without units, or an array with one number for each column. With an array, the
            sine of each column is divided by its own lengthscale.

    Raises:
        SettingError: if a parameter is known (not traced by JAX) and not positive, or if an array does not have one
            number for each column of the points.
    """

    period: Float[Array, "*periods"] = eqx.field(converter=learnable, default=1.0)
    lengthscale: Float[Array, "*columns"] = eqx.field(converter=learnable, default=1.0)
    cheap_points = True

    def __check_init__(self):
        check_number("Periodic.period", self.period, each_column=True)
        check_number("Periodic.lengthscale", self.lengthscale, each_column=True)

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The kernel exp(-(2 / lengthscale²) sum_i sin²(π (x_i - y_i) / period)) of two points."""
        period = for_columns("Periodic.period", self.period, x)
        length = for_columns("Periodic.lengthscale", self.lengthscale, x)
        sines = jnp.sin(math.pi * _difference(x, y, period) / period)
        if length.ndim:
            return jnp.exp(-2 * jnp.sum((sines / length) ** 2))
        return jnp.exp(-2 * jnp.sum(sines**2) / length**2)
