"""Cascades of splines with rows and targets; rows whose targets depend on one hidden direction."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.splines import Cascade, Hyperoctahedron, Package, SplineCovariance

from ._spline_packages import level_for, some_slope


class CascadeRows(eqx.Module):
    """A cascade of packages on hyperoctahedra, rows and targets.

    Args:
        cascade: f, of one output.
        z: rows.
        y: targets.
        damping: alpha.
    """

    cascade: Cascade
    z: Float[Array, "n p"]
    y: Float[Array, " n"]
    damping: Float[Array, ""]


class NormalCascades(Population[CascadeRows]):
    """Two packages, R^p to R^width to R, with values of the order of 1/2."""

    def settings(self) -> Space:
        """Sizes."""
        return Space(
            p=Integer(4, 1, 50, "inputs", corners=(3, 6)),
            width=Integer(3, 1, 50, "splines of a package", corners=(2, 4)),
            rows=Integer(6, 1, 200, "rows", corners=(4, 10)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> CascadeRows:
        """Normal values of standard deviation 1/2 over the root of the width; damping from 0.1 to 10."""
        p, width, rows = setting["p"], setting["width"], setting["rows"]
        shapes = [(2 * p + 1, width), (2 * width + 1, 1)]
        sizes = [n * m for n, m in shapes]
        key, damping, slope_key = jax.random.split(key, 3)
        slope = some_slope(slope_key)
        covariance = SplineCovariance(slope, level_for(slope))
        drawn = jax.random.normal(key, (sum(sizes) + rows * (p + 1),))
        packages, first = [], 0
        for (nodes, m), size in zip(shapes, sizes, strict=True):
            values = drawn[first : first + size].reshape(nodes, m) / (2 * m**0.5)
            packages.append(Package(Hyperoctahedron((nodes - 1) // 2), covariance, values))
            first += size
        z = drawn[first : first + rows * p].reshape(rows, p) / (2 * p**0.5)
        alpha = 10 ** jax.random.uniform(damping, (), minval=-1.0, maxval=1.0)
        return CascadeRows(Cascade(tuple(packages)), z, drawn[first + rows * p :], alpha)

    def hypotheses(self, problem: CascadeRows) -> list[Hypothesis]:
        """Damping."""
        return [Hypothesis("damping alpha", problem.damping, ">", 0.0, "else T need not have an inverse")]


class HiddenDirection(eqx.Module):
    """Targets sin(frequency u'x) with noise, of rows that are uniform in a cube; new rows without noise.

    Args:
        x, y: rows and targets.
        x_test, y_test: new ones.
        values: those of the splines of a cascade before training.
    """

    x: Float[Array, "n p"]
    y: Float[Array, " n"]
    x_test: Float[Array, "t p"]
    y_test: Float[Array, " t"]
    values: tuple[Float[Array, "N m"], ...]


class HiddenDirections(Population[HiddenDirection]):
    """A direction that is uniform on the sphere; rows in the cube [-1, 1]^p.

    Args:
        widths: of the packages behind the first one.
    """

    widths: tuple[int, ...] = eqx.field(static=True, default=(8, 4))

    def settings(self) -> Space:
        """Rows and inputs: about as many rows as there are products of two inputs."""
        return Space(
            p=Integer(8, 2, 40, "inputs", corners=(7, 10)),
            rows=Integer(120, 20, 1000, "rows", corners=(100, 160)),
            frequency=Real(4.0, 1.0, 6.0, "frequency along the hidden direction", corners=(3.5, 4.5)),
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> HiddenDirection:
        """Noise of standard deviation 1/20; uniform values divided by the root of the width, the last ones 0."""
        p, rows = setting["p"], setting["rows"]
        keys = jax.random.split(key, 4)
        u = jax.random.normal(keys[0], (p,))
        u = u / jnp.linalg.norm(u)
        x = jax.random.uniform(keys[1], (rows + 400, p), minval=-1.0, maxval=1.0)
        y = jnp.sin(setting["frequency"] * x @ u)
        noise = 0.05 * jax.random.normal(keys[2], (rows,))
        shapes = [(2 * a + 1, b) for a, b in zip((p, *self.widths), (*self.widths, 1), strict=True)]
        first = max(n * m for n, m in shapes)
        drawn = jax.random.uniform(keys[3], (len(shapes), first), minval=-1.0, maxval=1.0)
        values = [own[: n * m].reshape(n, m) / m**0.5 for own, (n, m) in zip(drawn, shapes, strict=True)]
        values[-1] = 0 * values[-1]
        return HiddenDirection(x[:rows], y[:rows] + noise, x[rows:], y[rows:], tuple(values))

    def hypotheses(self, problem: HiddenDirection) -> list[Hypothesis]:
        """Something to learn."""
        spread = jnp.std(problem.y_test)
        return [Hypothesis("targets vary", spread, ">", 0.0, "else the mean predicts them")]
