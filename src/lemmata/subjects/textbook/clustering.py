"""Clustering: Lloyd's iteration stops anywhere, and a start by distances bounds how bad that can be.

For points on a line and three centres the least sum of squared distances is found exactly, since its groups are
intervals. The theory controls the expected error of a start whose centres are drawn by squared distance; it leaves open
whether groups of small squared distance are the groups that one looks for.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Equal, Source, Status
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


def lloyd(points: Float[np.ndarray, " n"], centres: Float[np.ndarray, " k"], steps: int = 100) -> float:
    """The sum of squared distances after Lloyd's iteration: nearest centres, then their points' means."""
    for _ in range(steps):
        nearest = np.abs(points[:, None] - centres).argmin(1)
        before = centres
        centres = np.array([points[nearest == j].mean() if (nearest == j).any() else c for j, c in enumerate(centres)])
        if (centres == before).all():
            break
    return float(((points[:, None] - centres) ** 2).min(1).sum())


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


class LloydFindsTheBestAsOftenRead(Claim[PointsInGroups]):
    """As often read: Lloyd's iteration from three points drawn at random finds the three centres with the least sum of
    squared distances.

    Two centres that start in one group share it, and the third stands between the other two groups.
    """

    title = "Lloyd's iteration finds the best centres"
    source = Source(_KEY, "Abstract, clustering", note="as often read")
    population = GroupedPoints()
    relation = Equal()
    control = Control("the best is a tenth better", lambda value, problem: value / 1.1)
    controls = "the error of three centres"
    unexplained = "how often a random start is good"
    expected = Status.REFUTED
    traced = False

    def predict(self, problem: PointsInGroups) -> Array:
        return jnp.asarray(lloyd(problem.points, problem.start))

    def measure(self, problem: PointsInGroups, key: Key[Array, ""]) -> Array:
        """Over all intervals."""
        return jnp.asarray(least_error(problem.points))

    def condition(self, problem: PointsInGroups) -> Array:
        """A sum of squares from moments."""
        return jnp.asarray(len(problem.points) * np.sum(problem.points**2) / least_error(problem.points))


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
    corrects = LloydFindsTheBestAsOftenRead
    traced = False

    def predict(self, problem: PointsInGroups) -> Array:
        return jnp.asarray(8 * (np.log(3) + 2) * least_error(problem.points))

    def measure(self, problem: PointsInGroups, key: Key[Array, ""]) -> Array:
        """Over all draws."""
        return jnp.asarray(expected_error_by_distances(problem.points))

    def trivial(self, problem: PointsInGroups) -> Array:
        """One centre, the worst of the points."""
        return jnp.asarray(((problem.points[:, None] - problem.points) ** 2).sum(0).max())
