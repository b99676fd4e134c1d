"""Kernel ridge regression by Cholesky factorisation."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import cho_solve
from jaxtyping import Array, Bool, Float

from lemmata.core import check_gram, require_float64
from lemmata.errors import NotPositiveDefiniteError, SolverError

from ._checks import check_at_least, check_targets, known

JITTERS = (1.0, 10.0, 1e2, 1e3, 1e4, 1e5)  # the jitters that are tried, in units of eps times the trace


class Solution(eqx.Module):
    """The solution of kernel ridge regression, with its accuracy.

    Args:
        coefficients: the coefficients alpha = (K + (ridge + jitter) I)^-1 y; predictions at test points are K_test
            alpha.
        ridge: the requested ridge, without the jitter.
        jitter: the amount that had to be added to the diagonal besides the ridge; 0 if the factorisation succeeded
            without a jitter.
        residual: the relative residual |(K + ridge I) alpha - y| / |y| of the system without the jitter.
        factor: the lower Cholesky factor of K + (ridge + jitter) I.
    """

    coefficients: Float[Array, "n *k"]
    ridge: Float[Array, ""]
    jitter: Float[Array, ""]
    residual: Float[Array, ""]
    factor: Float[Array, "n n"]


def kernel_ridge(K: Float[Array, "n columns"], y: Float[Array, "rows *k"], ridge: float | Float[Array, ""]) -> Solution:
    """Solve kernel ridge regression, alpha = argmin |K alpha - y|² + ridge alpha^T K alpha = (K + ridge I)^-1 y.

    The Cholesky factorisation of K + ridge I may fail although K is positive semidefinite up to rounding. Then jitters
    eps tr K, 10 eps tr K, ... 1e5 eps tr K are added to the diagonal one after another, until the factorisation
    succeeds. The result reports this jitter. If K is indefinite by less than the ridge, the factorisation succeeds and
    no error is raised. But `lemmata.spectra.spectrum` raises an error for such a K. Inside jit or grad, no jitters are
    tried: the solution is NaN if the first factorisation fails.

    Args:
        K: Gram matrix of the training points.
        y: targets, one row for each point.
        ridge: the ridge on the diagonal, at least 0 (not divided by n).

    Raises:
        ShapeError: if K is empty or not square and symmetric up to rounding, or if y has another number of rows.
        SettingError: for a negative ridge.
        DataError: for entries of K or y that are not finite.
        NotPositiveDefiniteError: if K has an eigenvalue that is negative by more than rounding; the message states the
            smallest eigenvalue.
        SolverError: if the factorisation fails even with the largest jitter.
        PrecisionError: if float64 is off, or for K or y in half precision.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import kernel_ridge, predict
        >>> solution = kernel_ridge(jnp.eye(2), jnp.array([2.0, 4.0]), 3.0)
        >>> predict(solution, jnp.eye(2)).tolist()
        [0.5, 1.0]
    """
    require_float64("kernel ridge regression")
    check_gram("the Gram matrix K", K)
    check_targets(y, len(K))
    check_at_least("ridge", ridge, 0.0)
    return factored(K, y, ridge)


def factored(K: Float[Array, "n n"], y: Float[Array, "n *k"], ridge: float | Float[Array, ""]) -> Solution:
    """Solve kernel ridge regression as `kernel_ridge` does, for a matrix and targets that were checked before.

    Args:
        K: Gram matrix of the training points.
        y: targets, one row for each point.
        ridge: the ridge on the diagonal, at least 0.
    """
    alpha, residual, factor = _solve(K, y, jnp.asarray(ridge, K.dtype), jnp.zeros((), K.dtype))
    if known(factor) is None or jnp.all(jnp.isfinite(factor)):
        return Solution(alpha, jnp.asarray(ridge, K.dtype), jnp.zeros((), K.dtype), residual, factor)
    _refuse_indefinite(K)
    unit = jnp.finfo(K.dtype).eps * jnp.trace(K)
    for multiple in JITTERS:
        alpha, residual, factor = _solve(K, y, jnp.asarray(ridge, K.dtype), multiple * unit)
        if jnp.all(jnp.isfinite(factor)):
            return Solution(alpha, jnp.asarray(ridge, K.dtype), multiple * unit, residual, factor)
    raise SolverError(
        "Cholesky factorisation of K + ridge I",
        found=f"a factorisation that fails, even after {float(JITTERS[-1] * unit):.3g} was added to the diagonal",
        rule="a positive definite matrix",
        remedy="use a ridge that is larger than the rounding errors of K",
    )


@jax.jit
def _solve(K, y, ridge, jitter):
    diagonal = jnp.arange(len(K))
    factor = jnp.linalg.cholesky(K.at[diagonal, diagonal].add(ridge + jitter))
    alpha = cho_solve((factor, True), y)
    missed = K @ alpha + ridge * alpha - y
    unit = jnp.max(jnp.abs(y))  # squares may overflow or vanish although entries do not
    unit = jax.lax.stop_gradient(jnp.where(unit > 0, unit, 1.0))
    size = jnp.linalg.norm(y / unit)
    return alpha, jnp.linalg.norm(missed / unit) / jnp.where(size > 0, size, 1.0), factor


def require_positive_semidefinite(K: Float[Array, "n columns"], name: str = "the Gram matrix") -> None:
    """Refuse a matrix that is not symmetric, or has an eigenvalue that is negative by more than rounding.

    Let f = 16 n eps |K|, with n rows, machine epsilon eps and the Frobenius norm |K|. If no eigenvalue is below -f, K +
    f I has a Cholesky factor. If K + f I has no Cholesky factor, the eigenvalues of K are computed and checked. If JAX
    traces the matrix, only its shape and type are checked.

    Args:
        K: a Gram matrix.
        name: the name of the matrix in the error message.

    Raises:
        ShapeError: if the matrix is empty or not square and symmetric up to rounding.
        DataError: for entries that are not finite.
        PrecisionError: for arrays in half precision.
        NotPositiveDefiniteError: if an eigenvalue is negative by more than rounding; the message states the smallest
            eigenvalue.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import require_positive_semidefinite
        >>> require_positive_semidefinite(jnp.ones((2, 2)))
    """
    check_gram(name, K)
    if known(K) is not None and not bool(_has_factor(K)):
        _refuse_indefinite(K, name)


@jax.jit
def _has_factor(K: Float[Array, "n n"]) -> Bool[Array, ""]:
    diagonal = jnp.arange(len(K))
    floor = 16 * len(K) * jnp.finfo(K.dtype).eps * jnp.linalg.norm(K)
    return jnp.all(jnp.isfinite(jnp.linalg.cholesky(K.at[diagonal, diagonal].add(floor))))


def _refuse_indefinite(K: Float[Array, "n n"], name: str = "the Gram matrix") -> None:
    values = jnp.linalg.eigvalsh(K)
    floor = float(16 * len(K) * jnp.finfo(K.dtype).eps * jnp.max(jnp.abs(values)))
    smallest = float(values[0])
    if not smallest >= -floor:
        raise NotPositiveDefiniteError(
            f"{name} is not positive semidefinite",
            found=f"smallest eigenvalue {smallest:.6g}",
            rule=(
                f"at least {-floor:.3g}, which is -16 n eps times the largest eigenvalue (n rows, machine epsilon eps)"
            ),
            remedy="check that the kernel is positive semidefinite and that the points are finite",
        )


def predict(solution: Solution, K_test: Float[Array, "t n"]) -> Float[Array, "t *k"]:
    """Return the predictions K_test alpha at other points.

    Args:
        solution: the result of `kernel_ridge`.
        K_test: K(test points, training points).
    """
    return K_test @ solution.coefficients


def leave_one_out_residuals(
    K: Float[Array, "n columns"], y: Float[Array, "rows *k"], ridge: float | Float[Array, ""]
) -> Float[Array, "rows *k"]:
    """Return the leave-one-out residuals: y_i minus the prediction at x_i of a fit to all other rows.

    The formula is [(K + ridge)^-1 y]_i / [(K + ridge)^-1]_ii. This formula takes one factorisation instead of one for
    each of the n rows. The function raises the same errors as `kernel_ridge`.

    Args:
        K: Gram matrix of the training points.
        y: targets, one row for each point.
        ridge: the ridge on the diagonal, the same for every refit.
    """
    solution = kernel_ridge(K, y, ridge)
    inverse = jnp.diagonal(cho_solve((solution.factor, True), jnp.eye(len(K), dtype=K.dtype)))
    return solution.coefficients / inverse.reshape(-1, *[1] * (y.ndim - 1))
