"""The distance W1 between distributions, in its two forms, and its size between samples.

This theory computes W1 exactly for finite distributions and gives its size for samples. It assumes independent draws.
It does not explain critics that are not optimal.
"""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.optimize import linear_sum_assignment, linprog
from scipy.sparse.csgraph import floyd_warshall
from scipy.spatial.distance import cdist

from lemmata.engine.claims import (
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Limit,
    Population,
    Rate,
    Source,
    Space,
)
from lemmata.engine.problems.drawn import Drawn, log_uniform, normal, positive
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.variables import dimension, rows

ABOUT = {
    "tool": "empirical processes",
    "architecture": "any",
    "object": "estimator",
    "TransportDuality": {"tool": "convex optimisation", "object": "inequality"},
    "TranslatedSample": {"tool": "information theory", "object": "inequality"},
}


def _cheapest(costs: np.ndarray) -> float:
    """Return the mean cost of the best assignment.

    If costs are distances, this is W1 between two samples of equal size.
    """
    return float(costs[linear_sum_assignment(costs)].mean())


class TwoSamples(eqx.Module):
    """A finite metric space and two samples of its points."""

    metric: Float[np.ndarray, "points points"]
    p: Int[np.ndarray, " n"]
    q: Int[np.ndarray, " n"]


class FiniteMetrics(Population[TwoSamples]):
    """Random finite metrics. In half of the problems, distances are lengths of shortest paths in a graph with random
    weights; in the others, they are distances of points in the plane.
    """

    settings = Space(points=Integer(24, 4, 60, "points"), n=rows(30, 5, 80))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TwoSamples:
        rng, count = generator_of(key), setting["points"]
        plane = rng.standard_normal((count, 2))
        lengths = np.triu(rng.exponential(size=(count, count)), 1)
        metric = cdist(plane, plane) if rng.uniform() < 0.5 else floyd_warshall(lengths + lengths.T)
        p, q = rng.integers(0, count, (2, setting["n"]))
        return TwoSamples(metric, p, q)

    def hypotheses(self, problem: TwoSamples) -> list[Hypothesis]:
        detour = np.min(problem.metric[:, :, None] + problem.metric[None], axis=1) - problem.metric
        return [
            Hypothesis(
                "the largest amount by which a detour is shorter than the direct way",
                -detour.min(),
                "<=",
                1e-12,
                "the distances are a metric",
            )
        ]


class TransportDuality(Claim[TwoSamples]):
    """Let P and Q be distributions on a finite metric space. The smallest mean distance E d(X, Y) over all pairs of
    variables X ~ P and Y ~ Q is

        max E_P f - E_Q f

    over all functions f with |f(x) - f(y)| <= d(x, y) for all x and y. Both numbers are the distance W1(P, Q).
    """

    title = "The least transport cost equals the largest difference of means of a 1-Lipschitz function"
    source = Source("emergence2026", "Theorem 14.8", "Figure 14.7", "Figure 14.9", note="on finite spaces")
    population = FiniteMetrics()
    relation = Equal()
    control = Control("critics may have slope 1.05", lambda cost, problem: 1.05 * cost)
    controls = "the objective of a critic of bounded slope"
    unexplained = "critics whose slope is bounded only at some points"
    traced = False

    def predict(self, problem: TwoSamples) -> Array:
        """Compute the distance by the best assignment of the two samples."""
        return jnp.asarray(_cheapest(problem.metric[np.ix_(problem.p, problem.q)]))

    def measure(self, problem: TwoSamples, key: Key[Array, ""]) -> Array:
        """Find the best critic by linear programming.

        The last step makes the slope of the critic at most 1 up to rounding.
        """
        count = len(problem.metric)
        masses = (np.bincount(own, minlength=count) / len(own) for own in (problem.p, problem.q))
        excess = np.subtract(*masses)
        i, j = np.nonzero(~np.eye(count, dtype=bool))
        slopes = np.zeros((len(i), count))
        slopes[np.arange(len(i)), i], slopes[np.arange(len(i)), j] = 1.0, -1.0
        bounds = [(0, 0)] + [(None, None)] * (count - 1)
        found = linprog(-excess, A_ub=slopes, b_ub=problem.metric[i, j], bounds=bounds)
        critic = np.min(found.x[:, None] + problem.metric, axis=0)
        return jnp.asarray(excess @ critic)

    condition = 1e4  # the linear program ends at a vertex, which is the solution of a linear system


class Translate(eqx.Module):
    """A sample, and the direction and length of a shift."""

    sample: Float[Array, "n d"]
    direction: Float[Array, " d"]
    distance: Float[Array, ""]

    @property
    def moved(self) -> Float[Array, "n d"]:
        """The sample after the shift."""
        return self.sample + self.distance * self.direction / jnp.linalg.norm(self.direction)


class TranslatedSample(Claim[Translate]):
    """Let P be uniform on n points, and let Q be the distribution of X + v for X ~ P, where v is a vector for which no
    point of Q is a point of P. Then

        W1(P, Q) = |v|,    JS(P, Q) = log 2,

    where JS is the Jensen-Shannon divergence with natural logarithms. So W1 falls as a generator approaches the data.
    JS stays at log 2 as long as the supports are disjoint, and is 0 only if the generator matches the data exactly. For
    n = 1, P and Q are two point masses.
    """

    title = "Shifting a sample by v to new points gives the distance W1 = |v|, but the Jensen-Shannon divergence log 2"
    source = Source("emergence2026", "Figure 14.8", "Figure 14.6", note="for every finite distribution")
    population = Drawn(
        Translate,
        positive("distance", "the supports are disjoint"),
        sample=normal("n", "d"),
        direction=normal("d"),
        distance=log_uniform(0.01, 10.0),
        n=rows(30, 1, 200),
        d=dimension(3, 1),
    )
    relation = Equal()
    control = Control("both numbers are 0.98 times as large", lambda values, problem: 0.98 * values)
    controls = "the signal of a critic if the supports are disjoint"
    unexplained = "shapes that differ by more than a shift"
    traced = False

    def predict(self, problem: Translate) -> Array:
        return jnp.stack([problem.distance, jnp.log(2.0)])

    def measure(self, problem: Translate, key: Key[Array, ""]) -> Array:
        """Compute W1 by the best assignment, and JS from the probabilities of all points of both samples."""
        first, second = np.asarray(problem.sample), np.asarray(problem.moved)
        _, place = np.unique(np.concatenate([first, second]), axis=0, return_inverse=True)
        p, q = (np.bincount(own, minlength=place.max() + 1) / len(first) for own in np.split(place.ravel(), 2))
        terms = [own[own > 0] * np.log(2 * own[own > 0] / (p + q)[own > 0]) for own in (p, q)]
        return jnp.asarray([_cheapest(cdist(first, second)), sum(each.sum() for each in terms) / 2])

    def condition(self, problem: Translate) -> Array:
        """Allow for the rounding of coordinates before their subtraction, and for a sum over n pairs."""
        return len(problem.sample) * (1 + jnp.max(jnp.abs(problem.sample)) / problem.distance)


class FlatSupport(eqx.Module):
    """A uniform distribution on a cube of k dimensions, which a matrix with orthonormal columns maps into d
    dimensions.
    """

    basis: Float[Array, "d k"]

    @property
    def embedding(self) -> Float[Array, "d k"]:
        """A matrix with orthonormal columns."""
        return jnp.linalg.qr(self.basis)[0]


_AMBIENT = Integer(20, 16, 40, "dimension of the space")


class SamplesOnFlatSupport(Claim[FlatSupport]):
    """Let P be uniform on a cube of k >= 3 dimensions in a space of d > k dimensions. Let P_n and Q_n be the empirical
    distributions of two independent samples of n rows. Then E W1(P_n, Q_n) is of order n^(-1/k). This rate depends on
    the dimension k of the support, but not on d. So if k is large, W1 between two samples falls very slowly with n,
    even if the generator of the second sample is perfect.
    """

    title = "The distance W1 between two samples of n rows falls like n^(-1/k) for a support of dimension k"
    source = Source("weed2019", "Main result", note="for cubes; the rate is due to Dudley (1969)")
    stated = Kind.THEOREM
    population = Drawn(FlatSupport, basis=normal("d", "k"), k=Integer(3, 3, 5, "dimension of the support"), d=_AMBIENT)
    relation = Rate("n", (64.0, 128.0, 256.0, 512.0), margin=0.06, resolution=0.06)
    control = Control(
        "the distance falls like n^(-1/d)", lambda exponent, problem: exponent * 0 - 1 / len(problem.basis)
    )
    controls = "how well a sample can be matched by a generator"
    unexplained = "the constant, and supports of two dimensions, for which a logarithm occurs"
    trials = 24
    traced = False

    def predict(self, problem: FlatSupport) -> Array:
        return jnp.asarray(-1 / problem.basis.shape[1])

    def measure_at(self, problem: FlatSupport, key: Key[Array, ""], rung: float) -> Array:
        x, y = generator_of(key).uniform(size=(2, int(rung), problem.basis.shape[1])) @ np.asarray(problem.embedding).T
        return jnp.asarray(_cheapest(cdist(x, y)))


class SamplesOnSegment(Claim[FlatSupport]):
    """Let P be uniform on a segment in a space of d dimensions, and let P_n and Q_n be the empirical distributions of
    two independent samples of n rows. Then E W1(P_n, Q_n) is of order n^(-1/2), for every d.
    """

    title = "The distance W1 between two samples of n rows from a segment falls like n^(-1/2)"
    source = SamplesOnFlatSupport.source
    stated = Kind.THEOREM
    population = Drawn(FlatSupport, basis=normal("d", 1), d=_AMBIENT)
    relation = Rate("n", (64.0, 128.0, 256.0, 512.0, 1024.0), margin=0.05, resolution=0.05)
    control = Control("the distance falls like n^(-1/3)", lambda exponent, problem: exponent + 1 / 6)
    controls = SamplesOnFlatSupport.controls
    unexplained = "the constant"
    trials = 32
    traced = False
    predict = -0.5

    def measure_at(self, problem: FlatSupport, key: Key[Array, ""], rung: float) -> Array:
        """Average over 16 pairs of samples.

        The points of a pair of samples are matched in their order along the segment.
        """
        line = np.asarray(problem.embedding)[:, 0]
        points = generator_of(key).uniform(size=(2, 16, int(rung), 1)) * line
        x, y = np.sort(points @ line)
        return jnp.asarray(np.abs(x - y).mean())


class RowsPerDimension(eqx.Module):
    """The normal distribution N(0, scale² I/d), from which d times `each` rows are drawn."""

    scale: Float[Array, ""]
    each: int = eqx.field(static=True)


class SampleFarFromItsLaw(Claim[RowsPerDimension]):
    """Let P = N(0, s² I/d), and let P_m be the empirical distribution of m independent rows x_i. Let log(m)/d tend to
    0, as it does for every m that is polynomial in d. Let X ~ P be independent of the rows, and let E be the mean over
    X and the rows. Then

        E min_i |X - x_i| <= E W1(P, P_m) <= E |X - x_1| <= sqrt(2) s,

    and for d -> infinity the first term tends to sqrt(2) s. So a sample of polynomial size is as far from its own
    distribution as two independent points are from each other. In one dimension, the first term tends to 0. The test
    uses m = c d with whole numbers c.

    Derivation: a coupling moves X to some x_i, which gives the first inequality, and the independent coupling gives the
    second. For one row, |X - x_i|² has the mean 2 s² and a variance of about 6 s⁴/d given X. So the smallest squared
    distance to m rows is about 2 s² (1 - sqrt(3 log(m)/d)). For d = 1600 and m = 4 d, the smallest distance therefore
    differs from its limit by at most 7 %.
    """

    title = "In high dimension, W1 between a sample and its distribution tends to sqrt(2) times the norm of a draw"
    source = Source("emergence2026", "Proposition 14.11", "Figure 14.10", note="with the limit")
    stated = Kind.OWN
    population = Drawn(
        RowsPerDimension,
        positive("scale"),
        scale=log_uniform(0.1, 10.0),
        each=Integer(1, 1, 4, "rows per dimension", corners=(1, 2)),
    )
    relation = Limit("d", (100.0, 400.0, 1600.0), margin=0.08, resolution=0.03)
    control = Control("the limit is 1, the length of a row", lambda limit, problem: limit / jnp.sqrt(2.0))
    controls = "the distance of a sample from its distribution"
    unexplained = "distributions on sets of low dimension, for which W1 falls"
    trials = 16
    traced = False

    def predict(self, problem: RowsPerDimension) -> Array:
        return jnp.sqrt(2.0) * problem.scale

    def measure_at(self, problem: RowsPerDimension, key: Key[Array, ""], rung: float) -> Array:
        """Return the mean distance of 16 fresh points to the nearest row, minus a mean in one dimension.

        That mean is √d times the mean distance of the points' first coordinates to the nearest first coordinate of a
        row.
        """
        rng, d = generator_of(key), int(rung)
        draws = rng.standard_normal((problem.each * d + 16, d))
        near = [cdist(own[:16], own[16:]).min(axis=1).mean() for own in (draws / np.sqrt(d), draws[:, :1])]
        return problem.scale * (near[0] - near[1])
