"""Rows of each class, whitened by the other classes, and how far its largest eigenvalue is from theirs."""

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float
from scipy import linalg, stats
from sklearn.covariance import ledoit_wolf_shrinkage

FEWEST = 4  # classes from which one can be compared with the others


@dataclasses.dataclass(frozen=True)
class Compared:
    """One class compared with the other classes.

    Args:
        value: log of the largest eigenvalue of its covariance, whitened by the other classes, over (1 + sqrt(d/n))².
        low, high: the smallest and the largest such value of the other classes.
        scores: its rows along the eigenvector.
        chance: the probability that a draw from the normal distribution of the other values is as large, by Student's
            distribution.
        normal: the p-value of Shapiro and Wilk's test that the other values are normal.
        median: of the other values.
        bulk: log (1 + sqrt(d/n))².
        mean, spread, free: of Student's law for a further value, with its degrees of freedom.
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
        """How much variance, in units of the whitened rows, no direction may gain before the chance falls to this.

        A covariance that gains l in one direction has a largest eigenvalue of at most the sum of the two (Weyl).
        """
        limit = self.mean + self.spread * float(stats.t.isf(chance, self.free))
        return max(float(np.exp(limit + self.bulk) - np.exp(self.value + self.bulk)), 0.0)


def compared_classes(moved: Sequence[Float[np.ndarray, "_ d"]]) -> list[Compared]:
    """Each class compared with the others.

    Let S be the covariance within the other classes, shrunk towards a multiple of the identity by the rule of Ledoit
    and Wolf (2004). A class of rows x has the value log(top eigenvalue of S^(-1/2) cov(x) S^(-1/2))
    - 2 log(1 + sqrt(d/n)): the last term is what n rows of noise in d dimensions add. Suppose that the values of clean
      classes are independent draws of one normal distribution. Take a further draw minus their mean, divided by their
      standard deviation and by sqrt(1 + 1/(C - 1)). It follows Student's distribution with C - 2 degrees of freedom.

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
    """The same rows in the coordinates of their span, if they have more columns than there are rows."""
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
