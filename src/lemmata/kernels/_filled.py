"""A matrix of all pairs as an array of NumPy, filled from tiles that stay in the processor's cache."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._base import AbstractKernel, Power, Product, Scale, Sum
from ._tiles import checked_finite, checked_symmetric, cross_tile, diagonal_tile, refuse_points

# Rows of a tile: one of float32 and its points fit into the cache of a core. It is an odd multiple of 8. If the rows of
# an array are a power of two of bytes apart, its columns share few places of a cache, and a transpose takes three times
# as long.
_SIDE, _STEP = 680, 16
# If the work for one point is not cheap, each point is in half as many tiles.
_WIDE_SIDE = 1160
# Tiles that are computed while one is written.
_AHEAD = 2
# JAX takes over without a copy what begins at a multiple of so many bytes.
_ALIGNED = 64


class _Axis(NamedTuple):
    """The points of one side in tiles of one size, of which the last goes back to end with the points.

    Attributes:
        starts: the first row of each tile.
        tiles: the points of each.
    """

    starts: list[int]
    tiles: list[Array]


class _Tile(NamedTuple):
    """A tile that is being computed.

    Attributes:
        i: tile row.
        j: tile column.
        values: its entries.
        told: on the diagonal of a symmetric matrix, the arguments of `checked_symmetric`.
    """

    i: int
    j: int
    values: Array
    told: tuple[Array, Array] | None


def filled(
    kernel: AbstractKernel, x: Float[Array, "n *shape"], y: Float[Array, "m *shape"] | None
) -> Float[np.ndarray, "n columns"]:
    """K(x_i, y_j), or the exactly symmetric K(x_i, x_j) computed only from the tiles on and above the diagonal.

    It is the only array of its size, and begins if JAX takes it over without a copy.

    Args:
        kernel: the kernel.
        x: points, at least one.
        y: other points, at least one; `None` means `x` itself.

    Raises:
        SettingError: if an entry is not finite, or a tile on the diagonal is not symmetric up to rounding.
    """
    refuse_points(kernel, x, y)
    side = _SIDE if has_cheap_points(kernel) else _WIDE_SIDE
    rows = _axis(x, side)
    columns = rows if y is None else _axis(y, max(side, side**2 // len(rows.tiles[0])))
    started = _started(kernel, rows, columns, y is None)
    first = next(started)
    matrix = _aligned((len(x), len(x if y is None else y)), first.values.dtype)
    ahead = deque([first])
    for tile in started:
        ahead.append(tile)
        if len(ahead) > _AHEAD:
            _write(matrix, ahead.popleft(), rows, columns)
    for tile in ahead:
        _write(matrix, tile, rows, columns)
    return matrix


def has_cheap_points(kernel: AbstractKernel) -> bool:
    """Whether a kernel, or all parts of a combination of kernels, need little work for one point."""
    if isinstance(kernel, Sum | Product):
        return has_cheap_points(kernel.left) and has_cheap_points(kernel.right)
    return has_cheap_points(kernel.kernel) if isinstance(kernel, Scale | Power) else kernel.cheap_points


def _axis(points: Array, most: int) -> _Axis:
    n = len(points)
    pieces = -(-n // most)
    side = min(n, -(-(-(-n // pieces) - _STEP // 2) // _STEP) * _STEP + _STEP // 2)  # of nearly equal size
    starts = [min(i * side, n - side) for i in range(-(-n // side))]
    if len(starts) == 1:
        return _Axis(starts, [points])
    given = np.asarray(points)
    return _Axis(starts, [jnp.asarray(given[start : start + side]) for start in starts])


def _started(kernel: AbstractKernel, rows: _Axis, columns: _Axis, symmetric: bool) -> Iterator[_Tile]:
    """The tiles, each of which has begun to be computed."""
    # Row by row: overlapping parts of the last tile are written again, last by the tile on the diagonal.
    for i, left in enumerate(rows.tiles):
        for j in range(i if symmetric else 0, len(columns.tiles)):
            if symmetric and i == j:
                values, *told = diagonal_tile(kernel, left)
                yield _Tile(i, j, values, (told[0], told[1]))
            else:
                yield _Tile(i, j, cross_tile(kernel, left, columns.tiles[j]), None)


def _aligned(shape: tuple[int, int], dtype: np.dtype) -> Float[np.ndarray, "n m"]:
    count = shape[0] * shape[1] * dtype.itemsize
    room = np.empty(count + _ALIGNED, np.uint8)
    first = -room.ctypes.data % _ALIGNED
    return room[first : first + count].view(dtype).reshape(shape)


def _write(matrix: np.ndarray, tile: _Tile, rows: _Axis, columns: _Axis) -> None:
    """Put a tile in its place, and its transpose if the matrix is symmetric; an error if it is not finite."""
    row, column = rows.starts[tile.i], columns.starts[tile.j]
    if tile.told is None:
        found = checked_finite(tile.values, (row, column))
    else:
        found = checked_symmetric(rows.tiles[tile.i], tile.values, *tile.told, row)
    values = np.asarray(found)
    below, beside = row + len(values), column + values.shape[1]
    matrix[row:below, column:beside] = values
    if rows is columns and tile.told is None:
        matrix[column:beside, row:below] = values.T
