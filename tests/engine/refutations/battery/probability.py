"""False statements of probability: tails of exactly known laws, and bounds that fail with a probability."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Choice, Hypothesis, Integer, Population, Real, Space, Status

from ._textbook import HALVED, AbstractTextbook, Case, book


class BinomialTail(eqx.Module):
    """At least k successes in n trials of probability p."""

    p: Float[Array, ""]
    n: int = eqx.field(static=True)
    k: int = eqx.field(static=True)

    @property
    def excess(self) -> Float[Array, ""]:
        """By how much k/n exceeds p."""
        return self.k / self.n - self.p


class BinomialTails(Population[BinomialTail]):
    """Upper tails of binomial laws."""

    free: ClassVar[tuple[str, ...]] = ("p",)

    def settings(self) -> Space:
        space = Space(n=Integer(20, 1, 500), k=Integer(13, 1, 500), p=Real(0.4, 0.001, 0.999))
        return space.where("k is at most n", lambda s: s["k"] <= s["n"]).where(
            "k is above n p", lambda s: s["k"] > s["n"] * s["p"]
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> BinomialTail:
        return BinomialTail(jnp.asarray(setting["p"]), setting["n"], setting["k"])

    def hypotheses(self, problem: BinomialTail) -> list[Hypothesis]:
        return [
            Hypothesis("p is not too small", problem.p, ">=", 0.001, "logarithms stay within the range of numbers"),
            Hypothesis("p is not too large", problem.p, "<=", 0.999),
            Hypothesis("k is above the mean", problem.p, "<", problem.k / problem.n),
        ]


class AbstractBinomialTail(AbstractTextbook[BinomialTail]):
    """The exact probability, summed in logarithms."""

    population = BinomialTails()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: BinomialTail, key: Key[Array, ""]) -> Array:
        n, wins = problem.n, jnp.arange(problem.k, problem.n + 1.0)
        ways = gammaln(n + 1.0) - gammaln(wins + 1) - gammaln(n - wins + 1)
        return jnp.exp(ways + wins * jnp.log(problem.p) + (n - wins) * jnp.log1p(-problem.p)).sum()

    def condition(self, problem: BinomialTail) -> Array:
        return jnp.asarray(100.0 + 100 * problem.n)


class HoeffdingWithFour(AbstractBinomialTail):
    """n trials of probability p have at least k > n p successes with probability at most exp(-4 n (k/n - p)²)."""

    title = "Hoeffding's inequality with 4 in the exponent"
    source = book("boucheron2013", "Hoeffding's inequality, with a wrong constant")
    expected = Status.REFUTED

    def predict(self, problem: BinomialTail) -> Array:
        return jnp.exp(-4 * problem.n * problem.excess**2)


class HoeffdingWithTwo(AbstractBinomialTail):
    """n trials of probability p have at least k > n p successes with probability at most exp(-2 n (k/n - p)²)."""

    title = "Hoeffding's inequality for a binomial law"
    source = book("boucheron2013", "Hoeffding's inequality")

    def predict(self, problem: BinomialTail) -> Array:
        return jnp.exp(-2 * problem.n * problem.excess**2)


class HoeffdingATenthTooGood(AbstractBinomialTail):
    """n trials of probability p have at least k > n p successes with probability at most exp(-2.2 n (k/n - p)²)."""

    title = "Hoeffding's inequality with 2.2 in the exponent"
    source = book("boucheron2013", "Hoeffding's inequality, with a wrong constant")
    expected = Status.REFUTED

    def predict(self, problem: BinomialTail) -> Array:
        return jnp.exp(-2.2 * problem.n * problem.excess**2)


class ChernoffRelativeEntropy(AbstractBinomialTail):
    """n trials of probability p have at least k > n p successes with probability at most exp(-n d(k/n, p)), d the
    relative entropy of two coins. For k = n the two sides are equal.
    """

    title = "Chernoff's bound for a binomial law"
    source = book("boucheron2013", "Chernoff's bound for binomial laws")

    def predict(self, problem: BinomialTail) -> Array:
        share, p = problem.k / problem.n, problem.p
        tails = 0.0 if share == 1 else (1 - share) * jnp.log((1 - share) / (1 - p))
        return jnp.exp(-problem.n * (share * jnp.log(share / p) + tails))


class BernsteinWithoutLinearTerm(AbstractBinomialTail):
    """n trials of probability p have at least k = n (p + t) > n p successes with probability at most
    exp(-n t² / (2 p (1 - p))).
    """

    title = "Bernstein's inequality without the linear term"
    source = book("boucheron2013", "Bernstein's inequality, with a term dropped")
    expected = Status.REFUTED

    def predict(self, problem: BinomialTail) -> Array:
        return jnp.exp(-problem.n * problem.excess**2 / (2 * problem.p * (1 - problem.p)))


class BernsteinBinomial(AbstractBinomialTail):
    """n trials of probability p have at least k = n (p + t) > n p successes with probability at most
    exp(-n t² / (2 p (1 - p) + 2 t / 3)).
    """

    title = "Bernstein's inequality for a binomial law"
    source = book("boucheron2013", "Bernstein's inequality")

    def predict(self, problem: BinomialTail) -> Array:
        spread = 2 * problem.p * (1 - problem.p) + 2 * problem.excess / 3
        return jnp.exp(-problem.n * problem.excess**2 / spread)


class FiniteLaw(eqx.Module):
    """A law on finitely many numbers, with weights softmax(logits), and k standard deviations."""

    values: Float[Array, " m"]
    logits: Float[Array, " m"]
    k: Float[Array, ""]

    @property
    def weights(self) -> Float[Array, " m"]:
        """The probabilities."""
        return jax.nn.softmax(self.logits)

    @property
    def standardised(self) -> Float[Array, " m"]:
        """The values less their mean, over their standard deviation."""
        centred = self.values - self.weights @ self.values
        return centred / jnp.sqrt(self.weights @ centred**2)


class FiniteLaws(Population[FiniteLaw]):
    """Random numbers with random weights."""

    free: ClassVar[tuple[str, ...]] = ("values", "logits")

    def settings(self) -> Space:
        return Space(m=Integer(6, 2, 30, "numbers"), k=Real(3.0, 1.5, 5.0, "standard deviations"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> FiniteLaw:
        values, logits = jax.random.normal(key, (2, setting["m"]))
        return FiniteLaw(values, logits, jnp.asarray(setting["k"]))

    def hypotheses(self, problem: FiniteLaw) -> list[Hypothesis]:
        centred = problem.values - problem.weights @ problem.values
        spread, size = jnp.sqrt(problem.weights @ centred**2), jnp.abs(problem.values).max()
        return [
            Hypothesis("the law is not constant", spread, ">", 1e-3 * size, "deviations are counted in its spread"),
            Hypothesis("the values are finite", size, "<", 1e100),
        ]


class AbstractDeviation(AbstractTextbook[FiniteLaw]):
    """What is at least k standard deviations off counts from k (1 - 1e-9) on, so that rounding drops no equality."""

    population = FiniteLaws()
    relation = AtMost()
    control = HALVED

    def condition(self, problem: FiniteLaw) -> Array:
        return jnp.asarray(1e6)


class AbstractTwoSidedDeviation(AbstractDeviation):
    """The probability of being off by k standard deviations, up or down."""

    def measure(self, problem: FiniteLaw, key: Key[Array, ""]) -> Array:
        return jnp.sum(jnp.where(jnp.abs(problem.standardised) >= problem.k * (1 - 1e-9), problem.weights, 0.0))


class ChebyshevLikeCantelli(AbstractTwoSidedDeviation):
    """A random number is k standard deviations or more off its mean with probability at most 1 / (1 + k²)."""

    title = "Chebyshev's inequality with Cantelli's constant"
    source = book("boucheron2013", "Chebyshev's and Cantelli's inequalities, confused")
    expected = Status.REFUTED

    def predict(self, problem: FiniteLaw) -> Array:
        return 1 / (1 + problem.k**2)


class ChebyshevTwoSided(AbstractTwoSidedDeviation):
    """A random number is k standard deviations or more off its mean with probability at most 1 / k²."""

    title = "Chebyshev's inequality"
    source = book("boucheron2013", "Chebyshev's inequality")

    def predict(self, problem: FiniteLaw) -> Array:
        return 1 / problem.k**2


class AbstractOneSidedDeviation(AbstractDeviation):
    """The probability of being k standard deviations above the mean."""

    def measure(self, problem: FiniteLaw, key: Key[Array, ""]) -> Array:
        return jnp.sum(jnp.where(problem.standardised >= problem.k * (1 - 1e-9), problem.weights, 0.0))


class CantelliHalfOfChebyshev(AbstractOneSidedDeviation):
    """A random number is k standard deviations or more above its mean with probability at most 1 / (2 k²)."""

    title = "Half of Chebyshev's bound for one side"
    source = book("boucheron2013", "Cantelli's inequality, as if every law were symmetric")
    expected = Status.REFUTED

    def predict(self, problem: FiniteLaw) -> Array:
        return 1 / (2 * problem.k**2)


class CantelliOneSided(AbstractOneSidedDeviation):
    """A random number is k standard deviations or more above its mean with probability at most 1 / (1 + k²)."""

    title = "Cantelli's inequality"
    source = book("boucheron2013", "Cantelli's inequality")

    def predict(self, problem: FiniteLaw) -> Array:
        return 1 / (1 + problem.k**2)


class StandardDraws(eqx.Module):
    """n independent draws of variance 1; jumps are 0, or ± rarity with probability 1 / rarity²."""

    rarity: Float[Array, ""]
    n: int = eqx.field(static=True)
    law: str = eqx.field(static=True)

    def draw(self, key: Key[Array, ""]) -> Float[Array, " n"]:
        """The draws."""
        if self.law == "normal":
            return jax.random.normal(key, (self.n,))
        uniform = jax.random.uniform(key, (self.n,), minval=-1.0)
        if self.law == "uniform":
            return jnp.sqrt(3.0) * uniform
        if self.law == "signs":
            return jnp.sign(uniform)
        return jnp.where(jnp.abs(uniform) < 1 / self.rarity**2, self.rarity * jnp.sign(uniform), 0.0)


class LawsOfVarianceOne(Population[StandardDraws]):
    """Four laws, of which one has rare jumps."""

    def settings(self) -> Space:
        law = Choice("normal", ("normal", "uniform", "signs", "jumps"))
        return Space(n=Integer(50, 1, 500, "draws"), law=law, rarity=Real(1.5, 1.0, 40.0, "size of a jump"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> StandardDraws:
        return StandardDraws(jnp.asarray(setting["rarity"]), setting["n"], setting["law"])

    def hypotheses(self, problem: StandardDraws) -> list[Hypothesis]:
        return [Hypothesis("jumps are at least 1", problem.rarity, ">=", 1.0, "a probability of at most 1")]


class AbstractMeanOfDraws(AbstractTextbook[StandardDraws]):
    """The distance of the mean from 0."""

    population = LawsOfVarianceOne()
    relation = AtMost(delta=0.05)
    control = HALVED
    trials = 2000

    def measure(self, problem: StandardDraws, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.draw(key).mean())


class EveryMeanIsSubGaussian(AbstractMeanOfDraws):
    """The mean of n independent centred draws of variance 1 is within sqrt(2 log(2/delta) / n) of 0 with probability
    at least 1 - delta, delta = 1/20.
    """

    title = "Every sample mean is sub-Gaussian"
    source = book("boucheron2013", "sub-Gaussian means, with the condition on the law dropped")
    expected = Status.REFUTED

    def predict(self, problem: StandardDraws) -> Array:
        return jnp.sqrt(2 * jnp.log(2 / 0.05) / problem.n)


class ChebyshevForMeans(AbstractMeanOfDraws):
    """The mean of n independent centred draws of variance 1 is within sqrt(1 / (delta n)) of 0 with probability at
    least 1 - delta, delta = 1/20.
    """

    title = "Chebyshev's inequality for means of four laws"
    source = book("boucheron2013", "Chebyshev's inequality")

    def predict(self, problem: StandardDraws) -> Array:
        return jnp.sqrt(1 / (0.05 * problem.n))


def _two_sided_extreme() -> FiniteLaw:
    """-k, 0 and k, the ends with probability 1 / (2 k²) each."""
    return FiniteLaw(jnp.array([-2.0, 0.0, 2.0]), jnp.log(jnp.array([1.0, 6.0, 1.0]) / 8), jnp.asarray(2.0))


def _one_sided_extreme() -> FiniteLaw:
    """2 with probability 1/5, -1/2 with probability 4/5: mean 0, variance 1."""
    return FiniteLaw(jnp.array([2.0, -0.5]), jnp.log(jnp.array([0.2, 0.8])), jnp.asarray(2.0))


CASES = (
    Case(
        HoeffdingWithFour(),
        HoeffdingWithTwo(),
        "nearly everywhere, at n = k = 1 for p = 1/2: 1/2 > exp(-1)",
        {"n": 1, "k": 1, "p": 0.5},
        0.5 * 2.718281828459045,
    ),
    Case(
        HoeffdingATenthTooGood(),
        ChernoffRelativeEntropy(),
        "only for p near 0.36 and n above 110, far out in the tail; within 10 % of the right exponent",
        {"n": 200, "k": 156, "p": 0.4},
        2.763292,
    ),
    Case(
        BernsteinWithoutLinearTerm(),
        BernsteinBinomial(),
        "for small p: one success in one trial has probability p",
        {"n": 1, "k": 1, "p": 0.1},
        0.1 * 90.01713130052181,
    ),
    Case(
        ChebyshevLikeCantelli(),
        ChebyshevTwoSided(),
        "only near the law on -k, 0, k with weights 1/(2k²) at its ends; off by 1 + 1/k²",
        {"m": 3, "k": 2.0},
        1.25,
        _two_sided_extreme,
    ),
    Case(
        CantelliHalfOfChebyshev(),
        CantelliOneSided(),
        "only near the skewed law on two points; off by 2 k²/(1 + k²)",
        {"m": 2, "k": 2.0},
        1.6,
        _one_sided_extreme,
    ),
    Case(
        EveryMeanIsSubGaussian(),
        ChebyshevForMeans(),
        "only for jumps, whose size must fit n (at n = 1 between 2.72 and 4.47); true for the three other laws",
        {"n": 1, "law": "jumps", "rarity": 2.8},
        1 / 2.8**2,
    ),
)
