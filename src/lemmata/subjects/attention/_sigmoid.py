"""Sigmoid attention as Pallas kernels. One program handles one block of queries and reads the keys block by block.

Unlike the softmax, the sigmoid needs no running maximum or sum for a row. A program adds up the results of the blocks
of keys, and the derivative needs no sum over a row of the output.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl
from jaxtyping import Array, Float

from lemmata.core import check_whole

from ._dense import check_head, fixed_bias_of, of_one_type, slope_of
from ._kernels import interpreted


class _How(NamedTuple):
    """The constants that are compiled into a kernel, such as the number of blocks and the bias."""

    blocks: int
    scale: float
    bias: float
    block: int
    causal: bool
    slope: float
    interpret: bool


def flash_sigmoid(
    q: Float[Array, "n d"],
    k: Float[Array, "keys width"],
    v: Float[Array, "values p"],
    *,
    bias: float | None = None,
    block: int = 64,
    causal: bool = False,
    slope: float = 0.0,
    interpret: bool | None = None,
) -> Float[Array, "n p"]:
    """Compute `sigmoid_attention` by Pallas kernels, forward and backward, tiled over queries and keys.

    The weight of a logit s is 1 / (1 + exp(-s - bias)). Small weights keep the relative precision of their type. In the
    backward pass, one kernel adds up the derivative with respect to the queries over blocks of keys. Another kernel
    adds up the derivatives with respect to keys and values over blocks of queries. Each kernel computes the weights
    again. A causal head skips blocks to which no query attends. On a CPU, the kernels are interpreted, which is slow.
    Use `tiled_attention` on a CPU, and for derivatives in forward mode, which the kernels do not support.

    Args:
        q: queries, one row per token.
        k: keys, one row per token.
        v: values, one row per token.
        bias: the number that is added to every logit; -log n by default.
        block: the number of queries, and the number of keys, in a tile. GPUs require a power of 2, at least 16.
        causal: whether token i only attends to the tokens j <= i.
        slope: the ALiBi slope, the decrease of a logit per position between two tokens.
        interpret: whether the kernels are interpreted. By default, they are interpreted if JAX has no accelerator.

    Raises:
        ShapeError: if there are no tokens, or if queries, keys and values do not fit each other.
        SettingError: for a block below 1, a bias or slope that is out of bounds or traced, and for kernels that would
            be compiled without an accelerator.
        DataError: for entries that are not finite numbers.
        PrecisionError: for float16 and other types of half precision.

    Reference: ramapuram2025sigmoid.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import flash_sigmoid
        >>> zero, ones = jnp.zeros((3, 2)), jnp.ones((3, 1))
        >>> flash_sigmoid(zero, zero, ones, bias=0.0, block=2).ravel().tolist()
        [1.5, 1.5, 1.5]
    """
    check_head(q, k, v)
    check_whole("block", block, 1, "queries")
    n, d = q.shape
    how = _How(-(-n // block), d**-0.5, fixed_bias_of(bias, n), block, causal, slope_of(slope), interpreted(interpret))
    q, k, v = (jnp.pad(rows, ((0, -n % block), (0, 0))) for rows in of_one_type(q, k, v))
    out: Array = _attend(q, k, v, how)
    return out[:n]


@partial(jax.custom_vjp, nondiff_argnums=(3,))
def _attend(q: Array, k: Array, v: Array, how: _How) -> Array:
    return _call(_forward_kernel, how, (q,), (k, v), (v,))[0]


def _forward(q: Array, k: Array, v: Array, how: _How) -> tuple[Array, tuple[Array, Array, Array]]:
    return _attend(q, k, v, how), (q, k, v)


def _backward(how: _How, kept: tuple[Array, Array, Array], g: Array) -> tuple[Array, ...]:
    q, k, v = kept
    return (
        *_call(_query_kernel, how, (q, g), (k, v), (q,)),
        *_call(_key_kernel, how, (k, v), (q, g), (k, v)),
    )


_attend.defvjp(_forward, _backward)


def _call(kernel: Callable[..., None], how: _How, own: tuple, whole: tuple, like: tuple) -> Any:
    """Run a kernel once for each block. Run i reads block i of the arrays `own`, and all of the arrays `whole`.

    Args:
        kernel: the kernel to run.
        how: the settings of the kernel.
        own: the arrays of which a run reads only one block.
        whole: the arrays that each run reads as a whole.
        like: arrays with the shapes and types of the results. Each run writes one block of each result.
    """
    rows = lambda array: pl.BlockSpec((how.block, array.shape[1]), lambda i: (i, 0))
    full = lambda array: pl.BlockSpec(array.shape, lambda i: (0, 0))
    return pl.pallas_call(
        partial(kernel, how),
        grid=(how.blocks,),
        in_specs=[*map(rows, own), *map(full, whole)],
        out_specs=[rows(array) for array in like],
        out_shape=[jax.ShapeDtypeStruct(array.shape, array.dtype) for array in like],
        interpret=how.interpret,
    )(*own, *whole)


def _forward_kernel(how: _How, q_ref: Any, k_ref: Any, v_ref: Any, out_ref: Any) -> None:
    i, q = pl.program_id(0), q_ref[...]

    def add(j: Array, out: Array) -> Array:
        return out + _weights(how, q, _block(how, k_ref, j), i, j) @ _block(how, v_ref, j)

    out_ref[...] = jax.lax.fori_loop(0, _last(how, i), add, jnp.zeros_like(out_ref))


def _query_kernel(how: _How, q_ref: Any, g_ref: Any, k_ref: Any, v_ref: Any, dq_ref: Any) -> None:
    i, q, g = pl.program_id(0), q_ref[...], g_ref[...]

    def add(j: Array, dq: Array) -> Array:
        k = _block(how, k_ref, j)
        p = _weights(how, q, k, i, j)
        return dq + how.scale * (p * (1 - p) * (g @ _block(how, v_ref, j).T)) @ k

    dq_ref[...] = jax.lax.fori_loop(0, _last(how, i), add, jnp.zeros_like(dq_ref))


def _key_kernel(how: _How, k_ref: Any, v_ref: Any, q_ref: Any, g_ref: Any, dk_ref: Any, dv_ref: Any) -> None:
    j, k, v = pl.program_id(0), k_ref[...], v_ref[...]

    def add(i: Array, sums: tuple[Array, Array]) -> tuple[Array, Array]:
        q, g = _block(how, q_ref, i), _block(how, g_ref, i)
        p = _weights(how, q, k, i, j)
        ds = p * (1 - p) * (g @ v.T)
        return sums[0] + how.scale * ds.T @ q, sums[1] + p.T @ g

    first = j if how.causal else 0
    start = (jnp.zeros_like(dk_ref), jnp.zeros_like(dv_ref))
    dk_ref[...], dv_ref[...] = jax.lax.fori_loop(first, how.blocks, add, start)


def _block(how: _How, ref: Any, i: Array) -> Array:
    return ref[pl.ds(i * how.block, how.block), :]


def _last(how: _How, i: Array) -> Any:
    """Return 1 plus the index of the last block of keys to which the block i of queries attends."""
    return i + 1 if how.causal else how.blocks


def _weights(how: _How, q: Array, k: Array, i: Array, j: Array) -> Array:
    """Return the weights of block i of the queries for block j of the keys.

    Padding rows do not need a mask, because their values, keys and derivatives are 0.
    """
    shape = (how.block, how.block)
    rows = i * how.block + jax.lax.broadcasted_iota(jnp.int32, shape, 0)
    columns = j * how.block + jax.lax.broadcasted_iota(jnp.int32, shape, 1)
    logits = how.scale * (q @ k.T) - how.slope * jnp.abs(rows - columns).astype(q.dtype) + how.bias
    weights = jax.nn.sigmoid(logits)  # (1 + tanh(logits / 2)) / 2 would cancel if weights are small
    return jnp.where(columns <= rows, weights, 0.0) if how.causal else weights
