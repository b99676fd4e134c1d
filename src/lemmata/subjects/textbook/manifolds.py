"""Manifold learning: coordinates from distances, and groups from the second eigenvector of a graph.

The theory says how to recover points from their distances, and how well an eigenvector of the Laplacian cuts a graph.
It does not treat points near a curved surface, for which only short distances are reliable.
"""

import functools

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Claim, Control, Equal, Source
from lemmata.subjects.textbook._unlabelled_points import PointCloud, PointClouds, SmallGraph, SmallGraphs

ABOUT = {"tool": "spectral theory", "architecture": "any", "object": "spectrum"}

_SOURCE = Source("younes2024introduction", "Abstract, manifold learning")


def scaled_coordinates(distances: Float[np.ndarray, "n n"], d: int) -> Float[np.ndarray, "n d"]:
    """Coordinates by classical scaling, from the leading eigenvectors of -1/2 times centred squared distances."""
    n = len(distances)
    centre = np.eye(n) - 1 / n
    values, vectors = np.linalg.eigh(-centre @ distances**2 @ centre / 2)
    return vectors[:, n - d :] * np.sqrt(np.maximum(values[n - d :], 0.0))


def second_vibration(graph: SmallGraph) -> tuple[float, Float[np.ndarray, " n"]]:
    """Return the second eigenvalue of I - D^-1/2 W D^-1/2, and its eigenvector divided by the roots of the degrees."""
    values, vectors = np.linalg.eigh(graph.laplacian)
    return float(values[1]), vectors[:, 1] / np.sqrt(graph.weights.sum(1))


def conductance(graph: SmallGraph, inside: Float[np.ndarray, "sets n"]) -> Float[np.ndarray, " sets"]:
    """Return the weight between a set (a row of 0 and 1) and its complement, divided by the smaller sum of degrees."""
    degrees = graph.weights.sum(1)
    cut = np.einsum("si,ij,sj->s", inside, graph.weights, 1 - inside)
    return cut / np.minimum(inside @ degrees, (1 - inside) @ degrees)


@functools.cache
def subsets(n: int) -> Float[np.ndarray, "sets n"]:
    """Return all nonempty sets of vertices that do not contain the last vertex."""
    return ((np.arange(1, 2 ** (n - 1))[:, None] >> np.arange(n)) & 1).astype(float)


class ScalingRecoversDistances(Claim[PointCloud]):
    """Let D be the matrix of the distances between n points in R^d. The coordinates of classical scaling are the d
    leading eigenvectors of

        -1/2 (I - 11'/n) D² (I - 11'/n),   where D² contains the squared distances,

    times the square roots of their eigenvalues. The points with these coordinates have the distances D.
    """

    title = "Classical (multidimensional) scaling recovers points from their distances"
    source = _SOURCE
    population = PointClouds()
    relation = Equal(block=-1)
    control = Control(
        "the distances are not squared",
        lambda found, problem: jnp.asarray(PointCloud(scaled_coordinates(np.sqrt(problem.distances), 1)).distances),
    )
    controls = "the distances between embedded points"
    unexplained = "distances along a curved surface, which need not be distances of points in space"
    traced = False

    def predict(self, problem: PointCloud) -> Array:
        return jnp.asarray(problem.distances)

    def measure(self, problem: PointCloud, key: Key[Array, ""]) -> Array:
        """The distances between the embedded points."""
        return jnp.asarray(PointCloud(scaled_coordinates(problem.distances, problem.points.shape[1])).distances)

    def condition(self, problem: PointCloud) -> Array:
        """Return the condition number of coordinates that are roots of eigenvalues."""
        values = np.linalg.svd(problem.points - problem.points.mean(0), compute_uv=False)
        return jnp.asarray(len(problem.points) * (values[0] / values[-1]) ** 2)


class CutByEigenvector(Claim[SmallGraph]):
    """Let W be the weights of a graph with n vertices, and D the diagonal matrix of the degrees. Let l be the second
    smallest eigenvalue of the Laplacian I - D^-1/2 W D^-1/2 of the graph. The conductance of a cut is the weight of the
    edges that it cuts, divided by the sum of degrees on the smaller side. Divide the entries of the eigenvector of l by
    the square roots of the degrees, and sort the vertices by the results. Among the n - 1 cuts of this order into a
    first and a last part, at least one has conductance at most

        sqrt(2 l)   (Cheeger).
    """

    title = "The second eigenvector of a graph finds a cut of small conductance"
    source = _SOURCE
    population = SmallGraphs()
    relation = AtMost()
    control = Control("the conductance is at most a quarter of the bound", lambda bound, problem: bound / 4)
    controls = "the cut that spectral clustering finds"
    unexplained = "more than two groups"
    traced = False
    trivial = 1.0  # everything is cut

    def predict(self, problem: SmallGraph) -> Array:
        return jnp.asarray(np.sqrt(2 * second_vibration(problem)[0]))

    def measure(self, problem: SmallGraph, key: Key[Array, ""]) -> Array:
        """The least conductance of the cuts along the eigenvector."""
        order = second_vibration(problem)[1].argsort()
        n = len(order)
        inside = np.zeros((n - 1, n))
        inside[:, order] = np.tril(np.ones((n - 1, n)))
        return jnp.asarray(conductance(problem, inside).min())


class GraphIsNotCutBelow(Claim[SmallGraph]):
    """Let W be the weights of a graph, D the diagonal matrix of its degrees, and l the second smallest eigenvalue of
    its Laplacian I - D^-1/2 W D^-1/2. The conductance of a cut is the weight of the edges that it cuts, divided by the
    sum of degrees on the smaller side. No cut of the graph has conductance below

        l/2.
    """

    title = "No cut of a graph has conductance below half the second eigenvalue"
    source = _SOURCE
    population = SmallGraphs()
    relation = AtLeast()
    control = Control("no cut is below 1.5 times the eigenvalue", lambda bound, problem: 3 * bound)
    controls = "the smallest conductance of a cut"
    unexplained = "how to find the best cut"
    traced = False
    trivial = 0.0  # nothing is cut

    def predict(self, problem: SmallGraph) -> Array:
        return jnp.asarray(second_vibration(problem)[0] / 2)

    def measure(self, problem: SmallGraph, key: Key[Array, ""]) -> Array:
        """The least conductance over all sets of vertices."""
        return jnp.asarray(conductance(problem, subsets(len(problem.weights))).min())
