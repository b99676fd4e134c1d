"""Errors on a high-dimensional sphere: the distance to the nearest error.

This theory describes the mean distance from a random point of the unit sphere of R^n to a set of errors, using only the
measure of the set. Caps are the farthest sets of a given measure, and even their mean distance is only a few times
n^(-1/2). The theory assumes inputs that are uniform on the sphere. It does not explain data on a manifold, because a
set of the same measure may be far away on a manifold.
"""

import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Int, Key
from scipy import special, stats

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Rate, Real, Source, Space
from lemmata.engine.problems.drawn import Drawn, positive, uniform

ABOUT = {"tool": "concentration", "architecture": "any", "object": "inequality"}


class SphereErrors(eqx.Module):
    """A set of errors on the unit sphere of n coordinates.

    Args:
        measure: the share of the sphere that the set covers.
        coordinates: 0 for a cap, or k for a set bounded by a quadric: points with |(x_1, ..., x_k)| >= r, where r
            follows from `measure`.
        n: the dimension of the space.
    """

    measure: Float[Array, ""]
    coordinates: Int[Array, ""]
    n: int = eqx.field(static=True)


class SphereErrorSets(Population[SphereErrors]):
    """Sets of errors, half of which are caps. The others are bounded by quadrics; for k = 1, such a set is a pair of
    opposite caps.
    """

    def settings(self) -> Space:
        measure = Real(0.05, 0.001, 0.3, "largest measure of the errors")
        return Space(n=Integer(100, 10, 500, "coordinates"), measure=measure)

    def sample(self, setting: dict, key: Key[Array, ""]) -> SphereErrors:
        """Draw a set, and a measure between a twentieth of the largest allowed measure and the largest measure."""
        kind_key, size_key, measure_key = jax.random.split(key, 3)
        log = jax.random.uniform(
            measure_key, minval=jnp.log(setting["measure"] / 20), maxval=jnp.log(setting["measure"])
        )
        coordinates = jax.random.randint(size_key, (), 1, setting["n"])
        coordinates = jnp.where(jax.random.bernoulli(kind_key), 0, coordinates)
        return SphereErrors(jnp.exp(log), coordinates, setting["n"])

    def hypotheses(self, problem: SphereErrors) -> list[Hypothesis]:
        why = "a cap of a measure above 1/2 is more than a half-sphere"
        return [
            Hypothesis("coordinates", problem.n, ">=", 3, "the sphere is connected"),
            Hypothesis("measure of the errors", problem.measure, "<", 0.5, why),
        ]


class CapOffset(eqx.Module):
    """A cap of measure 1 - Phi(c), where Phi is the normal distribution function."""

    offset: Float[Array, ""]


_DRAWS = 1000
_SLACK = float(np.sqrt(2 * np.log(1000.0) / _DRAWS))


@functools.cache
def _quadrature() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(400)


def _distance_to_cap(n: int, measure: float) -> float:
    """Return the mean Euclidean distance of a uniform point to a cap, by quadrature over the angle to its axis."""
    edge = np.arccos(2 * stats.beta.isf(measure, (n - 1) / 2, (n - 1) / 2) - 1)
    nodes, weights = _quadrature()
    half = (np.pi - edge) / 2
    angles = half * nodes + np.pi - half
    log_total = 0.5 * np.log(np.pi) + special.gammaln((n - 1) / 2) - special.gammaln(n / 2)
    density = np.exp((n - 2) * np.log(np.sin(angles)) - log_total)
    return float(half * weights @ (2 * np.sin((angles - edge) / 2) * density))


class CapsAreFarthest(Claim[SphereErrors]):
    """Let a classifier of the points of the unit sphere of R^n err on a set of measure below 1/2. The mean Euclidean
    distance from a uniform point of the sphere to this set is at most the mean distance to a cap of the same measure.
    The distance to the set is a Lipschitz function of the point. So the mean distance of m = 1000 independent points to
    the set exceeds this bound by more than

        sqrt( 2 log(1000) / (m (n - 1)) )

    with probability at most 1/1000. The test only shows that this probability is below 1/10.
    """

    title = "Of all sets of errors of a given measure on a sphere, a cap is the farthest from random points"
    source = Source("emergence2026", "Figure 13.13", note="for the mean distance, by Lévy's inequality")
    population = SphereErrorSets()
    relation = AtMost(delta=0.1)
    control = Control("the mean distance is at most half of that", lambda distance, problem: distance / 2)
    controls = "how far a random input is from the nearest error"
    unexplained = "inputs that are not uniform on a sphere; the shape of a classifier's set of errors"
    traced = False  # quantiles of the beta law are SciPy's
    trivial = 2.0

    def predict(self, problem: SphereErrors) -> Array:
        return jnp.asarray(_distance_to_cap(problem.n, float(problem.measure)) + _SLACK / np.sqrt(problem.n - 1))

    def measure(self, problem: SphereErrors, key: Key[Array, ""]) -> Array:
        """Average the distances of 1000 uniform points to the set.

        The distances follow from the points' angles to the cap's axis or to the subspace of the first k coordinates.
        """
        n, k, share = problem.n, int(problem.coordinates), float(problem.measure)
        generator = np.random.default_rng(np.asarray(jax.random.bits(key, (2,), "uint32")))
        points = generator.standard_normal((_DRAWS, n))
        points = points / np.linalg.norm(points, axis=1, keepdims=True)
        if k == 0:
            angle, edge = np.arccos(points[:, 0]), np.arccos(2 * stats.beta.isf(share, (n - 1) / 2, (n - 1) / 2) - 1)
        else:
            angle = np.arccos(np.linalg.norm(points[:, :k], axis=1).clip(max=1.0))
            edge = np.arccos(np.sqrt(stats.beta.isf(share, k / 2, (n - k) / 2)))
        return jnp.asarray((2 * np.sin(np.maximum(angle - edge, 0.0) / 2)).mean())


class CapDistanceInManyDimensions(Claim[CapOffset]):
    """Let Phi and phi be the normal distribution function and density, and let c > 0. On the unit sphere of R^n, take a
    cap of measure 1 - Phi(c). The mean Euclidean distance from a uniform point to this cap is

        (c Phi(c) + phi(c)) n^(-1/2),

    up to a relative error that falls like n^(-1). So for large n, a cap of errors of fixed measure is near almost every
    point.
    """

    title = "A cap of fixed measure on the sphere of R^n is within a few times n^(-1/2) of a random point"
    source = Source("gilmer2018", note="main result, on the mean distance, with the order of the error")
    # Near 2.2 the correction of order 1/n changes its sign.
    population = Drawn(
        CapOffset,
        positive("offset", "the cap is less than a half-sphere"),
        offset=uniform(0.5, Real(1.8, 1.0, 1.9, "largest offset of the cap")),
    )
    relation = Rate("n", (50.0, 200.0, 800.0, 3200.0), margin=0.02, resolution=0.03)
    control = Control("the relative error falls like n^(-1/2)", lambda exponent, problem: exponent / 2)
    controls = "how far a random input is from the nearest error"
    unexplained = "errors of other shapes, which are nearer"
    traced = False  # quantiles of the beta law are SciPy's
    trials = 16
    predict = -1.0

    def measure_at(self, problem: CapOffset, key: Key[Array, ""], n: float) -> Array:
        c = problem.offset
        found = jnp.sqrt(n) * _distance_to_cap(int(n), float(norm.sf(c)))
        return jnp.abs(found / (c * norm.cdf(c) + norm.pdf(c)) - 1)
