"""Settings in which two printed rates are compared: a budget n, a smoothness s, a dimension d."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class RateComparison(eqx.Module):
    """The arguments of the two printed rates, (log(n)/n)^(2s/d) for attention and n^(-s/d) for recurrences.

    Args:
        n: parameters.
        s: smoothness.
        d: dimension of the inputs.
        base: base of the logarithm.
    """

    n: Float[Array, ""]
    s: Float[Array, ""]
    d: Float[Array, ""]
    base: Float[Array, ""]

    @property
    def attention(self) -> Float[Array, ""]:
        """(log(n)/n)^(2s/d), the logarithm to the base."""
        return (jnp.log(self.n) / jnp.log(self.base) / self.n) ** (2 * self.s / self.d)

    @property
    def recurrence(self) -> Float[Array, ""]:
        """n^(-s/d)."""
        return self.n ** (-self.s / self.d)


class RateComparisons(Population[RateComparison]):
    """Whole n, evenly on a logarithmic scale from 2; smoothness uniform; dimensions uniform in a range.

    Attributes:
        dimension: the least dimension.
        base: the base of the logarithm, that of the statement: another base is another statement.
    """

    dimension: int = 1
    base: float = float(jnp.e)

    def settings(self) -> Space:
        """The largest n, the largest dimension and smoothness."""
        return Space(
            largest=Integer(64, 16, 10**9, "the largest number of parameters", corners=(32, 10**6)),
            dimensions=Integer(8, self.dimension, 1000, "the largest dimension"),
            smoothness=Real(4.0, 0.5, 20.0, "the largest smoothness"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> RateComparison:
        """Independent numbers."""
        count, smooth, high = jax.random.uniform(key, (3,))
        n = jnp.floor(2 * ((setting["largest"] + 1) / 2) ** count)
        s = 0.25 + (setting["smoothness"] - 0.25) * smooth
        d = jnp.floor(self.dimension + (setting["dimensions"] + 1 - self.dimension) * high)
        return RateComparison(n, s, d, jnp.asarray(self.base))

    def hypotheses(self, problem: RateComparison) -> list[Hypothesis]:
        """At least two parameters, the range of dimensions."""
        least = self.dimension
        return [
            Hypothesis("n is at least 2", problem.n, ">=", 2.0, "log(1) is 0"),
            Hypothesis("the dimension is in the range", problem.d, ">=", least, f"the statement is about d >= {least}"),
            Hypothesis("the smoothness is positive", problem.s, ">", 0.0, "both rates are of Sobolev classes"),
        ]
