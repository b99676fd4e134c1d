"""Functions of independent fair coins, given by their values, and sums of rare events."""

import functools

import equinox as eqx
import numpy as np
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._margin_rows import generator_of


@functools.cache
def flips(n: int) -> Int[np.ndarray, "n states"]:
    """The number of the state with coin i turned, for all i and all 2^n states."""
    return np.arange(2**n) ^ (1 << np.arange(n)[:, None])


class CoinFunction(eqx.Module):
    """A function of n fair coins.

    Args:
        values: in all 2^n states, coin i is bit i of the state's number.
        level: how far from the mean is far, in halves of the root of the sum of the squared ranges.
    """

    values: Float[np.ndarray, " states"]
    level: float = eqx.field(static=True)

    @property
    def turns(self) -> Float[np.ndarray, "n states"]:
        """How much the value changes where coin i is turned."""
        return self.values[flips(len(self.values).bit_length() - 1)] - self.values

    @property
    def far(self) -> float:
        """Level/2 times the root of the sum over coins of the squared largest change."""
        return float(self.level * np.sqrt((self.turns.max(1) ** 2).sum()) / 2)


class CoinFunctions(Population[CoinFunction]):
    """Weighted sums of coins, with products of two coins added in half of the problems."""

    def settings(self) -> Space:
        """Coins."""
        return Space(coins=Integer(9, 3, 14, "coins", corners=(6, 11)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> CoinFunction:
        """Weights of 1/2 to 1, levels of 0.3 to 1.5."""
        rng, n = generator_of(key), setting["coins"]
        coins = 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1
        pairs = rng.integers(2) * 0.1 * rng.standard_normal((n, n))
        values = coins @ rng.uniform(0.5, 1.0, n) + np.einsum("si,ij,sj->s", coins, pairs, coins)
        return CoinFunction(values, float(rng.uniform(0.3, 1.5)))

    def hypotheses(self, problem: CoinFunction) -> list[Hypothesis]:
        """A function that is not constant."""
        return [Hypothesis("what is far", problem.far, ">", 0.0, "the bound divides by it")]


class RareEvents(eqx.Module):
    """How many of n independent events of probability p happen, and by how much more than expected."""

    n: int = eqx.field(static=True)
    p: float = eqx.field(static=True)
    excess: float = eqx.field(static=True)


class ManyRareEvents(Population[RareEvents]):
    """An excess of 1/2 to 2 standard deviations, at a whole number of events."""

    def settings(self) -> Space:
        """Events, the largest probability."""
        return Space(
            n=Integer(200, 20, 5000, "events"),
            largest=Real(0.1, 0.01, 0.3, "largest probability", corners=(0.05, 0.15)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RareEvents:
        """Probabilities of a fifth of the largest to the largest."""
        rng, n = generator_of(key), setting["n"]
        p = float(setting["largest"] * rng.uniform(0.2, 1.0))
        wanted = n * p + rng.uniform(0.5, 2.0) * np.sqrt(n * p * (1 - p))
        return RareEvents(n, p, float(np.ceil(wanted) - n * p))

    def hypotheses(self, problem: RareEvents) -> list[Hypothesis]:
        """More than expected."""
        return [Hypothesis("excess", problem.excess, ">", 0.0, "the upper tail")]
