"""A comparison of two printed rates: ((log n)/n)^(2s/d) for attention, n^(-s/d) for linear recurrences.

This theory describes which of the two formulas has the smaller value, for every number of parameters n, smoothness s
and dimension d. It sets both hidden constants to 1. For large n, the comparison holds for all other constants, too. It
does not explain whether either architecture attains its formula. Other sections state which rates linear spaces and
recurrences attain.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtLeast,
    AtMost,
    Claim,
    Control,
    Equal,
    Hypothesis,
    Integer,
    Kind,
    Passage,
    Population,
    Rate,
    Reading,
    Real,
    Source,
    Space,
    Status,
)
from lemmata.subjects.approximation._sobolev_balls import BudgetedBall, BudgetedBalls

ABOUT = {"tool": "approximation theory", "architecture": "any", "object": "inequality"}


class RateComparison(eqx.Module):
    """The arguments of the two printed rates, (log(n)/n)^(2s/d) for attention and n^(-s/d) for recurrences.

    Args:
        n: the number of parameters.
        s: the smoothness of the functions.
        d: the dimension of the inputs.
        base: the base of the logarithm.
    """

    n: Float[Array, ""]
    s: Float[Array, ""]
    d: Float[Array, ""]
    base: Float[Array, ""]

    @property
    def attention(self) -> Float[Array, ""]:
        """The rate (log(n)/n)^(2s/d) of attention, with the logarithm to the base `base`."""
        return (jnp.log(self.n) / jnp.log(self.base) / self.n) ** (2 * self.s / self.d)

    @property
    def recurrence(self) -> Float[Array, ""]:
        """The printed rate n^(-s/d) of recurrences."""
        return self.n ** (-self.s / self.d)


class RateComparisons(Population[RateComparison]):
    """Log-uniform whole numbers n from 2 on, with uniform smoothness, and dimensions uniform in a range.

    Attributes:
        dimension: the smallest dimension d that is drawn.
        base: the base of the logarithm in the statement; another base is another statement.
    """

    dimension: int = 1
    base: float = float(jnp.e)

    def settings(self) -> Space:
        return Space(
            largest=Integer(64, 16, 10**9, "the largest number of parameters", corners=(32, 10**6)),
            dimensions=Integer(8, self.dimension, 1000, "the largest dimension"),
            smoothness=Real(4.0, 0.5, 20.0, "the largest smoothness"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RateComparison:
        count, smooth, high = jax.random.uniform(key, (3,))
        n = jnp.floor(2 * ((setting["largest"] + 1) / 2) ** count)
        s = 0.25 + (setting["smoothness"] - 0.25) * smooth
        d = jnp.floor(self.dimension + (setting["dimensions"] + 1 - self.dimension) * high)
        return RateComparison(n, s, d, jnp.asarray(self.base))

    def hypotheses(self, problem: RateComparison) -> list[Hypothesis]:
        least = self.dimension
        return [
            Hypothesis("n is at least 2", problem.n, ">=", 2.0, "at n = 1 the logarithm is 0"),
            Hypothesis("the dimension is in the range", problem.d, ">=", least, f"the statement is about d >= {least}"),
            Hypothesis("the smoothness is positive", problem.s, ">", 0.0, "both rates are for Sobolev classes"),
        ]


_MOST_DIMENSIONS = 40  # log of the largest n that populations draw


def _best_error_in_log_dimensions(problem: BudgetedBall) -> Array:
    """Return the Kolmogorov width at floor(log n) dimensions, from an enumeration of lattice points. The width is the
    least worst-case squared error of a linear space of this dimension.
    """
    values = problem.ball.eigenvalues(_MOST_DIMENSIONS)
    return values[jnp.floor(jnp.log(problem.n)).astype(int)]


_READING = "the constants in both O are 1, and the logarithm is natural"
_SURVEY = "000_643c1008a95be5dc.txt"


class PrintedRecurrencesBeatAttention(Claim[RateComparison]):
    """The source compares two error rates with n parameters, on functions of smoothness s in d dimensions. As printed,
    the source says that the rate n^(-s/d) of recurrences is better than the rate ((log n)/n)^(2s/d) of attention, since
    the rate of recurrences has no logarithm. Up to constants, this means that the quotient

        n^(-s/d) / ((log n)/n)^(2s/d)

    stays bounded as n grows. But the quotient is (n/(log n)²)^(s/d), which grows nearly like n^(s/d).
    """

    title = "As printed, recurrences approximate at a better rate than attention, since their rate has no logarithm"
    source = Source("foundation2025", "Section 4.1, comparison", note="as printed")
    population = RateComparisons()
    relation = Rate("n", (1e3, 1e6, 1e9, 1e12), upper=True)
    control = Control("the quotient falls like n^(-1/2)", lambda exponent, problem: exponent - 0.5)
    controls = "which of two printed rates is smaller"
    unexplained = "whether the architectures attain their rates"
    reading = "up to constants, as n grows; the logarithm is natural"
    passage = Passage(
        _SURVEY,
        10266,
        10392,
        "123ccf170627e6ee",
        says="The rate (12) of state-space models, which has no logarithm, is better than that of transformers.",
        right_if="(10) had the exponent s/d, or the rates were compared at equal numbers of operations, n² and n",
        formula="(12): n^(-s/d), (10): ((log n)/n)^(2s/d)",
    )
    readings = (
        Reading("up to constants, as n grows", "refuted"),
        Reading("with constants 1, at each n", "refuted", "approximation.printed_rates.ratio_of_printed_rates"),
    )
    expected = Status.REFUTED
    trials = 64
    predict = 0.0

    def measure_at(self, problem: RateComparison, key: Key[Array, ""], n: float) -> Array:
        at = RateComparison(jnp.asarray(n), problem.s, problem.d, problem.base)
        return at.recurrence / at.attention


class RatioOfPrintedRates(Claim[RateComparison]):
    """For n parameters, let ((log n)/n)^(2s/d) be the printed error rate of attention, and n^(-s/d) that of
    recurrences, on functions of smoothness s in d dimensions. At every n from 2 on, the rate of attention is smaller
    than the rate of recurrences. The ratio of the rate of attention to the rate of recurrences is

        ((log n)²/n)^(s/d) <= (4/e²)^(s/d) < 1,

    since (log n)²/n is largest at n = e². The two rates are nearest at n = 7.
    """

    title = "The printed error rate ((log n)/n)^(2s/d) of attention is below n^(-s/d) of recurrences for all n >= 2"
    source = Source("foundation2025", "Section 4.1, comparison", note="corrected, with explicit constants 1")
    population = RateComparisons()
    relation = AtMost()
    control = Control("(3.9/e²)^(s/d)", lambda value, problem: value * 0.975 ** (problem.s / problem.d))
    controls = "the ratio of two printed rates"
    unexplained = "whether the architectures attain their rates"
    reading = _READING
    corrects = PrintedRecurrencesBeatAttention
    trivial = 1.0  # that the first is not the larger one

    def predict(self, problem: RateComparison) -> Array:
        return (4 / jnp.e**2) ** (problem.s / problem.d)

    def measure(self, problem: RateComparison, key: Key[Array, ""]) -> Array:
        return problem.attention / problem.recurrence


class PrintedDominanceAboveTwoDimensions(Claim[RateComparison]):
    """The source gives the error rate n^(-s/d) of recurrences and ((log n)/n)^(2s/d) of attention, for functions of
    smoothness s in d dimensions. It states that, at a fixed number n of parameters, recurrences have the strictly
    smaller rate if d exceeds 2:

        n^(-s/d) < ((log n)/n)^(2s/d)   for d > 2.

    In fact the opposite inequality holds at every n from 2 on. The exponents of both sides are s/d times numbers that
    do not depend on d, so the dimension d does not change which side is smaller.
    """

    title = "As printed, recurrences have a better approximation rate than attention above two dimensions"
    source = Source("foundation2025", "Theorem 1, dominance", note="as printed")
    population = RateComparisons(dimension=3)
    relation = AtMost()
    control = Control("at most 1.25 times the rate of attention", lambda value, problem: 1.25 * value)
    controls = "which of two printed rates is smaller in many dimensions"
    unexplained = "whether the architectures attain their rates"
    reading = _READING
    passage = Passage(
        _SURVEY,
        10935,
        11015,
        "64e9f7db4ae1422a",
        says="At a fixed number n of parameters state-space models have the strictly better rate where d exceeds 2.",
        right_if="the number of operations, not n, were fixed (then for every d), or (10) had the exponent s/d",
        formula="(12): n^(-s/d), (10): ((log n)/n)^(2s/d)",
    )
    readings = (
        Reading("with constants 1, at each n", "refuted"),
        Reading(
            "with the logarithm to the base 2: the order depends on n alone",
            "refuted",
            "approximation.printed_rates.order_of_rates_free_of_dimension",
        ),
        Reading(
            "up to constants, as n grows", "refuted", "approximation.printed_rates.printed_recurrences_beat_attention"
        ),
    )
    expected = Status.REFUTED
    trivial = 1.0  # the error of zero on the unit ball

    def predict(self, problem: RateComparison) -> Array:
        return problem.attention

    def measure(self, problem: RateComparison, key: Key[Array, ""]) -> Array:
        return problem.recurrence


class OrderOfRatesFreeOfDimension(Claim[RateComparison]):
    """For n parameters, compare the printed error rate ((log n)/n)^(2s/d) of attention with the printed error rate
    n^(-s/d) of recurrences. The sign of the first rate minus the second is the sign of (log n)² - n. So this sign
    depends neither on the dimension d nor on the smoothness s. For the natural logarithm, the sign is negative at every
    n from 2 on. For the logarithm to the base 2, the sign is positive only for 4 < n < 16.
    """

    title = "The dimension does not decide whether the printed error rate of attention or of recurrences is smaller"
    source = Source("foundation2025", "Theorem 1, dominance", note="corrected")
    population = RateComparisons(base=2.0)
    relation = Equal()
    control = Control(
        "the sign changes above two dimensions", lambda sign, problem: jnp.where(problem.d > 2, -1.0, 1.0) * sign
    )
    controls = "the sign of the difference of two printed rates"
    unexplained = "whether the architectures attain their rates"
    reading = "the constants in both O are 1, and the logarithm is to the base 2"
    corrects = PrintedDominanceAboveTwoDimensions

    def predict(self, problem: RateComparison) -> Array:
        """Return the sign, which is 0 at n = 4 and 16, where both rates are equal.

        A difference as small as rounding errors is set to 0.
        """
        logarithm = jnp.log(problem.n) / jnp.log(problem.base)
        return jnp.sign(logarithm**2 - problem.n) * (jnp.abs(logarithm**2 / problem.n - 1) > 1e-9)

    def measure(self, problem: RateComparison, key: Key[Array, ""]) -> Array:
        apart = problem.attention - problem.recurrence
        return jnp.sign(apart) * (jnp.abs(apart) > 1e-9 * problem.recurrence)


class LogDimensionsLeaveLogarithms(Claim[BudgetedBall]):
    """Let the outputs of a method lie in a linear space of m = floor(log n) dimensions. Consider the unit ball of the
    Sobolev space H^s on the torus of d dimensions, and the number M below. In the worst case over this ball, the
    squared error of the method is at least

        (1 + d M²)^(-s),   M = ceil( ((m+1)^(1/d) - 1)/2 ),

    which is of the order (log n)^(-2s/d) and not ((log n)/n)^(2s/d). The reason is that the cube of side 2M + 1 has
    more than m frequencies, and no frequency in the cube is longer than sqrt(d) M. For d = 1, the best linear space
    attains the bound.
    """

    title = (
        "If outputs span only log n dimensions, the worst squared error on a Sobolev ball is at least a power of "
        "1/log n"
    )
    source = Source(
        "foundation2025", "Section 4.2, proof sketch", note="the error that a linear space of log n dimensions leaves"
    )
    stated = Kind.OWN
    population = BudgetedBalls()
    relation = AtLeast()
    control = Control("6/5 times the bound", lambda bound, problem: 1.2 * bound)
    controls = "the squared error of the best method with log n effective dimensions"
    unexplained = "methods whose space depends on the function"
    trivial = 0.0  # that an error is not negative

    def predict(self, problem: BudgetedBall) -> Array:
        d = problem.ball.dimension
        m = jnp.floor(jnp.log(problem.n))
        # the root of a whole power must not be rounded up
        half = jnp.ceil(((m + 1) ** (1 / d) - 1) / 2 - 1e-9)
        return (1 + d * half**2) ** -problem.ball.smoothness

    def measure(self, problem: BudgetedBall, key: Key[Array, ""]) -> Array:
        return _best_error_in_log_dimensions(problem)
