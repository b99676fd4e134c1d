"""Points that get labels: by halfspaces, by sines, by chance."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space


class GeneralPoints(eqx.Module):
    """Points of which every d are linearly independent."""

    points: Float[Array, "n d"]


class GeneralPositions(Population[GeneralPoints]):
    """Normal points around a normal centre, `extra` more than dimensions by default.

    Args:
        dimension: the default d.
        extra: n - d by default.
        most: the most points in a corner.
        spread: how far dimensions in a corner are from the default.
    """

    dimension: int = eqx.field(static=True, default=3)
    extra: int = eqx.field(static=True, default=5)
    most: int = eqx.field(static=True, default=10)
    spread: int = eqx.field(static=True, default=1)

    def settings(self) -> Space:
        d, n = self.dimension, self.dimension + self.extra
        return Space(
            d=Integer(d, 2, 8, "dimension", corners=(d - self.spread, d + self.spread)),
            n=Integer(n, 2, 40, "points", corners=(n - 2, self.most)),
        ).where("there are at least as many points as dimensions", lambda s: s["n"] >= s["d"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> GeneralPoints:
        drawn = jax.random.normal(key, (setting["n"] + 1, setting["d"]))
        return GeneralPoints(drawn[:-1] + drawn[-1])

    def hypotheses(self, problem: GeneralPoints) -> list[Hypothesis]:
        """As many points as dimensions; general position cannot fail for a law with a density."""
        n, d = problem.points.shape
        return [
            Hypothesis("points", n, ">=", d, "fewer span less than the space"),
            Hypothesis.unchecked("every d points are independent", "all subsets would have to be looked at"),
        ]


class SineNodes(eqx.Module):
    """The points scale/2, scale/4, ..., scale/2^n."""

    scale: Float[Array, ""]
    n: int = eqx.field(static=True)


class HalvedNodes(Population[SineNodes]):
    """Scales on a logarithmic scale."""

    free = ("scale",)
    settings = Space(n=Integer(8, 2, 14, "points", corners=(5, 10)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SineNodes:
        return SineNodes(10.0 ** jax.random.uniform(key, minval=-2.0, maxval=2.0), setting["n"])

    def hypotheses(self, problem: SineNodes) -> list[Hypothesis]:
        return [Hypothesis("the scale", problem.scale, ">", 0.0, "equal points have equal labels")]


class PointsOnLine(eqx.Module):
    """Positive points on the line, and the largest frequency of a sine that labels them."""

    points: Float[Array, " n"]
    frequency: Float[Array, ""]


class UniformPoints(Population[PointsOnLine]):
    """Uniform points in [0, 1]."""

    free = ("points",)
    settings = Space(n=Integer(12, 4, 40, "points", corners=(10, 20)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> PointsOnLine:
        point_key, frequency_key = jax.random.split(key)
        frequency = 3.0 * 20.0 ** jax.random.uniform(frequency_key)
        return PointsOnLine(jax.random.uniform(point_key, (setting["n"],)), frequency)

    def hypotheses(self, problem: PointsOnLine) -> list[Hypothesis]:
        return [Hypothesis("the smallest point", problem.points.min(), ">", 0.0, "at 0 a sine says nothing")]


class Memorised(eqx.Module):
    """Rows with targets, and a direction on which they have different projections."""

    x: Float[Array, "n d"]
    y: Float[Array, " n"]
    direction: Float[Array, " d"]


class MemorisedRows(Population[Memorised]):
    """Normal rows, normal targets, a normal direction."""

    settings = Space(n=Integer(20, 4, 100, "rows", corners=(10, 30)), d=Integer(5, 1, 50, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Memorised:
        n, d = setting["n"], setting["d"]
        x_key, y_key, direction_key = jax.random.split(key, 3)
        x, y = jax.random.normal(x_key, (n, d)), jax.random.normal(y_key, (n,))
        return Memorised(x, y, jax.random.normal(direction_key, (d,)))

    def hypotheses(self, problem: Memorised) -> list[Hypothesis]:
        gap = jnp.diff(jnp.sort(problem.x @ problem.direction)).min()
        return [Hypothesis("the smallest gap between projections", gap, ">", 1e-12, "rows differ along the direction")]
