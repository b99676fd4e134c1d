"""Krylov spaces of a symmetric operator: Lanczos' recurrence without a stored basis, and Arnoldi with a basis."""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float, Key, PyTree
from matfree import decomp
from scipy import linalg

from ._products import Product, flattened


class RitzValues(NamedTuple):
    """Approximate eigenvalues of an operator A, from its projection on a Krylov space (Ritz values), the largest first.

    Args:
        values: the eigenvalues of the projection, a tridiagonal matrix.
        weights: the eigenvectors of the tridiagonal matrix, one in each column.
        residuals: the length of A x - value x for each value and its unit vector x in the space.
        asymmetry: the largest observed u'Av - v'Au for unit vectors u and v.
        whole: whether the space is invariant. If so, `values` contains every eigenvalue of A, but repeated eigenvalues
            only once.
    """

    values: Float[np.ndarray, " k"]
    weights: Float[np.ndarray, "j k"]
    residuals: Float[np.ndarray, " k"]
    asymmetry: float
    whole: bool


def ritz_values(
    diagonal: Float[np.ndarray, " k"], beside: Float[np.ndarray, " k"], skews: Float[np.ndarray, " k"], eps: float
) -> RitzValues:
    """Compute the eigenvalues of the tridiagonal matrix with this diagonal and the off-diagonal `beside`.

    The last number of `beside` couples the last basis vector to a vector outside the space. This number enters the
    residuals, but not the matrix.

    The matrix is cut at the first new vector whose length is at most the rounding error. The space is then invariant,
    and later entries are noise.

    Args:
        diagonal: the diagonal of the matrix.
        beside: the off-diagonal, which is the length of each new direction before normalisation.
        skews: the asymmetry observed in each step.
        eps: the machine epsilon of the precision of the products.
    """
    scale = np.nanmax(np.abs(diagonal) + np.abs(beside), initial=0.0)
    rounding = 8 * eps * scale
    ends = np.flatnonzero(~(beside > rounding))
    k = int(ends[0]) + 1 if len(ends) else len(diagonal)
    if not np.isfinite(diagonal[:k]).all():
        return RitzValues(diagonal[:k], np.eye(k), diagonal[:k], np.nan, False)
    if k == 1:
        values, vectors = diagonal[:1], np.ones((1, 1))
    else:
        values, vectors = linalg.eigh_tridiagonal(diagonal[:k], beside[: k - 1])
    order = np.argsort(values)[::-1]
    out = 0.0 if len(ends) else beside[-1]
    residuals = np.maximum(np.abs(out * vectors[-1]), rounding)[order]
    return RitzValues(values[order], vectors[:, order], residuals, float(np.abs(skews[:k]).max()), bool(len(ends)))


@eqx.filter_jit
def three_term(product: Product, like: PyTree, key: Key[Array, ""], steps: int) -> tuple[Array, Array, Array]:
    """Run Lanczos' recurrence on an operator from a uniformly random direction, with three vectors in memory.

    When a Ritz value has converged, new vectors lose their orthogonality to old vectors, and eigenvalues are found
    again as duplicates. The largest eigenvalue found is as accurate as with a stored basis (Paige 1976).

    Returns:
        The diagonal and the off-diagonal of the tridiagonal matrix, and the observed asymmetry of the operator in each
        step.
    """
    apply = flattened(product, like)
    start = _direction(like, key)

    def step(carry, _):
        now, before, length = carry
        moved = apply(now)
        skew = jnp.where(length > 0, before @ moved - length, 0.0)
        moved = moved - length * before
        along = now @ moved
        moved = moved - along * now
        size = jnp.linalg.norm(moved)
        return (moved / size, now, size), (along, size, skew)

    carry = (start, jnp.zeros_like(start), jnp.zeros((), start.dtype))
    return jax.lax.scan(step, carry, None, length=steps)[1]


@eqx.filter_jit
def with_basis(product: Product, like: PyTree, key: Key[Array, ""], steps: int) -> tuple[PyTree, Array, Array]:
    """Run Arnoldi's method with full orthogonalisation, from a uniformly random direction.

    Returns:
        The basis, with one vector for each entry of its first axis; the Hessenberg matrix; and the length of the next
        vector, which points out of the space. If the operator is symmetric, the Hessenberg matrix is tridiagonal up to
        rounding.
    """
    unravel = ravel_pytree(like)[1]
    run = decomp.hessenberg(steps, reortho="full", custom_vjp=False)
    found = run(product, unravel(_direction(like, key)))
    return found.Q_tall, jnp.asarray(found.J_small), jnp.linalg.norm(ravel_pytree(found.residual)[0])


@eqx.filter_jit
def dense(product: Product, like: PyTree) -> Float[Array, "n n"]:
    """The matrix of the operator, computed by one product for each column."""
    return jax.lax.map(flattened(product, like), jnp.eye(ravel_pytree(like)[0].size, dtype=_dtype(like)))


def _direction(like: PyTree, key: Key[Array, ""]) -> Float[Array, " n"]:
    drawn = jax.random.normal(key, (ravel_pytree(like)[0].size,), _dtype(like))
    return drawn / jnp.linalg.norm(drawn)


def _dtype(like: PyTree):
    return ravel_pytree(like)[0].dtype
