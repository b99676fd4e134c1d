"""Convert the pytrees of fitted estimators between NumPy arrays (for storage) and JAX arrays (for computations)."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def numpy_leaves(tree: Any) -> Any:
    """The tree with NumPy arrays in place of JAX arrays of numbers.

    If JAX's x64 mode is off in a process, a JAX array of float64 that is copied to this process, or loaded there,
    becomes float32. A NumPy array stays float64, so fitted arrays are stored as NumPy arrays.

    Args:
        tree: a pytree, such as a kernel, an eigensystem or parameters.
    """
    return jax.tree.map(lambda leaf: np.asarray(leaf) if _is_numeric(leaf, jax.Array) else leaf, tree)


def jax_leaves(tree: Any) -> Any:
    """The inverse of `numpy_leaves`. Call this function only while JAX's x64 mode is on.

    Args:
        tree: the result of `numpy_leaves`.
    """
    return jax.tree.map(lambda leaf: jnp.asarray(leaf) if _is_numeric(leaf, np.ndarray) else leaf, tree)


def _is_numeric(leaf: Any, kind: type) -> bool:
    return isinstance(leaf, kind) and jnp.issubdtype(leaf.dtype, jnp.number)
