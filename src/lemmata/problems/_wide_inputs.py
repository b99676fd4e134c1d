"""Points at which the kernels of wide networks are taken."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.claims import Hypothesis, Integer, Population, Space


class Inputs(eqx.Module):
    """Points at which the kernels of networks are taken.

    Args:
        x: the points.
    """

    x: Float[Array, "n *shape"]


class WideInputs(Population[Inputs]):
    """Standard normal points."""

    def settings(self) -> Space:
        """Points and dimension."""
        return Space(n=Integer(4, 2, 16, "points"), d=Integer(3, 2, 16, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Inputs:
        """Independent rows."""
        return Inputs(jax.random.normal(key, (setting["n"], setting["d"])))

    def hypotheses(self, problem: Inputs) -> list[Hypothesis]:
        """Finite points; the biases keep the kernel from 0."""
        return [Hypothesis("points are finite", jnp.sum(~jnp.isfinite(problem.x)), "<=", 0, "how many entries are not")]
