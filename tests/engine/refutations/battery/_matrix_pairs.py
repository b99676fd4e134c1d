"""Pairs of square matrices: the problem, its population, and what claims about them share."""

from collections.abc import Callable
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Hypothesis, Integer, Population, Space

from ._textbook import HALVED, AbstractTextbook


class MatrixPair(eqx.Module):
    """Two square matrices."""

    first: Float[Array, "n n"]
    second: Float[Array, "n n"]

    @property
    def symmetric(self) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
        """The symmetric parts."""
        return (self.first + self.first.T) / 2, (self.second + self.second.T) / 2

    @property
    def size(self) -> Float[Array, ""]:
        """The largest entry."""
        return jnp.maximum(jnp.abs(self.first).max(), jnp.abs(self.second).max())


class MatrixPairs(Population[MatrixPair]):
    """Normal entries."""

    free: ClassVar[tuple[str, ...]] = ("first", "second")
    n: int = 4
    least: int = 1

    def settings(self) -> Space:
        return Space(n=Integer(self.n, self.least, 8, "rows and columns"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> MatrixPair:
        return MatrixPair(*jax.random.normal(key, (2, setting["n"], setting["n"])))

    def hypotheses(self, problem: MatrixPair) -> list[Hypothesis]:
        least = [jnp.linalg.norm(part) for part in problem.symmetric]
        return [
            Hypothesis("entries are moderate", problem.size, "<=", 100.0),
            Hypothesis("no symmetric part vanishes", jnp.minimum(*least), ">=", 0.01),
        ]


class AbstractMatrixPair(AbstractTextbook[MatrixPair]):
    """A bound on something of two matrices."""

    population = MatrixPairs()
    relation = AtMost()
    control = HALVED


class AbstractNorm(AbstractMatrixPair):
    """A bound whose two sides are rounded relative to themselves."""

    def condition(self, problem: MatrixPair) -> Array:
        return jnp.asarray(1e3)


def pair_of(first: list[list[float]], second: list[list[float]]) -> Callable[[], MatrixPair]:
    """A witness."""
    return lambda: MatrixPair(jnp.array(first), jnp.array(second))
