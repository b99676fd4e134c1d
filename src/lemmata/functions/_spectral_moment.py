"""Estimate the Barron parameter numerically: from a Fourier transform, values on a grid, or scattered values.

In this file, the Barron parameter of f is the integral of |omega| |F(omega)| over all frequencies omega, without
|f(0)|. F is the Fourier transform of f.
"""

import dataclasses
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.errors import SettingError, ShapeError

_LOWEST, _HIGHEST = math.log(1e-6), math.log(1e6)
_GROWING = 0.9  # if the integral converges, each shell must contribute less than this factor times the shell before
_NEGLIGIBLE = 1e-6


@dataclasses.dataclass(frozen=True)
class SpectralMoment:
    """An estimate of the integral of |omega| |F(omega)|.

    Args:
        value: the estimate of the integral.
        standard_error: the standard error that is due to random frequencies; 0 if none are drawn.
        truncation: an estimate of the error from other causes. The docstring of the function that returns the estimate
            describes this error.
        median: a length; half of the integral comes from frequencies with |omega| below this length.
    """

    value: float
    standard_error: float
    truncation: float
    median: float


def radial_terms(
    transform: Callable[[Float[Array, "n d"]], Array],
    uniform: Float[Array, " n"],
    normal: Float[Array, "n d"],
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Return lengths r_i, and terms whose mean is the integral of |omega| |F(omega)| over 1e-6 <= |omega| <= 1e6.

    The range of log |omega| is divided into n equal parts, and one length is drawn in each. Directions are uniform.

    Args:
        transform: the function F, which returns one value for each row.
        uniform: independent uniform numbers.
        normal: independent standard normal numbers.
    """
    n, d = normal.shape
    span = _HIGHEST - _LOWEST
    radius = jnp.exp(_LOWEST + span * (jnp.arange(n) + uniform) / n)
    omega = radius[:, None] * normal / jnp.linalg.norm(normal, axis=1, keepdims=True)
    surface = 2 * math.pi ** (d / 2) / math.gamma(d / 2)
    return radius, span * surface * radius ** (d + 1) * jnp.abs(transform(omega))


def spectral_moment(
    transform: Callable[[Float[Array, "n d"]], Array],
    dimension: int,
    key: Key[Array, ""],
    *,
    number: int = 2**16,
) -> SpectralMoment:
    """Estimate the integral of |omega| |F(omega)| over all frequencies omega, for a function F that can be evaluated.

    The standard error is computed from differences between neighbouring parts (strata) of the range of |omega|.
    `truncation` is the part of the integral beyond |omega| = 1e6, extrapolated from the last two half decades by a
    geometric series. Frequencies below 1e-6 are left out. The moment counts as infinite if the last half decade
    contributes more than 1e-6 of the value, and at least 0.9 times as much as the half decade before. The reason is
    that such slow tails cannot be distinguished from tails with an infinite moment. Atoms and lines of F are not
    detected, because they have no density.

    Args:
        transform: F, or a bound of F, with one value for each row; f(x) = integral of exp(i <omega, x>) F(omega).
        dimension: the dimension d of x and omega.
        key: the random key.
        number: the number of frequencies that are drawn.

    Raises:
        SettingError: for values that are not finite, or an infinite moment.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.functions import spectral_moment
        >>> found = spectral_moment(lambda w: jnp.exp(-jnp.sum(w**2, axis=1) / 2), 2, jax.random.key(0))
        >>> abs(found.value / (2 * jnp.pi * (jnp.pi / 2) ** 0.5) - 1) < 0.01
        True
    """
    first, second = jax.random.split(key)
    uniform, normal = jax.random.uniform(first, (number,)), jax.random.normal(second, (number, dimension))
    radius, terms = (np.asarray(part) for part in radial_terms(transform, uniform, normal))
    if not np.isfinite(terms).all():
        raise SettingError("Fourier transform", found="values that are not finite", rule="a bounded density",
                           remedy="if the transform of the function has atoms, write the function as `Cosines`; "
                                  "if it has lines, write it as `LogisticNetworks`")  # fmt: skip
    value = float(terms.mean())
    decades = math.log(radius[-1] / radius[0]) / math.log(10)
    half = max(int(number / (2 * decades)), 1)
    last, before = float(terms[-half:].sum()) / number, float(terms[-2 * half : -half].sum()) / number
    truncation = _continued(last, before, value, "frequencies")
    pairs = terms[: 2 * (number // 2)].reshape(-1, 2)
    error = math.sqrt(float(np.sum(np.diff(pairs, axis=1) ** 2))) / number
    median = float(radius[min(np.searchsorted(np.cumsum(terms), terms.sum() / 2), number - 1)])
    return SpectralMoment(value, error, truncation, median)


def _continued(last: float, before: float, value: float, what: str) -> float:
    """Extrapolate the integral beyond the last shell (range of |omega|) from two shells, by a geometric series."""
    if last <= _NEGLIGIBLE * value:
        return last
    if last >= _GROWING * before:
        raise SettingError(
            "Barron parameter", found=(
                f"contributions of {before:.3g} and {last:.3g} from the last two shells of {what} to the integral"
            ),
            rule="a finite integral of |omega| |F(omega)|",
            remedy=("use a finer grid; if the function has jumps or kinks, its parameter is infinite, so smooth the "
                    "function"),
        )  # fmt: skip
    return last * (last / before) / (1 - last / before)


def moment_from_grid(values: Float[Array | np.ndarray, "..."], side: float) -> SpectralMoment:
    """Compute the Barron parameter of an extension of f from the unit ball; f is given on a grid of [-side, side)^d.

    First, the mean of f over 1 < |x| < side is subtracted from f. The difference is multiplied by a smooth function of
    |x|, which is 1 on the ball and 0 beyond `side`. The coefficients of the periodic result, c_k = mean of f exp(-i
    <omega_k, x>), give sum |omega_k| |c_k|. This sum is the Barron parameter of the extension, and the result. The
    result is exact if the product is band-limited, and never below the smallest parameter of all extensions of f from
    the ball. The result can be far above this smallest parameter, if a wider margin or another extension has a smaller
    parameter. The result can also be below the parameter of f itself on the whole space. `truncation` is the difference
    from the result for every second grid value, plus the part of the sum at frequencies beyond the grid, extrapolated
    from the last octaves. Noise in the values counts as roughness of f.

    Args:
        values: f on the product grid with m values in each dimension, where m is a multiple of 4.
        side: half the length of the cube's edge, more than 1.

    Raises:
        ShapeError: for a grid with unequal sides or a wrong number of points.
        SettingError: if side is at most 1, or if the contributions do not fall from one octave of frequencies to the
            next.
    """
    values = np.asarray(values, float)
    m, d = values.shape[0], values.ndim
    if d < 1 or set(values.shape) != {m} or m % 4 or m < 16:
        raise ShapeError(
            "values",
            found=f"shape {values.shape}",
            rule="axes of equal length, which is a multiple of 4 and at least 16",
        )
    if not side > 1:
        raise SettingError(
            "side",
            found=side,
            rule="a number above 1, because the function is extended into a margin around the unit ball",
            remedy="use a larger side",
        )
    axis = -side + 2 * side / m * np.arange(m)
    radius = np.sqrt(sum(part**2 for part in np.meshgrid(*d * [axis], indexing="ij")))
    product = (values - values[(radius > 1) & (radius < side)].mean()) * _taper((radius - 1) / (side - 1))
    fine, coarse = _coefficients(product, side), _coefficients(product[d * (slice(None, None, 2),)], side)
    value = float(np.sum(fine[0] * fine[1]))
    top = fine[0].max() / math.sqrt(d)
    shell = lambda low, high: float(np.sum((fine[0] * fine[1])[(fine[0] > low * top) & (fine[0] <= high * top)]))
    beyond = _continued(shell(0.5, 1.0), shell(0.25, 0.5), value, "the grid's frequencies")
    order = np.argsort(fine[0], axis=None)
    parts = np.cumsum((fine[0] * fine[1]).reshape(-1)[order])
    median = float(fine[0].reshape(-1)[order][np.searchsorted(parts, parts[-1] / 2)])
    return SpectralMoment(value, 0.0, abs(value - float(np.sum(coarse[0] * coarse[1]))) + beyond, median)


def _taper(s: np.ndarray) -> np.ndarray:
    """A smooth step function: 1 for s <= 0, 0 for s >= 1, with all derivatives continuous."""
    s = np.clip(s, 1e-9, 1 - 1e-9)
    return 1 / (1 + np.exp(np.clip(1 / (1 - s) - 1 / s, -700, 700)))


def _coefficients(values: np.ndarray, side: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the lengths of the frequencies and the absolute values of the Fourier coefficients."""
    m, d = values.shape[0], values.ndim
    omega = np.pi / side * np.fft.fftfreq(m, 1 / m)
    length = np.sqrt(sum(part**2 for part in np.meshgrid(*d * [omega], indexing="ij")))
    return length, np.abs(np.fft.fftn(values)) / values.size


def moment_from_samples(
    x: Float[Array | np.ndarray, "..."],
    y: Float[Array | np.ndarray, "..."],
    key: Key[Array, ""],
    *,
    width: float = 0.5,
    ridge: float = 1e-6,
    number: int = 4096,
) -> SpectralMoment:
    """Estimate the Barron parameter of a Gaussian kernel regression on scattered values.

    The fit sum_i alpha_i exp(-|x - x_i|²/(2 width²)) has the moment E |omega| |sum_i alpha_i exp(-i <omega, x_i>)|,
    where omega is normal with standard deviation 1/width. `truncation` is the difference from the moment of a fit to
    every second value. This difference shows whether there are enough values. `truncation` does not show features of f
    that a fit of this width cannot represent. If the ridge is smaller than the noise, the estimate grows with the
    noise.

    Args:
        x: the points, one per row.
        y: the value of f at each point.
        key: the random key.
        width: the width of the kernel.
        ridge: the ridge of the regression, which is added to the diagonal of the kernel matrix.
        number: the number of frequencies that are drawn.

    Raises:
        ShapeError: if there is not one value for each point, or for fewer than 4 points.
        SettingError: for a width or ridge that is not positive.
    """
    if x.ndim != 2 or y.shape != x.shape[:1] or len(x) < 4:
        raise ShapeError(
            "x and y",
            found=f"shapes {x.shape} and {y.shape}",
            rule="x must have shape (n, d) with at least 4 points, and y must have one value for each point",
        )
    if not (width > 0 and ridge > 0):
        raise SettingError("width and ridge", found=f"width={width} and ridge={ridge}", rule="positive numbers")
    omega = np.asarray(jax.random.normal(key, (number, x.shape[1]))) / width

    def terms(points: np.ndarray, values: np.ndarray) -> np.ndarray:
        squares = np.sum((points[:, None] - points) ** 2, axis=2)
        alpha = np.linalg.solve(np.exp(-squares / (2 * width**2)) + ridge * np.eye(len(points)), values)
        return np.linalg.norm(omega, axis=1) * np.abs(np.exp(-1j * omega @ points.T) @ alpha)

    points, values = np.asarray(x, float), np.asarray(y, float) - float(np.mean(y))
    whole, half = terms(points, values), terms(points[::2], values[::2])
    length = np.linalg.norm(omega, axis=1)
    order = np.argsort(length)
    parts = np.cumsum(whole[order])
    median = float(length[order][np.searchsorted(parts, parts[-1] / 2)])
    error = float(whole.std(ddof=1)) / math.sqrt(number)
    return SpectralMoment(float(whole.mean()), error, abs(float(whole.mean() - half.mean())), median)
