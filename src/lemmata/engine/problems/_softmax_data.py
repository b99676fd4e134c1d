"""Data on which softmax networks of several widths are trained."""

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._conditions import in_unit_ball
from ._regression import Regression
from ._sampled import draws, points_in_ball

_ROWS = 16


class SoftmaxData(eqx.Module):
    """Data that softmax networks of several widths are trained on.

    Args:
        x: inputs in the unit ball.
        y: targets in the unit ball.
        sigma: standard deviation of the weights.
    """

    x: Float[Array, "n d"]
    y: Float[Array, "n k"]
    sigma: float = eqx.field(static=True)


class SoftmaxDataInBalls(Population[SoftmaxData]):
    """Inputs and targets uniform in unit balls."""

    def settings(self) -> Space:
        """Sizes and the standard deviation of the weights."""
        return Space(
            n=Integer(8, 2, 32, "points"),
            d=Integer(4, 2, 64, "dimension"),
            k=Integer(1, 1, 4, "outputs"),
            sigma=Real(0.5, 0.1, 0.55, "standard deviation of the weights"),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SoftmaxData:
        """One draw."""
        x, y = draws(key, (setting["n"], setting["d"] + 1), (setting["n"], setting["k"] + 1))
        return SoftmaxData(points_in_ball(x), points_in_ball(y), setting["sigma"])

    def pose(self, problem: object) -> SoftmaxData | None:
        """The first 16 rows of a regression, scaled so that the longest has norm 1, with sigma = 1/2."""
        if not isinstance(problem, Regression):
            return None
        x, y = problem.x[:_ROWS], problem.y[:_ROWS]
        scale = lambda rows: rows / jnp.maximum(jnp.linalg.norm(rows, axis=1).max(), jnp.finfo(rows.dtype).tiny)
        return SoftmaxData(scale(x), scale(y), 0.5)

    def hypotheses(self, problem: SoftmaxData) -> list[Hypothesis]:
        """The unit balls, and something to learn."""
        longest = jnp.linalg.norm(problem.x, axis=1).max()
        targets = jnp.linalg.norm(problem.y, axis=1).max()
        return [
            Hypothesis("some input is not 0", longest, ">", 0.0, "the kernel of the zero input is 0"),
            in_unit_ball(problem.x, why="the source's normalisation"),
            Hypothesis("some target is not 0", targets, ">", 0.0, "the network is at its targets already"),
            in_unit_ball(problem.y, "targets", "units move in proportion to the targets"),
        ]
