"""Parameters as matrices, and inverse roots of their second moments."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def as_matrix(parameter: Float[Array, "..."]) -> Float[Array, "m n"]:
    """A matrix that keeps the first axis; vectors become one column, numbers one entry."""
    rows = parameter.shape[0] if parameter.ndim else 1
    return parameter.reshape(rows, -1)


def inverse_root(matrix: Float[Array, "n n"], order: int, eps: float) -> Float[Array, "n n"]:
    """matrix^(-1/order) of a positive semidefinite matrix.

    Eigenvalues below eps times the largest are replaced by this value.
    """
    values, vectors = jnp.linalg.eigh(matrix)
    least = jnp.maximum(eps * values[-1], jnp.finfo(values.dtype).tiny)
    return (vectors * jnp.maximum(values, least) ** (-1 / order)) @ vectors.T
