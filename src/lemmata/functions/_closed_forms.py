"""Closed forms and bounds of the Barron parameter C_f = integral of |omega| |F_f(omega)| (barron1993, section IX).

Here, F_f is the Fourier transform of f. The functions of this file whose names end in `moment` or `bound` return only
this integral, called the moment, or a bound on it, without |f(0)|.
"""

import math
from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import SettingError, ShapeError


def gaussian_moment(dimension: int, scale: float = 1.0) -> float:
    """The moment scale sqrt(2) Gamma((d+1)/2) / Gamma(d/2) <= scale sqrt(d) of exp(-scale² |x - c|²/2).

    Args:
        dimension: the dimension d.
        scale: one over the width (standard deviation) of the Gaussian function.
    """
    return scale * math.sqrt(2) * math.exp(math.lgamma((dimension + 1) / 2) - math.lgamma(dimension / 2))


def ridge_moment(direction: Float[Array, " d"], profile: float) -> float:
    """The moment of g(<a, x> + b) as a function of x, for any b: |a| times the moment of g in one dimension.

    Args:
        direction: the vector a in the argument <a, x> + b.
        profile: the moment of g; 1/4 for the logistic function, 1 for the limit of sin(e t)/e as e tends to 0.
    """
    return float(np.linalg.norm(np.asarray(direction))) * profile


def logistic_moment(direction: Float[Array, " d"]) -> float:
    """The moment |a|/4 of the logistic function of <a, x> + b.

    The moment equals the largest slope of the function along a/|a|, because this slope is a positive definite function.

    Args:
        direction: the vector a in the argument <a, x> + b.
    """
    return ridge_moment(direction, 0.25)


def radial_moment(transform: Callable[[Float[np.ndarray, " n"]], Array], dimension: int) -> float:
    """The moment of a radial function with transform F(|omega|): the sphere's surface times integral of r^d |F(r)|.

    The integral is computed by the trapezoidal rule in the logarithm of r between 1e-8 and 1e8, to about ten digits for
    smooth F.

    Args:
        transform: F as a function of the length.
        dimension: the dimension d.

    Raises:
        SettingError: for an integral that still grows at its upper end.
    """
    logarithm = np.linspace(math.log(1e-8), math.log(1e8), 20001)
    r = np.exp(logarithm)
    terms = r ** (dimension + 1) * np.abs(np.asarray(transform(r)))
    total = float(terms.sum()) * float(logarithm[1] - logarithm[0])
    if not (math.isfinite(total) and terms[-1] <= 1e-3 * terms.max()):
        raise SettingError(
            "Barron parameter",
            found=f"an integrand that is still {terms[-1]:.3g} at |omega| = 1e8",
            rule="a finite integral of |omega| |F(omega)|",
            remedy="use a smoother function; one with jumps or kinks has no finite Barron parameter",
        )
    return 2 * math.pi ** (dimension / 2) / math.gamma(dimension / 2) * total


def positive_definite_bound(value: float | Array, laplacian: float | Array) -> Float[Array, ""]:
    """A bound on the moment of a positive definite function (F_f >= 0): sqrt(-f(0) times the Laplacian at 0).

    Args:
        value: f(0).
        laplacian: the sum of the second derivatives at 0, at most 0.
    """
    return jnp.sqrt(-jnp.asarray(value) * jnp.asarray(laplacian))


def combination_moment(weights: Float[Array, " m"], moments: Float[Array, " m"]) -> Float[Array, ""]:
    """A bound on the moment of sum_i c_i f_i: sum_i |c_i| C_i, with equality if the spectra do not overlap.

    Args:
        weights: the factors c_i.
        moments: the moments C_i of the functions f_i.
    """
    return jnp.abs(jnp.asarray(weights)) @ jnp.asarray(moments)


def product_moment(first: tuple[float, float], second: tuple[float, float]) -> float:
    """A bound on the moment of f_1 f_2: V_1 C_2 + V_2 C_1. V_i is the integral of |F_i|, and C_i the moment of f_i.

    Args:
        first: V_1 and C_1.
        second: V_2 and C_2.
    """
    return first[0] * second[1] + second[0] * first[1]


def polynomial_extension(coefficients: Float[Array, " k"], period: float | Array) -> Float[Array, " four"]:
    """Return the coefficients, in powers of t - 1, of the cubic that continues a polynomial p(t) periodically.

    The polynomial is used on [-1, 1], and the cubic on the remaining length period - 2. The cubic joins the value and
    the slope of p at 1 to the value and the slope of p at -1. Coefficients start with the lowest power.

    Args:
        coefficients: the coefficients of p, lowest power first.
        period: the period, more than 2.
    """
    powers = jnp.arange(len(coefficients))
    value = lambda t: jnp.sum(coefficients * t**powers)
    slope = lambda t: jnp.sum(coefficients[1:] * powers[1:] * t ** (powers[1:] - 1))
    gap, length = value(-1.0) - value(1.0), period - 2
    start, end = slope(1.0), slope(-1.0)
    return jnp.stack(
        [value(1.0), start, (3 * gap / length - 2 * start - end) / length, (start + end - 2 * gap / length) / length**2]
    )


def ridge_polynomial_bound(coefficients: Float[Array, " k"], period: float | Array = 4.0) -> Float[Array, ""]:
    """A bound on the moment of p(<u, x>) on the ball, |u| = 1: period / sqrt(12) times the root mean square of g''.

    Here g is p on [-1, 1], continued by a cubic to a periodic function with continuous slopes. The Fourier coefficients
    c_m of g at omega_m = 2 pi m / period satisfy sum |omega_m| |c_m| <= sqrt(sum omega_m^-2) sqrt(sum omega_m^4
    |c_m|²), by the Cauchy-Schwarz inequality. The first sum is period²/12, and the second is the mean of g''². On the
    ball p(<u, x>) and its extension agree.

    Args:
        coefficients: the coefficients of p, lowest power first.
        period: more than 2.
    """
    coefficients = jnp.asarray(coefficients, float)
    powers = jnp.arange(len(coefficients))
    second = (coefficients * powers * (powers - 1))[2:]
    sums = powers[: len(second), None] + powers[: len(second)]
    inside = second @ jnp.where(sums % 2 == 0, 2 / (sums + 1), 0.0) @ second
    _, _, c, e = polynomial_extension(coefficients, period)
    length = period - 2
    outside = 4 * c**2 * length + 12 * c * e * length**2 + 12 * e**2 * length**3
    return period / math.sqrt(12) * jnp.sqrt((inside + outside) / period)


def polynomial_bound(
    polynomials: Sequence[Float[Array, " k"]], directions: Float[Array, "m d"], period: float = 4.0
) -> Float[Array, ""]:
    """A bound on the moment of sum_j p_j(<a_j, x>) on the unit ball: the sum of the bounds for p_j(|a_j| t).

    Every polynomial is such a sum. For example, x y = ((x + y)² - (x - y)²)/4.

    Args:
        polynomials: the coefficients of each p_j, lowest power first.
        directions: the vectors a_j, one in each row.
        period: the period of the extension, more than 2.

    Raises:
        ShapeError: if there is not one polynomial for each direction.
        SettingError: for a period of at most 2.
    """
    if len(polynomials) != len(directions):
        raise ShapeError(
            "polynomials",
            found=f"{len(polynomials)} polynomials",
            rule=f"one polynomial for each of the {len(directions)} directions",
        )
    if not period > 2:
        raise SettingError("period", found=period, rule="a number above 2, because [-1, 1] has length 2")
    bound = jnp.zeros(())
    for coefficients, direction in zip(polynomials, directions, strict=True):
        scaled = jnp.asarray(coefficients, float) * jnp.linalg.norm(direction) ** jnp.arange(len(coefficients))
        bound = bound + ridge_polynomial_bound(scaled, period)
    return bound
