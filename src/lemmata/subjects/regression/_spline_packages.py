"""Test problems: splines with the covariance r²(ln r - b) + c of the distance r, at points of a ball or
hyperoctahedron.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.subjects.splines import Hyperoctahedron, SplineCovariance


def level_for(slope: Float[Array, ""]) -> Float[Array, ""]:
    """Return c = 16 b², eleven times the least c for hyperoctahedra. For b = 5, c is 400, as in the public code."""
    return 16 * slope**2


def some_slope(key: Key[Array, ""]) -> Float[Array, ""]:
    """Draw b from 2.5 to 8, uniformly on a logarithmic scale."""
    return 2.5 * (8 / 2.5) ** jax.random.uniform(key)


class SplineValues(eqx.Module):
    """Values at points, places at which splines through these values are evaluated, and a cotangent of the results.

    A cotangent holds the derivatives of a number with respect to the results.

    Args:
        points: the points t.
        values: the values Y at the points.
        z: the places at which the splines are evaluated.
        cotangent: the cotangent G of the outputs.
        slope: the parameter b of the covariance; the level is c = 16 b².
    """

    points: Float[Array, "N p"]
    values: Float[Array, "N m"]
    z: Float[Array, "n p"]
    cotangent: Float[Array, "n m"]
    slope: Float[Array, ""]

    @property
    def covariance(self) -> SplineCovariance:
        """The covariance k."""
        return SplineCovariance(self.slope, level_for(self.slope))

    @property
    def gram(self) -> Float[Array, "N N"]:
        """The matrix K of the covariance, computed from differences of points."""
        squared = jnp.sum((self.points[:, None] - self.points) ** 2, axis=-1)
        return self.covariance(squared)

    @property
    def extremes(self) -> Float[Array, " 2"]:
        """The least and the largest eigenvalue of K."""
        return jnp.linalg.eigvalsh(self.gram)[jnp.array([0, -1])]


class SplinePackages(Population[SplineValues]):
    """Splines at points in the unit ball or of a hyperoctahedron, with normal values, places and cotangents.

    A hyperoctahedron has the points 0, e_1, ..., e_p, -e_1, ..., -e_p of R^p.

    Args:
        octahedron: whether the points are the points of the hyperoctahedron.
    """

    octahedron: bool = eqx.field(static=True, default=False)
    settings = Space(
        p=Integer(6, 1, 100, "inputs of a package"),
        nodes=Integer(20, 2, 500, "points of a scattered constellation"),
        m=Integer(4, 1, 100, "splines"),
        rows=Integer(8, 1, 500, "points at which the splines are evaluated"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> SplineValues:
        """Draw scattered points uniformly from the ball, normal values, places and cotangents, and b from 2.5 to 8."""
        keys = jax.random.split(key, 6)
        p, nodes = setting["p"], setting["nodes"]
        direction = jax.random.normal(keys[0], (nodes, p))
        radius = jax.random.uniform(keys[1], (nodes, 1)) ** (1 / p)
        points = radius * direction / jnp.linalg.norm(direction, axis=1, keepdims=True)
        if self.octahedron:
            points = Hyperoctahedron(p).points
        shape = (setting["rows"], setting["m"])
        return SplineValues(
            points,
            jax.random.normal(keys[2], (len(points), setting["m"])),
            jax.random.normal(keys[3], (setting["rows"], p)) / p**0.5,
            jax.random.normal(keys[4], shape),
            some_slope(keys[5]),
        )

    def hypotheses(self, problem: SplineValues) -> list[Hypothesis]:
        least, largest = problem.extremes
        why = "otherwise no random function has this covariance; b and c are too small for the points"
        return [Hypothesis("K is positive definite", least, ">", 1e-12 * largest, why)]


class ScatteredPoints(eqx.Module):
    """N points t of R^p, places z around which splines are evaluated, and one step h away from each place."""

    points: Float[Array, "N p"]
    z: Float[Array, "n p"]
    steps: Float[Array, "n p"]


class GenericPoints(Population[ScatteredPoints]):
    """Points, places of evaluation and steps from normal distributions. There are two places for each point."""

    # One extra setting has more points than inputs, and the other has as many points as inputs.
    settings = Space(
        p=Integer(8, 1, 40, "inputs", corners=(4, 24)), nodes=Integer(16, 3, 60, "points", corners=(8, 24))
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ScatteredPoints:
        """Draw points, places and steps from normal distributions, scaled so that distances are of the order of 1."""
        p, nodes = setting["p"], setting["nodes"]
        drawn = jax.random.normal(key, (5 * nodes, p)) / p**0.5
        return ScatteredPoints(drawn[:nodes], drawn[nodes : 3 * nodes], drawn[3 * nodes :])

    def hypotheses(self, problem: ScatteredPoints) -> list[Hypothesis]:
        """Check that the points span min(N, p + 1) affine dimensions, as points in general position do.

        In general position, no point is an affine combination of fewer than p + 1 others.
        """
        n, p = problem.points.shape
        affine = jnp.concatenate([jnp.ones((n, 1)), problem.points], axis=1)
        least = jnp.linalg.svd(affine, compute_uv=False)[-1]
        name = f"the points span min(N, p + 1) = {min(n, p + 1)} affine dimensions"
        return [Hypothesis(name, least, ">", 1e-3, "the points must be in general position")]


class IdentityStack(eqx.Module):
    """A chain of equal packages (sets of splines) with the values gamma t at the points t of a hyperoctahedron.

    Args:
        start: the start z, in R^p, which the first package maps.
        readout: a standard normal vector u; gradients are those of <u, output>.
        slope: the parameter b of the covariance; the level is c = 16 b².
        scale: the factor gamma.
    """

    start: Float[Array, " p"]
    readout: Float[Array, " p"]
    slope: Float[Array, ""]
    scale: Float[Array, ""]

    @property
    def covariance(self) -> SplineCovariance:
        """The covariance k."""
        return SplineCovariance(self.slope, level_for(self.slope))


class IdentityStacks(Population[IdentityStack]):
    """Chains of packages with starts in a random direction and with a norm from 0.4 to 1.2.

    Args:
        most: the number of inputs of the widest package. A claim may use only the first p coordinates of the start,
            scaled to the same norm.
        low, high: the range of gamma.
    """

    most: int = eqx.field(static=True, default=64)
    low: float = eqx.field(static=True, default=1.0)
    high: float = eqx.field(static=True, default=1.0)
    # There is nothing to set, because b, the norm and the scale are drawn.
    settings = Space()

    def sample(self, setting: dict, key: Key[Array, ""]) -> IdentityStack:
        """Draw the norm and gamma uniformly, and b from 2.5 to 8."""
        keys = jax.random.split(key, 3)
        norm, scale = jax.random.uniform(keys[0], (2,))
        start, readout = jax.random.normal(keys[1], (2, self.most))
        start = (0.4 + 0.8 * norm) * start / jnp.linalg.norm(start)
        scale = self.low + (self.high - self.low) * scale
        return IdentityStack(start, readout, some_slope(keys[2]), scale)

    def hypotheses(self, problem: IdentityStack) -> list[Hypothesis]:
        norm = jnp.linalg.norm(problem.start)
        return [
            Hypothesis("b is above ln 2", problem.slope, ">", jnp.log(2.0), "otherwise K is not positive definite"),
            Hypothesis("the start is not the centre", norm, ">", 0.0, "every package maps the centre to itself"),
        ]
