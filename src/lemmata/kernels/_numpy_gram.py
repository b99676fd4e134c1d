"""The Gram matrix of a kernel with a form in NumPy, without compilation."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.core import mirror

from ._base import AbstractKernel
from ._tiles import checked_finite

# Rows of a tile: tiles below the diagonal are copies, and those on it are computed whole.
_TILE = 512


def numpy_gram(kernel: AbstractKernel, x: Float[np.ndarray, "n *shape"]) -> Float[np.ndarray, "n columns"] | None:
    """The matrix K(x_i, x_j) in new memory, exactly symmetric; None if the kernel has no form in NumPy.

    Args:
        kernel: the kernel K.
        x: points.

    Raises:
        SettingError: if an entry is not finite.
    """
    if x.ndim != 2 or not len(x) or kernel.numpy_cross(x[:1], x[:1]) is None:
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
