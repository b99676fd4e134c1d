"""A Gram matrix as a NumPy array that may be overwritten. The peak of memory is the matrix and a few tiles."""

import numpy as np
from jaxtyping import Array, Float

from lemmata.core import available_bytes
from lemmata.errors import MemoryPlanError

from ._base import AbstractKernel
from ._filled import filled
from ._numpy_gram import numpy_gram
from ._plan import size
from ._points import checked_problem


def writable_gram(kernel: AbstractKernel, x: Float[Array, "n *shape"]) -> Float[np.ndarray, "n columns"]:
    """The exactly symmetric Gram matrix K(x_i, x_j) in a new NumPy array, for factorisations in place.

    Only tiles on and above the diagonal are computed, by functions compiled for one shape. No second array of the
    matrix's size is made, and a Cholesky factor can replace the matrix. In contrast, `gram` returns a JAX array, which
    cannot be written to.

    Args:
        kernel: the kernel K.
        x: points, one in each row.

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
    return filled(kernel, x, None) if n else np.empty((0, 0), x.dtype)
