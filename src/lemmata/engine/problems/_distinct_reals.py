"""Sets of distinct real numbers."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class Reals(eqx.Module):
    """Real numbers in a given order.

    Args:
        values: the numbers.
    """

    values: Float[Array, " n"]


class DistinctReals(Population[Reals]):
    """Independent normal numbers."""

    def settings(self) -> Space:
        """How many, and how far apart."""
        return Space(
            n=Integer(7, 2, 12, "numbers", corners=(3, 9)), size=Real(2.0, 0.5, 4.0, "their standard deviation")
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Reals:
        """In the order in which they come."""
        return Reals(setting["size"] * jax.random.normal(key, (setting["n"],)))

    def hypotheses(self, problem: Reals) -> list[Hypothesis]:
        """No two are equal."""
        gaps = jnp.diff(jnp.sort(problem.values))
        return [Hypothesis("the numbers are distinct (least gap)", gaps.min(), ">", 1e-8, "equal ones have rank one")]
