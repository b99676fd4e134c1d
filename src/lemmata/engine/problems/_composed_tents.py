"""The tent map composed with itself, and its interpolation in the space of one kernel."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from lemmata.engine.claims import Hypothesis, Population, Real, Space
from lemmata.kernels import Laplace, gram

_MOST_POINTS = 256


class ComposedTents(eqx.Module):
    """The L-fold composition of the tent map 1 - |2x - 1| on [0, 1], interpolated at equispaced points.

    Args:
        lengthscale: of the Laplace kernel.
        offset: where the grid begins, in steps.
        accuracy: the squared error that is asked for, as a share of the variance.
    """

    lengthscale: Float[Array, ""]
    offset: Float[Array, ""]
    accuracy: Float[Array, ""]

    def squared_error(self, folds: Int[Array, ""], points: Int[Array, ""]) -> Float[Array, ""]:
        """Mean squared error of interpolation over the variance 1/12, on [0, 1]; for up to 256 points."""
        index, kernel = jnp.arange(_MOST_POINTS), Laplace(self.lengthscale)
        used = index < points
        at = (index + self.offset) / points
        matrix = jnp.where(used[:, None] & used, gram(kernel, at[:, None]), jnp.eye(_MOST_POINTS))
        weights = jnp.linalg.solve(matrix, jnp.where(used, _tents(at, folds), 0.0))
        test = (jnp.arange(1024) + 0.5) / 1024
        return 12 * jnp.mean((gram(kernel, test[:, None], at[:, None]) @ weights - _tents(test, folds)) ** 2)

    def points_needed(self, folds: int, sizes: tuple[int, ...]) -> Float[Array, ""]:
        """The number of points at which the error first falls below the accuracy, between sizes by a power law."""
        errors = [_squared_error(self, jnp.asarray(folds), jnp.asarray(size)) for size in sizes]
        logs = jnp.log(jnp.stack(errors) / self.accuracy)
        first = jnp.argmax((logs[:-1] >= 0) & (logs[1:] < 0))
        share = logs[first] / (logs[first] - logs[first + 1])
        scale = jnp.log(jnp.asarray(sizes, float))
        return jnp.exp(scale[first] + share * (scale[first + 1] - scale[first]))


_squared_error = eqx.filter_jit(ComposedTents.squared_error)


def _tents(x: Float[Array, " n"], folds: Int[Array, ""]) -> Float[Array, " n"]:
    return jax.lax.fori_loop(0, folds, lambda _, at: 1 - jnp.abs(2 * at - 1), x)


class TentCompositions(Population[ComposedTents]):
    """Lengthscales between 1/2 and 2, grids that begin near the middle of a step."""

    def settings(self) -> Space:
        """The accuracy."""
        return Space(accuracy=Real(0.02, 0.01, 0.1, "squared error over variance", corners=(0.015, 0.04)))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ComposedTents:
        """Uniform numbers."""
        length, offset = jax.random.uniform(key, (2,))
        return ComposedTents(4.0 ** (length - 0.5), 0.35 + 0.3 * offset, jnp.asarray(setting["accuracy"]))

    def hypotheses(self, problem: ComposedTents) -> list[Hypothesis]:
        """An accuracy below the variance."""
        return [Hypothesis("the accuracy", problem.accuracy, "<", 1.0, "a constant has the error 1")]
