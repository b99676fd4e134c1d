"""The spectrum of the rows of one class, compared with the spectrum of isotropic noise."""

import dataclasses

import numpy as np
from jaxtyping import Float
from scipy import stats

from ._poisoning import bulk_median

# a shifted gamma distribution approximates Tracy and Widom's distribution for real matrices (Chiani, 2014)
_SHAPE, _SCALE, _SHIFT = 46.446, 0.186054, 9.84801
FEWEST = 10  # smallest number of eigenvalues whose distribution is checked


@dataclasses.dataclass(frozen=True)
class Bulk:
    """The eigenvalues of the covariance of n rows in r dimensions, compared with the eigenvalues of isotropic noise.

    Args:
        values: the positive eigenvalues, the largest first.
        scores: the coordinates of the rows along the first eigenvector.
        gamma: the ratio r/n.
        noise: the variance of the noise in each direction, from the median eigenvalue.
        misplaced: the largest difference, over all points of the real line, between two numbers: the number of
            eigenvalues below the point, and the number that the Marchenko-Pastur distribution predicts.
        allowed: the largest value of `misplaced` for which the rows count as isotropic.
    """

    values: Float[np.ndarray, " k"]
    scores: Float[np.ndarray, " n"]
    gamma: float
    noise: float
    misplaced: float
    allowed: float

    @property
    def isotropic(self) -> bool | None:
        """Whether the eigenvalues agree with isotropic rows (`misplaced` is at most `allowed`). None if there are fewer
        than 10 eigenvalues.
        """
        return None if len(self.values) < FEWEST else self.misplaced <= self.allowed

    @property
    def edge(self) -> float:
        """The upper end (1 + sqrt(gamma))² noise of the eigenvalues of isotropic noise in the limit of many rows."""
        return self.noise * (1 + np.sqrt(self.gamma)) ** 2

    def chance(self, number: int) -> float:
        """Return the probability that n isotropic rows have a largest eigenvalue of at least `values[number]`.

        The probability is computed from the Tracy-Widom distribution with Johnstone's centre and scale, for n rows
        whose mean was subtracted.
        """
        centre, scale = self._johnstone()
        normal = (len(self.scores) * self.values[number] / self.noise - centre) / scale
        return float(stats.gamma.sf(normal + _SHIFT, _SHAPE, scale=_SCALE))

    def _johnstone(self) -> tuple[float, float]:
        root, side = np.sqrt(len(self.scores) - 1.5), np.sqrt(max(self.gamma * len(self.scores) - 0.5, 0.5))
        return float((root + side) ** 2), float((root + side) * (1 / root + 1 / side) ** (1 / 3))

    def spike(self) -> float:
        """Return the spike l >= sqrt(gamma) for which the largest eigenvalue is (1 + l)(1 + gamma/l) noise.

        A spike is extra variance in one direction, in units of the noise.
        """
        return self._spike_of(self.values[0] / self.noise)

    def unseen(self, chance: float) -> float:
        """Return the spike with an eigenvalue that the largest eigenvalue of noise exceeds with probability `chance`.
        Smaller spikes look like noise.
        """
        centre, scale = self._johnstone()
        normal = float(stats.gamma.isf(chance, _SHAPE, scale=_SCALE)) - _SHIFT
        return max(self._spike_of((centre + scale * normal) / len(self.scores)), float(np.sqrt(self.gamma)))

    def _spike_of(self, ratio: float) -> float:
        middle = ratio - 1 - self.gamma
        return float((middle + np.sqrt(max(middle**2 - 4 * self.gamma, 0.0))) / 2)


def bulk_of(moved: Float[np.ndarray, "n d"], dimension: int) -> Bulk:
    """Compute the spectrum of rows whose mean was subtracted.

    Args:
        moved: the rows, with mean 0.
        dimension: the number r of dimensions that the features span.
    """
    n = len(moved)
    left, singular, _ = np.linalg.svd(moved, full_matrices=False)
    values = singular[: min(n - 1, dimension)] ** 2 / n
    gamma = dimension / n
    noise = float(np.median(values)) / bulk_median(gamma)
    misplaced = _misplaced(values / noise, gamma) if noise > 0 else float(len(values))
    # Counts of eigenvalues vary little. In 60 draws of 10 to 200 isotropic eigenvalues each, `misplaced` was at most
    # this number.
    allowed = 1.2 + 0.6 * np.log(len(values))
    return Bulk(values, left[:, 0] * singular[0], gamma, noise, misplaced, float(allowed))


def _misplaced(values: Float[np.ndarray, " k"], gamma: float) -> float:
    """Return k times the largest difference between the empirical distribution of k values and the Marchenko-Pastur
    distribution.
    """
    ratio, factor = min(gamma, 1 / gamma), max(gamma, 1.0)
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    # the substitution x = middle - half cos(t) removes the square roots of the density at both ends
    angles = np.linspace(0, np.pi, 2001)
    points = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
    density = np.sin(angles) ** 2 / np.maximum(points, np.finfo(float).tiny)
    if ratio == 1:
        density[0] = 1.0  # the limit of sin(t)²/(2 - 2 cos(t)) at 0
    mass = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    expected = np.interp(np.sort(values), factor * points, mass / mass[-1]) * len(values)
    found = np.arange(len(values))
    return float(max((expected - found).max(), (found + 1 - expected).max()))
