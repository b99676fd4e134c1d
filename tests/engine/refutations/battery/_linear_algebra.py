"""Eigenvalues, roots and exponentials of small symmetric matrices without LAPACK.

A second route beside `jnp.linalg`, and one whose calls may run beside each other in a compiled batch. Derivatives of
eigenvalues and of norms are those of first-order perturbation, the eigenvectors held.
"""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_SWEEPS = 10
_ROOT_STEPS = 60
_SQUARINGS = 6


def eigenvectors(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Eigenvectors as columns, in no order, by Jacobi's rotations; constant under differentiation."""
    n = len(matrix)
    planes = jnp.asarray(np.array(list(itertools.combinations(range(n), 2))).reshape(-1, 2))

    def rotate(number, state):
        turned, vectors = state
        p, q = planes[number % len(planes)]
        difference = turned[q, q] - turned[p, p]
        sign = jnp.where(difference < 0, -1.0, 1.0)
        angle = jnp.arctan2(2 * sign * turned[p, q], sign * difference) / 2
        c, s = jnp.cos(angle), jnp.sin(angle)
        rotation = jnp.eye(n).at[p, p].set(c).at[q, q].set(c).at[p, q].set(s).at[q, p].set(-s)
        return rotation.T @ turned @ rotation, vectors @ rotation

    start = (jax.lax.stop_gradient(matrix), jnp.eye(n))
    return start[1] if n == 1 else jax.lax.fori_loop(0, _SWEEPS * len(planes), rotate, start)[1]


def eigenvalues(matrix: Float[Array, "n n"]) -> Float[Array, " n"]:
    """Eigenvalues of a symmetric matrix, descending."""
    vectors = eigenvectors(matrix)
    return -jnp.sort(-jnp.sum(vectors * (matrix @ vectors), axis=0))


def singular_values(matrix: Float[Array, "m n"]) -> Float[Array, " n"]:
    """Singular values, descending: the lengths of the images of the eigenvectors of M'M."""
    images = matrix @ eigenvectors(matrix.T @ matrix)
    squared = jnp.sum(images**2, axis=0)
    lengths = jnp.where(squared > 0, jnp.sqrt(jnp.where(squared > 0, squared, 1.0)), 0.0)
    return -jnp.sort(-lengths)


def spectral_norm(matrix: Float[Array, "m n"]) -> Float[Array, ""]:
    """The largest singular value."""
    return singular_values(matrix)[0]


def square_root(matrix: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    """The square root of a positive definite matrix and its inverse, by Newton and Schulz's iteration.

    It doubles small eigenvalues (relative to the trace) by 9/4 a step until they are near 1: sixty steps reach
    condition numbers of 1e12.
    """
    n, scale = len(matrix), jnp.trace(matrix)

    def step(_, state):
        root, inverse = state
        correction = 1.5 * jnp.eye(n) - inverse @ root / 2
        return root @ correction, correction @ inverse

    root, inverse = jax.lax.fori_loop(0, _ROOT_STEPS, step, (matrix / scale, jnp.eye(n)))
    return root * jnp.sqrt(scale), inverse / jnp.sqrt(scale)


def exponential(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """exp of a matrix, by Taylor's series for a 64th of it and six squarings."""
    n = len(matrix)
    small, power = matrix / 2**_SQUARINGS, jnp.eye(n)
    total = power
    for order in range(1, 16):
        power = power @ small / order
        total = total + power
    for _ in range(_SQUARINGS):
        total = total @ total
    return total
