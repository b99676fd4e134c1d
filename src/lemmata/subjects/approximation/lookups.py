"""How far the nearest stored point of a lookup table is, and how distances reveal the dimension of the points.

This theory describes the distances between uniform points. It assumes points that fill a set of some dimension evenly.
It does not explain learners that use more smoothness than the Lipschitz constant.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Choice,
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Population,
    Source,
    Space,
)

ABOUT = {
    "tool": "statistics",
    "architecture": "any",
    "object": "function class",
    "TwoNearestNeighbours": {"object": "estimator"},
}


class Torus(eqx.Module):
    """A d-dimensional torus of side 1, the number n of uniform points on it, and a shift of the coordinates."""

    shift: Float[Array, " d"]
    n: int = eqx.field(static=True)

    def nearest(self, key: Key[Array, ""], queries: int) -> Float[Array, "queries 2"]:
        """Return the distances of uniform points to their two nearest stored points."""
        stored_key, query_key = jax.random.split(key)
        draw = lambda own, count: jax.random.uniform(own, (count, len(self.shift))) + self.shift
        stored, asked = draw(stored_key, self.n), draw(query_key, queries)
        apart = stored[:, None] - asked
        squares = jnp.sum((apart - jnp.round(apart)) ** 2, axis=2)
        first = jnp.argmin(squares, axis=0)
        second = squares.at[first, jnp.arange(queries)].set(jnp.inf).min(axis=0)
        return jnp.sqrt(jnp.stack([squares.min(axis=0), second], axis=1))


class Tori(Population[Torus]):
    """Tori whose dimension is one of the given ones."""

    dimensions: tuple[str, ...]
    least: int
    points: int

    def settings(self) -> Space:
        return Space(
            dimension=Choice(self.dimensions[0], self.dimensions, "dimension of the torus"),
            n=Integer(self.points, self.least, 4000, "points", corners=(self.points, 2 * self.points)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Torus:
        return Torus(jax.random.normal(key, (int(setting["dimension"]),)), setting["n"])

    def hypotheses(self, problem: Torus) -> list[Hypothesis]:
        near = problem.n * _ball(len(problem.shift)) * 0.5 ** len(problem.shift)
        return [
            Hypothesis(
                "expected number of points within the distance 1/2",
                near,
                ">=",
                4.0,
                "the torus looks like R^d only up to 1/2",
            )
        ]


def _ball(d: int) -> Array:
    """Return the volume of the ball of radius 1 in R^d."""
    return jnp.exp(d / 2 * jnp.log(jnp.pi) - jax.lax.lgamma(d / 2 + 1.0))


class TorusLookup(Claim[Torus]):
    """Store a 1-Lipschitz function at n uniform points of the d-dimensional torus of side 1, and answer with the value
    at the nearest point. The largest mean error occurs for the function "distance to the nearest stored point". This
    error is

        V_d^(-1/d) Gamma(1 + 1/d) Gamma(n + 1)/Gamma(n + 1 + 1/d),

    where V_d is the volume of the unit ball. For large n, this error is about n^(-1/d). The formula holds if the
    distances are below 1/2.
    """

    title = "The mean error of a lookup table of n points for the worst Lipschitz function falls like n^(-1/d)"
    source = Source("emergence2026", "Figure 2.15", note="with explicit constants, for the nearest of random points")
    stated = Kind.OWN
    population = Tori(("2", "3", "4", "5", "6"), 300, 400)
    relation = EqualInMean(resolution=0.02)
    control = Control(
        "without the factor Gamma(1 + 1/d)",
        lambda error, problem: error / jnp.exp(jax.lax.lgamma(1 + 1 / len(problem.shift))),
    )
    controls = "the error of a learner that memorises"
    unexplained = "functions with more smoothness"
    trials = 120

    def predict(self, problem: Torus) -> Array:
        n, power = problem.n, 1 / len(problem.shift)
        gammas = jax.lax.lgamma(1 + power) + jax.lax.lgamma(n + 1.0) - jax.lax.lgamma(n + 1 + power)
        return _ball(len(problem.shift)) ** -power * jnp.exp(gammas)

    def measure(self, problem: Torus, key: Key[Array, ""]) -> Array:
        return problem.nearest(key, 128)[:, 0].mean()


class TwoNearestNeighbours(Claim[Torus]):
    """Let points fill a set of dimension d, and let r_1 <= r_2 be the distances of a point to its two nearest
    neighbours. Let the density of the points be constant within the distance r_2 of this point. Then

        E log(r_2/r_1) = 1/d.

    So the mean of log(r_2/r_1) over many points estimates 1/d, and no other constant has to be known. The test uses the
    torus, which has no boundary. On a cube with d = 5 or more, the boundary already changes the mean by more than 5 %.
    """

    # Given r_2, the nearest point is uniform in the ball of this radius, so (r_1/r_2)^d is uniform in [0, 1].

    title = "The mean log ratio of the distances to the two nearest neighbours gives the intrinsic dimension of data"
    source = Source("facco2017", note="main result, the ratio of the distances to the nearest two points")
    population = Tori(("2", "5", "10"), 2000, 2000)
    relation = EqualInMean(margin=0.03, resolution=0.03)
    control = Control("1/(d + 1)", lambda mean, problem: mean * len(problem.shift) / (len(problem.shift) + 1))
    controls = "an estimate of the intrinsic dimension"
    unexplained = "noise, boundaries, and densities that change within a neighbourhood"
    trials = 100

    def predict(self, problem: Torus) -> Array:
        return jnp.asarray(1 / len(problem.shift))

    def measure(self, problem: Torus, key: Key[Array, ""]) -> Array:
        near = problem.nearest(key, 128)
        return jnp.log(near[:, 1] / near[:, 0]).mean()
