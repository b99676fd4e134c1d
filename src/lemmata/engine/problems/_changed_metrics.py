"""Descent in one metric and then in another, on least squares that has many solutions; steepest steps in a metric."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class ChangedMetric(eqx.Module):
    """1/2 |x w - y|² with fewer rows than weights; `early` steps in one metric, then `late` in another.

    Args:
        x, y: rows and targets.
        metrics: the first and the second, positive definite.
        early, late: steps in each.
    """

    x: Float[Array, "n p"]
    y: Float[Array, " n"]
    metrics: Float[Array, "2 p p"]
    early: int = eqx.field(static=True)
    late: int = eqx.field(static=True)

    @property
    def grams(self) -> Float[Array, "2 n n"]:
        """X P X' for each metric P."""
        return self.x @ self.metrics @ self.x.T

    @property
    def rates(self) -> Float[Array, " 2"]:
        """A stable step in each metric: 1/|X P X'|_F."""
        return 1 / jnp.sqrt(jnp.sum(self.grams**2, axis=(1, 2)))


def _metric(key: Key[Array, ""], p: int) -> Float[Array, "p p"]:
    one, two = jax.random.split(key)
    factor = jax.random.normal(two, (p, 2)) / jnp.sqrt(p)
    return jnp.diag(0.5 * 4 ** jax.random.uniform(one, (p,))) + factor @ factor.T


class ChangedMetrics(Population[ChangedMetric]):
    """Normal rows; metrics with a diagonal between 1/2 and 2 and two random directions."""

    def settings(self) -> Space:
        """Rows, weights a row, steps in each metric."""
        return Space(
            n=Integer(4, 1, 30, "rows"),
            ratio=Integer(8, 6, 30, "weights a row", corners=(6, 12)),
            early=Integer(4, 1, 100, "steps in the first metric", corners=(2, 8)),
            late=Integer(2000, 500, 100_000, "steps in the second metric", corners=(2000, 2000)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ChangedMetric:
        """Rows, targets, two metrics."""
        keys = jax.random.split(key, 4)
        n, p = setting["n"], setting["n"] * setting["ratio"]
        metrics = jnp.stack([_metric(keys[0], p), _metric(keys[1], p)])
        x, y = jax.random.normal(keys[2], (n, p)), jax.random.normal(keys[3], (n,))
        return ChangedMetric(x, y, metrics, setting["early"], setting["late"])

    def hypotheses(self, problem: ChangedMetric) -> list[Hypothesis]:
        """Rows that can be fitted, and are within the steps."""
        least = problem.rates[1] * jnp.linalg.eigvalsh(problem.grams[1])[0]
        needed = 36.7 / jnp.maximum(least, 1e-12)
        return [Hypothesis("the steps are enough", problem.late, ">=", needed, "the limit is reached to rounding")]


class SteepestStep(eqx.Module):
    """A gradient, and a factor S of the metric P = S S'."""

    gradient: Float[Array, " d"]
    factor: Float[Array, "d d"]


class SteepestSteps(Population[SteepestStep]):
    """Normal gradients, triangular factors with a diagonal between 1/2 and 2."""

    def settings(self) -> Space:
        """Dimension."""
        return Space(d=Integer(5, 2, 60, "coordinates", corners=(3, 8)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SteepestStep:
        """A gradient, a factor."""
        keys = jax.random.split(key, 3)
        d = setting["d"]
        lower = jnp.tril(jax.random.normal(keys[0], (d, d)), -1) / jnp.sqrt(d)
        factor = lower + jnp.diag(0.5 * 4 ** jax.random.uniform(keys[1], (d,)))
        return SteepestStep(jax.random.normal(keys[2], (d,)), factor)

    def hypotheses(self, problem: SteepestStep) -> list[Hypothesis]:
        """A gradient that is not 0."""
        size = jnp.linalg.norm(problem.gradient)
        return [Hypothesis("there is a gradient", size, ">", 1e-6, "else every step is as good")]
