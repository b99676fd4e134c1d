"""Thresholds on the unit interval, learned from draws or from questions."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class Thresholds(eqx.Module):
    """The label of x in [0, 1] is whether x is above a threshold, which is uniform.

    Args:
        low: how near to 0 the threshold may be.
        high: how near to 1 it may be; uniform between the two.
        n: labels that are known.
    """

    low: Float[Array, ""]
    high: Float[Array, ""]
    n: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""], repeats: int) -> Float[Array, " r"]:
        """Independent thresholds."""
        return jax.random.uniform(key, (repeats,), minval=self.low, maxval=self.high)


class UniformThresholds(Population[Thresholds]):
    """Thresholds uniform on intervals of random ends, on which the draws are uniform too."""

    def settings(self) -> Space:
        """Labels."""
        return Space(n=Integer(8, 1, 40, "labels", corners=(4, 16)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Thresholds:
        """An interval of length 0.2 to 1."""
        start, length = jax.random.uniform(key, (2,))
        length = 0.2 + 0.8 * length
        low = start * (1 - length)
        return Thresholds(low, low + length, setting["n"])

    def hypotheses(self, problem: Thresholds) -> list[Hypothesis]:
        """An interval."""
        return [Hypothesis("the interval has a length", problem.high - problem.low, ">", 0.0, "something to learn")]
