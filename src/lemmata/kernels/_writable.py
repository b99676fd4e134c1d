"""A Gram matrix as an array of NumPy that may be overwritten: the peak of memory is the matrix and a few tiles."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import available_bytes
from lemmata.errors import MemoryPlanError

from ._base import AbstractKernel
from ._numpy_gram import numpy_gram
from ._plan import size
from ._points import checked_problem
from ._tiles import checked_finite, checked_symmetric, cross_tile

# Rows of a tile: 8 MiB of float64, which a few arrays of the kernel's own still keep near the cache.
_TILE = 1024


def writable_gram(kernel: AbstractKernel, x: Float[Array, "n *shape"]) -> Float[np.ndarray, "n columns"]:
    """The Gram matrix K(x_i, x_j) in a new array of NumPy, exactly symmetric, for factorisations in place.

    Only tiles on and above the diagonal are computed, in one compiled shape. The matrix is the only array of its size:
    a Cholesky factor can take its place, where `gram` gives an array of JAX, which nothing may write to.

    Args:
        kernel: the kernel K.
        x: points, one a row.

    Raises:
        ShapeError, DataError: for the same reasons as `gram`.
        SettingError: if the kernel is not a kernel of lemmata, an entry is not finite, or a tile on the diagonal is not
            symmetric up to rounding.
        MemoryPlanError: if the matrix does not fit into memory.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.kernels import Linear, writable_gram
        >>> matrix = writable_gram(Linear(), jnp.eye(2))
        >>> matrix *= 2
        >>> matrix.tolist()
        [[2.0, 0.0], [0.0, 2.0]]
    """
    x, _, _ = checked_problem(kernel, x, None)
    n = len(x)
    block = -(-n // max(1, -(-n // _TILE)))  # tiles of nearly equal size
    needed, free = n * n * x.dtype.itemsize, available_bytes()
    if needed > free:
        raise MemoryPlanError(
            "Gram matrix",
            found=f"{n} x {n} numbers of {x.dtype.itemsize} bytes = {size(needed)}",
            rule=f"at most the {size(free)} that are free",
            remedy="use fewer points, or solve on centres (an estimator's centres='auto')",
        )
    if (found := numpy_gram(kernel, np.asarray(x))) is not None:
        return found
    kernel.diagonal(x)  # a kernel that refuses points refuses them here; compiled, it can refuse nothing
    matrix = np.empty((n, n), x.dtype)
    # The last tiles go back to the size of the others: one shape is compiled, and what they repeat is written twice.
    starts = [min(start, n - block) for start in range(0, n, max(block, 1))]
    for i, row in enumerate(starts):
        for column in starts[i:]:
            left, right = x[row : row + block], x[column : column + block]
            tile = checked_finite(cross_tile(kernel, left, right))
            values = _own(left, np.asarray(tile)) if row == column else np.asarray(tile)
            matrix[row : row + block, column : column + block] = values
            if row != column:
                matrix[column : column + block, row : row + block] = values.T
    return matrix


def _own(x: Array, values: np.ndarray) -> np.ndarray:
    """The mean of a tile on the diagonal and its transpose, refused where the two differ by more than rounding."""
    mean = (values + values.T) / 2
    gap, largest = jnp.asarray(np.abs(values - values.T).max()), jnp.asarray(np.abs(mean).max())
    return np.asarray(checked_symmetric(x, jnp.asarray(mean), gap, largest))
