"""Learn the Fourier coefficients of low degree from examples.

This theory gives the exact mean squared error of a function that consists of estimated coefficients of low degree
(linial1993). It also bounds the classification error of the sign of this function. It assumes examples that are uniform
on the cube {-1, 1}^d, with noiseless labels. It does not explain which functions of practical interest have their
weight at low degrees.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
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
from lemmata.engine.problems.variables import dimension, rows
from lemmata.functions import cube, degrees, walsh_hadamard
from lemmata.subjects.boolean._cube_functions import random_halfspace, random_table, random_tree

ABOUT = {"tool": "Fourier analysis", "architecture": "any", "object": "estimator"}


class LowDegreeTask(eqx.Module):
    """A Boolean function, a number of examples, and the degree below which coefficients are estimated.

    Args:
        values: the values of the function at the points of `cube(d)`.
        degree: the number a; coefficients of the degrees 0, ..., a - 1 are estimated.
        rows: the number m of examples.
    """

    values: Float[Array, " points"]
    degree: int = eqx.field(static=True)
    rows: int = eqx.field(static=True)

    @property
    def low(self) -> Float[Array, " sets"]:
        """A vector that is 1 at the sets whose coefficients are estimated, and 0 at the other sets."""
        return (degrees(len(self.values).bit_length() - 1) < self.degree).astype(float)

    def learned(self, key: Key[Array, ""], samples: int) -> Float[Array, "samples points"]:
        """Return the estimated functions g at all points, from several samples of m examples."""
        chosen = jax.random.randint(key, (samples, self.rows), 0, len(self.values))
        counts = jax.vmap(lambda rows: jnp.zeros(len(self.values)).at[rows].add(1.0))(chosen)
        characters = _characters(len(self.values))
        estimates = (counts * self.values / self.rows) @ characters.T
        return (estimates * self.low) @ characters


def _characters(points: int) -> Float[Array, "sets points"]:
    """Return the products chi_S(x) of the coordinates in S, for all sets S and all points x of the cube."""
    numbers = jnp.arange(points)
    return 1.0 - 2.0 * (jnp.bitwise_count(numbers[:, None] & numbers) % 2)


class LowDegreeTasks(Population[LowDegreeTask]):
    """Halfspaces, decision trees and random tables. A constant is replaced by the first coordinate."""

    settings = Space(
        d=dimension(5, 2, 9, corners=(4, 6)),
        degree=Integer(2, 1, 5, "degree below which coefficients are estimated", corners=(1, 3)),
        rows=rows(12, 2, 2000, corners=(8, 24)),
    ).where("the degree is at most d", lambda s: s["degree"] <= s["d"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> LowDegreeTask:
        own, kind_key = jax.random.split(key)
        d = setting["d"]
        kinds = jnp.stack([random_halfspace(own, d), random_tree(own, d), random_table(own, d)])
        values = kinds[jax.random.randint(kind_key, (), 0, 3)]
        constant = jnp.abs(jnp.mean(values)) == 1
        return LowDegreeTask(jnp.where(constant, cube(d)[:, 0], values), setting["degree"], setting["rows"])

    def hypotheses(self, problem: LowDegreeTask) -> list[Hypothesis]:
        gap = jnp.max(jnp.abs(jnp.abs(problem.values) - 1))
        return [
            Hypothesis("the largest distance of |f| from 1", gap, "==", 0.0, "the labels have f^2 = 1"),
            Hypothesis(
                "|E f|", jnp.abs(jnp.mean(problem.values)), "<", 1.0, "if f is constant, it is learned without error"
            ),
        ]


def _expected_error(problem: LowDegreeTask) -> Float[Array, ""]:
    squares = walsh_hadamard(problem.values) ** 2
    return jnp.sum(jnp.where(problem.low == 1, (1 - squares) / problem.rows, squares))


class LowDegreeError(Claim[LowDegreeTask]):
    """Let f be a function on {-1, 1}^d with values -1 and 1. For a set S of coordinates, let chi_S be their product,
    and let f^(S) = E f chi_S be the Fourier coefficient of f, whose degree is |S|. Let (x_i, f(x_i)) be m independent
    uniform examples. Estimate the coefficients of degree |S| < a by g^(S) = (1/m) sum_i f(x_i) chi_S(x_i), and let g =
    sum_{|S| < a} g^(S) chi_S. With E as the mean over samples and uniform inputs,

        E |g - f|^2 = sum_{|S| >= a} f^(S)^2 + (1/m) sum_{|S| < a} (1 - f^(S)^2).

    As a grows, the first sum falls and the second sum grows, so this formula also says which a is best for m examples.
    """

    title = "The mean squared error of low-degree learning of a Boolean function from m examples has an exact formula"
    source = Source("emergence2026", "Figure 10.8", "Figure 10.7", note="with the exact error of the estimates")
    stated = Kind.OWN
    population = LowDegreeTasks()
    relation = EqualInMean(margin=0.005, resolution=0.015)
    control = Control(
        "the variance of each estimate is 1/m",
        lambda error, problem: error + jnp.sum(problem.low * walsh_hadamard(problem.values) ** 2) / problem.rows,
    )
    controls = "the squared error of a function that is learned from its correlations with products of coordinates"
    unexplained = "noisy labels, which add to the variance, and inputs that are not uniform"
    trials = 200

    def predict(self, problem: LowDegreeTask) -> Array:
        return _expected_error(problem)

    def measure(self, problem: LowDegreeTask, key: Key[Array, ""]) -> Array:
        return jnp.mean((problem.learned(key, 128) - problem.values) ** 2)


class NearlyOneCoordinate(Population[LowDegreeTask]):
    """Functions that equal one coordinate, except for flipped labels at a random 3 % to 13 % of the points."""

    settings = Space(
        d=dimension(8, 6, 10, corners=(6, 9)),
        degree=Integer(2, 2, 2, "degree below which coefficients are estimated"),
        rows=rows(300, 100, 2000, corners=(200, 400)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> LowDegreeTask:
        share_key, flip_key = jax.random.split(key)
        flips = jax.random.uniform(share_key, minval=0.03, maxval=0.13)
        points = cube(setting["d"])
        flipped = jax.random.bernoulli(flip_key, flips, (len(points),))
        return LowDegreeTask(jnp.where(flipped, -1, 1) * points[:, 0], setting["degree"], setting["rows"])

    def hypotheses(self, problem: LowDegreeTask) -> list[Hypothesis]:
        return LowDegreeTasks().hypotheses(problem)


class LowDegreeClassifies(Claim[LowDegreeTask]):
    """Let f be a function on {-1, 1}^d with values -1 and 1. Let f^(S) be its Fourier coefficient for the set S of
    coordinates, whose degree is |S|. Estimate the coefficients of degree below a from m independent uniform examples,
    by averages over the examples. Let g be the function with these estimates as its coefficients. The sign of g is
    wrong only where |g - f| >= 1. So on average over samples and inputs,

        P(sgn g(x) != f(x)) <= sum_{|S| >= a} f^(S)^2 + (1/m) sum_{|S| < a} (1 - f^(S)^2).
    """

    title = "The squared error of low-degree learning bounds its classification error"
    source = Source("emergence2026", "Lemma 10.8", "Figure 10.8", note="from the exact squared error")
    population = NearlyOneCoordinate()
    relation = AtMost()
    control = Control("0.26 of the bound is enough", lambda bound, problem: 0.26 * bound)
    controls = "the classification error of low-degree learning"
    unexplained = "why the error is usually at most half of the bound"
    trivial = 0.5  # a coin is wrong this often

    def predict(self, problem: LowDegreeTask) -> Array:
        return _expected_error(problem)

    def measure(self, problem: LowDegreeTask, key: Key[Array, ""]) -> Array:
        return jnp.mean(jnp.where(problem.learned(key, 24) >= 0, 1.0, -1.0) != problem.values)
