"""Concentration: sums and functions of many independent variables stay near their mean.

The theory bounds the tails using only ranges and variances of the variables. It does not treat dependent variables. It
does not say how far its constants are from the best constants for a given distribution.
"""

import functools

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.stats import binom

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.engine.problems.generators import generator_of

ABOUT = {"tool": "concentration", "architecture": "any", "object": "inequality"}


@functools.cache
def flips(n: int) -> Int[np.ndarray, "n states"]:
    """Return the number of the state that results if coin i is turned over, for all i and all 2^n states."""
    return np.arange(2**n) ^ (1 << np.arange(n)[:, None])


class CoinFunction(eqx.Module):
    """A function of n fair coins.

    Args:
        values: the values in all 2^n states; coin i is bit i of the state's number.
        level: the deviation from the mean, in units of half the root of the sum of the squared ranges.
    """

    values: Float[np.ndarray, " states"]
    level: float = eqx.field(static=True)

    @property
    def turns(self) -> Float[np.ndarray, "n states"]:
        """The change of the value if coin i is turned, for all i and all states."""
        return self.values[flips(len(self.values).bit_length() - 1)] - self.values

    @property
    def far(self) -> float:
        """The deviation: level/2 times the root of a sum over coins of each coin's largest change, squared."""
        return float(self.level * np.sqrt((self.turns.max(1) ** 2).sum()) / 2)


class CoinFunctions(Population[CoinFunction]):
    """Weighted sums of fair coins; in half of the problems, products of two coins are added."""

    settings = Space(coins=Integer(9, 3, 14, "coins", corners=(6, 11)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> CoinFunction:
        """Draw weights of 1/2 to 1 and levels of 0.3 to 1.5."""
        rng, n = generator_of(key), setting["coins"]
        coins = 2.0 * ((np.arange(2**n)[:, None] >> np.arange(n)) & 1) - 1
        pairs = rng.integers(2) * 0.1 * rng.standard_normal((n, n))
        values = coins @ rng.uniform(0.5, 1.0, n) + np.einsum("si,ij,sj->s", coins, pairs, coins)
        return CoinFunction(values, float(rng.uniform(0.3, 1.5)))

    def hypotheses(self, problem: CoinFunction) -> list[Hypothesis]:
        return [
            Hypothesis(
                "distance from the mean", problem.far, ">", 0.0, "if the distance is 0, the function is constant"
            )
        ]


class RareEvents(eqx.Module):
    """The number n of independent events, their probability p, and the excess t of their count over its mean n p."""

    n: int = eqx.field(static=True)
    p: float = eqx.field(static=True)
    excess: float = eqx.field(static=True)


class ManyRareEvents(Population[RareEvents]):
    """Rare events with an excess of 1/2 to 2 standard deviations, rounded up to a whole number of events."""

    settings = Space(
        n=Integer(200, 20, 5000, "events"),
        largest=Real(0.1, 0.01, 0.3, "largest probability", corners=(0.05, 0.15)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RareEvents:
        """Draw probabilities between 1/5 of the largest and the largest."""
        rng, n = generator_of(key), setting["n"]
        p = float(setting["largest"] * rng.uniform(0.2, 1.0))
        wanted = n * p + rng.uniform(0.5, 2.0) * np.sqrt(n * p * (1 - p))
        return RareEvents(n, p, float(np.ceil(wanted) - n * p))

    def hypotheses(self, problem: RareEvents) -> list[Hypothesis]:
        return [
            Hypothesis("excess over the expected number", problem.excess, ">", 0.0, "the bound is for the upper tail")
        ]


_SOURCE = Source("younes2024introduction", "Abstract, concentration inequalities")


class BernsteinOfRareEvents(Claim[RareEvents]):
    """Let each of n independent events have probability p, and let t > 0. The probability that at least n p + t of
    these events happen is at most

        exp(-t² / (2 (n p (1 - p) + (1 - p) t/3)))   (Bernstein).

    For rare events this bound is far below Hoeffding's bound exp(-2 t²/n).
    """

    title = "Bernstein's inequality bounds the probability that many more rare events happen than expected"
    source = _SOURCE
    population = ManyRareEvents()
    relation = AtMost()
    control = Control("the probability is at most a quarter of the bound", lambda bound, problem: bound / 4)
    controls = "the upper tail of a sum of bounded variables"
    unexplained = "the factor before the exponential"
    traced = False

    def predict(self, problem: RareEvents) -> Array:
        n, p, t = problem.n, problem.p, problem.excess
        return jnp.asarray(np.exp(-(t**2) / (2 * (n * p + t / 3) * (1 - p))))

    def measure(self, problem: RareEvents, key: Key[Array, ""]) -> Array:
        """The probability of at least n p + t events, from the binomial distribution."""
        return jnp.asarray(binom.sf(np.round(problem.n * problem.p + problem.excess) - 1, problem.n, problem.p))

    def trivial(self, problem: RareEvents) -> Array:
        """Hoeffding's bound exp(-2 t²/n)."""
        return jnp.asarray(np.exp(-2 * problem.excess**2 / problem.n))


class BoundedDifferences(Claim[CoinFunction]):
    """Let f be a function of independent fair coins. Suppose that turning coin i changes f by at most c_i. For every t
    > 0, the probability that f exceeds its mean by at least t is at most

        exp(-2 t² / sum of c_i²)   (McDiarmid).
    """

    title = "McDiarmid's inequality bounds the tails of functions of independent coin flips"
    source = _SOURCE
    population = CoinFunctions()
    relation = AtMost()
    control = Control("the probability is at most a quarter of the bound", lambda bound, problem: bound / 4)
    controls = "the upper tail of a function of independent variables"
    unexplained = "functions that change by much, but only in rare states"
    traced = False
    trivial = 1.0  # a probability is at most 1

    def predict(self, problem: CoinFunction) -> Array:
        return jnp.asarray(np.exp(-2 * problem.far**2 / np.sum(problem.turns.max(1) ** 2)))

    def measure(self, problem: CoinFunction, key: Key[Array, ""]) -> Array:
        """The share of states in which the function exceeds its mean by at least t."""
        return jnp.asarray(np.mean(problem.values - problem.values.mean() >= problem.far))


class VarianceBySingleParts(Claim[CoinFunction]):
    """Let f be a function of independent fair coins. Let f_i be the value of f with coin i turned. The variance of f
    given all coins but coin i is (f - f_i)²/4. Let E be the mean over the coins. The variance of f is at most

        sum over i of E (f - f_i)²/4   (Efron and Stein).
    """

    title = (
        "The Efron-Stein inequality bounds the variance of a function of fair coins by its changes when one coin "
        "is turned"
    )
    source = _SOURCE
    population = CoinFunctions()
    relation = AtMost()
    control = Control("the variance is at most 9/10 of the bound", lambda bound, problem: 0.9 * bound)
    controls = "the variance of a function of independent variables"
    unexplained = "the tails of the distribution"
    traced = False

    def predict(self, problem: CoinFunction) -> Array:
        return jnp.asarray(np.mean(problem.turns**2, axis=1).sum() / 4)

    def measure(self, problem: CoinFunction, key: Key[Array, ""]) -> Array:
        """The variance of the function over all states of the coins."""
        return jnp.asarray(problem.values.var())

    def trivial(self, problem: CoinFunction) -> Array:
        """Return a quarter of the squared range, which bounds the variance."""
        return jnp.asarray(np.ptp(problem.values) ** 2 / 4)
