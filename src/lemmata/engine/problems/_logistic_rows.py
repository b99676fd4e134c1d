"""Rows of a logistic regression whose penalty grows with their number, and one more input."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class LogisticRows(eqx.Module):
    """Normal inputs whose classes are drawn at the odds exp(<truth, x>).

    Args:
        truth: the weights.
        point: another input.
        penalty: lambda/n, where lambda |w|²/2 is added to the sum of the losses of n rows.
    """

    truth: Float[Array, " d"]
    point: Float[Array, " d"]
    penalty: float = eqx.field(static=True)


class LogisticSamples(Population[LogisticRows]):
    """Weights of length 1.5, normal points."""

    def settings(self) -> Space:
        """The dimension, the penalty."""
        d = Integer(5, 2, 12, "coordinates", corners=(3, 7))
        return Space(d=d, penalty=Real(1e-3, 1e-4, 0.1, "penalty over the number of rows"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LogisticRows:
        """Weights and a point."""
        truth_key, point_key = jax.random.split(key)
        truth = jax.random.normal(truth_key, (setting["d"],))
        point = jax.random.normal(point_key, (setting["d"],))
        return LogisticRows(1.5 * truth / jnp.linalg.norm(truth), point, setting["penalty"])

    def hypotheses(self, problem: LogisticRows) -> list[Hypothesis]:
        """A penalty."""
        return [Hypothesis("the penalty", problem.penalty, ">", 0.0, "the loss is strongly convex")]
