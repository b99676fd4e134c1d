"""Compute the Gram matrix of a kernel by NumPy, without compilation, if the kernel has a form in NumPy."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.core import mirror

from ._base import AbstractKernel, Power, Product, Scale, Sum
from ._tiles import checked_finite

# The number of rows of a tile. Tiles below the diagonal are copies, and tiles on the diagonal are computed completely.
_TILE = 512


def takes_numpy(kernel: AbstractKernel, x: Float[np.ndarray, "n *shape"], entries: int) -> bool:
    """Whether `numpy_cross` can compute the kernel at the given points, in less processor time than a compilation.

    Args:
        kernel: the kernel K.
        x: points; `numpy_cross` is tried at the first point.
        entries: the number of entries of all matrices that are needed.

    Example:
        >>> import numpy as np
        >>> from lemmata.kernels import RBF, Linear, takes_numpy
        >>> takes_numpy(RBF(1.0), np.eye(3), 9), takes_numpy(Linear(), np.eye(3), 9)
        (True, False)
    """
    if x.ndim != 2 or not len(x) or entries > _most_entries(kernel):
        return False
    return kernel.numpy_cross(x[:1], x[:1]) is not None


def _most_entries(kernel: AbstractKernel) -> float:
    if isinstance(kernel, Sum | Product):
        return min(_most_entries(kernel.left), _most_entries(kernel.right))
    return _most_entries(kernel.kernel) if isinstance(kernel, Scale | Power) else kernel.numpy_entries


def numpy_gram(kernel: AbstractKernel, x: Float[np.ndarray, "n *shape"]) -> Float[np.ndarray, "n columns"] | None:
    """The matrix K(x_i, x_j) in new memory, exactly symmetric. None if `takes_numpy` is false.

    Only entries on and above the diagonal are computed.

    Args:
        kernel: the kernel K.
        x: points.

    Raises:
        SettingError: if an entry is not finite.
    """
    if not takes_numpy(kernel, x, len(x) * (len(x) + 1) // 2):
        return None
    matrix = np.empty((len(x), len(x)))
    for start in range(0, len(x), _TILE):
        rows = slice(start, start + _TILE)
        strip = kernel.numpy_cross(x[rows], x[start:])
        assert strip is not None
        if not np.isfinite(np.sum(strip)):
            checked_finite(jnp.asarray(strip))
        corner = strip[:, : len(strip)]
        corner[...] = (corner + corner.T) / 2
        matrix[rows, start:] = strip
    mirror(matrix)
    return matrix
