"""The tent map composed with itself, and its interpolation in the space of one kernel."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Hypothesis, Population, Real, Space
from lemmata.kernels import Laplace, gram


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

    def squared_error(self, folds: int, points: int) -> Float[Array, ""]:
        """Mean squared error of interpolation over the variance 1/12, on [0, 1]."""
        at = (jnp.arange(points) + self.offset) / points
        kernel = Laplace(self.lengthscale)
        weights = jnp.linalg.solve(gram(kernel, at[:, None]), _tents(at, folds))
        test = (jnp.arange(1024) + 0.5) / 1024
        return 12 * jnp.mean((gram(kernel, test[:, None], at[:, None]) @ weights - _tents(test, folds)) ** 2)

    def points_needed(self, folds: int, sizes: tuple[int, ...]) -> Float[Array, ""]:
        """The number of points at which the error first falls below the accuracy, between sizes by a power law."""
        logs = jnp.log(jnp.stack([_squared_error(self, folds, size) for size in sizes]) / self.accuracy)
        first = jnp.argmax((logs[:-1] >= 0) & (logs[1:] < 0))
        share = logs[first] / (logs[first] - logs[first + 1])
        scale = jnp.log(jnp.asarray(sizes, float))
        return jnp.exp(scale[first] + share * (scale[first + 1] - scale[first]))


# one program for each number of folds and points, however many problems
_squared_error = eqx.filter_jit(ComposedTents.squared_error)


def _tents(x: Float[Array, " n"], folds: int) -> Float[Array, " n"]:
    for _ in range(folds):
        x = 1 - jnp.abs(2 * x - 1)
    return x


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
