"""Estimate how smooth a target is relative to a kernel, from the decay of its power over the kernel's eigenvectors."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_numbers
from lemmata.errors import DataError, SettingError, ShapeError

from ._alignment import target_power
from ._eigensystem import Spectrum

_LEAST_SEEN, _LEAST_ROWS = 4, 24
_LEAST_FLOOR = 1e-6  # the smallest floor, as a share of the mean power over the second half of the indices


@dataclasses.dataclass(frozen=True)
class Smoothness:
    """The interpolation smoothness of a target f, with the fit that it comes from.

    Args:
        estimate: the smoothness s, which is the largest s for which sum_i f_i² / lambda_i^s is finite. Here f_i is the
            coefficient of f in the kernel's i-th eigenfunction, and f_i² is its power, which decays like i^slope. The
            lambda_i are the kernel's eigenvalues.
        error: the standard error of s, from the scatter of the powers about the fit.
        slope: the slope of log power against log index, -(s beta + 1).
        decay: the exponent beta in lambda_i ~ i^-beta, given or fitted.
        indices: the first and the last index at which the signal is above the floor. If the floor was not removed, the
            first and the last index of the fit.
        floor: the power of the noise in every eigenvector (mode); 0 if the floor was not removed.
        amplitude: the amplitude A in E p_i = A i^slope + floor, where p_i is the power in mode i.
    """

    estimate: float
    error: float
    slope: float
    decay: float
    indices: tuple[int, int]
    floor: float
    amplitude: float


def smoothness(
    spectrum: Spectrum,
    y: Float[Array, " rows"] | Float[np.ndarray, " rows"],
    *,
    decay: float | None = None,
    truncation: int | None = None,
    remove_floor: bool = True,
) -> Smoothness:
    """Estimate the interpolation smoothness s of the regression function f, the mean of y at given inputs.

    For labels +-1, f is 2 eta - 1, where eta is the probability of the label 1. Let u_i be eigenvectors of K/n with
    eigenvalues lambda_i ~ i^-beta. The power p_i = <u_i, y>²/n estimates f_i², the squared coefficient of f in the
    kernel's eigenbasis. If f_i² ~ i^-(s beta + 1), a line through log p_i against log i has the slope -(s beta + 1).
    However, noise of variance v adds v/n to every mode (for labels +-1, v = E (1 - f²)). So a line over a fixed number
    of indices becomes flatter, and the estimate of s becomes too small.

    This function fits

        E p_i = A i^-(s beta + 1) + floor

    where the floor is the mean power over the second half of the indices, minus the mean of A i^-(s beta + 1) there. So
    a power law without noise is fitted exactly. On targets with such a power law, the mean of the estimate is within
    0.1 of s. On other targets, the estimate is biased. For example, let labels have the mean cos 2 pi x and take the
    kernel min(x, x'), for which s = 1/2. The estimate is 0.67 at 5000 rows and 0.72 at 2400, and 0.57 at 5000 without
    noise. In these three cases, a straight line over 100 indices gives 0.46, 0.32 and 0.51. The sum of power law and
    floor is fitted by the quasi-likelihood of powers, sum_i p_i / E p_i + log E p_i, over the first half. Indices at
    which the floor is above the signal A i^-(s beta + 1) have little weight. The signal must be above the floor at four
    indices or more.

    Noise of labels does not affect the kernel's eigenvalues. So, if beta is not given, beta is estimated by the slope
    of -log lambda_i against log i over many indices, also those without a signal. These indices are sqrt(n) <= i <=
    n/4, as far as eigenvalues are above rounding. Kernels on an interval have eigenvalues like (i + c)^-beta, where c
    is between -1/2 and a number that grows with the inverse lengthscale. For such eigenvalues, the slope of -log
    lambda_i against log i is beta i/(i + c). So the first indices, over which the signal is fitted, would give a wrong
    beta (2.5 instead of 2 for min(x, x')). Beyond n/4, eigenvalues of K/n differ from those of the kernel. At 1200
    random points, the fitted beta is within 2 per cent of the truth, and within 5 per cent for beta above 4. At 300
    points, these limits are 4 and 8 per cent.

    Args:
        spectrum: the eigensystem of the Gram matrix K (that of K/n gives the same result).
        y: values or labels +-1, one in each row. If constants are not in the kernel's space, subtract the mean from y
            first.
        decay: the exponent beta, if it is known. With None, beta is fitted to the eigenvalues. The standard error
            treats beta as known.
        truncation: the last index of the fit; None means n/2 (100 if the floor is not removed).
        remove_floor: whether to remove the floor. False fits log p_i against log i over i <= truncation, and keeps the
            floor. The second fit is the plain truncation method, which is biased under noise.

    Raises:
        ShapeError: if y has another number of rows, or more than one column, or there are fewer than 24 rows.
        SettingError: for a decay that is not positive or a truncation outside 3..n.
        DataError: if fewer than four indices are above the noise level, too few eigenvalues are above rounding errors
            to fit a decay, or some values are not finite.

    Reference: Lai, Li, Huang and Lin 2024; the floor is an addition of lemmata.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.spectra import smoothness, spectrum
        >>> x = (jnp.arange(200) + 0.5) / 200
        >>> found = smoothness(spectrum(jnp.minimum(x[:, None], x)), jnp.cos(2 * jnp.pi * x), decay=2.0)
        >>> bool(0.3 < found.estimate < 0.9)  # 1/2 for this function
        True
    """
    n = len(spectrum.eigenvalues)
    if y.shape != (n,) or n < _LEAST_ROWS:
        rule = f"one label for each of the {n} rows, and at least {_LEAST_ROWS} rows"
        raise ShapeError("labels", found=f"shape {y.shape}", rule=rule)
    check_numbers("labels", y)
    if decay is not None and not 0 < decay < np.inf:
        raise SettingError("decay", found=decay, rule="a finite number above 0, or None")
    last = truncation if truncation is not None else n // 2 if remove_floor else min(100, n)
    if isinstance(last, bool) or not isinstance(last, int | np.integer) or not 3 <= last <= n:
        raise SettingError("truncation", found=truncation, rule=f"a whole number from 3 to {n}, or None")
    power = np.asarray(target_power(spectrum, jnp.asarray(y))) / n
    decay = _decay(spectrum) if decay is None else float(decay)
    if remove_floor:
        return _without_floor(power, decay, int(last))
    index = np.arange(1, last + 1)
    kept = power[:last] > 0
    slope, error, height = _line(np.log(index[kept]), np.log(power[:last][kept]))
    return _smoothness((slope, error, height), decay, (1, int(last)), 0.0)


def _decay(spectrum: Spectrum) -> float:
    """Minus the slope of log eigenvalue against log index, from sqrt(n) to n/4 or to where rounding begins."""
    values = np.asarray(spectrum.eigenvalues)
    n = len(values)
    above = int(np.sum(np.cumprod(values > max(float(spectrum.floor), 0.0))))
    last = min(max(n // 4, math.isqrt(n) + _LEAST_SEEN - 1), above)
    first = max(1, min(math.isqrt(n), last // 4))
    if last - first + 1 < _LEAST_SEEN:
        rule = f"at least {_LEAST_SEEN} eigenvalues, which are needed to fit a slope"
        raise DataError(
            "eigenvalues",
            found=f"{above} eigenvalues above rounding errors",
            rule=rule,
            remedy="pass decay= if you know the exponent",
        )
    index = np.arange(first, last + 1)
    return -_line(np.log(index), np.log(values[first - 1 : last]))[0]


def _without_floor(power: np.ndarray, decay: float, last: int) -> Smoothness:
    from scipy.optimize import minimize  # slow to import

    half = len(power) // 2
    level_there = float(power[half:].mean())
    index, there = np.log(np.arange(1, last + 1)), np.log(np.arange(half + 1, len(power) + 1))
    unit = float(power.max())
    if not unit > 0:
        raise DataError(
            "power of the labels",
            found="0 in every mode",
            rule="nonzero power in at least one mode",
            remedy="pass labels that are not all 0",
        )
    least = max(_LEAST_FLOOR * level_there, float(np.finfo(float).tiny))
    power = power[:last]

    def model(unknown: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """The signal, the floor, and the derivatives of their sum with respect to log A and the exponent."""
        level, gamma = unknown
        signal = unit * np.exp(np.clip(level - gamma * index, -700.0, 700.0))
        own = unit * np.exp(np.clip(level - gamma * there, -700.0, 700.0)) / len(there)
        floor = level_there - float(own.sum())
        held = floor > least
        slopes = np.stack([signal - held * own.sum(), held * (own @ there) - signal * index])
        return signal, max(floor, least), slopes

    def objective(unknown: np.ndarray) -> tuple[float, np.ndarray]:
        signal, floor, slopes = model(unknown)
        mean = signal + floor
        return float(np.sum(power / mean + np.log(mean / unit))), slopes @ ((1 - power / mean) / mean)

    options = {"jac": True, "bounds": [(-60.0, 60.0), (-5.0, 30.0)], "options": {"ftol": 1e-14, "gtol": 1e-8}}
    starts = [minimize(objective, [0.0, gamma], **options) for gamma in (1.0, 3.0)]
    best = min(starts, key=lambda found: found.fun).x
    signal, floor, slopes = model(best)
    seen = int(np.sum(np.cumprod(signal > floor)))
    if seen < _LEAST_SEEN or best[1] <= 0:
        raise DataError(
            "power of the labels",
            found=f"{seen} modes in which the power decays and is above the noise level {floor:.3g}",
            rule=f"at least {_LEAST_SEEN} such modes",
            remedy="use more rows, or a kernel whose leading modes represent the target",
        )
    # the sandwich estimator: the scatter of the slopes of the objective between two inverses of its curvature
    design = (slopes / (signal + floor)).T
    scatter = (design * (power / (signal + floor) - 1)[:, None] ** 2).T @ design
    bread = np.linalg.inv(design.T @ design)
    error = float(np.sqrt((bread @ scatter @ bread)[1, 1]))
    return _smoothness((-best[1], error, unit * float(np.exp(best[0]))), decay, (1, seen), floor)


def _line(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """The slope of the least-squares line, its standard error from the residuals, and e^height at x = 0."""
    spread = np.sum((x - x.mean()) ** 2)
    slope = np.sum((x - x.mean()) * y) / spread
    height = y.mean() - slope * x.mean()
    rest = np.sum((y - height - slope * x) ** 2) / max(len(x) - 2, 1)
    return float(slope), float(np.sqrt(rest / spread)), float(np.exp(height))


def _smoothness(line: tuple[float, float, float], decay: float, indices: tuple[int, int], floor: float) -> Smoothness:
    slope, error, amplitude = line
    return Smoothness((-slope - 1) / decay, error / abs(decay), slope, decay, indices, floor, amplitude)
