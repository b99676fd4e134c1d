"""The router of block attention, which uses the means of keys to choose the blocks to which a query attends."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lemmata.core import check_whole
from lemmata.errors import SettingError, ShapeError

from ._dense import check_array, check_floating, of_one_type


def block_means(keys: Float[Array, "n d"], block: int) -> Float[Array, "blocks d"]:
    """Return the mean key of each block. A block is a run of `block` adjacent keys, and the last block may be shorter.

    Args:
        keys: one row for each position.
        block: the number B of keys in a block.

    Raises:
        ShapeError: if the keys are not a matrix with at least one row.
        SettingError: for a block below 1.
        DataError: for entries that are not finite, and for whole numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import block_means
        >>> block_means(jnp.array([[1.0], [3.0], [7.0]]), 2).tolist()  # the last block has one key
        [[2.0], [7.0]]
    """
    check_rows("keys", keys)
    check_whole("block", block, 1, "keys")
    return _means(keys, block)


def block_scores(q: Float[Array, "m d"], keys: Float[Array, "n width"], block: int) -> Float[Array, "m blocks"]:
    """Return the score q_i . (mean of the keys of block j) of each query i for each block j.

    Args:
        q: the queries, one in each row.
        keys: one row for each position.
        block: the number B of keys in a block.

    Raises:
        ShapeError: for queries and keys of different dimensions.
        SettingError: for a block below 1.
        DataError: for entries that are not finite, and for whole numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import block_scores
        >>> block_scores(jnp.array([[2.0]]), jnp.array([[1.0], [3.0], [7.0]]), 2).tolist()
        [[4.0, 14.0]]
    """
    check_rows("queries", q)
    means = block_means(keys, block)
    _same_dimension(q, keys)
    return q @ means.T


def chosen_blocks(
    q: Float[Array, "n d"],
    keys: Float[Array, "keys width"],
    block: int,
    count: int,
    *,
    causal: bool = True,
    tile: int | None = None,
) -> Int[Array, "n slots"]:
    """Choose `count` blocks for each query: its own block, and the blocks with the highest scores.

    The query at position i is in block i // B, which is always chosen and comes first. The other chosen blocks follow
    in order of decreasing score. If scores are equal, the earlier block comes first. With `causal`, blocks after the
    query's own block are never chosen. Therefore early queries have fewer than `count` blocks, and an unused slot
    contains -1. The choice has no derivative.

    Args:
        q: the queries, one for each position.
        keys: the keys, one for each position.
        block: the number B of keys in a block.
        count: the number of blocks to which a query attends, including its own block. A count above the number of
            blocks means all blocks.
        causal: whether a query cannot attend to later blocks.
        tile: the number of blocks that are scored at a time. With a tile, only n x (count + tile) scores exist at once
            instead of n x blocks. The tile does not change the chosen blocks.

    Returns:
        min(count, blocks) block numbers for each query.

    Raises:
        ShapeError: if queries and keys are not of the same shape.
        SettingError: for a block, count or tile below 1.
        DataError: for entries that are not finite, and for whole numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import chosen_blocks
        >>> keys = jnp.array([[1.0], [3.0], [2.0], [0.0], [-1.0]])
        >>> chosen_blocks(jnp.ones((5, 1)), keys, 1, 2).tolist()
        [[0, -1], [1, 0], [2, 1], [3, 1], [4, 1]]
    """
    check_choice(q, keys, block, count)
    blocks = -(-len(keys) // block)
    if tile is not None:
        check_whole("tile", tile, 1, "blocks")
    return _chosen(*of_one_type(q, keys), block, min(count, blocks), causal, min(tile or blocks, blocks))


@partial(jax.jit, static_argnames=("block", "slots", "causal", "tile"))
def _chosen(q: Array, keys: Array, block: int, slots: int, causal: bool, tile: int) -> Array:
    means = jax.lax.stop_gradient(_means(keys, block))
    q = jax.lax.stop_gradient(q)
    blocks, own = len(means), jnp.arange(len(q)) // block
    tiles = -(-blocks // tile)
    padded = jnp.pad(means, ((0, tiles * tile - blocks), (0, 0))).reshape(tiles, tile, -1)

    def better(best: tuple[Array, Array], numbered: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
        """Merge a tile of blocks into the best blocks so far. The best blocks so far come first, so they win ties."""
        number, some = numbered
        columns = number * tile + jnp.arange(tile)
        scores = q @ some.T
        beyond = columns >= blocks if not causal else columns > own[:, None]
        scores = jnp.where(beyond, -jnp.inf, scores)
        scores = jnp.where(columns == own[:, None], jnp.inf, scores)
        highest, at = jax.lax.top_k(jnp.concatenate([best[0], scores], axis=1), slots)
        before = jnp.take_along_axis(best[1], jnp.minimum(at, slots - 1), axis=1)
        return (highest, jnp.where(at < slots, before, number * tile + at - slots)), None

    none = (jnp.full((len(q), slots), -jnp.inf, q.dtype), jnp.full((len(q), slots), -1, own.dtype))
    scores, names = jax.lax.scan(better, none, (jnp.arange(tiles), padded))[0]
    return jnp.where(scores == -jnp.inf, -1, names)


def attended_pairs(n: int, block: int, count: int, *, causal: bool = True) -> int:
    """Count the pairs of a query and a key in block attention. Dense causal attention has n (n + 1) / 2 pairs.

    A query at position p of block b (both from 0) attends to all B keys of min(count - 1, b) earlier blocks, and to p +
    1 keys of its own block. A query never attends to more than count B keys. Routing also takes one product for each
    query and block, which is not counted. Without `causal`, queries attend to whole blocks. If then the last block is
    shorter and count is below the number of blocks, the number of pairs depends on the choice of blocks. In this case,
    the function raises an error.

    Args:
        n: the length of the sequence.
        block: the number B of keys in a block.
        count: the number of blocks to which a query attends, including the query's own block.
        causal: whether a query cannot attend to later keys.

    Raises:
        SettingError: for a number below 1. Without `causal`, also for a length that is not a multiple of the block, if
            count is below the number of blocks.

    Example:
        >>> from lemmata.subjects.attention import attended_pairs
        >>> attended_pairs(12, 4, 2), 12 * 13 // 2
        (62, 78)
    """
    check_whole("n", n, 1, "positions")
    check_whole("block", block, 1, "keys")
    check_whole("count", count, 1, "blocks")
    blocks = -(-n // block)
    if not causal:
        if n % block and count < blocks:
            raise SettingError("n", found=n, rule=f"a multiple of the block size {block}, if attention is not causal")
        return n * min(count * block, n)
    sizes = np.minimum(block, n - block * np.arange(blocks))
    earlier = np.minimum(count - 1, np.arange(blocks)) * block
    return int(np.sum(sizes * earlier + sizes * (sizes + 1) // 2))


def check_choice(q: Array, keys: Array, block: int, count: int) -> None:
    """Raise an error for queries and keys of different shapes, and for settings with which no block is chosen."""
    check_rows("queries", q)
    check_rows("keys", keys)
    _same_dimension(q, keys)
    if len(q) != len(keys):
        raise ShapeError(
            "queries",
            found=f"{len(q)} queries for {len(keys)} keys",
            rule="one query for each position, because the position determines the block",
        )
    check_whole("block", block, 1, "keys")
    check_whole("count", count, 1, "blocks")


def check_rows(name: str, rows: Array) -> None:
    """Raise an error unless the value is a matrix of floating-point numbers with at least one row."""
    check_array(name, rows)
    if jnp.ndim(rows) != 2:
        remedy = "map over heads and batches with jax.vmap"
        raise ShapeError(
            name, found=f"shape {jnp.shape(rows)}", rule="shape (n, d), one row for each position", remedy=remedy
        )
    check_floating(name, rows)


def _same_dimension(q: Array, keys: Array) -> None:
    if q.shape[1] != keys.shape[1]:
        found = f"dimensions {q.shape[1]} and {keys.shape[1]}"
        raise ShapeError("queries and keys", found=found, rule="the same dimension for both")


def _means(keys: Array, block: int) -> Array:
    blocks = -(-len(keys) // block)
    padded = jnp.pad(keys, ((0, blocks * block - len(keys)), (0, 0)))
    sizes = jnp.minimum(block, len(keys) - block * jnp.arange(blocks))
    return padded.reshape(blocks, block, -1).sum(axis=1) / sizes[:, None].astype(keys.dtype)
