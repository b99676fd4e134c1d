"""Low-rank approximations of a Gram matrix from columns or random products, and preconditioners made from these."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float, Key

from lemmata.errors import NotPositiveDefiniteError, SettingError

from ._checks import check_at_least
from ._operators import KernelOperator, MatrixOperator, as_operator


class LowRank(eqx.Module):
    """An approximation U diag(a) U^T <= K of low rank to a Gram matrix K, and its cost.

    Args:
        eigenvalues: the eigenvalues a_1 >= ... >= a_r >= 0.
        eigenvectors: the matrix U of orthonormal columns.
        missed: the trace tr (K - U diag(a) U^T) of the part of K that the approximation misses.
        pivots: the rows whose columns were used. None if random products were used.
        columns: the number of columns of K, or of products with K, that were computed.
    """

    eigenvalues: Float[Array, " r"]
    eigenvectors: Float[Array, "n r"]
    missed: Float[Array, ""]
    pivots: np.ndarray | None
    columns: int = eqx.field(static=True)


def randomly_pivoted_cholesky(
    matrix: Float[Array, "n columns"] | Float[np.ndarray, "n columns"] | MatrixOperator | KernelOperator,
    rank: int,
    key: Key[Array, ""],
    *,
    block: int | None = None,
) -> LowRank:
    """Return the Nyström approximation of K from pivots that are drawn at random (randomly pivoted Cholesky).

    Row i becomes the next pivot with probability proportional to entry i of the diagonal of K - F F^T, where F F^T is
    the approximation so far (Chen, Epperly, Tropp and Webber, 2023). A block of pivots is proposed at a time, with
    probabilities from the diagonal at the start of the block. Rejection sampling decides which proposals are accepted
    (Epperly, Tropp and Webber, 2024). The accepted pivots have the same distribution as pivots that are drawn one at a
    time, but their columns are computed by matrix products. Of K, only the diagonal and the columns of proposed pivots
    are computed. The method ends early if the rest K - F F^T is within the rounding error of K.

    Args:
        matrix: K, or an operator such as `KernelOperator(kernel, x)`.
        rank: the number of pivots.
        key: the random key.
        block: the number of pivots proposed at a time; None means a tenth of the rank, at least 8.

    Raises:
        SettingError: for a rank outside 1..n.
        NotPositiveDefiniteError: if an entry of the diagonal of K - F F^T is negative by more than rounding.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from lemmata.solvers import randomly_pivoted_cholesky
        >>> found = randomly_pivoted_cholesky(jnp.ones((4, 4)), 2, jax.random.key(0))
        >>> round(float(found.eigenvalues[0]), 12), len(found.pivots)
        (4.0, 1)
    """
    operator = as_operator(matrix)
    n = len(operator)
    _check_rank(rank, n)
    size = min(rank, max(8, rank // 10) if block is None else block)
    check_at_least("block", size, 1)
    diagonal = np.array(operator.diagonal())
    floor = 16 * n * np.finfo(diagonal.dtype).eps * max(float(np.max(np.abs(diagonal))), 0.0)
    remaining, factor, pivots, computed, rounds = diagonal.copy(), np.zeros((n, rank), diagonal.dtype), [], 0, 0
    while len(pivots) < rank:
        if remaining.min() < -floor:
            raise NotPositiveDefiniteError(
                "the matrix is not positive semidefinite",
                found=(
                    f"{remaining.min():.6g} on the diagonal of K - F F^T (F is the factor found so far) in row "
                    f"{int(remaining.argmin())}"
                ),
                rule=f"at least {-floor:.3g}, which is 0 up to rounding errors",
                remedy="check that the kernel is positive semidefinite",
            )
        weights = np.where(remaining > floor, remaining, 0.0)
        if not weights.any():
            break
        uniform = np.asarray(jax.random.uniform(jax.random.fold_in(key, rounds), (2, size), float))
        proposed = np.minimum(np.searchsorted(np.cumsum(weights), uniform[0] * weights.sum(), side="right"), n - 1)
        done = factor[:, : len(pivots)]
        missing = np.asarray(operator.columns(jnp.asarray(proposed))) - done @ done[proposed].T
        kept, lower = _accepted(missing[proposed], weights[proposed], uniform[1], rank - len(pivots), floor)
        added = np.linalg.solve(lower, missing[:, kept].T).T if kept else missing[:, :0]
        factor[:, len(pivots) : len(pivots) + len(kept)] = added
        remaining = remaining - np.sum(added**2, axis=1)
        pivots += [int(proposed[i]) for i in kept]
        remaining[pivots] = 0.0
        computed, rounds = computed + size, rounds + 1
    vectors, values, _ = np.linalg.svd(factor[:, : len(pivots)], full_matrices=False)
    return LowRank(
        jnp.asarray(values**2),
        jnp.asarray(vectors),
        jnp.asarray(np.maximum(remaining, 0).sum()),
        np.asarray(pivots),
        computed,
    )


def _accepted(
    missing: np.ndarray, weights: np.ndarray, uniform: np.ndarray, most: int, floor: float
) -> tuple[list[int], np.ndarray]:
    """Accept some proposed pivots at random. Return the accepted proposals and their Cholesky factor.

    A proposal is accepted with probability (its diagonal entry of the part that is still missing) / (its weight).

    Args:
        missing: the rows and columns of K - F F^T that belong to the proposals.
        weights: the diagonal entries of the missing part when the proposals were drawn.
        uniform: uniform random numbers in [0, 1).
        most: the largest number of accepted proposals.
        floor: the rounding error on the diagonal.
    """
    rest, kept, rows = missing.copy(), [], []
    for i in range(len(weights)):
        if len(kept) < most and rest[i, i] > floor and uniform[i] * weights[i] < rest[i, i]:
            column = rest[:, i] / np.sqrt(rest[i, i])
            rest = rest - np.outer(column, column)
            kept.append(i)
            rows.append(column)
    lower = np.tril(np.stack(rows, axis=1)[kept]) if kept else np.zeros((0, 0))
    return kept, lower


def nystrom_approximation(
    matrix: Float[Array, "n columns"] | Float[np.ndarray, "n columns"] | MatrixOperator | KernelOperator,
    rank: int,
    key: Key[Array, ""],
) -> LowRank:
    """The randomised Nyström approximation (K W)(W^T K W)^+ (K W)^T from products with a random orthonormal W.

    The columns of W are an orthonormal basis of the span of random Gaussian columns. A shift of eps |K W| protects the
    factorisation from rounding, and is subtracted again (Frangella, Tropp and Udell, 2023). The expected error of this
    approximation is comparable to the error of the best approximation of a somewhat smaller rank.

    Args:
        matrix: K, or an operator such as `KernelOperator(kernel, x)`.
        rank: the number of columns of W.
        key: the random key.

    Raises:
        SettingError: for a rank outside 1..n.
        NotPositiveDefiniteError: if W^T K W has a negative eigenvalue.
    """
    operator = as_operator(matrix)
    n = len(operator)
    _check_rank(rank, n)
    diagonal = operator.diagonal()
    test = jnp.linalg.qr(jax.random.normal(key, (n, rank), diagonal.dtype))[0]
    product = operator(test)
    shift = jnp.finfo(diagonal.dtype).eps * jnp.linalg.norm(product)
    product = product + shift * test
    factor = jnp.linalg.cholesky(test.T @ product)
    if not bool(jnp.all(jnp.isfinite(factor))):
        smallest = float(jnp.linalg.eigvalsh(test.T @ product)[0])
        raise NotPositiveDefiniteError(
            "the matrix is not positive semidefinite",
            found=f"the smallest eigenvalue {smallest:.6g} of W^T K W, with a random orthonormal W",
            rule=f"at least {-float(shift):.3g}, which is 0 up to rounding errors",
            remedy="check that the kernel is positive semidefinite",
        )
    vectors, values, _ = jnp.linalg.svd(solve_triangular(factor, product.T, lower=True).T, full_matrices=False)
    values = jnp.maximum(values**2 - shift, 0.0)
    return LowRank(values, vectors, jnp.maximum(jnp.sum(diagonal) - jnp.sum(values), 0.0), None, rank)


def _check_rank(rank: int, n: int) -> None:
    if not 1 <= rank <= n:
        raise SettingError("rank", found=rank, rule=f"a whole number from 1 to {n}, the number of rows of the matrix")


class Preconditioner(eqx.Module):
    """The map v -> P^-1 v for P = U diag(a + ridge) U^T + ridge (I - U U^T), from a low-rank approximation.

    Let K^ = U diag(a) U^T <= K. The condition number of P^-1 (K + ridge I) is at most 1 + |K - K^| / ridge. The
    attribute `condition` is a larger bound, 1 + tr (K - K^) / ridge. Without a ridge, the smallest a_i > 0 replaces the
    ridge on the orthogonal complement of U, and neither bound holds.

    Args:
        low_rank: the result of `randomly_pivoted_cholesky` or `nystrom_approximation`.
        ridge: the ridge of the system, at least 0.
    """

    low_rank: LowRank
    ridge: Float[Array, ""] = eqx.field(converter=jnp.asarray)

    def __check_init__(self):
        check_at_least("ridge", self.ridge, 0.0)

    def __call__(self, v: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """Return the product P^-1 v."""
        vectors, values = self.low_rank.eigenvectors, self.low_rank.eigenvalues
        level = self._level
        inside = vectors.T @ v.reshape(len(v), -1)
        weights = 1 / (jnp.maximum(values, jnp.where(self.ridge > 0, 0.0, level)) + self.ridge) - 1 / level
        return v / level + (vectors @ (weights[:, None] * inside)).reshape(v.shape)

    @property
    def condition(self) -> Float[Array, ""]:
        """The bound 1 + tr (K - K^) / ridge on the condition number of P^-1 (K + ridge I); infinite without a ridge."""
        return jnp.where(self.ridge > 0, 1 + self.low_rank.missed / jnp.where(self.ridge > 0, self.ridge, 1), jnp.inf)

    @property
    def _level(self) -> Float[Array, ""]:
        values = self.low_rank.eigenvalues
        smallest = jnp.min(jnp.where(values > 0, values, jnp.inf))
        return jnp.where(self.ridge > 0, self.ridge, smallest)
