"""A digest that identifies a kernel and its points, also in a later process."""

import hashlib
import re

import jax
import numpy as np
from jaxtyping import Array

from ._base import AbstractKernel


def problem_digest(kernel: AbstractKernel, x: Array, y: Array | None = None) -> str:
    """Return the SHA-256 digest of the points, the kernel's parameters and its structure.

    Functions enter the digest by name, because their memory addresses change.

    Args:
        kernel: the kernel.
        x: points.
        y: other points; None means `x` itself.
    """
    leaves, structure = jax.tree.flatten(kernel)
    digest = hashlib.sha256(re.sub(r" at 0x[0-9a-f]+", "", str(structure)).encode())
    for leaf in (*leaves, x, *(() if y is None else (y,))):
        array = np.asarray(leaf) if isinstance(leaf, jax.Array | np.ndarray) else None
        if array is None:
            digest.update(f"|{leaf!r}".encode())
        else:
            digest.update(f"|{array.dtype} {array.shape}|".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
