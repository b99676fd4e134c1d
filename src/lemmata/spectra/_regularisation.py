"""The effective regularisation of kernel ridge regression on n rows: the root of a scalar equation."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Real

_HALVINGS = 70  # the logarithms of float64 span less than 1500, so 70 halvings leave less than one ulp


@jax.jit
def effective_regularisation(
    eigenvalues: Float[Array, " N"], size: Real[Array, ""] | float | int, ridge: Real[Array, ""] | float | int
) -> Float[Array, ""]:
    """Return the root mu of ridge tr(A + mu)^-1 + tr A (A + mu)^-1 = n for the N x N Gram matrix A of a finite set.

    Training kernel ridge regression on n of the N rows acts like a ridge mu >= ridge on all N rows. The left side
    decreases in mu from N at mu = ridge, and is at most (N ridge + tr A) / mu. So the root is in [ridge, (N ridge + tr
    A) / n]. At n = N, the root is the ridge itself. With ridge = 0, the root is 0 from n = rank(A) on, because the
    subset then determines every mode of the kernel.

    Args:
        eigenvalues: the eigenvalues of A. Eigenvalues below the rounding error must be exactly zero
            (`Spectrum.resolved`).
        size: the number n, between 1 and N.
        ridge: the ridge on the diagonal, at least 0.
    """
    total = len(eigenvalues)
    positive = eigenvalues > 0
    rank = jnp.sum(positive)

    def excess(mu: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.sum((eigenvalues + ridge) / (eigenvalues + mu)) - size

    smallest = jnp.min(jnp.where(positive, eigenvalues, jnp.inf))
    # Let a_r be the smallest of the r positive eigenvalues. Without a ridge, each positive mode contributes at least
    # a_r / (a_r + mu). So the sum exceeds n if mu is below this value.
    lower = jnp.maximum(ridge, smallest * (rank - size) / size)
    upper = (total * ridge + jnp.sum(eigenvalues)) / size
    degenerate = (ridge <= 0) & (size >= rank)
    root = _falling_root(excess, jnp.where(degenerate, 1.0, lower), jnp.where(degenerate, 2.0, upper))
    return jnp.where(degenerate, 0.0, jnp.where(size >= total, jnp.asarray(ridge, root.dtype), root))


@jax.jit
def population_regularisation(
    eigenvalues: Float[Array, " m"], size: Real[Array, ""] | float | int, ridge: Real[Array, ""] | float | int
) -> Float[Array, ""]:
    """Return the root kappa of sum_i lambda_i / (lambda_i + kappa) + ridge / kappa = n (Simon et al. 2023).

    The eigenvalues lambda_i are those of the kernel operator over the data distribution, sum lambda_i = E K(x, x). The
    root is in [ridge / n, (ridge + sum lambda) / n]. With ridge = 0, the root is 0 if n is at least the rank, the
    number of positive eigenvalues.

    Args:
        eigenvalues: the eigenvalues lambda_i >= 0.
        size: the number n of rows, at least 1.
        ridge: the ridge on the diagonal of the Gram matrix of n rows, at least 0.
    """
    positive = eigenvalues > 0
    rank = jnp.sum(positive)

    def excess(kappa: Float[Array, ""]) -> Float[Array, ""]:
        return jnp.sum(eigenvalues / (eigenvalues + kappa)) + ridge / kappa - size

    smallest = jnp.min(jnp.where(positive, eigenvalues, jnp.inf))
    lower = jnp.maximum(ridge / size, smallest * (rank - size) / size)
    upper = (ridge + jnp.sum(eigenvalues)) / size
    degenerate = (ridge <= 0) & (size >= rank)
    root = _falling_root(excess, jnp.where(degenerate, 1.0, lower), jnp.where(degenerate, 2.0, upper))
    return jnp.where(degenerate, 0.0, root)


def _falling_root(
    excess: Callable[[Float[Array, ""]], Float[Array, ""]], lower: Float[Array, ""], upper: Float[Array, ""]
) -> Float[Array, ""]:
    """Find the root of a decreasing function on [lower, upper], by bisection of the logarithm.

    Bisection cannot be differentiated. So the root from bisection is treated as a constant, and one Newton step from
    this constant gives the exact derivative by the implicit function theorem.
    """

    def halve(_, bracket):
        low, high = bracket
        middle = (low + high) / 2
        above = excess(jnp.exp(middle)) > 0
        return jnp.where(above, middle, low), jnp.where(above, high, middle)

    start = (jnp.log(jax.lax.stop_gradient(lower)), jnp.log(jax.lax.stop_gradient(upper)))
    low, high = jax.lax.fori_loop(0, _HALVINGS, halve, start)
    root = jax.lax.stop_gradient(jnp.exp((low + high) / 2))
    slope = jax.lax.stop_gradient(jax.grad(excess)(root))
    step = excess(root) / jnp.where(slope < 0, slope, -jnp.inf)
    return root - step
