"""Fifth problem: is the error independent of the depth of a composition? Not if a single kernel interpolates the
composition.

This is a partial result for interpolation of the L-fold composition of the tent map with one kernel. Each further
composition doubles the number of points that the interpolation needs. The exponent of the rate does not depend on the
depth, but the constant of the rate doubles with each further composition. The result leaves open networks of kernels,
which may follow the composition.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Claim, Control, Hypothesis, Kind, Rate, Real, Source
from lemmata.engine.problems.drawn import Drawn, log_uniform, uniform
from lemmata.kernels import Laplace, gram

ABOUT = {"tool": "approximation theory", "architecture": "kernel method", "object": "function class", "problem": 5}

_MOST_POINTS = 256


class ComposedTents(eqx.Module):
    """The L-fold composition of the tent map 1 - |2x - 1| on [0, 1], interpolated at equispaced points.

    Args:
        lengthscale: the length scale of the Laplace kernel.
        offset: the start of the grid, in steps.
        accuracy: the required squared error, as a share of the variance.
    """

    lengthscale: Float[Array, ""]
    offset: Float[Array, ""]
    accuracy: Float[Array, ""]

    def squared_error(self, folds: Int[Array, ""], points: Int[Array, ""]) -> Float[Array, ""]:
        """Return the mean squared error on [0, 1] in units of the variance 1/12, for up to 256 points."""
        index, kernel = jnp.arange(_MOST_POINTS), Laplace(self.lengthscale)
        used = index < points
        at = (index + self.offset) / points
        matrix = jnp.where(used[:, None] & used, gram(kernel, at[:, None]), jnp.eye(_MOST_POINTS))
        weights = jnp.linalg.solve(matrix, jnp.where(used, _tents(at, folds), 0.0))
        test = (jnp.arange(1024) + 0.5) / 1024
        return 12 * jnp.mean((gram(kernel, test[:, None], at[:, None]) @ weights - _tents(test, folds)) ** 2)

    def points_needed(self, folds: int, sizes: tuple[int, ...]) -> Float[Array, ""]:
        """Return the size at which the error first falls below the accuracy.

        Between the sizes, the error is interpolated by a power law.
        """
        errors = [_squared_error(self, jnp.asarray(folds), jnp.asarray(size)) for size in sizes]
        logs = jnp.log(jnp.stack(errors) / self.accuracy)
        first = jnp.argmax((logs[:-1] >= 0) & (logs[1:] < 0))
        share = logs[first] / (logs[first] - logs[first + 1])
        scale = jnp.log(jnp.asarray(sizes, float))
        return jnp.exp(scale[first] + share * (scale[first + 1] - scale[first]))


_squared_error = eqx.filter_jit(ComposedTents.squared_error)


def _tents(x: Float[Array, " n"], folds: Int[Array, ""]) -> Float[Array, " n"]:
    return jax.lax.fori_loop(0, folds, lambda _, at: 1 - jnp.abs(2 * at - 1), x)


TENT_COMPOSITIONS = Drawn(
    ComposedTents,
    lambda tents: Hypothesis("the accuracy", tents.accuracy, "<", 1.0, "a constant already has the error 1"),
    lengthscale=log_uniform(0.5, 2.0),
    offset=uniform(0.35, 0.65),
    accuracy=Real(0.02, 0.01, 0.1, "required squared error, divided by the variance", corners=(0.015, 0.04)),
)


_TEETH = (4.0, 8.0, 16.0)


def _points_needed(problem: ComposedTents, teeth: float) -> Array:
    """Return the number of points needed, found among sizes of 2 to 13 points for each monotone piece."""
    pieces = int(teeth)
    return problem.points_needed(pieces.bit_length() - 1, tuple(pieces * share for share in (2, 3, 5, 8, 13)))


class PointsDoubleWithDepth(Claim[ComposedTents]):
    """Consider the L-fold composition of the tent map 1 - |2x - 1|. Interpolate this function with the Laplace kernel
    at equispaced points. Require a squared error of at most a given fraction of the function's variance. The number of
    points needed for this accuracy grows like

        2^L,

    which is the number of monotone pieces of the function.
    """

    title = "Each further composition with the tent map doubles the points that kernel interpolation needs"
    source = Source("foundation2025", "Section 7.5", note="a probe, for one kernel")
    stated = Kind.OWN
    population = TENT_COMPOSITIONS
    relation = Rate("2^L", _TEETH, margin=0.05, resolution=0.1)
    control = Control("the number of points grows like 2^(L/2)", lambda exponent, problem: exponent - 0.5)
    controls = "the number of points that the interpolation of a composition needs"
    unexplained = "deep networks of kernels"
    traced = False  # several decompositions in one compiled batch can wait for each other on a CPU
    trials = 8
    predict = 1.0

    def measure_at(self, problem: ComposedTents, key: Key[Array, ""], teeth: float) -> Array:
        return _points_needed(problem, teeth)
