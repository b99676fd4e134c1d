"""Coding rates: the number of nats that describe features, or points with a kernel, up to a distortion."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import check_gram, check_numbers, known, require_float64
from lemmata.errors import NotPositiveDefiniteError, SettingError, ShapeError

_ROUNDING = 16.0  # the multiple of n eps |K| by which an eigenvalue may be below 0


def coding_rate(features: Float[Array, "n d"], eps: float | Float[Array, ""]) -> Float[Array, ""]:
    """Return R(Z, eps) = 1/2 log det(I + d / (n eps²) Z'Z) in nats, for an n x d matrix Z of features.

    Take a normal vector with the second moments Z'Z/n of the rows, and add normal noise of variance eps²/d to each
    coordinate. R is the mutual information of the vectors before and after the noise is added. Consider the least
    squared error of an estimate of the vector before from the vector after. R is at least the smallest number of nats
    that describe the normal vector up to this error. R equals this smallest number if all eigenvalues of Z'Z are equal.
    By Sylvester's identity, R equals `kernel_coding_rate` of Z Z' with the dimension d.

    Args:
        features: the matrix Z, one feature vector in each row.
        eps: the distortion, above 0.

    Raises:
        SettingError: for an eps that is not positive.
        ShapeError: if Z is not a matrix with rows.
        DataError: for entries that are not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.selection import coding_rate
        >>> round(float(coding_rate(jnp.eye(2), 1.0)), 6)  # 1/2 log det(2 I)
        0.693147
    """
    require_float64("coding rate")
    if jnp.ndim(features) != 2 or not features.size:
        raise ShapeError("features", found=f"shape {jnp.shape(features)}", rule="shape (n, d), one row for each vector")
    check_numbers("features", features)
    _check_eps(eps)
    n, d = features.shape
    return _half_log_det(d / (n * eps**2) * features.T @ features)


def kernel_coding_rate(
    gram: Float[Array, "n columns"], eps: float | Float[Array, ""], *, dimension: float = 1.0
) -> Float[Array, ""]:
    """Return R(K, eps) = 1/2 log det(I + d / (n eps²) K) in nats, for n points with Gram matrix K.

    The rate uses only inner products of features. So a kernel can replace these products, for example the tangent
    kernel of a proxy network (see `proxy_tangent_gram`). Let the noise variance be n eps² / d. Then R is the
    information that noisy values at the points give about a Gaussian process with covariance K.

    Args:
        gram: the Gram matrix K, positive semidefinite.
        eps: the distortion, above 0.
        dimension: the dimension d of the features. For a kernel with infinitely many features, use 1. Then the noise
            variance is n eps².

    Raises:
        SettingError: for an eps or a dimension that is not positive.
        ShapeError: if K is empty or not square and symmetric up to rounding.
        NotPositiveDefiniteError: if K has an eigenvalue that is negative by more than rounding errors. A K that JAX
            traces is not checked.
        DataError: for entries that are not finite.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.selection import kernel_coding_rate
        >>> round(float(kernel_coding_rate(jnp.ones((2, 2)), 1.0)), 6)  # a point twice is a point once
        0.346574
    """
    require_float64("coding rate")
    check_gram("the Gram matrix", gram)
    _check_semidefinite(gram)
    _check_eps(eps)
    if not dimension > 0:
        raise SettingError("dimension", found=dimension, rule="a number above 0")
    return _half_log_det(dimension / (len(gram) * eps**2) * gram)


def _half_log_det(matrix: Float[Array, "n n"]) -> Float[Array, ""]:
    """Return 1/2 log det(I + M), or NaN if I + M is not positive definite."""
    factor = jnp.linalg.cholesky(matrix + jnp.eye(len(matrix)))
    return jnp.sum(jnp.log(jnp.diagonal(factor)))


def _check_semidefinite(gram: Array) -> None:
    values = known(gram)
    if values is None:
        return
    eigenvalues = np.linalg.eigvalsh(values)
    floor = -_ROUNDING * len(values) * float(np.finfo(values.dtype).eps) * np.abs(eigenvalues).max()
    if eigenvalues[0] < floor:
        raise NotPositiveDefiniteError(
            "Gram matrix",
            found=f"smallest eigenvalue {eigenvalues[0]:.6g}",
            rule=f"a positive semidefinite matrix, with eigenvalues of at least {floor:.3g} (rounding errors)",
            remedy="use a kernel that is positive semidefinite",
        )


def _check_eps(eps: float | Array) -> None:
    number = known(jnp.asarray(eps))
    if number is not None and not float(number) > 0:
        raise SettingError("eps", found=float(number), rule="a distortion above 0")
