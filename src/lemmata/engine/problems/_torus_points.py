"""Smooth functions on tori of few dimensions, in a space of many."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Choice, Hypothesis, Population, Space

AMBIENT = 20


class TorusFunction(eqx.Module):
    """A k-dimensional torus of k circles, turned into 20 dimensions, and a smooth function on them.

    Args:
        frame: orthonormal columns, two for each circle.
        direction: the function of a point x is sin(direction . x).
        dimension: k.
    """

    frame: Float[Array, "20 columns"]
    direction: Float[Array, "20"]
    dimension: int = eqx.field(static=True)

    def points(self, key: Key[Array, ""], count: int) -> Float[Array, "n 20"]:
        """Uniform points; all have the norm sqrt(k)."""
        angle = jax.random.uniform(key, (count, self.dimension), maxval=2 * jnp.pi)
        return jnp.concatenate([jnp.cos(angle), jnp.sin(angle)], axis=1) @ self.frame.T

    def value(self, points: Float[Array, "n 20"]) -> Float[Array, "n"]:
        """The function."""
        return jnp.sin(points @ self.direction)


class TorusFunctions(Population[TorusFunction]):
    """Random rotations and directions."""

    def settings(self) -> Space:
        """The dimension of the torus."""
        return Space(dimension=Choice("2", ("1", "2", "3", "4"), "intrinsic dimension", corners=("3", "4")))

    def sample(self, setting: dict, key: Key[Array, ""]) -> TorusFunction:
        """A rotation and a direction of norm 1."""
        frame_key, direction_key = jax.random.split(key)
        dimension = int(setting["dimension"])
        frame, _ = jnp.linalg.qr(jax.random.normal(frame_key, (AMBIENT, 2 * dimension)))
        direction = frame @ jax.random.normal(direction_key, (2 * dimension,))
        return TorusFunction(frame, direction / jnp.linalg.norm(direction), dimension)

    def hypotheses(self, problem: TorusFunction) -> list[Hypothesis]:
        """The torus fits into the space."""
        return [Hypothesis("dimensions of the torus", 2 * problem.dimension, "<=", AMBIENT, "two for each circle")]
