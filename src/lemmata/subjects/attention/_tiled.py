"""Softmax and sigmoid attention tile by tile, without a matrix of all logits, forward or backward."""

from functools import partial
from typing import Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.core import check_whole
from lemmata.errors import SettingError

from ._dense import check_causal, check_head, checked_outputs, fixed_bias_of, of_one_type, slope_of

KINDS = ("sigmoid", "softmax")
"""The functions that turn logits into weights."""

_BLOCK = 128


class _How(NamedTuple):
    """The constants that are compiled into a program, such as the kind of weights and the bias."""

    kind: str
    bias: float
    block: int
    causal: bool
    slope: float


def tiled_attention(
    q: Float[Array, "n d"],
    k: Float[Array, "keys width"],
    v: Float[Array, "values p"],
    *,
    kind: Literal["sigmoid", "softmax"] = "sigmoid",
    bias: float | None = None,
    block: int = _BLOCK,
    causal: bool = False,
    slope: float = 0.0,
) -> Float[Array, "n p"]:
    """Compute `sigmoid_attention` or `softmax_attention`, with memory for n * block numbers instead of n².

    The function takes one block of queries at a time, together with all keys. The derivative computes each block's
    weights P again. Write dZ for the derivative of a loss with respect to Z, where S are the logits and Q, K, V the
    queries, keys and values. Let G be the derivative with respect to the output, and let dP = G V'. Then dV = P'G,
    dQ = dS K / sqrt(d) and dK = dS'Q / sqrt(d). For the sigmoid, dS is P (1 - P) dP, entry by entry. For the softmax,
    dS is P (dP - the row sums of P dP). Derivatives in forward mode, and of higher order, are also computed block by
    block. If the length is not a multiple of the block, queries are padded with zeros, and the outputs of the padding
    are dropped.

    Args:
        q: queries, one row per token.
        k: keys, one row per token.
        v: values, one row per token.
        kind: "sigmoid" or "softmax".
        bias: the number that is added to every logit, for the sigmoid; -log n by default.
        block: the number of queries in a tile; a number above n means n.
        causal: whether token i only attends to the tokens j <= i.
        slope: the ALiBi slope, the decrease of a logit per position between two tokens.

    Raises:
        ShapeError: if there are no tokens, or if queries, keys and values do not fit each other.
        SettingError: for an unknown kind, a block below 1, or a `causal` that is not a boolean; for a bias with the
            softmax, on which it would have no effect; for a bias or slope that is out of bounds or traced.
        DataError: for entries that are not finite numbers, and for products that overflow.
        PrecisionError: for float16 and other types of half precision.

    Reference: ramapuram2025sigmoid.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.subjects.attention import tiled_attention
        >>> zero, ones = jnp.zeros((5, 2)), jnp.ones((5, 1))
        >>> tiled_attention(zero, zero, ones, bias=0.0, block=2, causal=True).ravel().tolist()
        [0.5, 1.0, 1.5, 2.0, 2.5]
    """
    check_head(q, k, v)
    check_whole("block", block, 1, "queries")
    check_causal(causal)
    if kind not in KINDS:
        raise SettingError("kind", found=repr(kind), rule=f"one of {', '.join(KINDS)}")
    if kind == "softmax" and bias is not None:
        raise SettingError("bias", found=bias, rule="None for the softmax, whose weights do not depend on a bias")
    how = _How(kind, fixed_bias_of(bias, len(q)), min(block, len(q)), causal, slope_of(slope))
    one, two, three = of_one_type(q, k, v)
    return checked_outputs(_attend(one, two, three, how))


def _attend(q: Array, k: Array, v: Array, how: _How) -> Array:
    # For the derivative, a tile stores only its queries. The derivative computes the weights of the tile again.
    @partial(jax.checkpoint, prevent_cse=False)
    def tile(own: tuple[Array, Array]) -> Array:
        return _weights(own[0], own[1], k, how) @ v

    out = jax.lax.map(tile, (_cut(q, how.block), _places(len(q), how.block)))
    return out.reshape(-1, v.shape[1])[: len(q)]


def _cut(rows: Array, block: int) -> Array:
    """Cut rows into blocks; the last block is padded with zeros."""
    missing = -len(rows) % block
    return jnp.pad(rows, ((0, missing), (0, 0))).reshape(-1, block, rows.shape[1])


def _places(n: int, block: int) -> Array:
    return jnp.arange(n + -n % block).reshape(-1, block)


def _weights(q: Array, places: Array, k: Array, how: _How) -> Array:
    """Return the attention weights of a block of queries for all keys."""
    logits = (q / q.shape[1] ** 0.5) @ k.T
    keys = jnp.arange(len(k))
    if how.slope:
        logits = logits - how.slope * jnp.abs(places[:, None] - keys)
    if how.causal:
        logits = jnp.where(keys <= places[:, None], logits, -jnp.inf)
    return jax.nn.sigmoid(logits + how.bias) if how.kind == "sigmoid" else jax.nn.softmax(logits, axis=1)
