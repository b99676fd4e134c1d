"""Bounds on logits, alone: the argument of inequalities between exponentials."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Space


class LogitScale(eqx.Module):
    """The bound B on logits, alone."""

    bound: Float[Array, ""]


class LogitScales(Population[LogitScale]):
    """B uniform between 1 and 4."""

    free = ("bound",)

    def settings(self) -> Space:
        """None."""
        return Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> LogitScale:
        """One number."""
        return LogitScale(jax.random.uniform(key, minval=1.0, maxval=4.0))

    def hypotheses(self, problem: LogitScale) -> list[Hypothesis]:
        """B >= 1 by Definition 4.1."""
        return [Hypothesis("B is at least 1", problem.bound, ">=", 1.0, "Definition 4.1")]
