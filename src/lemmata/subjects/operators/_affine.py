"""Affine maps of channels, with the initial weights that every part of the super-resolution operator uses."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key


class Affine(eqx.Module):
    """The map x -> x W + b for channels on the last axis.

    Args:
        weight: the matrix W.
        bias: the vector b.
    """

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]

    def __call__(self, x: Float[Array, "*points inputs"]) -> Float[Array, "*points outputs"]:
        """Apply the map at each point."""
        return x @ self.weight + self.bias


def affine(key: Key[Array, ""], inputs: int, outputs: int, *, scale: float = 1.0, dtype=float) -> Affine:
    """Return a map with normal weights of variance scale²/inputs and bias 0."""
    weight = scale / inputs**0.5 * jax.random.normal(key, (inputs, outputs), dtype)
    return Affine(weight, jnp.zeros(outputs, weight.dtype))
