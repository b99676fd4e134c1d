"""Rows K(x, z) of a kernel at given centres, as NumPy arrays. At most one small program is compiled."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.core import known
from lemmata.kernels import AbstractKernel, takes_numpy

from ._operators import kernel_product, rows_of_a_block

# the number of rows that are computed at once; the intermediate arrays of so few rows stay in the cache
TILE = 256
# The estimated memory of a compiled tile is multiplied by this number: the allocator keeps freed memory, so resident
# memory was up to three times this estimate.
_KEPT = 3


class KernelRows:
    """Computes K(x, z) in float64 for one set of points x after another, in this machine's memory.

    If NumPy computes the kernel in less time than a compilation takes (`takes_numpy`), nothing is compiled, and
    `by_numpy` is true. For other kernels, one compiled program computes a tile of rows at a time, for any number of
    points. The program stays compiled for the next `KernelRows`.

    Args:
        kernel: the kernel K.
        z: the centres.
        rows: the largest expected number of points, added up over all calls.
    """

    def __init__(self, kernel: AbstractKernel, z: Float[Array | np.ndarray, "p *shape"], rows: int = TILE):
        self._kernel, self._z = kernel, np.asarray(z)
        # Points are padded to a whole tile. Extra vectors cost less than another compilation; extra arrays of more axes
        # may cost more.
        self._rows = TILE if self._z.ndim == 2 else max(1, min(rows, TILE))
        self.by_numpy = takes_numpy(kernel, self._z, rows * len(self._z))
        with jax.enable_x64(True):
            self._centres: Any = None if self.by_numpy else jnp.asarray(z)

    def __len__(self) -> int:
        """The number of centres."""
        return len(self._z)

    @property
    def bytes(self) -> int:
        """The peak of memory in bytes, besides points, centres and the result."""
        if self.by_numpy:
            return 8 * (4 * 2**18 + 4 * self._z.size)
        with jax.enable_x64(True):
            tile = jnp.asarray(np.broadcast_to(self._z[:1], (self._rows, *self._z.shape[1:])))
            program: Any = _tile
            found = program.lower(self._kernel, tile, self._centres).compile().compiled.memory_analysis()
        if (
            found is None
        ):  # not every backend reports its memory; no kernel of this library stores more than ten arrays of all pairs
            return 80 * self._rows * len(self._z)
        return _KEPT * int(found.temp_size_in_bytes + found.argument_size_in_bytes + found.output_size_in_bytes)

    def __call__(self, x: Float[np.ndarray, "n *shape"]) -> Float[np.ndarray, "n p"]:
        """Return K(x, z), C-contiguous and in new memory."""
        if self.by_numpy:
            found = self._kernel.numpy_cross(x, self._z)
            assert found is not None
            return found
        found = np.empty((len(x), len(self._z)))
        following = self._started(x[: self._rows])
        for start in range(0, len(x), self._rows):
            current, end = following, min(start + self._rows, len(x))
            if end < len(x):  # the next tile is computed while the current tile is copied
                following = self._started(x[end : end + self._rows])
            found[start:end] = np.asarray(current)[: end - start]
        return found

    def _started(self, x: np.ndarray) -> Array:
        """Start to compute K(x, z) for at most a tile of points, which is padded with meaningless rows.

        The result may not be ready yet.
        """
        padded = np.pad(x, [(0, self._rows - len(x)), *((0, 0) for _ in x.shape[1:])], mode="edge")
        with jax.enable_x64(True):  # a caller's setting does not hold in other threads
            return _tile(self._kernel, jnp.asarray(padded), self._centres)


def rows_bytes(kernel: AbstractKernel, z: Float[Array, "p *shape"], rows: int) -> int:
    """Return the value of `KernelRows.bytes`. JAX may trace the arrays, because only their shapes matter.

    Args:
        kernel: the kernel K.
        z: the centres.
        rows: the largest expected number of points.
    """
    traced = lambda leaf: eqx.is_array(leaf) and known(leaf) is None
    if not any(map(traced, jax.tree.leaves((kernel, z)))):
        return KernelRows(kernel, z, rows).bytes
    with jax.ensure_compile_time_eval():
        shaped = lambda leaf: jnp.ones(leaf.shape, leaf.dtype) if traced(leaf) else leaf
        kernel, z = jax.tree.map(shaped, (kernel, z))
        return KernelRows(kernel, z, rows).bytes


def centred_product(
    kernel: AbstractKernel, x: Float[Array, "n d"], z: Float[Array, "p e"], v: Float[Array, "rows *k"]
) -> Float[Array, "n *k"]:
    """Return the product K(x, z) v.

    `KernelRows` computes the product if x has type float64 and all numbers are in this machine's memory. Otherwise,
    `kernel_product` computes it.

    Args:
        kernel: the kernel K.
        x: the points.
        z: the centres.
        v: one row for each centre.

    Raises:
        ShapeError: if the shapes of x, z and v do not fit each other, or one of them is empty.
    """
    fits = x.shape[1:] == z.shape[1:] and 0 not in x.shape and x.dtype == jnp.float64
    if not fits or not all(map(on_host, (x, z, v, *jax.tree.leaves(kernel)))):
        return kernel_product(kernel, x, z, v)
    rows, points, flat = KernelRows(kernel, z, len(x)), np.asarray(x), np.asarray(v).reshape(len(z), -1)
    step = min(rows_of_a_block(None, len(z), 8), len(x))
    found = np.concatenate([rows(points[start : start + step]) @ flat for start in range(0, len(x), step)])
    return jnp.asarray(found.reshape(len(x), *v.shape[1:]))


@eqx.filter_jit
def _tile(kernel: AbstractKernel, x: Array, z: Array) -> Float[Array, "rows p"]:
    return kernel.cross(x, z).astype(jnp.float64)


def on_host(array: Any) -> bool:
    """Return whether the numbers of an array lie in this machine's memory, and not on a device or in a trace.

    Args:
        array: an array of NumPy or JAX. Anything else counts as an array in this machine's memory.
    """
    try:
        return not isinstance(array, jax.Array) or all(device.platform == "cpu" for device in array.devices())
    except jax.errors.ConcretizationTypeError:
        return False
