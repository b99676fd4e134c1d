"""Random test problems: training rows with a poisoned fraction, and votes of models trained on disjoint rows."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.engine.problems.drawn import Drawn


def minority(problem: Any) -> Hypothesis:
    """Return the hypothesis that fewer than half of the rows are replaced or shifted."""
    return Hypothesis(
        "eps", problem.eps, "<", 0.5, "a majority of replaced or shifted rows determines the result by itself"
    )


class Contaminated(eqx.Module):
    """A sample of n normal draws. A fraction eps of the draws is replaced."""

    mean: Float[Array, ""]
    deviation: Float[Array, ""]
    eps: float = eqx.field(static=True)
    n: int = eqx.field(static=True)


class ShiftedRows(eqx.Module):
    """Standard normal rows of any dimension. A fraction eps of the rows is shifted.

    Args:
        eps: the fraction of shifted rows.
        per_dimension: the number of rows divided by the dimension, if the number of rows grows with the dimension.
    """

    eps: float = eqx.field(static=True)
    per_dimension: int = eqx.field(static=True)


SHIFTED_ROWS = Drawn(
    ShiftedRows,
    minority,
    eps=Real(0.1, 0.02, 0.2, "fraction of shifted rows", corners=(0.06, 0.14)),
    per_dimension=Integer(32, 16, 128, "rows for each dimension", corners=(24, 40)),
)


class Parts(eqx.Module):
    """The distribution of the rows of one class, which consists of two parts, for example clean and poisoned rows.

    The covariance of each part is at most sigma² I. The squared distance of the two means is 6 sigma²/eps.

    Args:
        eps: the fraction of the rows that belong to the second part.
        sigma: the bound on the standard deviation in every direction.
        atoms: whether, in each part, the coordinate along the line through the means has only two values. The second
            value has the fraction `stray` of the part. The second value lies beyond the midpoint of the means, on the
            side of the other part. If `atoms` is false, each part is normal.
        n, d: the number of rows and the dimension of a sample.
    """

    eps: float = eqx.field(static=True)
    sigma: Float[Array, ""]
    atoms: Bool[Array, ""]
    n: int = eqx.field(static=True)
    d: int = eqx.field(static=True)

    @property
    def distance(self) -> Float[Array, ""]:
        """The distance between the means of the two parts."""
        return self.sigma * (6 / self.eps) ** 0.5

    @property
    def stray(self) -> float:
        """The fraction of a part that lies beyond the midpoint of the means, if `atoms` is true.

        If this fraction were about 5 % larger, these rows would lie at the midpoint.
        """
        return 0.95 * self.eps / (1.5 + self.eps)


class SeparatedParts(Population[Parts]):
    """Random classes whose rows form two parts, as described in `Parts`.

    In half of the classes, the rows of each part have a normal distribution (Gaussian). In the other classes, the
    coordinate along the line through the two means has only two values in each part.
    """

    settings = Space(
        n=Integer(20_000, 5000, 50_000, "rows", corners=(16_000, 24_000)),
        d=Integer(8, 2, 50, "dimension"),
        eps=Real(0.15, 0.1, 0.4, "fraction of the second part", corners=(0.12, 0.3)),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Parts:
        scale_key, kind_key = jax.random.split(key)
        sigma = jax.random.uniform(scale_key, minval=0.5, maxval=2.0)
        return Parts(setting["eps"], sigma, jax.random.bernoulli(kind_key), setting["n"], setting["d"])

    def hypotheses(self, problem: Parts) -> list[Hypothesis]:
        return [Hypothesis("eps", problem.eps, "<", 0.5, "the second part is smaller than the first")]


class Backdoor(eqx.Module):
    """n rows of standard normal features in d dimensions. A fraction of the rows is shifted by one vector, whose length
    follows from `spike` and `fraction`.

    Args:
        spike: l = fraction (1 - fraction) shift².
        fraction: the fraction of shifted rows.
        n, d: the number of rows and the dimension.
    """

    spike: Float[Array, ""]
    fraction: float = eqx.field(static=True)
    n: int = eqx.field(static=True)
    d: int = eqx.field(static=True)

    @property
    def gamma(self) -> float:
        """The ratio d/n."""
        return self.d / self.n


class Backdoors(Population[Backdoor]):
    """Backdoors with spikes of `low` to `high` times the threshold sqrt(d/n). If `hidden` is true, half of the spikes
    are below the threshold.

    Args:
        low, high: the smallest and the largest spike, in multiples of the threshold.
        hidden: whether half of the spikes are 0.3 to 0.6 times the threshold.
    """

    low: float = eqx.field(static=True, default=1.4)
    high: float = eqx.field(static=True, default=2.2)
    hidden: bool = eqx.field(static=True, default=False)
    settings = Space(
        n=Integer(1000, 200, 5000, "rows", corners=(800, 1500)),
        d=Integer(200, 50, 1000, "dimension", corners=(150, 300)),
        fraction=Real(0.05, 0.02, 0.4, "fraction of shifted rows"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Backdoor:
        n, d = setting["n"], setting["d"]
        spike_key, kind_key = jax.random.split(key)
        share = jax.random.uniform(spike_key)
        factor = self.low + share * (self.high - self.low)
        if self.hidden:
            factor = jnp.where(jax.random.bernoulli(kind_key), factor, 0.3 + 0.3 * share)
        return Backdoor(factor * (d / n) ** 0.5, setting["fraction"], n, d)

    def hypotheses(self, problem: Backdoor) -> list[Hypothesis]:
        """Return the hypothesis that the spike is not close to the threshold, where the largest eigenvalue fluctuates
        most.
        """
        distance = jnp.abs(jnp.log(problem.spike / problem.gamma**0.5))
        why = "near the threshold, the eigenvalue tends to its limit slowly, like n^(-1/3)"
        return [Hypothesis("the spike is away from the threshold (|log| of the ratio)", distance, ">=", 0.26, why)]


class Votes(eqx.Module):
    """The classes that models answer, if each model was trained on another part of the rows."""

    answers: Int[Array, " models"]
    classes: int = eqx.field(static=True)


class PartitionVotes(Population[Votes]):
    """Random votes of models, drawn independently from one distribution of the classes with normal logits."""

    def settings(self) -> Space:
        """Return settings with numbers of models and classes that are small enough for an exhaustive search."""
        models = Integer(7, 2, 10, "models", corners=(5, 8))
        return Space(models=models, classes=Integer(3, 2, 4, "classes", corners=(2, 3)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Votes:
        odds_key, answer_key = jax.random.split(key)
        odds = jax.random.normal(odds_key, (setting["classes"],))
        return Votes(jax.random.categorical(answer_key, odds, shape=(setting["models"],)), setting["classes"])

    def hypotheses(self, problem: Votes) -> list[Hypothesis]:
        return [Hypothesis("classes", problem.classes, ">=", 2, "a single class cannot lose")]
