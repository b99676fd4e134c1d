"""The number of labels that a threshold needs: of order 1/error for random rows, and log(1/error) for chosen rows.

This theory gives the mean error of the best rule for the simplest class, thresholds on a line without noise. It assumes
a uniform threshold. It does not explain which structure lets a model learn from fewer rows than order 1/error.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Kind,
    Passage,
    Population,
    Rate,
    Reading,
    Source,
    Space,
    Status,
)

ABOUT = {"tool": "statistics", "architecture": "any", "object": "generalisation"}


class Thresholds(eqx.Module):
    """A number n of labels, which say whether x in [0, 1] is above a threshold that is uniform between `low` and
    `high`.
    """

    low: Float[Array, ""]
    high: Float[Array, ""]
    n: int = eqx.field(static=True)

    def draw(self, key: Key[Array, ""], repeats: int) -> Float[Array, " r"]:
        """Draw `repeats` independent thresholds."""
        return jax.random.uniform(key, (repeats,), minval=self.low, maxval=self.high)


class UniformThresholds(Population[Thresholds]):
    """Thresholds that are uniform on intervals with random ends. The rows are uniform on the same interval."""

    settings = Space(n=Integer(8, 1, 40, "labels", corners=(4, 16)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Thresholds:
        start, length = jax.random.uniform(key, (2,))
        length = 0.2 + 0.8 * length
        low = start * (1 - length)
        return Thresholds(low, low + length, setting["n"])

    def hypotheses(self, problem: Thresholds) -> list[Hypothesis]:
        return [
            Hypothesis(
                "the interval has positive length",
                problem.high - problem.low,
                ">",
                0.0,
                "otherwise the threshold is already known",
            )
        ]


_REPEATS = 256


def _midpoint_error(problem: Thresholds, key: Key[Array, ""], n: int) -> Float[Array, ""]:
    """Return the mean error over 256 thresholds, each estimated by the midpoint of the nearest rows on both sides."""
    threshold_key, row_key = jax.random.split(key)
    thresholds = problem.draw(threshold_key, _REPEATS)[:, None]
    rows = jax.random.uniform(row_key, (_REPEATS, n), minval=problem.low, maxval=problem.high)
    below = jnp.where(rows <= thresholds, rows, problem.low).max(axis=1)
    above = jnp.where(rows > thresholds, rows, problem.high).min(axis=1)
    return jnp.abs((below + above) / 2 - thresholds[:, 0]).mean()


class PrintedLogarithmicSamples(Claim[Thresholds]):
    """The source prints that a model of depth L in d dimensions needs a number of rows of the order L d log(1/epsilon)
    for the error epsilon.

    At L = d = 1, the error after n rows would then fall like exp(-n) up to logarithms of n. Such a fall is faster than
    any power of n, in particular faster than n^-2.

    The test uses labels without noise that change at an unknown threshold on an interval. One layer on one token of
    dimension 1 computes such labels. The test estimates the threshold by the midpoint between the last row below it and
    the first row above it. This rule has the smallest mean error. Every other rule, for example a trained transformer,
    has at least this mean error.
    """

    title = "As printed, learning to the error epsilon takes a number of rows in proportion to log(1/epsilon)"
    source = Source("foundation2025", "(19)", note="as printed")
    population = UniformThresholds()
    relation = Rate("n", (4.0, 16.0, 64.0), upper=True)
    control = Control("the error falls like n^(-5/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the error after a number of labelled rows"
    unexplained = "which class and which distribution of the rows the source means"
    reading = "rows are independent draws, and an error that falls exponentially would fall faster than n^-2"
    passage = Passage(
        "000_643c1008a95be5dc.txt",
        16413,
        16651,
        "be428da156fd8d0f",
        says="the sample complexity of transformers of depth L in dimension d is L d log(1/epsilon) up to logarithms",
        right_if="labels were asked for rows that are chosen one after the other, or the rows kept a distance from the "
        "boundary between the labels",
        formula="Õ(L d log(1/eps))",
    )
    readings = (
        Reading("epsilon is the error on new rows, and labels have no noise", "refuted"),
        Reading(
            "epsilon is the test loss minus the training loss, as in (15); n is then still at least of order 1/epsilon",
            "refuted",
        ),
        Reading(
            "the omitted logarithms may be of 1/epsilon; the error then still falls faster than any power", "refuted"
        ),
    )
    expected = Status.REFUTED
    trials = 32
    predict = -2.0

    def measure_at(self, problem: Thresholds, key: Key[Array, ""], rung: float) -> Array:
        return _midpoint_error(problem, key, int(rung))


class ThresholdSamples(Claim[Thresholds]):
    """Let a threshold be uniform on an interval of length b, and let n independent uniform rows be labelled. Estimate
    the threshold by the midpoint between the last row below it and the first row above it. The mean error is

        b / (2 (n + 2)),

    and no rule has a smaller mean error. The reason is that the threshold, given the rows, is uniform between these two
    rows. So the error epsilon takes n = b/(2 epsilon) - 2 rows. This number grows in proportion to 1/epsilon, and not
    to the logarithm of 1/epsilon.
    """

    title = "The mean error of a threshold that is learned from n random labelled rows falls like 1/n"
    source = Source("foundation2025", "(19)", note="corrected")
    population = UniformThresholds()
    relation = EqualInMean(margin=0.0, resolution=0.05)
    control = Control("the error is b/(2n)", lambda error, problem: error * (problem.n + 2) / problem.n)
    controls = "the error after a number of labelled rows"
    unexplained = "noisy labels, and classes of larger dimension"
    corrects = PrintedLogarithmicSamples
    trials = 80

    def predict(self, problem: Thresholds) -> Array:
        return (problem.high - problem.low) / (2 * (problem.n + 2))

    def measure(self, problem: Thresholds, key: Key[Array, ""]) -> Array:
        """Return the mean error over 256 thresholds, with new rows for each threshold."""
        return _midpoint_error(problem, key, problem.n)


class ThresholdQuestions(Claim[Thresholds]):
    """Let a threshold be uniform on an interval of length b. Learn the threshold by bisection. That is, choose n rows
    one by one, each in the middle of the interval that must still contain the threshold. The mean error is

        b 2^-(n+2).

    So log2(1/epsilon) labels are enough for the error epsilon. A logarithmic number of labels is enough for chosen
    rows, but not for random rows.
    """

    title = "The mean error of a threshold that is learned by bisection, from n chosen rows, falls like 2^-n"
    source = Source("foundation2025", "(19)", note="for chosen rows")
    stated = Kind.OWN
    population = UniformThresholds()
    relation = EqualInMean(margin=0.0, resolution=0.05)
    control = Control(
        "the error is twice as large, as for one end of the remaining interval", lambda error, problem: 2 * error
    )
    controls = "the error after a number of labels"
    unexplained = "noisy labels, and classes in which no query halves the remaining possibilities"
    trials = 80

    def predict(self, problem: Thresholds) -> Array:
        return (problem.high - problem.low) * 2.0 ** -(problem.n + 2)

    def measure(self, problem: Thresholds, key: Key[Array, ""]) -> Array:
        """Return the mean error of bisection over 256 thresholds."""
        thresholds = problem.draw(key, _REPEATS)
        ends = (jnp.full(_REPEATS, problem.low), jnp.full(_REPEATS, problem.high))

        def ask(_, ends: tuple[Array, Array]) -> tuple[Array, Array]:
            middle = (ends[0] + ends[1]) / 2
            above = thresholds > middle
            return jnp.where(above, middle, ends[0]), jnp.where(above, ends[1], middle)

        below, above = jax.lax.fori_loop(0, problem.n, ask, ends)
        return jnp.abs((below + above) / 2 - thresholds).mean()
