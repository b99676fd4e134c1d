"""Erf units and a teacher's direction in the same inputs."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space


class ErfUnit(eqx.Module):
    """One unit erf(w'x), x ~ N(0, I_d), and a direction v.

    Args:
        weights: w.
        direction: v.
    """

    weights: Float[Array, " d"]
    direction: Float[Array, " d"]

    @property
    def overlap(self) -> Float[Array, ""]:
        """The inner product w'v."""
        return self.weights @ self.direction

    @property
    def squared_norm(self) -> Float[Array, ""]:
        """|w|²."""
        return self.weights @ self.weights


class ErfUnits(Population[ErfUnit]):
    """Normal weights of a size, and a uniform direction."""

    free = ("weights",)

    def settings(self) -> Space:
        """Dimension and size."""
        return Space(
            d=Integer(6, 2, 50, "dimension"), size=Real(1.0, 0.05, 5.0, "root mean square length of the weights")
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> ErfUnit:
        """Independent of each other."""
        keys = jax.random.split(key)
        w, v = (jax.random.normal(own, (setting["d"],)) for own in keys)
        return ErfUnit(setting["size"] * w / setting["d"] ** 0.5, v / jnp.linalg.norm(v))

    def hypotheses(self, problem: ErfUnit) -> list[Hypothesis]:
        """A direction of length 1, weights that see it."""
        off = jnp.abs(jnp.linalg.norm(problem.direction) - 1)
        return [
            Hypothesis("how far |v| is from 1", off, "<=", 1e-12, "H_1 and H_3 are those of a normal number"),
            Hypothesis("|w'v|", jnp.abs(problem.overlap), ">", 0.0, "else all overlaps are 0"),
        ]
