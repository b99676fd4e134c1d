"""Attention to chosen blocks of keys, computed with a mask over all pairs, or in tiles without any n x n array."""

from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from lemmata.core import check_whole
from lemmata.errors import ShapeError

from ._dense import check_array, of_one_type
from ._router import check_choice, check_rows, chosen_blocks

_TILE = 64
_AT_ONCE = 8

Tiles = tuple[Float[Array, "tiles tile d"], Int[Array, "tiles tile"], Int[Array, " tiles"]]
"""Tiles of queries, their positions, and the block of keys to which each tile attends."""


def attended_mask(chosen: Int[Array, "n slots"], block: int, *, causal: bool = True) -> Bool[Array, "n n"]:
    """Return a mask of the keys to which each query attends: the keys of the blocks that are chosen for the query.

    With `causal`, the mask leaves out keys after the query.

    Args:
        chosen: the block numbers from `chosen_blocks`, one row for each query; -1 means no block.
        block: the number of keys in a block.
        causal: whether a query cannot attend to later keys.

    Raises:
        ShapeError: if there is not one row of blocks for each query.
        SettingError: for a block below 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import attended_mask
        >>> attended_mask(jnp.array([[0, -1], [1, 0]]), 1).astype(int).tolist()
        [[1, 0], [1, 1]]
    """
    check_array("chosen", chosen)
    if chosen.ndim != 2:
        raise ShapeError("chosen", found=f"shape {chosen.shape}", rule="shape (n, slots), the blocks of each query")
    check_whole("block", block, 1, "keys")
    positions = jnp.arange(len(chosen))
    inside = jnp.any(chosen[:, :, None] == positions // block, axis=1)
    return inside & (positions <= positions[:, None]) if causal else inside


def masked_block_attention(
    q: Float[Array, "n d"],
    k: Float[Array, "keys width"],
    v: Float[Array, "values e"],
    *,
    block: int,
    count: int,
    causal: bool = True,
) -> Float[Array, "n e"]:
    """Compute the function of `block_attention` directly, with a mask over all n² pairs of a query and a key.

    Row i of the result is sum_j softmax_j(q_i . k_j / sqrt d) v_j. In this sum, j runs over the keys of the blocks that
    `chosen_blocks` chooses for query i. With `causal`, keys after the query are left out.

    Args:
        q: the queries, one in each row.
        k: the keys, one in each row.
        v: the values, one in each row.
        block: the number of keys in a block.
        count: the number of blocks to which a query attends, including the query's own block.
        causal: whether a query cannot attend to later keys.

    Raises:
        ShapeError: for queries, keys and values of different lengths or dimensions.
        SettingError: for a block or count below 1.
        DataError: for entries that are not finite, and for whole numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import masked_block_attention
        >>> q, v = jnp.zeros((3, 1)), jnp.array([[0.0], [2.0], [4.0]])
        >>> masked_block_attention(q, q, v, block=1, count=1).tolist()  # each attends itself alone
        [[0.0], [2.0], [4.0]]
    """
    check_rows_and_values(q, k, v, block, count)
    return _masked(*of_one_type(q, k, v), block, count, causal)


@partial(jax.jit, static_argnames=("block", "count", "causal"))
def _masked(q: Array, k: Array, v: Array, block: int, count: int, causal: bool) -> Array:
    mask = attended_mask(chosen_blocks(q, k, block, count, causal=causal), block, causal=causal)
    scores = jnp.where(mask, q @ k.T / jnp.sqrt(jnp.asarray(q.shape[1], q.dtype)), -jnp.inf)
    return jax.nn.softmax(scores, axis=1) @ v


def block_attention(
    q: Float[Array, "n d"],
    k: Float[Array, "keys width"],
    v: Float[Array, "values e"],
    *,
    block: int,
    count: int,
    causal: bool = True,
    tile: int = _TILE,
) -> Float[Array, "n e"]:
    """Compute attention of each query to `count` blocks of keys, including its own block (mixture of block attention).

    The pairs of a query and a chosen block are sorted by block and cut into tiles. All queries of a tile attend to one
    block, so each tile is a dense product. The partial results of a query are merged by their maxima and sums, as in an
    online softmax. The memory is about n (count + tile) times the widths of keys and values. No n x n array is formed.
    The computation covers the pairs of a query and a key that `attended_pairs` counts, and padding of up to one tile
    for each block. Derivatives pass through the attention but not through the choice of blocks. Backward passes compute
    the weights of a tile again instead of storing these weights. Use `jax.vmap` for several heads or batches.

    Args:
        q: the queries, one in each row.
        k: the keys, one in each row. If the model convolves the keys, apply `key_convolution` first.
        v: the values, one in each row.
        block: the number B of keys in a block.
        count: the number of blocks to which a query attends, including the query's own block.
        causal: whether a query cannot attend to later keys.
        tile: the number of queries in a tile, and the number of blocks that are scored at a time.

    Raises:
        ShapeError: for queries, keys and values of different lengths or dimensions.
        SettingError: for a block, count or tile below 1.
        DataError: for entries that are not finite, and for whole numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import block_attention
        >>> q, v = jnp.zeros((5, 2)), jnp.arange(5.0)[:, None]
        >>> block_attention(q, q, v, block=2, count=1).ravel().tolist()  # means of the own block up to here
        [0.0, 0.5, 2.0, 2.5, 4.0]
    """
    check_rows_and_values(q, k, v, block, count)
    check_whole("tile", tile, 1, "queries")
    return gathered(*of_one_type(q, k, v), block, count, causal, tile, mapped_tiles)


@partial(jax.jit, static_argnames=("block", "count", "causal", "tile", "attend"))
def gathered(
    q: Array, k: Array, v: Array, block: int, count: int, causal: bool, tile: int, attend: Callable[..., tuple]
) -> Array:
    """Compute block attention, with the function `attend` for the attention within tiles.

    The function maps (tiles, keys, values, n, causal) to three arrays for the queries of each tile: the weighted sums
    of values, the largest scores and the sums of weights.
    """
    n, blocks = len(q), -(-len(q) // block)
    chosen = chosen_blocks(q, k, block, count, causal=causal, tile=tile)
    slot, query, of_block = _slots(chosen, blocks, tile)
    padded = lambda rows: jnp.pad(rows, ((0, blocks * block - n), (0, 0))).reshape(blocks, block, -1)
    scaled = jnp.pad(q / jnp.sqrt(jnp.asarray(q.shape[1], q.dtype)), ((0, 1), (0, 0)))  # row n represents no query
    tiles = (scaled[query], query, of_block)
    parts, highest, weight = (a.reshape(-1, *a.shape[2:]) for a in attend(tiles, padded(k), padded(v), n, causal))
    there = chosen >= 0
    highest = jnp.where(there, highest[slot], -jnp.inf)
    factor = jnp.exp(highest - jax.lax.stop_gradient(highest.max(axis=1, keepdims=True)))
    whole = jnp.sum(factor * jnp.where(there, weight[slot], 0.0), axis=1)
    return jnp.einsum("is,ise->ie", factor, jnp.where(there[:, :, None], parts[slot], 0.0)) / whole[:, None]


def mapped_tiles(tiles: Tiles, keys: Array, values: Array, n: int, causal: bool) -> tuple[Array, Array, Array]:
    """Return the weighted sums of values, the largest scores and the sums of weights of the queries in each tile."""

    @jax.checkpoint
    def attend(one: tuple) -> tuple[Array, Array, Array]:
        q, positions, number = one
        return attend_tile(q, keys[number], values[number], positions, number, n, causal)

    return jax.lax.map(attend, tiles, batch_size=_AT_ONCE)


def attend_tile(
    q: Array, keys: Array, values: Array, positions: Array, number: Array, n: int, causal: bool
) -> tuple[Array, Array, Array]:
    """Compute the attention of the scaled queries of a tile to the keys of one block.

    Return the weighted sums of values, the largest scores and the sums of weights, one for each query. The weights are
    exp(score - largest score).
    """
    columns = number * len(keys) + jnp.arange(len(keys))
    reach = (columns < n) & ((columns <= positions[:, None]) | (not causal))
    scores = jnp.where(reach, q @ keys.T, -jnp.inf)
    highest = jax.lax.stop_gradient(scores.max(axis=1))
    weights = jnp.exp(scores - highest[:, None])
    return weights @ values, highest, weights.sum(axis=1)


def _slots(chosen: Int[Array, "n slots"], blocks: int, tile: int) -> tuple[Array, Array, Array]:
    """Return three arrays: the place of each pair of query and block, the query at each place, and each tile's block.

    A block with c queries takes ceil(c / tile) tiles. All blocks together take at most (n slots) / tile + blocks tiles.
    The number of tiles is this bound, rounded up to a multiple of the number of tiles that are mapped at once.
    """
    n, slots = chosen.shape
    tiles = -(-(n * slots // tile + blocks) // _AT_ONCE) * _AT_ONCE
    wanted = jnp.where(chosen < 0, blocks, chosen).ravel()
    order = jnp.argsort(wanted, stable=True)
    counts = jnp.bincount(wanted, length=blocks + 1)
    needed = -(-counts[:blocks] // tile)
    ends = jnp.cumsum(needed)
    block = wanted[order]
    rank = jnp.arange(n * slots) - (jnp.cumsum(counts) - counts)[block]
    start = jnp.append(ends - needed, tiles)  # pairs without a block are after the last tile
    place = jnp.where(block < blocks, start[block] * tile + rank, tiles * tile)
    slot = jnp.zeros(n * slots, place.dtype).at[order].set(place).reshape(n, slots)
    query = jnp.full(tiles * tile, n).at[place].set(order // slots, mode="drop").reshape(tiles, tile)
    before = jnp.cumsum(jnp.bincount(ends, length=tiles + 1))[:tiles]  # blocks whose tiles end at or before each tile
    of_block = jnp.minimum(before, blocks - 1)
    return jnp.minimum(slot, tiles * tile - 1), query, of_block


def check_rows_and_values(q: Array, k: Array, v: Array, block: int, count: int) -> None:
    """Raise an error for rows of different shapes, and for settings with which no block is chosen."""
    check_choice(q, k, block, count)
    check_rows("values", v)
    if len(v) != len(k):
        raise ShapeError("values", found=f"{len(v)} values for {len(k)} keys", rule="one value for each key")
