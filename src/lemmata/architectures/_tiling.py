"""Compute a network's kernel for all pairs, or its diagonal, in tiles that fit into the cache.

The recursion applies `push` of every layer to the moments of the inputs.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from lemmata.core import known

from ._checks import check_rows, check_sites, finite
from ._entries import NetworkEntries
from ._homogeneous import is_homogeneous
from ._layer import AbstractLayer
from ._norm_table import FarPairs, NormTable, has_near
from ._reading import as_read, check_points

# The object that computes the kernel of all pairs.
Entries = NetworkEntries | NormTable | FarPairs
# _TILE and _SYMMETRIC_TILE: rows of a tile of vectors, in a matrix of all pairs and in a symmetric matrix; smaller
# tiles leave less work below the diagonal of a symmetric matrix. _FIELD_TILE: entries of a tile of fields, at pairs of
# points and of their positions. Caches of processors hold such tiles.
_TILE, _SYMMETRIC_TILE, _FIELD_TILE = 512, 256, 2**16


def cross_entries(entries: NetworkEntries, x: Array, y: Array) -> Array:
    """Return the matrix of all pairs.

    If y is x, the recursion over layers computes the diagonal. Raise an error if the diagonal is not finite.
    """
    check_rows(x, y)
    check_points(entries.network, x)
    check_points(entries.network, y)
    same, x = y is x, as_read(entries.network, x)
    if 0 in (len(x), len(y)):
        return jnp.zeros((len(x), len(y)), jnp.result_type(x, y))
    y = x if same else as_read(entries.network, y)
    table = entries.table(x, y)
    if table is not None:  # a table exists only for points at which it is finite
        return _by_table(table, x, None if same else y)
    diagonal = finite(_diagonal(entries, x))
    if same:
        return _symmetric(entries, x, diagonal)
    finite(_diagonal(entries, y))
    return _rectangle(entries, x, y)


def _by_table(table: NormTable, x: Array, y: Array | None) -> Array:
    """Return the matrix from a table.

    The repair computes the angles of nearly parallel pairs accurately. At first, the repair is left out, unless some of
    the first points need it. If an entry is then not finite, the matrix is computed again with the repair.
    """
    of = lambda entries: _symmetric(entries, x, table.diagonal(x)) if y is None else _rectangle(entries, x, y)
    if not has_near(x, y):
        found = of(FarPairs(table))
        total = known(jnp.sum(found))
        if total is not None and np.isfinite(total):
            return found
        del found
    return of(table)


def diagonal_entries(entries: NetworkEntries, x: Array) -> Array:
    """Return the kernel of every point with itself. Raise an error if a value is not finite."""
    check_sites(x)
    return finite(_diagonal(entries, as_read(entries.network, x)))


def _diagonal(entries: NetworkEntries, x: Array) -> Array:
    return entries.diagonal(x) if x.ndim == 2 else _diagonal_of_fields(entries, x)


@eqx.filter_jit
def _diagonal_of_fields(entries: NetworkEntries, x: Array) -> Array:
    size = field_tile(entries.network, x.shape[1:-1]) ** 2
    if len(x) <= size:
        return entries.diagonal(x)
    return jax.lax.map(lambda one: entries.diagonal(one[None])[0], x, batch_size=size)


def field_tile(network: AbstractLayer, sites: tuple[int, ...]) -> int:
    """Return the number of rows of a square tile of pairs of fields.

    The number is at least 8 if 4 rows fit into the cache.
    """
    positions = math.prod(sites) ** (2 if network.needs_pairs(False) else 1)
    side = math.isqrt(_FIELD_TILE // positions)
    return max(1, min(8, 2 * side) if side < 8 else side // 8 * 8)


def _tile(entries: Entries, x: Array, y: Array, side: int) -> tuple[int, int]:
    """Return the numbers of rows and columns of a tile: `side` for vectors if there are enough points."""
    if x.ndim == 2 or isinstance(entries, NormTable | FarPairs):
        return (side, side) if min(len(x), len(y)) >= 2 * side else (len(x), len(y))
    side = field_tile(entries.network, x.shape[1:-1])
    return min(side, len(x)), min(side, len(y))


@eqx.filter_jit
def _rectangle(entries: Entries, x: Array, y: Array | None) -> Array:
    y = x if y is None else y
    shape = rows, columns = _tile(entries, x, y, _TILE)
    if shape == (len(x), len(y)):
        return entries(x, y)
    return _tiled(entries, x, y, shape, [(i, j) for i in _starts(len(x), rows) for j in _starts(len(y), columns)])


def _symmetric(entries: Entries, x: Array, diagonal: Array) -> Array:
    """Return the exactly symmetric kernel matrix of a set of points, with the given diagonal.

    Two programs are used. A single program would compute the entries of the transpose again, and might round these
    entries differently.
    """
    # If a series replaces the recursion, a matrix that may be a tile of `gram` is computed whole.
    series = isinstance(entries, NetworkEntries) and is_homogeneous(entries.network)
    whole = series and len(x) < 2 * _TILE
    shape = side, _ = _tile(entries, x, x, _TILE if whole else _SYMMETRIC_TILE)
    if side == len(x):
        return _evened(_rectangle(entries, x, None), diagonal)
    return _symmetric_tiles(entries, x, diagonal, shape)


@jax.jit
def _evened(matrix: Array, diagonal: Array) -> Array:
    # The inputs of a branch are stored. Otherwise, entries are computed again for the transpose, column by column.
    even = jax.lax.cond(diagonal[0] < 0, lambda given: given, lambda given: (given + given.T) / 2, matrix)
    return _with_diagonal(even, diagonal)


def _with_diagonal(matrix: Array, diagonal: Array) -> Array:
    # The product x x^T rounds differently from the sums of squares, so the diagonal is set separately.
    index = jnp.arange(len(matrix))
    return matrix.at[index, index].set(diagonal, unique_indices=True)


@eqx.filter_jit
def _symmetric_tiles(entries: Entries, x: Array, diagonal: Array, shape: tuple[int, int]) -> Array:
    side = shape[0]
    starts = [(i, j) for i in _starts(len(x), side) for j in _starts(len(x), side) if i <= j]
    matrix = _even_on_diagonal(_tiled(entries, x, x, shape, starts, mirrored=True), side)
    return _with_diagonal(matrix, diagonal)


def _even_on_diagonal(matrix: Array, size: int) -> Array:
    """Make the tiles on the diagonal exactly symmetric, because a product of a tile with itself may round unevenly."""
    corners = jnp.asarray(_starts(len(matrix), size), jnp.int32)

    def write(t: Array, matrix: Array) -> Array:
        i = corners[t]
        tile = jax.lax.dynamic_slice(matrix, (i, i), (size, size))
        return jax.lax.dynamic_update_slice(matrix, (tile + tile.T) / 2, (i, i))

    return jax.lax.fori_loop(0, len(corners), write, matrix)


def _starts(length: int, size: int) -> list[int]:
    # The last tile is shifted back so that it ends with the matrix, and all tiles have one size. Rows that are computed
    # twice do not change.
    return [min(i, length - size) for i in range(0, length, size)]


def _tiled(
    entries: Entries,
    x: Array,
    y: Array,
    shape: tuple[int, int],
    starts: list[tuple[int, int]],
    mirrored: bool = False,
) -> Array:
    """Return the matrix, from tiles that fit into the cache. If `mirrored`, each tile is written twice."""
    # A tile is written one step after it was computed. If the tile were written in the same step, the compiler would
    # compute it inside the matrix, entry by entry, on one core. The first step writes zeros at the place where the
    # second step writes the first tile.
    corners = jnp.asarray([starts[0], *starts], jnp.int32)
    rows, columns = shape

    def placed(matrix: Array, tile: Array, corner: Array) -> Array:
        if mirrored:
            matrix = jax.lax.dynamic_update_slice(matrix, tile.T, (corner[1], corner[0]))
        return jax.lax.dynamic_update_slice(matrix, tile, (corner[0], corner[1]))

    def step(t: Array, carried: tuple[Array, Array]) -> tuple[Array, Array]:
        matrix, i, j = placed(carried[0], carried[1], corners[t]), corners[t + 1, 0], corners[t + 1, 1]
        left = jax.lax.dynamic_slice_in_dim(x, i, rows)
        return matrix, entries(left, jax.lax.dynamic_slice_in_dim(y, j, columns))

    dtype = jnp.result_type(x)
    empty = jnp.zeros((len(x), len(y)), dtype), jnp.zeros((rows, columns), dtype)
    matrix, last = jax.lax.fori_loop(0, len(starts), step, empty)
    return placed(matrix, last, corners[-1])
