"""Parameters as matrices, and inverse roots of positive semidefinite matrices such as second moments of gradients."""

import jax.numpy as jnp
from jaxtyping import Array, Float


def as_matrix(parameter: Float[Array, "..."]) -> Float[Array, "m n"]:
    """Return a tensor as a matrix whose rows are the first axis. A vector becomes one column, a number one entry."""
    rows = parameter.shape[0] if parameter.ndim else 1
    return parameter.reshape(rows, -1)


def inverse_root(matrix: Float[Array, "n n"], order: int, eps: float) -> Float[Array, "n n"]:
    """Return matrix^(-1/order) for a positive semidefinite matrix.

    Eigenvalues below eps times the largest eigenvalue are replaced by eps times the largest eigenvalue.
    """
    values, vectors = jnp.linalg.eigh(matrix)
    least = jnp.maximum(eps * values[-1], jnp.finfo(values.dtype).tiny)
    return (vectors * jnp.maximum(values, least) ** (-1 / order)) @ vectors.T
