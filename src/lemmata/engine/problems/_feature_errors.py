"""The two parts of the error with which random features represent a class: the cover's and the concentration's."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space


class ErrorParts(eqx.Module):
    """What the error epsilon_dis of n random features is made of.

    Args:
        cover: epsilon, the radius of the cover.
        share: log|N_epsilon| / n, for a cover of |N_epsilon| pairs.
    """

    cover: Float[Array, ""]
    share: Float[Array, ""]


class ErrorPartsBelowOne(Population[ErrorParts]):
    """Log-uniform numbers up to 1.

    Attributes:
        least: the smallest of them.
    """

    least: float = 1e-6

    def settings(self) -> Space:
        """How small they get."""
        return Space(least=Real(self.least, 1e-12, 0.5, "the smallest epsilon and log|N|/n"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ErrorParts:
        """Independent numbers."""
        return ErrorParts(*jnp.exp(jnp.log(setting["least"]) * jax.random.uniform(key, (2,))))

    def hypotheses(self, problem: ErrorParts) -> list[Hypothesis]:
        """Numbers of at most 1."""
        cover = Hypothesis("epsilon is at most 1", problem.cover, "<=", 1.0, "the cover is finer than the class")
        return [cover, Hypothesis("log|N| is at most n", problem.share, "<=", 1.0, "there are features enough")]
