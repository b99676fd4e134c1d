"""Cascades of splines with rows and targets."""

import equinox as eqx
import jax
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.subjects.splines import Cascade, Hyperoctahedron, Package, SplineCovariance

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
