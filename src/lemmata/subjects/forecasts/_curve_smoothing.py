"""Smoothing of measured learning curves. In the model, ln(error) as a function of ln(size) is a straight line plus a
Gaussian process.
"""

import dataclasses
import math

import numpy as np
from jaxtyping import Float

AMPLITUDES, LENGTHS, NOISES = (0.02, 0.1, 0.4), (1.0, 3.0), (0.25, 0.5, 1.0, 2.0, 4.0)
"""The candidates for the amplitude (in ln error) and the length scale (in ln n) of the deviation from the line, and for
the factor that multiplies the noise."""
TRUST = 0.7
"""The standard deviation of the normal prior of ln(noise factor). The factor is variable, because standard errors are
only estimates."""
UNKNOWN, UNKNOWN_TRUST = 0.03, 1.5
"""The relative noise, and the standard deviation of the normal prior of ln(noise factor), if a standard error is not
known."""
LEVEL_DEVIATION, SLOPE_DEVIATION = 5.0, 1.0
LEAST_NOISE = 1e-3
"""The smallest relative noise that a measurement is assumed to have."""


@dataclasses.dataclass(frozen=True)
class Smoothed:
    """The posterior of ln(error + offset) for a batch of curves, one curve in each row.

    Args:
        logs: ln n of the measured sizes.
        offset: the number that is added to an error before the logarithm, so that errors of 0 have a logarithm.
        values: the measured ln(error + offset).
        noise: the relative standard deviation of each measurement, times the chosen noise factor.
        amplitude, length: the chosen amplitude and length scale of the deviation from the line.
        factor, weights: the Cholesky factor of the covariance of the measurements, and the inverse of this covariance
            times the vector of the measurements minus the last one.
    """

    logs: Float[np.ndarray, "b s"]
    offset: Float[np.ndarray, " b"]
    values: Float[np.ndarray, "b s"]
    noise: Float[np.ndarray, "b s"]
    amplitude: Float[np.ndarray, " b"]
    length: Float[np.ndarray, " b"]
    factor: Float[np.ndarray, "b s s"]
    weights: Float[np.ndarray, "b s"]

    def at(self, logs: Float[np.ndarray, "b q"]) -> tuple[Float[np.ndarray, "b q"], Float[np.ndarray, "b q"]]:
        """Return mean and variance of ln(error + offset) at the given ln n."""
        last = self.logs[:, -1:]
        cross = _covariance(logs, self.logs, last, self.amplitude, self.length)
        mean = self.values[:, -1:] + (cross @ self.weights[:, :, None])[:, :, 0]
        half = np.linalg.solve(self.factor, np.swapaxes(cross, 1, 2))
        own = LEVEL_DEVIATION**2 + SLOPE_DEVIATION**2 * (logs - last) ** 2 + self.amplitude[:, None] ** 2
        return mean, np.maximum(own - (half**2).sum(1), LEAST_NOISE**2 / 4)


def smooth(
    sizes: Float[np.ndarray, "b s"], measured: Float[np.ndarray, "b s"], se: Float[np.ndarray, "b s"]
) -> Smoothed:
    """Fit ln(error + offset) = level + slope ln n + deviation + noise to each row. Level and slope are integrated out.

    The deviation is a Matern 3/2 process in ln n. The function chooses the amplitude, the length scale and a factor of
    the noise from a small grid. The choice maximises the marginal likelihood times the prior of the factor.

    Args:
        sizes: the sizes of each curve in increasing order. A row that is shorter than others begins with repetitions of
            its first size, with infinite se.
        measured: mean errors, at least 0.
        se: standard errors of the measurements. An entry is nan if the error is unknown, and inf for padding.
    """
    padded = np.isinf(se)
    offset = _offset(measured, se, padded)
    shifted = np.maximum(measured + offset[:, None], np.finfo(float).tiny)
    # a measured 0 may be any number below the smallest positive error, so its standard error is at least the offset
    error = np.where(measured > 0, se, np.maximum(np.nan_to_num(se), offset[:, None]))
    unknown = np.isnan(error)
    relative = np.where(unknown | padded, 0.0, error) / shifted
    noise = np.where(unknown, UNKNOWN, np.maximum(relative, LEAST_NOISE))
    noise = np.where(padded, 1e4, noise)
    trust = np.where(unknown.any(1), UNKNOWN_TRUST, TRUST)
    powers = np.where(unknown.any(1), 1.6, 1.0)[:, None]
    logs = np.log(sizes)
    values = np.log(shifted)
    best = None
    for amplitude in AMPLITUDES:
        for length in LENGTHS:
            shape = [np.full(len(sizes), number) for number in (amplitude, length)]
            prior = _covariance(logs, logs, logs[:, -1:], *shape)
            for power in NOISES:
                scaled = np.maximum(noise * power**powers, LEAST_NOISE)
                found = _posterior(prior, scaled, values - values[:, -1:])
                evidence = found[2] - (powers[:, 0] * math.log(power)) ** 2 / (2 * trust**2)
                best = _better(best, (evidence, scaled, *shape, found[0], found[1]))
    assert best is not None
    return Smoothed(logs, offset, values, *best[1:])


def _offset(measured: np.ndarray, se: np.ndarray, padded: np.ndarray) -> np.ndarray:
    """Return 0.3 times the larger standard error of the last two sizes. If there are errors of 0, return at least half
    of the smallest positive error. Always return at least 1e-9 times the largest error.
    """
    known = np.where(np.isfinite(se), se, 0.0)
    largest = np.where(padded, 0.0, measured).max(1)
    largest = np.where(largest > 0, largest, 1.0)
    smallest = np.where((measured > 0) & ~padded, measured, np.inf).min(1)
    zeros = ((measured <= 0) & ~padded).any(1)
    smallest = np.where(zeros & np.isfinite(smallest), 0.5 * smallest, 0.0)
    return np.maximum(np.maximum(0.3 * known[:, -2:].max(1), smallest), 1e-9 * largest)


def _covariance(
    a: np.ndarray, b: np.ndarray, last: np.ndarray, amplitude: np.ndarray, length: np.ndarray
) -> Float[np.ndarray, "b q s"]:
    """Return the prior covariance of ln(error) at ln n = a with ln(error) at ln n = b. The level and the slope of the
    line refer to ln n = last.
    """
    distance = np.abs(a[:, :, None] - b[:, None, :]) * (math.sqrt(3) / length)[:, None, None]
    wiggle = (amplitude**2)[:, None, None] * (1 + distance) * np.exp(-distance)
    return LEVEL_DEVIATION**2 + SLOPE_DEVIATION**2 * (a - last)[:, :, None] * (b - last)[:, None, :] + wiggle


def _posterior(prior: np.ndarray, noise: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the Cholesky factor, covariance^-1 values, and the log marginal likelihood up to a constant."""
    covariance = prior + np.eye(noise.shape[1]) * (noise**2)[:, :, None]
    factor = np.linalg.cholesky(covariance)
    weights = np.linalg.solve(covariance, values[:, :, None])[:, :, 0]
    # the noise of padding differs between candidates only by the noise factor, which must not change the likelihood
    diagonal = np.log(np.diagonal(factor, axis1=1, axis2=2))
    counted = np.where(noise > 100, 0.0, diagonal).sum(1)
    return factor, weights, -0.5 * (values * weights).sum(1) - counted


def _better(best: tuple | None, found: tuple) -> tuple:
    """Return, for each row, the candidate with the larger evidence (marginal likelihood), which is its first field."""
    if best is None:
        return found
    wins = found[0] > best[0]
    return tuple(
        np.where(wins.reshape(-1, *(1,) * (new.ndim - 1)), new, old) for old, new in zip(best, found, strict=True)
    )
