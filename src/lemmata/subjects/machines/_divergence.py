"""The distance of a layer's Gram matrix from its prior expectation, as a divergence of normal distributions."""

import jax.numpy as jnp
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from lemmata.core import check_gram, known, require_float64
from lemmata.errors import NotPositiveDefiniteError, ShapeError


def gaussian_divergence(gram: Float[Array, "n columns"], prior: Float[Array, "m others"]) -> Float[Array, ""]:
    """Return the Kullback-Leibler divergence of N(0, G) from N(0, K), in nats, for G = `gram` and K = `prior`.

        D(G | K) = 1/2 [tr(K^-1 G) - log det(K^-1 G) - n].

    The divergence is 0 if G = K and above 0 otherwise, and it is convex in G. For an invertible matrix M, D(M G M' | M
    K M') = D(G | K). The divergence of n x n matrices is computed from Cholesky factors R of G and L of K, as 1/2 |L^-1
    R|² - sum log(R_ii / L_ii) - n/2. JAX computes the derivatives of the divergence with respect to both matrices. If a
    matrix is traced and not positive definite, the result is NaN.

    Args:
        gram: the matrix G, positive definite.
        prior: the matrix K, positive definite, of the same shape.

    Raises:
        ShapeError: if a matrix is not square and symmetric, or their sizes differ.
        NotPositiveDefiniteError: if a matrix is not positive definite; the message names the matrix.
        DataError: for entries that are not finite.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.machines import gaussian_divergence
        >>> round(float(gaussian_divergence(2 * jnp.eye(2), jnp.eye(2))), 6)  # 1 - log 2
        0.306853
    """
    require_float64("the divergence of Gram matrices")
    for name, matrix in (("the Gram matrix", gram), ("the prior's Gram matrix", prior)):
        check_gram(name, matrix)
    if gram.shape != prior.shape:
        raise ShapeError(
            "Gram matrices", found=f"shapes {gram.shape} and {prior.shape}", rule="the same shape for both"
        )
    factor, base = _factor("the Gram matrix", gram), _factor("the prior's Gram matrix", prior)
    ratio = solve_triangular(base, factor, lower=True)
    # the diagonal of the triangular L^-1 R is R_ii / L_ii
    return 0.5 * jnp.sum(ratio**2) - jnp.sum(jnp.log(jnp.diagonal(ratio))) - 0.5 * len(gram)


def _factor(name: str, matrix: Array) -> Array:
    factor = jnp.linalg.cholesky(matrix)
    values = known(factor)
    if values is not None and values[0, 0] != values[0, 0]:
        raise NotPositiveDefiniteError(
            name,
            found="that it has no Cholesky factor",
            rule="a matrix with all eigenvalues above 0, because the divergence is infinite for a "
            "singular normal distribution",
            remedy="add a small multiple of the identity",
        )
    return factor
