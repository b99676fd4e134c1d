"""False inequalities between sums and means of numbers."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.stats import norm
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Hypothesis, Integer, Population, Real, Space, Status

from ._textbook import DOUBLED, HALVED, AbstractTextbook, Case, book


class Count(eqx.Module):
    """A number of things."""

    n: int = eqx.field(static=True)


class Counts(Population[Count]):
    """Whole numbers of a declared range."""

    number: Integer

    def settings(self) -> Space:
        return Space(n=self.number)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Count:
        return Count(setting["n"])

    def hypotheses(self, problem: Count) -> list[Hypothesis]:
        return [Hypothesis("n is positive", problem.n, ">=", 1)]


class AbstractLargestNormal(AbstractTextbook[Count]):
    """E max = int x n phi(x) Phi(x)^(n - 1) dx by the trapezoidal rule, which is exact to rounding here."""

    population = Counts(Integer(10, 2, 5000, "normal numbers"))
    relation = AtMost()
    control = HALVED

    def measure(self, problem: Count, key: Key[Array, ""]) -> Array:
        x = jnp.linspace(-12.0, 12.0, 2401)
        density = problem.n * jnp.exp(norm.logpdf(x) + (problem.n - 1) * norm.logcdf(x))
        return jnp.sum(x * density) * (x[1] - x[0])

    def condition(self, problem: Count) -> Array:
        return jnp.asarray(1e4)


class LargestNormalFourFifths(AbstractLargestNormal):
    """The expectation of the largest of n independent standard normal numbers is at most 0.8 sqrt(2 log n)."""

    title = "The largest of n normal numbers with 0.8"
    source = book("boucheron2013", "the largest of normal numbers, with a wrong constant")
    expected = Status.REFUTED

    def predict(self, problem: Count) -> Array:
        return 0.8 * jnp.sqrt(2 * jnp.log(problem.n))


class LargestNormal(AbstractLargestNormal):
    """The expectation of the largest of n independent standard normal numbers is at most sqrt(2 log n)."""

    title = "The largest of n normal numbers"
    source = book("boucheron2013", "the largest of normal numbers")

    def predict(self, problem: Count) -> Array:
        return jnp.sqrt(2 * jnp.log(problem.n))


class AbstractHarmonic(AbstractTextbook[Count]):
    """1 + 1/2 + ... + 1/n."""

    population = Counts(Integer(100, 1, 5000))
    relation = AtMost()
    control = HALVED

    def measure(self, problem: Count, key: Key[Array, ""]) -> Array:
        return jnp.sum(1 / jnp.arange(1.0, problem.n + 1))

    def condition(self, problem: Count) -> Array:
        return jnp.asarray(1e3)


class HarmonicNumberTooSmall(AbstractHarmonic):
    """1 + 1/2 + ... + 1/n <= log n + 0.6."""

    title = "Harmonic numbers with 0.6"
    source = book("mitzenmacher2005", "harmonic numbers, with a wrong constant")
    expected = Status.REFUTED

    def predict(self, problem: Count) -> Array:
        return jnp.log(problem.n) + 0.6


class HarmonicNumber(AbstractHarmonic):
    """1 + 1/2 + ... + 1/n <= log n + 1."""

    title = "Harmonic numbers"
    source = book("mitzenmacher2005", "harmonic numbers")

    def predict(self, problem: Count) -> Array:
        return jnp.log(problem.n) + 1.0


class BoundedLaw(eqx.Module):
    """A law on numbers 1 + (kappa - 1) sigmoid(places) with weights softmax(logits)."""

    places: Float[Array, " m"]
    logits: Float[Array, " m"]
    kappa: Float[Array, ""]

    @property
    def values(self) -> Float[Array, " m"]:
        """Numbers between 1 and kappa."""
        return 1 + (self.kappa - 1) * jax.nn.sigmoid(self.places)


class BoundedLaws(Population[BoundedLaw]):
    """Normal places and logits."""

    free: ClassVar[tuple[str, ...]] = ("places", "logits")

    def settings(self) -> Space:
        return Space(m=Integer(6, 2, 20, "numbers"), kappa=Real(5.0, 1.0, 50.0, "the largest over the least"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> BoundedLaw:
        return BoundedLaw(*jax.random.normal(key, (2, setting["m"])), jnp.asarray(setting["kappa"]))

    def hypotheses(self, problem: BoundedLaw) -> list[Hypothesis]:
        size = jnp.maximum(jnp.abs(problem.places).max(), jnp.abs(problem.logits).max())
        return [
            Hypothesis("the places are finite", size, "<=", 1e6),
            Hypothesis("kappa is at least 1", problem.kappa, ">=", 1.0),
        ]


class AbstractMeanTimesMeanOfInverse(AbstractTextbook[BoundedLaw]):
    """E X times E 1/X."""

    population = BoundedLaws()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: BoundedLaw, key: Key[Array, ""]) -> Array:
        weights = jax.nn.softmax(problem.logits)
        return (weights @ problem.values) * (weights @ (1 / problem.values))

    def condition(self, problem: BoundedLaw) -> Array:
        return jnp.asarray(100.0)


class KantorovichWithARoot(AbstractMeanTimesMeanOfInverse):
    """A random number X between 1 and kappa has E X E 1/X <= sqrt(kappa)."""

    title = "Kantorovich's inequality with a root"
    source = book("horn2013", "Kantorovich's inequality, with a wrong power")
    expected = Status.REFUTED

    def predict(self, problem: BoundedLaw) -> Array:
        return jnp.sqrt(problem.kappa)


class Kantorovich(AbstractMeanTimesMeanOfInverse):
    """A random number X between 1 and kappa has E X E 1/X <= (kappa + 1)² / (4 kappa), with equality where it is 1 or
    kappa with the same probability.
    """

    title = "Kantorovich's inequality"
    source = book("horn2013", "Kantorovich's inequality")

    def predict(self, problem: BoundedLaw) -> Array:
        return (problem.kappa + 1) ** 2 / (4 * problem.kappa)


class PowerPair(eqx.Module):
    """Two vectors and an exponent."""

    x: Float[Array, " d"]
    y: Float[Array, " d"]
    p: Float[Array, ""]


class PowerPairs(Population[PowerPair]):
    """Normal vectors."""

    free: ClassVar[tuple[str, ...]] = ("x", "y")

    def settings(self) -> Space:
        return Space(d=Integer(5, 1, 30), p=Real(3.0, 1.1, 6.0, "exponent"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PowerPair:
        return PowerPair(*jax.random.normal(key, (2, setting["d"])), jnp.asarray(setting["p"]))

    def hypotheses(self, problem: PowerPair) -> list[Hypothesis]:
        sizes = jnp.abs(problem.x).max(), jnp.abs(problem.y).max()
        return [
            Hypothesis("the vectors are moderate", jnp.maximum(*sizes), "<=", 100.0),
            Hypothesis("one of them is not small", jnp.maximum(*sizes), ">=", 0.01),
        ]


class AbstractClarkson(AbstractTextbook[PowerPair]):
    """|x + y|^p + |x - y|^p in the norm with exponent p."""

    population = PowerPairs()
    relation = AtMost()
    control = HALVED

    def predict(self, problem: PowerPair) -> Array:
        both = jnp.abs(jnp.stack([problem.x, problem.y]))
        return 2 ** (problem.p - 1) * jnp.sum(both**problem.p)

    def measure(self, problem: PowerPair, key: Key[Array, ""]) -> Array:
        both = jnp.abs(jnp.stack([problem.x + problem.y, problem.x - problem.y]))
        return jnp.sum(both**problem.p)

    def condition(self, problem: PowerPair) -> Array:
        return jnp.asarray(1e3)


class ClarksonForAllExponents(AbstractClarkson):
    """|x + y|^p + |x - y|^p <= 2^(p - 1) (|x|^p + |y|^p) in the norm with exponent p, for all p > 1."""

    title = "Clarkson's inequality for all exponents"
    source = book("steele2004", "Clarkson's inequality, with the condition on the exponent dropped")
    expected = Status.REFUTED


class ClarksonAboveTwo(AbstractClarkson):
    """|x + y|^p + |x - y|^p <= 2^(p - 1) (|x|^p + |y|^p) in the norm with exponent p, for p >= 2, with equality for
    p = 2 and for x = y.
    """

    title = "Clarkson's inequality"
    source = book("steele2004", "Clarkson's inequality")

    def hypotheses(self, problem: PowerPair) -> list[Hypothesis]:
        return [Hypothesis("the exponent is at least 2", problem.p, ">=", 2.0)]


class Cycle(eqx.Module):
    """Numbers on a cycle, the squares of what is given."""

    roots: Float[Array, " n"]

    @property
    def next_two(self) -> Float[Array, " n"]:
        """The sum of the two that follow."""
        return jnp.roll(self.roots, -1) ** 2 + jnp.roll(self.roots, -2) ** 2


class Cycles(Population[Cycle]):
    """Squares of normal numbers."""

    free: ClassVar[tuple[str, ...]] = ("roots",)

    def settings(self) -> Space:
        return Space(n=Integer(8, 3, 40, "numbers"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Cycle:
        return Cycle(1 + 0.3 * jax.random.normal(key, (setting["n"],)))

    def hypotheses(self, problem: Cycle) -> list[Hypothesis]:
        largest = jnp.abs(problem.roots).max()
        return [
            Hypothesis("no denominator vanishes", problem.next_two.min(), ">=", 1e-4),
            Hypothesis("the numbers are moderate", largest, "<=", 100.0),
        ]


class AbstractShapiro(AbstractTextbook[Cycle]):
    """The cyclic sum of x_i / (x_(i+1) + x_(i+2))."""

    population = Cycles()
    relation = AtLeast()
    control = DOUBLED

    def predict(self, problem: Cycle) -> Array:
        return jnp.asarray(len(problem.roots) / 2)

    def measure(self, problem: Cycle, key: Key[Array, ""]) -> Array:
        return jnp.sum(problem.roots**2 / problem.next_two)

    def condition(self, problem: Cycle) -> Array:
        return jnp.asarray(100.0)


class ShapiroForAllSizes(AbstractShapiro):
    """For n numbers that are not negative, and of which no two neighbours are 0, the cyclic sum of x_i / (x_(i+1) +
    x_(i+2)) is at least n/2.
    """

    title = "Shapiro's cyclic inequality for all sizes"
    source = book("steele2004", "Shapiro's cyclic inequality, with the condition on n dropped")
    expected = Status.REFUTED


class ShapiroForSmallSizes(AbstractShapiro):
    """For n <= 13 numbers that are not negative, and of which no two neighbours are 0, the cyclic sum of x_i / (x_(i+1)
    + x_(i+2)) is at least n/2, with equality for equal numbers.
    """

    title = "Shapiro's cyclic inequality"
    source = book("steele2004", "Shapiro's cyclic inequality")

    def hypotheses(self, problem: Cycle) -> list[Hypothesis]:
        return [Hypothesis("there are few numbers", len(problem.roots), "<=", 13)]


def _troesch() -> Cycle:
    """Fourteen numbers on which the cyclic sum is 6.99998..."""
    return Cycle(jnp.sqrt(jnp.array([0.0, 42, 2, 42, 4, 41, 5, 39, 4, 38, 2, 38, 0, 40])))


CASES = (
    Case(
        LargestNormalFourFifths(),
        LargestNormal(),
        "only for n >= 45; off by 1.09 for n = 1000, 1.11 for 5000",
        {"n": 1000},
        1.090094,
    ),
    Case(
        HarmonicNumberTooSmall(),
        HarmonicNumber(),
        "only for n <= 21",
        {"n": 1},
        1 / 0.6,
    ),
    Case(
        KantorovichWithARoot(),
        Kantorovich(),
        "only for kappa above 11.4 and laws near the ends of the interval; off by 1.84 for kappa = 50",
        {"m": 2, "kappa": 49.0},
        50**2 / (4 * 49 * 7),
        lambda: BoundedLaw(jnp.array([-60.0, 60.0]), jnp.zeros(2), jnp.asarray(49.0)),
    ),
    Case(
        ClarksonForAllExponents(),
        ClarksonAboveTwo(),
        "only for p < 2; off by up to 2^(2 - p)",
        {"d": 2, "p": 1.5},
        2**0.5,
        lambda: PowerPair(jnp.array([1.0, 0.0]), jnp.array([0.0, 1.0]), jnp.asarray(1.5)),
    ),
    Case(
        ShapiroForAllSizes(),
        ShapiroForSmallSizes(),
        "only for even n >= 14 and odd n >= 25, on numbers of a special form; off by 1.0000007 here, 1.01 for 40",
        {"n": 14},
        1.00000074543,
        _troesch,
    ),
)
