"""Ratios of depth to width beyond the one at which a cubic has its maximum."""

import equinox as eqx
import jax
from jaxtyping import Array, Key

from lemmata.architectures import LeakyRelu
from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.subjects.field_theory import optimal_aspect_ratio, vertex_growth


class AspectRatio(eqx.Module):
    """Two groups of outputs of a deep and wide critical network of slope `slope` below 0 and 1 above.

    Args:
        slope: below 0.
        factor: how many times the estimated optimum a larger ratio of depth to width is.
        first: outputs of one group.
        second: outputs of the other.
    """

    slope: float
    factor: float
    first: int = eqx.field(static=True)
    second: int = eqx.field(static=True)

    @property
    def growth(self) -> float:
        """The vertex a layer."""
        return vertex_growth(LeakyRelu(self.slope))

    @property
    def estimate(self) -> float:
        """Where the cubic has its maximum."""
        return optimal_aspect_ratio(self.growth, self.first + self.second)


class AspectRatios(Population[AspectRatio]):
    """Slopes of 0 to 1, ratios of 1.1 to 4 times the estimate."""

    def settings(self) -> Space:
        """The two groups."""
        return Space(
            first=Integer(2, 1, 100, "outputs of one group", corners=(1, 6)),
            second=Integer(3, 1, 100, "outputs of the other", corners=(1, 6)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> AspectRatio:
        """A slope and a factor."""
        slope, more = (float(value) for value in jax.random.uniform(key, (2,)))
        return AspectRatio(slope, 1.1 * (4.0 / 1.1) ** more, setting["first"], setting["second"])

    def hypotheses(self, problem: AspectRatio) -> list[Hypothesis]:
        """Beyond the estimate."""
        return [Hypothesis("the factor over the estimate", problem.factor, ">", 1.0, "it is about larger ratios")]
