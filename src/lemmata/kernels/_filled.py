"""Fill a NumPy matrix of all pairs of points from tiles that stay in the processor's cache."""

import itertools
import os
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._base import AbstractKernel
from ._tiles import checked_finite, checked_symmetric, cross_tile, diagonal_tile, refused_points

# The number of rows of a tile of vectors is an odd multiple of 8. If the distance between rows in memory were a power
# of two in bytes, the entries of a column would share few cache lines. A transpose would then take three times as long.
_STEP = 16
# The number of rows of a tile if the work for a single point is expensive. Each point is then in about half as many
# tiles.
_WIDE_SIDE = 1160
# the number of tiles that are computed at once; XLA shares an operation between cores, but many operations of a tile
# are too short for this
_WORKERS = min(4, os.cpu_count() or 1)
# JAX takes over an array without a copy if the array's memory begins at a multiple of this number of bytes.
_ALIGNED = 64


class _Axis(NamedTuple):
    """The points of the rows or the columns of the matrix, in tiles of equal size.

    The last tile is shifted back so that it ends at the last point.

    Attributes:
        starts: the first row of each tile.
        repeated: for each tile, the number of its rows that are also in the previous tile.
        tiles: the points of each tile.
    """

    starts: list[int]
    repeated: list[int]
    tiles: list[Array]


def filled(
    kernel: AbstractKernel, x: Float[Array, "n *shape"], y: Float[Array, "m *shape"] | None
) -> Float[np.ndarray, "n columns"]:
    """The matrix K(x_i, y_j). If `y` is None, the exactly symmetric K(x_i, x_j), from tiles on and above the diagonal.

    No second array of the matrix's size is made. JAX can take over the matrix without a copy.

    Args:
        kernel: the kernel.
        x: points, at least one.
        y: other points, at least one; `None` means `x` itself.

    Raises:
        SettingError: if an entry is not finite, or a tile on the diagonal is not symmetric up to rounding.
    """
    diagonal = np.asarray(refused_points(kernel, x, y))
    side, vectors = kernel.tile_rows(x.shape) or _WIDE_SIDE, x.ndim == 2
    rows = _axis(x, side, even=vectors)
    columns = rows if y is None else _axis(y, max(side, side**2 // len(rows.tiles[0])), even=vectors)
    # The places are in the order of rows. So the first two places of a symmetric matrix are one tile on the diagonal
    # and one above it. Each of these two kinds of tiles has its own compiled function.
    places = [(i, j) for i in range(len(rows.tiles)) for j in range(i if y is None else 0, len(columns.tiles))]
    x64 = bool(jax.config.jax_enable_x64)  # pyright: ignore[reportAttributeAccessIssue]

    def computed(place: tuple[int, int]) -> Float[np.ndarray, "a b"]:
        i, j = place
        left, first = rows.tiles[i], (rows.starts[i], columns.starts[j])
        with jax.enable_x64(x64):  # the threads of the pool do not inherit the caller's setting
            if y is not None or i != j:
                return np.asarray(checked_finite(cross_tile(kernel, left, columns.tiles[j]), first))
            if vectors or not kernel.exactly_symmetric:
                return np.asarray(checked_symmetric(left, *diagonal_tile(kernel, left), first[0]))
            # For fields (points with several axes), the compiled function of the other tiles also computes the tiles on
            # the diagonal. These tiles are then made symmetric.
            tile = np.asarray(checked_finite(cross_tile(kernel, left, left), first))
        tile = (tile + tile.T) / 2
        np.fill_diagonal(tile, diagonal[first[0] : first[0] + len(tile)])
        return tile

    def write(place: tuple[int, int], values: Float[np.ndarray, "a b"]) -> None:
        # Each entry is written only once, so threads do not overwrite each other's entries.
        (down, row), (across, column) = (
            (axis.repeated[at], axis.starts[at]) for axis, at in zip((rows, columns), place, strict=True)
        )
        below, beside = row + len(values), column + values.shape[1]
        matrix[row + down : below, column + across : beside] = values[down:, across:]
        if y is None and place[0] != place[1]:
            matrix[column + across : beside, row + down : below] = values[down:, across:].T

    pool = ThreadPoolExecutor(_WORKERS)
    try:
        first = list(pool.map(computed, places[:2]))
        matrix = _aligned((len(x), len(x if y is None else y)), first[0].dtype)
        for place, values in zip(places, first, strict=False):
            write(place, values)
        for _ in pool.map(lambda place: write(place, computed(place)), places[2:]):
            pass
    finally:
        pool.shutdown(cancel_futures=True)
    return matrix


def _axis(points: Array, most: int, *, even: bool) -> _Axis:
    n, side = len(points), most
    if even:  # tiles of nearly equal size
        pieces = -(-n // most)
        side = -(-(-(-n // pieces) - _STEP // 2) // _STEP) * _STEP + _STEP // 2
    side = min(n, side)
    starts = [min(i * side, n - side) for i in range(-(-n // side))]
    if len(starts) == 1:
        return _Axis(starts, [0], [points])
    given = np.asarray(points)
    repeated = [0, *(before + side - start for before, start in itertools.pairwise(starts))]
    return _Axis(starts, repeated, [jnp.asarray(given[start : start + side]) for start in starts])


def _aligned(shape: tuple[int, int], dtype: np.dtype) -> Float[np.ndarray, "n m"]:
    count = shape[0] * shape[1] * dtype.itemsize
    room = np.empty(count + _ALIGNED, np.uint8)
    first = -room.ctypes.data % _ALIGNED
    return room[first : first + count].view(dtype).reshape(shape)
