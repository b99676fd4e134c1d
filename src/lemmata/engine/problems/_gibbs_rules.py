"""Random rules and their errors: binomial counts, the best of many rules, noisy linear rules on labelled rows."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key
from scipy.special import ndtr

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._margin_rows import generator_of, sphere_shadows

_DRAWS = 8000


class ErrorCounts(eqx.Module):
    """k of n rows are wrong, k binomial, for several probabilities p."""

    p: Float[Array, " c"]
    n: int = eqx.field(static=True)


class BinomialErrors(Population[ErrorCounts]):
    """Two probabilities, one below and one above 1/2."""

    free = ("p",)

    def settings(self) -> Space:
        """Rows."""
        return Space(n=Integer(60, 1, 150, "rows", corners=(2, 120)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ErrorCounts:
        """Uniform ones."""
        share = jax.random.uniform(key, (2,), minval=0.05, maxval=0.5)
        return ErrorCounts(jnp.stack([share[0], 1 - share[1]]), setting["n"])

    def hypotheses(self, problem: ErrorCounts) -> list[Hypothesis]:
        """Probabilities inside (0, 1)."""
        least = jnp.minimum(problem.p, 1 - problem.p).min()
        return [Hypothesis("p and 1 - p", least, ">", 0.0, "at 0 and 1 the moment is 1")]


class BestRule(eqx.Module):
    """Many rules that err independently with one probability; the one that errs least on the rows is chosen.

    Args:
        error: the probability.
        least: errors of the chosen one.
        rules: how many.
        n: rows.
        delta: of the bound.
    """

    error: Float[Array, ""]
    least: Int[Array, ""]
    rules: int = eqx.field(static=True)
    n: int = eqx.field(static=True)
    delta: float = eqx.field(static=True, default=0.05)


class BestOfManyRules(Population[BestRule]):
    """Independent labellers that err with a probability between 0.1 and 0.3."""

    def settings(self) -> Space:
        """Sizes."""
        return Space(
            rules=Integer(5000, 1, 100_000, "rules", corners=(4000, 8000)),
            n=Integer(100, 20, 1000, "rows", corners=(80, 160)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> BestRule:
        """The least of the counts."""
        generator = generator_of(key)
        error = generator.uniform(0.1, 0.3)
        counts = generator.binomial(setting["n"], error, setting["rules"])
        return BestRule(jnp.asarray(error), jnp.asarray(counts.min()), setting["rules"], setting["n"])

    def hypotheses(self, problem: BestRule) -> list[Hypothesis]:
        """The rows are independent."""
        return [
            Hypothesis.unchecked("rules and prior were fixed before the rows", "their choice is not in the numbers")
        ]


class NoisyLinearRule(eqx.Module):
    """A linear rule learned from rows, with standard normal noise on its weights.

    Rows are standard normal; the class is the sign of <teacher, x>, wrong with probability `flips`. The weights are
    sum_i y_i x_i, scaled to a length that was fixed beforehand.

    Args:
        x, y: rows and classes -1, 1.
        teacher: a unit vector.
        flips: probability of a wrong class.
        length: of the weights.
        delta: of the bound.
    """

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    teacher: Float[Array, " d"]
    flips: Float[Array, ""]
    length: Float[Array, ""]
    delta: float = eqx.field(static=True, default=0.05)

    @property
    def weights(self) -> Float[Array, " d"]:
        """The mean of the noisy weights."""
        total = np.asarray(self.y) @ np.asarray(self.x)
        return jnp.asarray(float(self.length) * total / np.linalg.norm(total))

    def true_error(self, key: Key[Array, ""]) -> float:
        """Of the noisy rule on new rows: the exact error in each of many directions of a row."""
        towards, beside = sphere_shadows(generator_of(key), len(self.teacher), _DRAWS)
        weights, length = np.asarray(self.weights), float(self.length)
        cosine = float(weights @ np.asarray(self.teacher)) / length
        own = cosine * towards + max(1 - cosine**2, 0.0) ** 0.5 * beside
        flips = float(self.flips)
        return flips + (1 - 2 * flips) * float(ndtr(-np.sign(towards) * length * own).mean())


class NoisyLinearRules(Population[NoisyLinearRule]):
    """Teachers in a few dimensions, a few wrong labels, weights of length 3 to 5."""

    def settings(self) -> Space:
        """Sizes."""
        return Space(
            n=Integer(200, 50, 2000, "rows", corners=(120, 400)),
            d=Integer(5, 2, 40, "dimension", corners=(3, 8)),
            flips=Real(0.05, 0.0, 0.4, "probability of a wrong label", corners=(0.0, 0.1)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> NoisyLinearRule:
        """Rows, a teacher, a length."""
        generator, n, d = generator_of(key), setting["n"], setting["d"]
        x, teacher = generator.standard_normal((n, d)), generator.standard_normal(d)
        teacher /= np.linalg.norm(teacher)
        y = np.where(generator.uniform(size=n) < setting["flips"], -1.0, 1.0) * np.sign(x @ teacher)
        x, y, teacher, flips, length = map(jnp.asarray, (x, y, teacher, setting["flips"], generator.uniform(3.0, 5.0)))
        return NoisyLinearRule(x, y, teacher, flips, length)

    def hypotheses(self, problem: NoisyLinearRule) -> list[Hypothesis]:
        """A prior without data."""
        return [
            Hypothesis.unchecked("length and noise were fixed before the rows", "their choice is not in the numbers")
        ]
