"""Correlations and angles of two Gaussian variables. Values and derivatives are finite at equal inputs and input 0."""

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


def safe_sqrt(value: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the square root, or 0 for a negative number. At 0 and below, the derivative is 0 instead of infinity."""
    positive = value > 0
    return jnp.where(positive, jnp.sqrt(jnp.where(positive, value, 1.0)), 0.0)


def correlation(
    nngp: Float[Array, "..."], xx: Float[Array, "..."], yy: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return the scale s = sqrt(xx yy) and the correlation nngp / s in [-1, 1], or (0, 0) if a variance is 0.

    A correlation that differs from 1 or -1 only by rounding is replaced by 1 or -1. Near these values, the angle grows
    like a square root. Without the replacement, rounding in a state would put equal inputs at an angle of sqrt(eps).
    """
    scale = safe_sqrt(xx) * safe_sqrt(yy)  # the product of two variances may leave the range of the type
    ratio = nngp / jnp.where(scale > 0, scale, 1.0)
    edge = 1.0 - 4.0 * jnp.finfo(ratio.dtype).eps
    return scale, jnp.where(jnp.abs(ratio) > edge, jnp.sign(ratio), ratio)


def _series(values: Callable[[np.ndarray], np.ndarray], degree: int) -> list[float]:
    """Return coefficients of the Chebyshev interpolant of a function of u = 2 arcsin(sqrt t), t <= 1/2.

    The coefficients multiply powers of 4t - 1.

    The function must be analytic in u and t except at t = 1, where 4t - 1 = 3. Then the error falls as (3 + sqrt
    8)^-degree. The change to powers multiplies the rounding of the coefficients by 2^degree. The rounding error still
    stays within one unit in the last place, because the sums over cosines reduce their angles as whole numbers.
    """
    odd = 2 * np.arange(64) + 1
    found = values(2.0 * np.arcsin(np.sqrt(0.5) * np.cos(odd * (np.pi / 256))))
    cosines = np.cos(np.outer(np.arange(degree + 1), odd) % 256 * (np.pi / 128))
    mean = np.mean(found)
    series = cosines @ (found - mean) / 32
    return [float(a) for a in np.polynomial.chebyshev.cheb2poly([mean, *series[1:]])]


def _angle_over_root(u: np.ndarray) -> np.ndarray:
    """Return the angle u divided by sqrt(4t), with t = sin²(u / 2)."""
    return u / (2.0 * np.sin(0.5 * u))


def _bow_over_root(u: np.ndarray) -> np.ndarray:
    """Return (sin u - u cos u) / (pi sqrt(2t)³) with t = sin²(u / 2), by a Taylor series that does not cancel."""
    terms = (n * (-1) ** (n + 1) * u ** (2 * n + 1) / math.factorial(2 * n + 1) for n in range(1, 16))
    return 2.0 * sum(terms) / (np.pi * (np.sqrt(2.0) * np.sin(0.5 * u)) ** 3)


# The omitted terms are below a quarter of the rounding error.
_ANGLE = {"float32": _series(_angle_over_root, 7), "float64": _series(_angle_over_root, 17)}
_BOW = {"float32": _series(_bow_over_root, 6), "float64": _series(_bow_over_root, 16)}


def angle(c: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return arccos(c), accurate to a few units of rounding, by operations that compilers vectorise.

    With t = (1 - |c|) / 2, the angle is 2 arcsin(sqrt t), reflected at c < 0. On a CPU, the compiler's library computes
    arc functions element by element. This computation would dominate the cost of a deep kernel.
    """
    half = half_angle(0.5 * (1.0 - jnp.abs(c)))
    return jnp.where(c < 0, math.pi - half, half)


def half_angle(t: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the angle 2 arcsin(sqrt t) for t in [0, 1/2]. Its cosine is 1 - 2 t."""
    return 2.0 * jnp.sqrt(t) * _polynomial(_ANGLE, 4.0 * t - 1.0)


def angle_and_bow(versine: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return the angle u in [0, pi/2] with versine v = 1 - cos u, and (sin u - u cos u) / pi.

    Both numbers are accurate to a few units of rounding.
    """
    root, z = jnp.sqrt(versine), 2.0 * versine - 1.0
    return math.sqrt(2.0) * root * _polynomial(_ANGLE, z), root * versine * _polynomial(_BOW, z)


def quadrant_angle(sine: Float[Array, "..."], cosine: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the angle in [-pi/2, pi/2] from its sine and its cosine, which must be at least 0.

    The angle is the arctangent of sine over cosine, computed as in `angle`.
    """
    t = 0.5 * sine * sine / (1.0 + cosine)
    return sine * jnp.sqrt(2.0 / (1.0 + cosine)) * _polynomial(_ANGLE, 4.0 * t - 1.0)


def _polynomial(tables: dict[str, list[float]], z: Float[Array, "..."]) -> Float[Array, "..."]:
    coefficients = tables["float64" if z.dtype == jnp.float64 else "float32"]
    value = jnp.full_like(z, coefficients[-1])
    for a in reversed(coefficients[:-1]):
        value = value * z + a
    return value


@jax.custom_jvp
def arc_cosine_kernels(c: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Return the arc-cosine kernels of degree 0 and 1 (Cho and Saul, 2009), normalised to 1 at c = 1.

    Let theta = arccos c. Then kappa0 = (pi - theta) / pi, kappa1 = (sin theta + (pi - theta) cos theta) / pi. The
    derivative of kappa1 is kappa0. The derivative of kappa0 is 1 / (pi sin theta). At theta = 0, kappa0 has a kink
    along every line of inputs. There, its derivative is set to 0, the mean of the two one-sided derivatives.
    """
    theta = angle(c)
    kappa0 = (math.pi - theta) / math.pi
    return kappa0, jnp.sqrt((1.0 - c) * (1.0 + c)) / math.pi + kappa0 * c


@arc_cosine_kernels.defjvp
def _arc_cosine_kernels_jvp(primals, tangents):
    (c,), (dc,) = primals, tangents
    kappa0, kappa1 = arc_cosine_kernels(c)
    sine = safe_sqrt((1.0 - c) * (1.0 + c))
    slope = jnp.where(sine > 0, 1.0 / jnp.where(sine > 0, math.pi * sine, 1.0), 0.0)
    return (kappa0, kappa1), (slope * dc, kappa0 * dc)
