"""False statements of counting: growth functions, dichotomies, birthdays, numbers. None has arrays to search in, or
none of which the count is smooth.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Hypothesis, Integer, Population, Space, Status

from ._textbook import DOUBLED, HALVED, AbstractTextbook, Case, book


class Sizes(eqx.Module):
    """Two whole numbers: points and parts, people and days."""

    n: int = eqx.field(static=True)
    k: int = eqx.field(static=True)


class TwoSizes(Population[Sizes]):
    """Two whole numbers of declared ranges, the first of which may have to be at most the second."""

    first: Integer
    second: Integer
    ordered: bool = False

    def settings(self) -> Space:
        space = Space(n=self.first, k=self.second)
        return space.where("n is at most k", lambda s: s["n"] <= s["k"]) if self.ordered else space

    def sample(self, setting: dict, key: Key[Array, ""]) -> Sizes:
        return Sizes(setting["n"], setting["k"])

    def hypotheses(self, problem: Sizes) -> list[Hypothesis]:
        return [Hypothesis("both are positive", min(problem.n, problem.k), ">=", 1)]


def _sets(n: int, most: int) -> float:
    """How many subsets of n things have at most so many."""
    return float(sum(math.comb(n, size) for size in range(most + 1)))


class AbstractUnionsOfIntervals(AbstractTextbook[Sizes]):
    """Of all 2^n labellings of n points on a line those whose ones form at most k runs."""

    population = TwoSizes(Integer(5, 1, 14, "points"), Integer(3, 1, 7, "intervals"))
    relation = AtMost()
    control = HALVED

    def measure(self, problem: Sizes, key: Key[Array, ""]) -> Array:
        labellings = jnp.arange(2**problem.n)
        begins = jax.lax.population_count(labellings & ~(labellings << 1))
        return jnp.sum(begins <= problem.k)


class SauerOneTermShort(AbstractUnionsOfIntervals):
    """Unions of k intervals, whose dimension of Vapnik and Chervonenkis is v = 2 k, cut at most sum_(i < v) C(n, i)
    subsets out of n points.
    """

    title = "The lemma of Sauer and Shelah, a term short"
    source = book("shalev2014", "the lemma of Sauer and Shelah, off by one")
    expected = Status.REFUTED

    def predict(self, problem: Sizes) -> Array:
        return jnp.asarray(_sets(problem.n, 2 * problem.k - 1))


class SauerShelahIntervals(AbstractUnionsOfIntervals):
    """Unions of k intervals, whose dimension of Vapnik and Chervonenkis is v = 2 k, cut at most sum_(i <= v) C(n, i)
    subsets out of n points, and they do.
    """

    title = "The lemma of Sauer and Shelah for unions of intervals"
    source = book("shalev2014", "the lemma of Sauer and Shelah")

    def predict(self, problem: Sizes) -> Array:
        return jnp.asarray(_sets(problem.n, 2 * problem.k))


class AbstractBinomialSum(AbstractTextbook[Sizes]):
    """sum_(i <= k) C(n, i)."""

    population = TwoSizes(Integer(12, 1, 50), Integer(2, 1, 50))
    relation = AtMost()
    control = HALVED

    def measure(self, problem: Sizes, key: Key[Array, ""]) -> Array:
        return jnp.asarray(_sets(problem.n, problem.k))

    def predict(self, problem: Sizes) -> Array:
        return jnp.asarray((math.e * problem.n / problem.k) ** problem.k)

    def condition(self, problem: Sizes) -> Array:
        return jnp.asarray(1e3)


class BinomialSumOfAnySize(AbstractBinomialSum):
    """sum_(i <= k) C(n, i) <= (e n / k)^k for all positive n and k."""

    title = "The polynomial bound of Sauer's lemma for all sizes"
    source = book("shalev2014", "the polynomial form of Sauer's lemma, with its condition dropped")
    expected = Status.REFUTED


class BinomialSumOfFew(AbstractBinomialSum):
    """sum_(i <= k) C(n, i) <= (e n / k)^k for 1 <= k <= n."""

    title = "The polynomial bound of Sauer's lemma"
    source = book("shalev2014", "the polynomial form of Sauer's lemma")

    def hypotheses(self, problem: Sizes) -> list[Hypothesis]:
        return [Hypothesis("k is at most n", problem.k, "<=", problem.n)]


class Points(eqx.Module):
    """n points in d dimensions."""

    x: Float[Array, "n d"]


class RandomPoints(Population[Points]):
    """Normal points."""

    def settings(self) -> Space:
        return Space(n=Integer(3, 1, 10, "points"), d=Integer(4, 1, 6, "dimensions"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Points:
        return Points(jax.random.normal(key, (setting["n"], setting["d"])))

    def hypotheses(self, problem: Points) -> list[Hypothesis]:
        return [Hypothesis("no point is 0", jnp.linalg.norm(problem.x, axis=1).min(), ">", 0.0)]


class AbstractDichotomies(AbstractTextbook[Points]):
    """The different patterns of signs of <w, x_i> that 2,000 random w show."""

    population = RandomPoints()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: Points, key: Key[Array, ""]) -> Array:
        n, d = problem.x.shape
        positive = jax.random.normal(key, (2000, d)) @ problem.x.T > 0
        patterns = jnp.sort(positive @ (2 ** jnp.arange(n)))
        return 1.0 + jnp.sum(patterns[1:] != patterns[:-1])


def _dichotomies(n: int, terms: int) -> Array:
    return jnp.asarray(2 * _sets(n - 1, terms - 1))


class CoverOneTermShort(AbstractDichotomies):
    """Hyperplanes through 0 separate n points in d dimensions in at most 2 sum_(i < d - 1) C(n - 1, i) ways (for d = 1
    in 2).
    """

    title = "Cover's count, a term short"
    source = book("cover1965", "the count of linear dichotomies, off by one")
    expected = Status.REFUTED

    def predict(self, problem: Points) -> Array:
        n, d = problem.x.shape
        return _dichotomies(n, max(d - 1, 1))


class CoverDichotomies(AbstractDichotomies):
    """Hyperplanes through 0 separate n points in d dimensions in at most 2 sum_(i < d) C(n - 1, i) ways."""

    title = "Cover's count of linear dichotomies"
    source = book("cover1965", "the count of linear dichotomies")

    def predict(self, problem: Points) -> Array:
        n, d = problem.x.shape
        return _dichotomies(n, d)


class AbstractBirthdays(AbstractTextbook[Sizes]):
    """The probability that two of n people share one of k birthdays, exactly."""

    population = TwoSizes(Integer(23, 2, 200, "people"), Integer(365, 2, 100_000, "days"), ordered=True)
    relation = AtMost()
    control = HALVED

    def measure(self, problem: Sizes, key: Key[Array, ""]) -> Array:
        return -jnp.expm1(jnp.log1p(-jnp.arange(problem.n) / problem.k).sum())

    def condition(self, problem: Sizes) -> Array:
        return jnp.asarray(1e3)


class BirthdaysWithADayMore(AbstractBirthdays):
    """Two of n people share one of k birthdays with probability at most n (n - 1) / (2 (k + 1))."""

    title = "The birthday bound with a day more"
    source = book("mitzenmacher2005", "the union bound for birthdays, off by one")
    expected = Status.REFUTED

    def predict(self, problem: Sizes) -> Array:
        return jnp.asarray(problem.n * (problem.n - 1) / (2 * (problem.k + 1)))


class BirthdaysByAUnion(AbstractBirthdays):
    """Two of n people share one of k birthdays with probability at most n (n - 1) / (2 k)."""

    title = "The birthday bound"
    source = book("mitzenmacher2005", "the union bound for birthdays")

    def predict(self, problem: Sizes) -> Array:
        return jnp.asarray(problem.n * (problem.n - 1) / (2 * problem.k))


class Whole(eqx.Module):
    """A whole number."""

    n: int = eqx.field(static=True)


class WholeNumbers(Population[Whole]):
    """Whole numbers of a declared range."""

    number: Integer

    def settings(self) -> Space:
        return Space(n=self.number)

    def sample(self, setting: dict, key: Key[Array, ""]) -> Whole:
        return Whole(setting["n"])

    def hypotheses(self, problem: Whole) -> list[Hypothesis]:
        return [Hypothesis("n is not negative", problem.n, ">=", 0)]


class AbstractEulersPolynomial(AbstractTextbook[Whole]):
    """The smallest divisor above 1 of n² + n + 41, by trying all up to its root."""

    population = WholeNumbers(Integer(7, 0, 400))
    relation = AtLeast()
    control = DOUBLED

    def measure(self, problem: Whole, key: Key[Array, ""]) -> Array:
        value = problem.n**2 + problem.n + 41
        return jnp.asarray(float(next((d for d in range(2, math.isqrt(value) + 1) if value % d == 0), value)))


class EulersPolynomialIsPrime(AbstractEulersPolynomial):
    """n² + n + 41 is prime: it has no divisor above 1 that is smaller than itself."""

    title = "Euler's polynomial takes prime values"
    source = book("lang2002", "Euler's polynomial, by the pattern of its first values")
    expected = Status.REFUTED

    def predict(self, problem: Whole) -> Array:
        return jnp.asarray(problem.n**2 + problem.n + 41.0)


class EulersPolynomialHasNoSmallDivisor(AbstractEulersPolynomial):
    """n² + n + 41 has no divisor above 1 that is smaller than 41."""

    title = "Euler's polynomial has no small divisors"
    source = book("lang2002", "Euler's polynomial and the field of the root of -163")

    def predict(self, problem: Whole) -> Array:
        return jnp.asarray(41.0)


def _cyclotomic(n: int) -> np.ndarray:
    """Coefficients of the n-th cyclotomic polynomial: the product of (1 - x^d)^mu(n/d) over divisors d, as a series."""
    degree = sum(math.gcd(n, i) == 1 for i in range(1, n + 1))
    series = np.zeros(degree + 1, int)
    series[0] = 1
    for d in (d for d in range(1, n + 1) if n % d == 0):
        primes = _primes(n // d)
        if math.prod(primes) != n // d:
            continue
        if len(primes) % 2 == 0:
            series[d:] = series[d:] - series[: max(degree + 1 - d, 0)]
        else:
            for power in range(d, degree + 1):
                series[power] += series[power - d]
    return series


def _primes(n: int) -> list[int]:
    """The different prime divisors."""
    return [p for p in range(2, n + 1) if n % p == 0 and all(p % d for d in range(2, math.isqrt(p) + 1))]


class AbstractCyclotomic(AbstractTextbook[Whole]):
    """The largest coefficient of the n-th cyclotomic polynomial."""

    population = WholeNumbers(Integer(30, 1, 300))
    relation = AtMost()
    control = HALVED

    def predict(self, problem: Whole) -> Array:
        return jnp.ones(())

    def measure(self, problem: Whole, key: Key[Array, ""]) -> Array:
        return jnp.asarray(float(np.abs(_cyclotomic(problem.n)).max()))


class CyclotomicCoefficients(AbstractCyclotomic):
    """The coefficients of all cyclotomic polynomials are -1, 0 and 1."""

    title = "Coefficients of cyclotomic polynomials"
    source = book("lang2002", "cyclotomic polynomials, by the pattern of the first hundred")
    expected = Status.REFUTED


class CyclotomicCoefficientsOfTwoPrimes(AbstractCyclotomic):
    """The coefficients of the n-th cyclotomic polynomial are -1, 0 and 1 where n has at most two odd prime divisors."""

    title = "Coefficients of cyclotomic polynomials for two odd primes"
    source = book("lang2002", "cyclotomic polynomials, after Migotti")

    def hypotheses(self, problem: Whole) -> list[Hypothesis]:
        return [Hypothesis("few odd primes divide n", len([p for p in _primes(problem.n) if p > 2]), "<=", 2)]


CASES = (
    Case(
        SauerOneTermShort(),
        SauerShelahIntervals(),
        "only for n >= 2 k points",
        {"n": 2, "k": 1},
        4 / 3,
    ),
    Case(
        BinomialSumOfAnySize(),
        BinomialSumOfFew(),
        "only where n is less than about half of k",
        {"n": 1, "k": 4},
        2 * (4 / math.e) ** 4,
    ),
    Case(
        CoverOneTermShort(),
        CoverDichotomies(),
        "only for n >= d >= 2 points",
        {"n": 4, "d": 3},
        14 / 8,
        lambda: Points(jnp.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])),
    ),
    Case(
        BirthdaysWithADayMore(),
        BirthdaysByAUnion(),
        "only for two or three people, by the factor (k + 1)/k for two",
        {"n": 2, "k": 2},
        1.5,
    ),
    Case(
        EulersPolynomialIsPrime(),
        EulersPolynomialHasNoSmallDivisor(),
        "first for n = 40, where it is 41²",
        {"n": 40},
        41.0,
    ),
    Case(
        CyclotomicCoefficients(),
        CyclotomicCoefficientsOfTwoPrimes(),
        "first for n = 105 = 3 5 7, then for few others (165, 195, 210, 255, 273, 285)",
        {"n": 105},
        2.0,
    ),
)
