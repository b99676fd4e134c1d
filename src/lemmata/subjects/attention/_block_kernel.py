"""The tiles of block attention as one Pallas kernel. Without an accelerator, the Pallas interpreter runs the kernel."""

import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from lemmata.core import check_whole

from ._block_attention import Tiles, attend_tile, check_rows_and_values, gathered
from ._dense import of_one_type
from ._kernels import interpreted


def block_attention_kernel(
    q: Float[Array, "n d"],
    k: Float[Array, "keys width"],
    v: Float[Array, "values e"],
    *,
    block: int,
    count: int,
    causal: bool = True,
    tile: int = 64,
    interpret: bool = True,
) -> Float[Array, "n e"]:
    """Compute `block_attention` with a Pallas kernel for the tiles. The kernel has no derivatives.

    Each program of the kernel reads a tile of queries, and the single block of keys and values to which these queries
    attend. The program writes the tile's weighted sums, maxima and sums of weights, but not the scores.

    Args:
        q: the queries, one in each row.
        k: the keys, one in each row.
        v: the values, one in each row.
        block: the number of keys in a block. A compiled kernel needs powers of 2, at least 16, for block and tile and
            for the dimensions d of keys and e of values.
        count: the number of blocks to which a query attends, including the query's own block.
        causal: whether a query cannot attend to later keys.
        tile: the number of queries in a tile.
        interpret: whether the interpreter runs the kernel. A compiled kernel needs an accelerator.

    Raises:
        ShapeError: for queries, keys and values of different lengths or dimensions.
        SettingError: for a block, count or tile below 1, and for a kernel that would be compiled without an
            accelerator.
        DataError: for entries that are not finite, and for whole numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import block_attention_kernel
        >>> q, v = jnp.zeros((5, 2)), jnp.arange(5.0)[:, None]
        >>> block_attention_kernel(q, q, v, block=2, count=1).ravel().tolist()
        [0.0, 0.5, 2.0, 2.5, 4.0]
    """
    check_rows_and_values(q, k, v, block, count)
    check_whole("tile", tile, 1, "queries")
    return gathered(*of_one_type(q, k, v), block, count, causal, tile, _kernel_tiles(interpreted(interpret)))


@functools.cache
def _kernel_tiles(interpret: bool) -> Callable[..., tuple]:
    """Return the function for tiles, the same object for equal `interpret`, so that compiled programs are reused."""
    return functools.partial(_attended_tiles, interpret)


def _attended_tiles(interpret: bool, tiles: Tiles, keys: Array, values: Array, n: int, causal: bool) -> tuple:
    queries, positions, of_block = tiles
    number, tile, d = queries.shape
    blocks, block, e = values.shape

    def kernel(q_ref, at_ref, block_ref, k_ref, v_ref, sums_ref, highest_ref, weight_ref) -> None:
        of = block_ref[0]
        own = (pl.ds(of, 1), slice(None), slice(None))
        found = attend_tile(q_ref[0], k_ref[own][0], v_ref[own][0], at_ref[0], of, n, causal)
        sums_ref[0], highest_ref[0], weight_ref[0] = found

    mine = lambda *shape: pl.BlockSpec((1, *shape), lambda i: (i, *(0,) * len(shape)))
    whole = lambda *shape: pl.BlockSpec(shape, lambda i: (0,) * len(shape))
    shape = lambda *sizes: jax.ShapeDtypeStruct(sizes, jnp.result_type(queries, values))
    return pl.pallas_call(
        kernel,
        grid=(number,),
        in_specs=[mine(tile, d), mine(tile), mine(), whole(blocks, block, d), whole(blocks, block, e)],
        out_specs=(mine(tile, e), mine(tile), mine(tile)),
        out_shape=(shape(number, tile, e), shape(number, tile), shape(number, tile)),
        interpret=interpret,
    )(queries, positions, of_block, keys, values)
