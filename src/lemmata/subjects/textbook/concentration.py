"""Concentration: sums and functions of many independent parts stay near their mean, and variance says how near.

The theory controls tails without knowing more of a law than ranges and variances. It leaves open what dependence does,
and how far the constants are from those of a given law.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from scipy.stats import binom

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.engine.problems._cube_functions import CoinFunction, CoinFunctions, ManyRareEvents, RareEvents

_SOURCE = Source("younes2024introduction", "Abstract, concentration inequalities")


class BernsteinOfRareEvents(Claim[RareEvents]):
    """Of n independent events of probability p at least n p + t happen with probability at most

        exp(-t² / (2 (n p (1 - p) + (1 - p) t/3)))   (Bernstein),

    which for rare events is far below Hoeffding's exp(-2 t²/n).
    """

    title = "Bernstein's inequality for rare events"
    source = _SOURCE
    population = ManyRareEvents()
    relation = AtMost()
    control = Control("a quarter of it", lambda bound, problem: bound / 4)
    controls = "the upper tail of a sum of bounded variables"
    unexplained = "the factor before the exponential"
    traced = False

    def predict(self, problem: RareEvents) -> Array:
        n, p, t = problem.n, problem.p, problem.excess
        return jnp.asarray(np.exp(-(t**2) / (2 * (n * p + t / 3) * (1 - p))))

    def measure(self, problem: RareEvents, key: Key[Array, ""]) -> Array:
        """The binomial law."""
        return jnp.asarray(binom.sf(np.round(problem.n * problem.p + problem.excess) - 1, problem.n, problem.p))

    def trivial(self, problem: RareEvents) -> Array:
        """Hoeffding's inequality."""
        return jnp.asarray(np.exp(-2 * problem.excess**2 / problem.n))


class BoundedDifferences(Claim[CoinFunction]):
    """A function f of independent coins that changes by at most c_i when coin i is turned exceeds its mean by t with
    probability at most

        exp(-2 t² / sum of c_i²)   (McDiarmid).
    """

    title = "McDiarmid's inequality"
    source = _SOURCE
    population = CoinFunctions()
    relation = AtMost()
    control = Control("a quarter of it", lambda bound, problem: bound / 4)
    controls = "the upper tail of a function of independent parts"
    unexplained = "functions that change much in rare states only"
    traced = False

    def predict(self, problem: CoinFunction) -> Array:
        return jnp.asarray(np.exp(-2 * problem.far**2 / np.sum(problem.turns.max(1) ** 2)))

    def measure(self, problem: CoinFunction, key: Key[Array, ""]) -> Array:
        """Over all states."""
        return jnp.asarray(np.mean(problem.values - problem.values.mean() >= problem.far))

    def trivial(self, problem: CoinFunction) -> Array:
        """A probability is at most 1."""
        return jnp.ones(())


class VarianceBySingleParts(Claim[CoinFunction]):
    """The variance of a function f of independent fair coins is at most the sum over coins of the mean variance when
    all others are known,

        sum over i of E (f - f_i)²/4,   f_i the value with coin i turned   (Efron and Stein).
    """

    title = "Efron and Stein's inequality"
    source = _SOURCE
    population = CoinFunctions()
    relation = AtMost()
    control = Control("nine tenths of it", lambda bound, problem: 0.9 * bound)
    controls = "the variance of a function of independent parts"
    unexplained = "tails"
    traced = False

    def predict(self, problem: CoinFunction) -> Array:
        return jnp.asarray(np.mean(problem.turns**2, axis=1).sum() / 4)

    def measure(self, problem: CoinFunction, key: Key[Array, ""]) -> Array:
        """Over all states."""
        return jnp.asarray(problem.values.var())

    def trivial(self, problem: CoinFunction) -> Array:
        """A quarter of the squared range."""
        return jnp.asarray(np.ptp(problem.values) ** 2 / 4)
