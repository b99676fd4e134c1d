"""Clustering: Lloyd's iteration only improves its start, and a start by distances is near the best in expectation.

For points on a line and three centres the least sum of squared distances is found exactly, since its groups are
intervals. The theory controls the expected error of a start whose centres are drawn by squared distance; it leaves open
whether groups of small squared distance are the groups that one looks for.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.subjects.textbook._unlabelled_points import GroupedPoints, PointsInGroups

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "estimator"}

_KEY = "younes2024introduction"


def least_error(points: Float[np.ndarray, " n"]) -> float:
    """The least sum of squared distances of sorted points to three centres: over all pairs of ends of intervals."""
    n = len(points)
    sums, squares = (np.concatenate([[0.0], np.cumsum(values)]) for values in (points, points**2))
    count = np.maximum(np.arange(n + 1) - np.arange(n + 1)[:, None], 1)
    part = squares - squares[:, None] - (sums - sums[:, None]) ** 2 / count
    part[np.tril_indices(n + 1)] = np.inf
    return float((part[0, :, None] + part + part[:, n]).min())


def expected_error_by_distances(points: Float[np.ndarray, " n"]) -> float:
    """The expected sum of squared distances to three centres, the first any point, each of the others a point drawn in
    proportion to its squared distance from the centres before it; over all n³ draws.
    """
    first = (points[:, None] - points) ** 2
    second = np.minimum(first[:, None], first[None])
    third = np.minimum(second[:, :, None], first)
    chosen = first / first.sum(1, keepdims=True) / len(points)
    total = second.sum(2, keepdims=True)
    last = np.divide(second, total, out=np.zeros_like(second), where=total > 0)
    return float(np.sum(chosen[:, :, None] * last * third.sum(3)))


class StartByDistances(Claim[PointsInGroups]):
    """Three centres drawn one after the other from the points, each in proportion to the squared distance from the
    centres before it, have an expected sum of squared distances of at most

        8 (log 3 + 2)

    times the least possible (Arthur and Vassilvitskii); Lloyd's iteration from there only lowers it.
    """

    title = "A start by distances is near the best centres"
    source = Source(_KEY, "Abstract, clustering", note="in expectation, with a factor")
    population = GroupedPoints()
    relation = AtMost()
    control = Control(
        "1.5 times the least possible",
        lambda bound, problem: 1.5 * bound / (8 * (np.log(3) + 2)),
        loose="the factor holds for the worst points there are",
    )
    controls = "the expected error of a start for Lloyd's iteration"
    unexplained = "that it is mostly near three times the least one"
    traced = False

    def predict(self, problem: PointsInGroups) -> Array:
        return jnp.asarray(8 * (np.log(3) + 2) * least_error(problem.points))

    def measure(self, problem: PointsInGroups, key: Key[Array, ""]) -> Array:
        """Over all draws."""
        return jnp.asarray(expected_error_by_distances(problem.points))

    def trivial(self, problem: PointsInGroups) -> Array:
        """One centre, the worst of the points."""
        return jnp.asarray(((problem.points[:, None] - problem.points) ** 2).sum(0).max())
