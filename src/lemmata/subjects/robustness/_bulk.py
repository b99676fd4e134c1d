"""The spectrum of the rows of one class, compared with the spectrum of isotropic noise."""

import dataclasses

import numpy as np
from jaxtyping import Float
from scipy import stats

from ._poisoning import bulk_median

# Tracy and Widom's distribution of real matrices as a shifted gamma distribution (Chiani, 2014)
_SHAPE, _SCALE, _SHIFT = 46.446, 0.186054, 9.84801
FEWEST = 10  # eigenvalues from which their law can be checked


@dataclasses.dataclass(frozen=True)
class Bulk:
    """The eigenvalues of the covariance of n rows in r dimensions, compared with those of isotropic noise.

    Args:
        values: the positive eigenvalues, the largest first.
        scores: the coordinates of the rows along the first eigenvector.
        gamma: the ratio r/n.
        noise: the variance of the noise in each direction, from the median eigenvalue.
        misplaced: for a point, take the number of eigenvalues below the point and the number that the Marchenko-Pastur
            distribution predicts. `misplaced` is the largest difference between these two numbers over all points.
        allowed: the largest `misplaced` that counts as isotropic.
    """

    values: Float[np.ndarray, " k"]
    scores: Float[np.ndarray, " n"]
    gamma: float
    noise: float
    misplaced: float
    allowed: float

    @property
    def isotropic(self) -> bool | None:
        """Whether the eigenvalues fit isotropic rows. None if there are too few eigenvalues to decide."""
        return None if len(self.values) < FEWEST else self.misplaced <= self.allowed

    @property
    def edge(self) -> float:
        """(1 + sqrt(gamma))² noise, the upper end of the eigenvalues of noise."""
        return self.noise * (1 + np.sqrt(self.gamma)) ** 2

    def chance(self, number: int) -> float:
        """Return the chance that isotropic rows have a largest eigenvalue of at least `values[number]`.

        The chance comes from the Tracy-Widom distribution with Johnstone's centre and scale, for n rows whose mean was
        subtracted.
        """
        centre, scale = self._johnstone()
        normal = (len(self.scores) * self.values[number] / self.noise - centre) / scale
        return float(stats.gamma.sf(normal + _SHIFT, _SHAPE, scale=_SCALE))

    def _johnstone(self) -> tuple[float, float]:
        root, side = np.sqrt(len(self.scores) - 1.5), np.sqrt(max(self.gamma * len(self.scores) - 0.5, 0.5))
        return float((root + side) ** 2), float((root + side) * (1 / root + 1 / side) ** (1 / 3))

    def spike(self) -> float:
        """Return the spike l >= sqrt(gamma) for which (1 + l)(1 + gamma/l) noise is the first eigenvalue."""
        return self._spike_of(self.values[0] / self.noise)

    def unseen(self, chance: float) -> float:
        """Return the spike whose eigenvalue noise exceeds with this chance. Smaller spikes look like noise."""
        centre, scale = self._johnstone()
        normal = float(stats.gamma.isf(chance, _SHAPE, scale=_SCALE)) - _SHIFT
        return max(self._spike_of((centre + scale * normal) / len(self.scores)), float(np.sqrt(self.gamma)))

    def _spike_of(self, ratio: float) -> float:
        middle = ratio - 1 - self.gamma
        return float((middle + np.sqrt(max(middle**2 - 4 * self.gamma, 0.0))) / 2)


def bulk_of(moved: Float[np.ndarray, "n d"], dimension: int) -> Bulk:
    """Compute the spectrum of rows whose mean was subtracted.

    Args:
        moved: the rows.
        dimension: the number r of dimensions that the features span.
    """
    n = len(moved)
    left, singular, _ = np.linalg.svd(moved, full_matrices=False)
    values = singular[: min(n - 1, dimension)] ** 2 / n
    gamma = dimension / n
    noise = float(np.median(values)) / bulk_median(gamma)
    misplaced = _misplaced(values / noise, gamma) if noise > 0 else float(len(values))
    # Counts of eigenvalues are rigid. In 60 draws of 10 to 200 isotropic eigenvalues each, at most this many were out
    # of place.
    allowed = 1.2 + 0.6 * np.log(len(values))
    return Bulk(values, left[:, 0] * singular[0], gamma, noise, misplaced, float(allowed))


def _misplaced(values: Float[np.ndarray, " k"], gamma: float) -> float:
    """Return k times the largest difference between the distribution of k values and the Marchenko-Pastur law."""
    ratio, factor = min(gamma, 1 / gamma), max(gamma, 1.0)
    low, high = (1 - np.sqrt(ratio)) ** 2, (1 + np.sqrt(ratio)) ** 2
    # x = middle - half cos(t) removes the square roots at both ends
    angles = np.linspace(0, np.pi, 2001)
    points = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
    density = np.sin(angles) ** 2 / np.maximum(points, np.finfo(float).tiny)
    if ratio == 1:
        density[0] = 1.0  # the limit of sin(t)²/(2 - 2 cos(t)) at 0
    mass = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2)])
    expected = np.interp(np.sort(values), factor * points, mass / mass[-1]) * len(values)
    found = np.arange(len(values))
    return float(max((expected - found).max(), (found + 1 - expected).max()))
