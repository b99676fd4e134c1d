"""Random data without labels: points in groups on a line, points in space, non-negative tables, and weighted graphs."""

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Key
from scipy.sparse.csgraph import connected_components

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.generators import generator_of


class PointsInGroups(eqx.Module):
    """Sorted points on a line, which lie in three groups."""

    points: Float[np.ndarray, " n"]


class GroupedPoints(Population[PointsInGroups]):
    """Three groups of points on a line, with distances of 4 to 12 between their centres."""

    settings = Space(points=Integer(12, 6, 30, "points", corners=(9, 15)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PointsInGroups:
        """Draw normal points of variance 1 around the three centres in turn, and sort all points."""
        rng, n = generator_of(key), setting["points"]
        centres = np.cumsum(rng.uniform(4.0, 12.0, 3))
        points = np.sort(centres[np.arange(n) % 3] + rng.standard_normal(n))
        return PointsInGroups(points)

    def hypotheses(self, problem: PointsInGroups) -> list[Hypothesis]:
        count = len(np.unique(problem.points))
        return [Hypothesis("different points", count, ">", 3, "otherwise three centres have no error")]


class PointCloud(eqx.Module):
    """Points in d-dimensional space, one in each row."""

    points: Float[np.ndarray, "n d"]

    @property
    def distances(self) -> Float[np.ndarray, "n n"]:
        """The distances between all pairs of points."""
        return np.linalg.norm(self.points[:, None] - self.points, axis=2)


class PointClouds(Population[PointCloud]):
    """Normal points with a standard deviation of 1/2 to 2 along each axis, around a random point."""

    settings = Space(
        n=Integer(8, 3, 40, "points", corners=(8, 12)), d=Integer(3, 1, 10, "dimension", corners=(2, 4))
    ).where("there are at least two more points than dimensions", lambda s: s["n"] > s["d"] + 1)

    def sample(self, setting: dict, key: Key[Array, ""]) -> PointCloud:
        rng, shape = generator_of(key), (setting["n"], setting["d"])
        return PointCloud(
            rng.standard_normal(shape) * rng.uniform(0.5, 2.0, shape[1]) + 3 * rng.standard_normal(shape[1])
        )

    def hypotheses(self, problem: PointCloud) -> list[Hypothesis]:
        least = np.linalg.svd(problem.points - problem.points.mean(0), compute_uv=False)[-1]
        return [Hypothesis("least singular value of the cloud", least, ">", 1e-6, "the points span d dimensions")]


class FactoredTable(eqx.Module):
    """A nonnegative table V, and factors W and H that approximate it."""

    table: Float[np.ndarray, "n m"]
    left: Float[np.ndarray, "n k"]
    right: Float[np.ndarray, "k m"]


class FactoredTables(Population[FactoredTable]):
    """Nonnegative tables W H + noise with few factors, and approximate factors after a random number of steps."""

    settings = Space(
        n=Integer(8, 3, 60, "rows"),
        m=Integer(6, 3, 60, "columns"),
        factors=Integer(2, 1, 5, "factors", corners=(2, 3)),
    ).where("there are fewer factors than rows and columns", lambda s: s["factors"] < min(s["n"], s["m"]))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FactoredTable:
        """Draw a table, and factors after 0 to 12 steps of alternating least squares. Entries of the factors are kept
        at 0.01 or above in each step.
        """
        rng = generator_of(key)
        n, m, k = setting["n"], setting["m"], setting["factors"]
        table = rng.uniform(size=(n, k)) @ rng.uniform(size=(k, m)) + 0.3 * rng.uniform(size=(n, m))
        left, right = rng.uniform(0.1, 1.0, (n, k)), rng.uniform(0.1, 1.0, (k, m))
        for _ in range(rng.integers(13)):
            right = np.maximum(np.linalg.lstsq(left, table)[0], 0.01)
            left = np.maximum(np.linalg.lstsq(right.T, table.T)[0].T, 0.01)
        return FactoredTable(table, left, right)

    def hypotheses(self, problem: FactoredTable) -> list[Hypothesis]:
        least = min(problem.left.min(), problem.right.min())
        return [
            Hypothesis("least entry of the factors", least, ">", 0.0, "entries that are 0 stay 0"),
            Hypothesis(
                "least entry of the table",
                problem.table.min(),
                ">=",
                0.0,
                "nonnegative factors cannot fit negative entries",
            ),
        ]


class SmallGraph(eqx.Module):
    """A weighted graph: a symmetric matrix of weights with a zero diagonal."""

    weights: Float[np.ndarray, "n n"]

    @property
    def laplacian(self) -> Float[np.ndarray, "n n"]:
        """The normalised Laplacian I - D^-1/2 W D^-1/2, where W is the matrix of weights and D the diagonal matrix of
        degrees.
        """
        root = np.sqrt(self.weights.sum(1))
        return np.eye(len(root)) - self.weights / root[:, None] / root


class SmallGraphs(Population[SmallGraph]):
    """Paths, pairs of dense groups with weak edges between the groups, and graphs with random weights.

    Each kind is 1/3 of the problems.
    """

    settings = Space(vertices=Integer(8, 4, 12, "vertices", corners=(6, 10)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SmallGraph:
        rng, n = generator_of(key), setting["vertices"]
        size, kind, place = rng.uniform(0.8, 1.0, (n, n)), rng.integers(3), np.arange(n)
        if kind == 0:
            size = size * (place[:, None] + 1 == place)
        elif kind == 1:
            size = size * np.where((place[:, None] < n // 2) == (place < n // 2), 1.0, 0.01)
        else:
            size = size * rng.uniform(size=(n, n))
        size = np.triu(size, 1)
        return SmallGraph(size + size.T)

    def hypotheses(self, problem: SmallGraph) -> list[Hypothesis]:
        count = connected_components(problem.weights, directed=False)[0]
        return [Hypothesis("number of components of the graph", count, "==", 1, "the graph is connected")]
