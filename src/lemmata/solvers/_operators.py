"""Operators for Gram matrices that need not be stored: products, single columns, and the diagonal."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lemmata.core import check_gram
from lemmata.errors import NotPositiveDefiniteError, SettingError, ShapeError
from lemmata.kernels import AbstractKernel

from ._checks import check_at_least, check_numbers

BLOCK_BYTES = 2**27
"""The default bytes of a block of a kernel matrix. A few blocks are in memory at once."""


class MatrixOperator(eqx.Module):
    """A symmetric positive semidefinite matrix that is stored.

    Args:
        matrix: the matrix, as an array of JAX.

    Raises:
        ShapeError: if the matrix is empty or not square and symmetric up to rounding.
        DataError: for entries that are not finite.
        PrecisionError: for arrays in half precision.
    """

    matrix: Float[Array, "n columns"]

    def __check_init__(self):
        check_gram("the matrix", self.matrix)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.matrix)

    def __call__(self, v: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """Return the product of the matrix and v."""
        return self.matrix @ v

    def columns(self, index: Int[Array, " b"]) -> Float[Array, "n b"]:
        """Return the columns with the numbers in `index`."""
        return self.matrix[:, index]

    def diagonal(self) -> Float[Array, " n"]:
        """Return the diagonal of the matrix."""
        return jnp.diagonal(self.matrix)


class KernelOperator(eqx.Module):
    """The Gram matrix of a kernel on points. Products compute this matrix in blocks of rows, and do not store it.

    Args:
        kernel: the kernel K.
        x: points, one in each row.
        block: the number of rows of a block, at least 1; None means as many rows as fill 128 MiB.

    Raises:
        ShapeError: if there are no points.
        DataError: for points that are not finite.
        PrecisionError: for points in half precision.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import Linear
        >>> from lemmata.solvers import KernelOperator
        >>> KernelOperator(Linear(), jnp.array([[1.0], [2.0]]))(jnp.array([1.0, 1.0])).tolist()
        [3.0, 6.0]
    """

    kernel: AbstractKernel
    x: Float[Array, "n d"]
    block: int | None = eqx.field(static=True, default=None)

    def __check_init__(self):
        check_numbers("points x", self.x)
        rows_of_a_block(self.block, 1, 8)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.x)

    def __call__(self, v: Float[Array, "n *k"]) -> Float[Array, "n *k"]:
        """Return the product of the Gram matrix and v."""
        return kernel_product(self.kernel, self.x, self.x, v, block=self.block)

    def columns(self, index: Int[Array, " b"]) -> Float[Array, "n b"]:
        """Return the columns with the numbers in `index`."""
        return _cross(self.kernel, self.x, self.x[index])

    def diagonal(self) -> Float[Array, " n"]:
        """Return the diagonal of the Gram matrix."""
        return self.kernel.diagonal(self.x)


def as_operator(matrix: Any) -> MatrixOperator | KernelOperator:
    """Wrap a matrix of JAX or NumPy as an operator; return an operator unchanged.

    Args:
        matrix: the matrix or operator.

    Raises:
        SettingError: for any other value.
    """
    if isinstance(matrix, MatrixOperator | KernelOperator):
        return matrix
    if not isinstance(matrix, jax.Array | np.ndarray):
        raise SettingError(
            "matrix",
            found=f"a {type(matrix).__name__}",
            rule="a symmetric matrix of JAX or NumPy, or a linear operator of lemmata",
            remedy="use KernelOperator(kernel, x) for a kernel on points",
        )
    if not isinstance(matrix, jax.Array):
        check_gram("the matrix", matrix)
    return MatrixOperator(jnp.asarray(matrix))


def rows_of_a_block(block: int | None, columns: int, itemsize: int) -> int:
    """Return the number of rows of a block with `columns` columns: `block` itself, or as many as fill 128 MiB."""
    if block is None:
        return max(1, BLOCK_BYTES // (itemsize * columns))
    check_at_least("block", block, 1)
    return block


def kernel_product(
    kernel: AbstractKernel,
    x: Float[Array, "n d"],
    y: Float[Array, "m e"],
    v: Float[Array, "rows *k"],
    *,
    block: int | None = None,
) -> Float[Array, "n *k"]:
    """Return the product K(x, y) v. The n x m matrix K(x, y) is not stored.

    Blocks of rows are computed, multiplied and dropped, so the memory besides the result is a few blocks.

    Args:
        kernel: the kernel K.
        x: points of the rows.
        y: points of the columns.
        v: one row for each point of y.
        block: the number of rows of a block, at least 1; None means as many rows as fill 128 MiB.

    Raises:
        ShapeError: if the shapes of x, y and v do not fit each other, or if one of them is empty.
        SettingError: for a block that is not a whole number of at least 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import Linear
        >>> from lemmata.solvers import kernel_product
        >>> kernel_product(Linear(), jnp.ones((3, 1)), jnp.ones((2, 1)), jnp.array([1.0, 5.0])).tolist()
        [6.0, 6.0, 6.0]
    """
    if x.shape[1] != y.shape[1] or len(v) != len(y):
        raise ShapeError(
            "the factors of K(x, y) v",
            found=f"x of shape {x.shape}, y of shape {y.shape}, v of shape {v.shape}",
            rule="shapes (n, d), (m, d) and (m, ...)",
        )
    if 0 in x.shape + y.shape:
        raise ShapeError("points x and y", found=f"shapes {x.shape} and {y.shape}", rule="no axis of length 0")
    rows = min(rows_of_a_block(block, len(y), x.dtype.itemsize), len(x))
    parts = []
    for start in range(0, len(x), rows):
        # the last block starts earlier to have the size of the other blocks, so one compilation is enough
        first = min(start, len(x) - rows)
        parts.append(_multiplied(kernel, x[first : first + rows], y, v)[start - first :])
    return jnp.concatenate(parts)


@eqx.filter_jit
def _multiplied(kernel, x, y, v):
    return kernel.cross(x, y) @ v


@eqx.filter_jit
def _cross(kernel, x, y):
    return kernel.cross(x, y)


def refuse_curvature(curvature: float, floor: float) -> None:
    """Raise an error if v^T K v / |v|² is more negative than rounding explains.

    Args:
        curvature: the value v^T K v / |v|² for some vector v.
        floor: the accuracy of K v, which is 16 n eps times the largest observed |K v| / |v|.

    Raises:
        NotPositiveDefiniteError: if the curvature is negative by more than rounding. The message states the curvature.
            The smallest eigenvalue is at most this curvature.
    """
    if curvature < -floor:
        raise NotPositiveDefiniteError(
            "the matrix is not positive semidefinite",
            found=f"a direction v with v^T K v / |v|^2 = {curvature:.6g}",
            rule=f"at least {-floor:.3g}, which is 0 up to rounding errors",
            remedy="check that the kernel is positive semidefinite and symmetric",
        )
