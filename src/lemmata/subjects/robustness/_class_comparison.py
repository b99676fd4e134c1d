"""Whiten each class by the covariance of the other classes, and compare the largest eigenvalues of all classes."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy import linalg, stats
from sklearn.covariance import ledoit_wolf_shrinkage

FEWEST = 4  # smallest number of classes for this comparison


@dataclasses.dataclass(frozen=True)
class Compared:
    """One class compared with the other classes.

    Args:
        value: the logarithm of the ratio of two numbers. The first is the largest eigenvalue of the class's covariance
            after whitening by the other classes. The second is (1 + sqrt(d/n))², the expected largest eigenvalue of n
            rows of noise in d dimensions.
        low, high: the smallest and the largest value of the other classes.
        scores: the coordinates of the class's whitened rows along the first eigenvector.
        chance: the probability that a further draw from the distribution of the other classes' values is at least
            `value`, by Student's distribution.
        normal: the p-value of the Shapiro-Wilk test that the other classes' values are normal.
        median: the median of the other classes' values.
        bulk: the number 2 log(1 + sqrt(d/n)).
        mean, spread, free: the mean, scale and degrees of freedom of Student's distribution for a further value.
    """

    value: float
    low: float
    high: float
    scores: Float[np.ndarray, " n"]
    chance: float
    normal: float
    median: float
    bulk: float
    mean: float
    spread: float
    free: int

    def unseen(self, chance: float) -> float:
        """Return the least variance that one direction of the whitened rows must gain so that the field `chance` can
        fall to the argument `chance`.

        If a covariance matrix gains variance l in one direction, its largest eigenvalue grows by at most l (Weyl's
        inequality).
        """
        limit = self.mean + self.spread * float(stats.t.isf(chance, self.free))
        return max(float(np.exp(limit + self.bulk) - np.exp(self.value + self.bulk)), 0.0)


def compared_classes(moved: Sequence[Float[np.ndarray, "_ d"]]) -> list[Compared]:
    """Return the comparison of each class with the other classes.

    For each class, let S be the covariance within the other classes, shrunk towards a multiple of the identity by the
    rule of Ledoit and Wolf (2004). A class of rows x has the value log(top eigenvalue of S^(-1/2) cov(x) S^(-1/2)) - 2
    log(1 + sqrt(d/n)). The last term removes the effect of n rows of noise in d dimensions. Suppose that the values of
    all C classes are independent draws of one normal distribution. Take the value of one class minus the mean of the
    others, divided by their standard deviation and by sqrt(1 + 1/(C - 1)). This number follows Student's distribution
    with C - 2 degrees of freedom.

    Args:
        moved: the rows of at least four classes, each minus the mean of its class.
    """
    moved, d = _narrow(moved)
    pooled = np.concatenate(moved)
    shrinkage = float(ledoit_wolf_shrinkage(pooled, assume_centered=True))
    scatter = [rows.T @ rows for rows in moved]
    total, free = sum(scatter), len(pooled) - len(moved)
    found = []
    for rows, own in zip(moved, scatter, strict=True):
        shared = (total - own) / (free - len(rows) + 1)
        shared = (1 - shrinkage) * shared
        shared[np.diag_indices(d)] += max(shrinkage, 1e-6) * np.trace(total) / free / d
        white = linalg.solve_triangular(np.linalg.cholesky(shared), rows.T, lower=True).T
        left, singular, _ = np.linalg.svd(white, full_matrices=False)
        bulk = 2 * np.log1p(np.sqrt(d / len(rows)))
        value = 2 * np.log(singular[0]) - np.log(len(rows)) - bulk
        found.append((float(value), left[:, 0] * singular[0], float(bulk)))
    values = [value for value, *_ in found]
    return [_beside(values, number, scores, bulk) for number, (_, scores, bulk) in enumerate(found)]


def _narrow(moved: Sequence[Float[np.ndarray, "_ d"]]) -> tuple[list[np.ndarray], int]:
    """Return the rows of each class, and the number of columns. If there are more columns than rows, the new columns
    are coordinates in the span of the rows.
    """
    pooled = np.concatenate(moved)
    if pooled.shape[1] <= len(pooled):
        return list(moved), pooled.shape[1]
    _, _, span = np.linalg.svd(pooled, full_matrices=False)
    return [rows @ span.T for rows in moved], len(span)


def _beside(values: list[float], number: int, scores: np.ndarray, bulk: float) -> Compared:
    others = np.delete(values, number)
    spread = float(others.std(ddof=1)) * np.sqrt(1 + 1 / len(others))
    distance = values[number] - float(others.mean())
    chance = float(stats.t.sf(distance / spread, len(others) - 1)) if spread > 0 else float(distance <= 0)
    normal = float(stats.shapiro(others).pvalue) if spread > 0 else 1.0
    ends = float(others.min()), float(others.max())
    law = float(others.mean()), float(spread), len(others) - 1
    return Compared(values[number], *ends, scores, chance, normal, float(np.median(others)), bulk, *law)
