"""Affine maps of channels, with the weights that every part of the operator starts from."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key


class Affine(eqx.Module):
    """x -> x W + b for channels on the last axis.

    Args:
        weight: W.
        bias: b.
    """

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]

    def __call__(self, x: Float[Array, "*points inputs"]) -> Float[Array, "*points outputs"]:
        """The map at each point."""
        return x @ self.weight + self.bias


def affine(key: Key[Array, ""], inputs: int, outputs: int, *, scale: float = 1.0, dtype=float) -> Affine:
    """Normal weights of variance scale²/inputs, no bias."""
    weight = scale / inputs**0.5 * jax.random.normal(key, (inputs, outputs), dtype)
    return Affine(weight, jnp.zeros(outputs, weight.dtype))
