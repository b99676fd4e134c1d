"""Checks that run before every computation on arrays and Gram matrices."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Float

from lemmata.errors import DataError, PrecisionError, ShapeError

_ROUNDING = 16.0  # the largest allowed asymmetry of an n x n Gram matrix K, in units of n eps |K|
_BLOCK = 512


def known(array: ArrayLike) -> np.ndarray | None:
    """Return an array as a NumPy array, or None if JAX traces the array, so that its numbers are not known.

    Args:
        array: the array, or a number.
    """
    try:
        return np.asarray(array)
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError):
        return None


def check_numbers(name: str, array: ArrayLike) -> None:
    """Refuse an array that is empty, has half precision, or has entries that are not finite real numbers.

    If JAX traces the array, only its shape and type are checked.

    Args:
        name: the name of the array, for the error message.
        array: the array.

    Raises:
        ShapeError: if an axis has length 0.
        PrecisionError: for float16 and other types of half precision.
        DataError: for entries that are not finite real numbers.
    """
    if not isinstance(array, jax.Array):
        array = np.asarray(array)
    if 0 in array.shape:
        raise ShapeError(name, found=f"shape {array.shape}", rule="no axis of length 0")
    if not (jnp.issubdtype(array.dtype, jnp.number) or array.dtype == bool) or np.dtype(array.dtype).kind == "c":
        raise DataError(
            name, found=f"entries of type {array.dtype}", rule="real numbers", remedy="convert it with astype(float)"
        )
    if jnp.issubdtype(array.dtype, jnp.floating) and jnp.finfo(array.dtype).bits < 32:
        raise PrecisionError(
            name,
            found=f"entries of type {array.dtype}",
            rule="float32 or float64",
            remedy="convert it with astype(float)",
        )
    values = known(array)
    if values is not None and not np.all(np.isfinite(values)):
        missing = int(np.sum(~np.isfinite(values)))
        remedy = "replace these entries, or drop the rows that contain them"
        raise DataError(name, found=f"{missing} entries that are not finite", rule="finite numbers", remedy=remedy)


def check_gram(name: str, matrix: Any) -> None:
    """Raise an error unless the matrix is square, symmetric and made of finite floating-point numbers.

    If JAX traces the matrix, only its shape and type are checked.

    A matrix A of n rows counts as symmetric if every entry of A - A^T is at most 16 n eps |A| in modulus. |A| is the
    Frobenius norm of A, and eps is the machine epsilon of the type of its entries.

    Args:
        name: the name of the matrix, for the error message.
        matrix: a Gram matrix.

    Raises:
        ShapeError: if the matrix is empty, not square, or not symmetric.
        PrecisionError: for float16 and other types of half precision, and for whole numbers.
        DataError: if an entry is not a finite real number, or if the value is not an array of JAX or NumPy.
    """
    if not isinstance(matrix, jax.Array | np.ndarray):
        raise DataError(
            name,
            found=f"a {type(matrix).__name__}",
            rule="an array of JAX or NumPy",
            remedy="convert it with jax.numpy.asarray",
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ShapeError(name, found=f"shape {matrix.shape}", rule="a square Gram matrix, of shape (n, n)")
    check_numbers(name, matrix)
    if not jnp.issubdtype(matrix.dtype, jnp.floating):
        raise PrecisionError(
            name,
            found=f"entries of type {matrix.dtype}",
            rule="float32 or float64",
            remedy="convert it with astype(float)",
        )
    values = known(matrix)
    if values is None:
        return
    floor = _ROUNDING * len(values) * float(jnp.finfo(matrix.dtype).eps) * float(np.linalg.norm(values))
    starts = range(0, len(values), _BLOCK)
    gap = max(float(np.max(np.abs(values[i : i + _BLOCK] - values[:, i : i + _BLOCK].T))) for i in starts)
    if gap > floor:
        raise ShapeError(
            name,
            found=f"entries (i, j) and (j, i) that differ by up to {gap:.3g}",
            rule="a symmetric Gram matrix",
            remedy="compute it with gram(kernel, x), or use (A + A.T) / 2 if the asymmetry is only rounding",
        )


def mirror(matrix: Float[np.ndarray, "n columns"]) -> None:
    """Copy the upper triangle of a matrix to its lower triangle.

    Args:
        matrix: the matrix, which is changed in place.
    """
    for start in range(0, len(matrix), _BLOCK):
        end = start + _BLOCK
        matrix[end:, start:end] = matrix[start:end, end:].T
        own = np.triu(matrix[start:end, start:end], 1)
        np.fill_diagonal(own, np.diagonal(matrix[start:end, start:end]) / 2)
        matrix[start:end, start:end] = own + own.T
