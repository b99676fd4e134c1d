"""Points at which the kernels of wide networks are taken."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Space
from lemmata.engine.problems.regression import Regression


class Inputs(eqx.Module):
    """Points at which the kernels of networks are taken.

    Args:
        x: the points.
    """

    x: Float[Array, "n *shape"]


def finite_points(x: Float[Array, "n *shape"]) -> Hypothesis:
    """That no coordinate is NaN or infinite.

    Args:
        x: the points.
    """
    return Hypothesis("points are finite", jnp.sum(~jnp.isfinite(x)), "<=", 0, "how many coordinates are not")


class WideInputs(Population[Inputs]):
    """Standard normal points."""

    settings = Space(n=Integer(4, 2, 16, "points"), d=Integer(3, 2, 16, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Inputs:
        return Inputs(jax.random.normal(key, (setting["n"], setting["d"])))

    def hypotheses(self, problem: Inputs) -> list[Hypothesis]:
        """Finite points; the biases keep the kernel from 0."""
        return [finite_points(problem.x)]


class WideSequences(Population[Inputs]):
    """Standard normal vectors at the positions of sequences."""

    settings = Space(
        n=Integer(3, 2, 8, "points", corners=(2, 4)),
        length=Integer(4, 2, 8, "positions", corners=(3, 5)),
        d=Integer(2, 1, 8, "channels of inputs"),
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Inputs:
        return Inputs(jax.random.normal(key, (setting["n"], setting["length"], setting["d"])))

    def hypotheses(self, problem: Inputs) -> list[Hypothesis]:
        """Finite points; the biases keep the kernel from 0."""
        return [finite_points(problem.x)]


class TableInputs(Population[Inputs]):
    """Standard normal points, or the first rows of a user's inputs."""

    settings = Space(n=Integer(12, 2, 32, "points"), d=Integer(4, 2, 64, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Inputs:
        return Inputs(jax.random.normal(key, (setting["n"], setting["d"])))

    def pose(self, problem: object) -> Inputs | None:
        """The first 16 training inputs of a regression."""
        return Inputs(problem.x[:16]) if isinstance(problem, Regression) else None

    def hypotheses(self, problem: Inputs) -> list[Hypothesis]:
        """A kernel that is not 0: without biases it scales with |x| |y|."""
        norms = jnp.linalg.norm(problem.x, axis=1)
        return [Hypothesis("some input is not 0", norms.max(), ">", 0.0, "the kernel of the zero input is 0")]
