"""Clustering: a random start by squared distances is near the best centres in expectation, and Lloyd's iteration only
improves the start.

The test problems are points on a line with three centres. For these, the least sum of squared distances can be
computed exactly, since the best groups are intervals. The theory bounds the expected error of a start whose centres
are drawn in proportion to squared distances. It does not say whether groups with small squared distances are the
groups that the user wants.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.subjects.textbook._unlabelled_points import GroupedPoints, PointsInGroups

ABOUT = {"tool": "combinatorics", "architecture": "any", "object": "estimator"}

_KEY = "younes2024introduction"


def least_error(points: Float[np.ndarray, " n"]) -> float:
    """Return the least sum of squared distances of sorted points to three centres, over all cuts into intervals."""
    n = len(points)
    sums, squares = (np.concatenate([[0.0], np.cumsum(values)]) for values in (points, points**2))
    count = np.maximum(np.arange(n + 1) - np.arange(n + 1)[:, None], 1)
    part = squares - squares[:, None] - (sums - sums[:, None]) ** 2 / count
    part[np.tril_indices(n + 1)] = np.inf
    return float((part[0, :, None] + part + part[:, n]).min())


def expected_error_by_distances(points: Float[np.ndarray, " n"]) -> float:
    """Return the expected sum of squared distances to three random centres, over all n³ draws.

    The first centre is a uniformly drawn point. Each other centre is a point drawn in proportion to its squared
    distance from the centres before it.
    """
    first = (points[:, None] - points) ** 2
    second = np.minimum(first[:, None], first[None])
    third = np.minimum(second[:, :, None], first)
    chosen = first / first.sum(1, keepdims=True) / len(points)
    total = second.sum(2, keepdims=True)
    last = np.divide(second, total, out=np.zeros_like(second), where=total > 0)
    return float(np.sum(chosen[:, :, None] * last * third.sum(3)))


class StartByDistances(Claim[PointsInGroups]):
    """Choose three centres at random from given points. Draw the first centre uniformly from the points. Draw each
    further centre from the points, with a probability proportional to the squared distance of a point from the nearest
    centre so far. The cost is the sum of the squared distances of all points from their nearest centres. Its expected
    value is at most

        8 (log 3 + 2)

    times the smallest possible cost (Arthur and Vassilvitskii). Lloyd's iteration from this start never raises the
    cost.
    """

    title = "Seeding three centres by k-means++ has an expected cost of at most 8 (log 3 + 2) times the smallest cost"
    source = Source(_KEY, "Abstract, clustering", note="in expectation, with a factor")
    population = GroupedPoints()
    relation = AtMost()
    control = Control(
        "the expected sum is at most 1.5 times the least possible",
        lambda bound, problem: 1.5 * bound / (8 * (np.log(3) + 2)),
        loose="the factor holds for the worst set of points",
    )
    controls = "the expected error of a start for Lloyd's iteration"
    unexplained = "why the error of the start is usually near three times the least error"
    traced = False

    def predict(self, problem: PointsInGroups) -> Array:
        return jnp.asarray(8 * (np.log(3) + 2) * least_error(problem.points))

    def measure(self, problem: PointsInGroups, key: Key[Array, ""]) -> Array:
        """The expected sum of squared distances, computed over all draws of the three centres."""
        return jnp.asarray(expected_error_by_distances(problem.points))

    def trivial(self, problem: PointsInGroups) -> Array:
        """Return the sum of squared distances to a single centre, placed at the worst of the points."""
        return jnp.asarray(((problem.points[:, None] - problem.points) ** 2).sum(0).max())
