"""Points to be labelled by halfspaces, by sines, or at random."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.generators import generator_of


class GeneralPoints(eqx.Module):
    """Points in d dimensions. Any d of the points are linearly independent."""

    points: Float[Array, "n d"]


class GeneralPositions(Population[GeneralPoints]):
    """Normal points around a normal centre. By default, there are `extra` more points than dimensions.

    Args:
        dimension: the default number d of dimensions.
        extra: the default of n - d, where n is the number of points.
        most: the largest number of points in an extra setting (a setting besides the default).
        spread: the difference between the dimension of an extra setting and the default. If 0, the dimension is fixed.
    """

    dimension: int = eqx.field(static=True, default=3)
    extra: int = eqx.field(static=True, default=5)
    most: int = eqx.field(static=True, default=10)
    spread: int = eqx.field(static=True, default=1)

    def settings(self) -> Space:
        d, n = self.dimension, self.dimension + self.extra
        return Space(
            d=Integer(d, *((2, 8) if self.spread else (d, d)), "dimension", corners=(d - self.spread, d + self.spread)),
            n=Integer(n, 2, 40, "number of points", corners=(n - 2, self.most)),
        ).where("there are at least as many points as dimensions", lambda s: s["n"] >= s["d"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> GeneralPoints:
        drawn = jax.random.normal(key, (setting["n"] + 1, setting["d"]))
        return GeneralPoints(drawn[:-1] + drawn[-1])

    def hypotheses(self, problem: GeneralPoints) -> list[Hypothesis]:
        """Check that there are at least as many points as dimensions.

        For a distribution with a density, points are almost surely in general position.
        """
        n, d = problem.points.shape
        return [
            Hypothesis("number of points", n, ">=", d, "fewer points do not span the space"),
            Hypothesis.unchecked("every d points are linearly independent", "this would need a check of all subsets"),
        ]


class DrawnPositions(Population[GeneralPoints]):
    """Normal points around a normal centre. The number and the dimension of the points are drawn for each problem."""

    settings = Space(
        d=Integer(4, 2, 6, "largest dimension", corners=(3, 5)),
        n=Integer(10, 4, 16, "largest number of points", corners=(8, 11)),
    ).where("there are at least as many points as dimensions", lambda s: s["n"] >= s["d"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> GeneralPoints:
        """Draw points in at least 2 dimensions, and at least as many points as dimensions."""
        rng = generator_of(key)
        d = int(rng.integers(2, setting["d"] + 1))
        drawn = rng.normal(size=(int(rng.integers(d, setting["n"] + 1)) + 1, d))
        return GeneralPoints(jnp.asarray(drawn[:-1] + drawn[-1]))

    def hypotheses(self, problem: GeneralPoints) -> list[Hypothesis]:
        return GeneralPositions().hypotheses(problem)


class SineNodes(eqx.Module):
    """The points scale/2, scale/4, ..., scale/2^n."""

    scale: Float[Array, ""]
    n: int = eqx.field(static=True)


class PointsOnLine(eqx.Module):
    """Positive points on the line, and the largest frequency of a sine that labels the points."""

    points: Float[Array, " n"]
    frequency: Float[Array, ""]


class Memorised(eqx.Module):
    """Rows with targets, and a direction along which all rows have different projections."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    direction: Float[Array, " d"]


def gap_of_projections(problem: Memorised) -> Hypothesis:
    """Check that all projections of rows on the direction differ."""
    gap = jnp.diff(jnp.sort(problem.x @ problem.direction)).min()
    return Hypothesis(
        "the smallest gap between projections", gap, ">", 1e-12, "rows with equal projections cannot be separated"
    )
