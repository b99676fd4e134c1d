"""Smoothing of measured learning curves. In the logarithms of size and error, a curve is a straight line plus a
Gaussian process.
"""

import dataclasses
import math

import numpy as np
from jaxtyping import Float

AMPLITUDES, LENGTHS, NOISES = (0.02, 0.1, 0.4), (1.0, 3.0), (0.25, 0.5, 1.0, 2.0, 4.0)
"""The candidates for the amplitude (in ln error) and the length (in ln n) of the deviation from the line, and for the
noise factor."""
TRUST = 0.7
"""The prior standard deviation of the logarithm of the noise factor. This logarithm has a normal prior, because
standard errors are only estimates."""
UNKNOWN, UNKNOWN_TRUST = 0.03, 1.5
"""The relative noise and the prior standard deviation of its logarithm, if no standard error is given."""
LEVEL_DEVIATION, SLOPE_DEVIATION = 5.0, 1.0
LEAST_NOISE = 1e-3
"""The smallest relative noise that a measurement is assumed to have."""


@dataclasses.dataclass(frozen=True)
class Smoothed:
    """The posterior of ln(error + offset) for a batch of curves, one curve in each row.

    Args:
        logs: ln n of the measured sizes.
        offset: the amount that is added to an error before its logarithm is taken, so that zeros have a logarithm.
        values: the measured ln(error + offset).
        noise: the relative standard deviation of each measurement, times the chosen noise factor.
        amplitude, length: the chosen amplitude and length of the deviation from the line.
        factor, weights: the Cholesky factor of the covariance of the measurements, and the inverse of the covariance
            times the measurements.
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
    """Fit ln(error + offset) = level + slope ln n + wiggle + noise to each row. Level and slope are integrated out.

    The wiggle is a Matern 3/2 process in ln n. A small grid is searched for the amplitude, the length and a factor of
    the noise. They maximise the marginal likelihood times the prior of the factor.

    Args:
        sizes: the sizes of each curve in increasing order. A row that is shorter than others repeats its first size
            with infinite se.
        measured: mean errors, at least 0.
        se: standard errors of the measurements, nan if unknown, and inf if the entry is padding.
    """
    padded = np.isinf(se)
    offset = _offset(measured, se, padded)
    shifted = np.maximum(measured + offset[:, None], np.finfo(float).tiny)
    # a zero means anything below the smallest observed error: a factor of e either way
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
    """Return about a third of the standard error at the end. If there are errors of 0, return at least half of the
    smallest positive error.
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
    """Return the prior covariance of ln(error) between ln n in a and ln n in b, relative to the level at ln n =
    last.
    """
    distance = np.abs(a[:, :, None] - b[:, None, :]) * (math.sqrt(3) / length)[:, None, None]
    wiggle = (amplitude**2)[:, None, None] * (1 + distance) * np.exp(-distance)
    return LEVEL_DEVIATION**2 + SLOPE_DEVIATION**2 * (a - last)[:, :, None] * (b - last)[:, None, :] + wiggle


def _posterior(prior: np.ndarray, noise: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the Cholesky factor, covariance^-1 values, and the log marginal likelihood up to a constant."""
    covariance = prior + np.eye(noise.shape[1]) * (noise**2)[:, :, None]
    factor = np.linalg.cholesky(covariance)
    weights = np.linalg.solve(covariance, values[:, :, None])[:, :, 0]
    # the padding's noise is the same for all candidates, up to its factor, which must not count
    diagonal = np.log(np.diagonal(factor, axis1=1, axis2=2))
    counted = np.where(noise > 100, 0.0, diagonal).sum(1)
    return factor, weights, -0.5 * (values * weights).sum(1) - counted


def _better(best: tuple | None, found: tuple) -> tuple:
    """Return, row by row, the entry with the larger evidence. The evidence is the first field."""
    if best is None:
        return found
    wins = found[0] > best[0]
    return tuple(
        np.where(wins.reshape(-1, *(1,) * (new.ndim - 1)), new, old) for old, new in zip(best, found, strict=True)
    )
