"""Kernel gradient flow in which every row has its own weight in the loss, and so its own training time."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_numbers, known, require_float64
from lemmata.errors import SettingError, ShapeError

from ._checks import check_targets

_SMALL = 1e-2  # below this number, phi' is computed from its series; six terms leave less than eps
# If two eigenvalues are closer than this number, relatively, phi' at their mean replaces their divided difference. The
# error of phi' is _APART² / 24, while the rounding error of the divided difference would be eps / _APART.
_APART = 1e-5


def row_time_coefficients(
    K: Float[Array, "rows columns"], times: Float[Array, " t"], y: Float[Array, "n *k"]
) -> Float[Array, "n *k"]:
    """Return the coefficients of kernel gradient flow in which row i trains for the time times_i.

    The flow starts from f = 0 and is df/dt = -K Xi' (f - y). Here f are the outputs at the training points, y their
    targets, and K the kernel matrix of the training points. Xi' is the diagonal matrix that holds the weight of each
    row in the loss. Xi is the diagonal matrix of the rows' training times, so Xi_ii = times_i >= 0. If the weights are
    constant, the training time of a row is the duration of the flow multiplied by the row's weight. At the end of the
    flow, the coefficients c satisfy

        f = K c = (I - exp(-K Xi)) y,    elsewhere f(x) = K(x, X) c,    c = D phi(D K D) D y,

    where X are the training points, D = Xi^(1/2) and phi(a) = (1 - exp(-a)) / a. The formula for c has no inverse. So K
    may be singular, and times may be 0. D K D is symmetric, unlike K Xi. If all times equal t, f is the result of
    `gradient_flow` at t.

    JAX can trace the function, and differentiate it in K, times and y, also in reverse mode. Derivatives of phi are
    divided differences in the eigenbasis of D K D, so equal eigenvalues do no harm. (Derivatives of eigenvectors would
    divide by differences of eigenvalues.) The derivative with respect to a time is infinite or NaN at time 0, because
    of a square root. So learn the square roots of the times, as in `row_time_coefficients(K, roots**2, y)`, and keep
    these roots away from 0.

    Args:
        K: a symmetric positive semidefinite matrix.
        times: one time for each row, at least 0.
        y: targets minus the outputs at the start.

    Raises:
        ShapeError: if the matrix is not square, or times or targets do not fit it.
        SettingError: for a negative or infinite time.
        DataError: for numbers that are not finite in K or y.
        PrecisionError: if float64 is off.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.solvers import row_time_coefficients
        >>> row_time_coefficients(jnp.eye(2), jnp.array([0.0, 800.0]), jnp.ones(2)).round(9).tolist()
        [0.0, 1.0]
    """
    require_float64("a time for every row")
    if K.ndim != 2 or K.shape[0] != K.shape[1]:
        raise ShapeError("kernel", found=f"shape {K.shape}", rule="a square matrix of all pairs of rows")
    if jnp.shape(times) != (len(K),):
        raise ShapeError("times", found=f"shape {jnp.shape(times)}", rule=f"one time for each of the {len(K)} rows")
    check_targets(y, len(K))
    check_numbers("kernel", K)
    number = known(times)
    if number is not None and not (np.all(number >= 0) and np.all(np.isfinite(number))):
        raise SettingError(
            "times",
            found=f"times from {np.min(number)} to {np.max(number)}",
            rule="finite numbers that are not negative",
        )
    roots = jnp.sqrt(jnp.asarray(times))
    flat = y.reshape(len(y), -1)
    filtered = flow_function(roots[:, None] * K * roots) @ (roots[:, None] * flat)
    return (roots[:, None] * filtered).reshape(y.shape)


@jax.custom_jvp
def flow_function(A: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """Return phi(A) for a symmetric positive semidefinite A, where phi(a) = (1 - exp(-a)) / a. It is differentiable.

    Args:
        A: a symmetric positive semidefinite matrix.
    """
    values, vectors = jnp.linalg.eigh(A)
    return (vectors * _phi(jnp.maximum(values, 0.0))) @ vectors.T


@flow_function.defjvp
def _flow_function_jvp(primals, tangents):
    """Return phi(A) and its derivative U (phi[a_i, a_j] o (U' dA U)) U' by Daleckii and Krein, for A = U diag(a) U'.

    phi[., .] are divided differences, and o is the entrywise product.
    """
    (A,), (dA,) = primals, tangents
    values, vectors = jnp.linalg.eigh(A)
    values = jnp.maximum(values, 0.0)
    filters = _phi(values)
    gaps, middles = values[:, None] - values, (values[:, None] + values) / 2
    near = jnp.abs(gaps) <= _APART * (1 + middles)
    quotients = (filters[:, None] - filters) / jnp.where(near, 1.0, gaps)
    weights = jnp.where(near, _phi_slope(middles), quotients)
    turned = vectors.T @ ((dA + dA.T) / 2) @ vectors
    return (vectors * filters) @ vectors.T, vectors @ (weights * turned) @ vectors.T


def _phi(a: Float[Array, "*s"]) -> Float[Array, "*s"]:
    safe = jnp.where(a > 0, a, 1.0)
    return jnp.where(a > 0, -jnp.expm1(-safe) / safe, 1.0)


def _phi_slope(a: Float[Array, "*s"]) -> Float[Array, "*s"]:
    safe = jnp.where(a > _SMALL, a, 1.0)
    plain = (jnp.exp(-safe) * (1 + safe) - 1) / safe**2
    # phi(a) = sum (-a)^k / (k + 1)!
    series = -(1 / 2 - a * (1 / 3 - a * (1 / 8 - a * (1 / 30 - a * (1 / 144 - a / 840)))))
    return jnp.where(a > _SMALL, plain, series)
