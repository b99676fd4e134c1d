"""Transformers whose attention weights are logistic functions, not a softmax. Tokens are the columns of a matrix H."""

import equinox as eqx
import jax
from jaxtyping import Array, Float


class Head(eqx.Module):
    """A head: V H sigma((Q H)^T K H) / N on N + 1 tokens H, where sigma is the logistic function, entry by entry.

    Args:
        query: the matrix Q, which maps tokens to queries.
        key: the matrix K, which maps tokens to keys.
        value: the matrix V, which maps tokens to values.
    """

    query: Float[Array, "D D"]
    key: Float[Array, "D D"]
    value: Float[Array, "D D"]


class TransformerLayer(eqx.Module):
    """Attention with a residual connection, then the map H + U relu(W H) of tokens (Li et al., 2025, equations 11-15).

    Args:
        heads: the heads of the attention, whose outputs are added to H.
        inner: the matrix W of the feed-forward map.
        outer: the matrix U of the feed-forward map.
    """

    heads: tuple[Head, ...]
    inner: Float[Array, "D D"]
    outer: Float[Array, "D D"]


def attention_scores(head: Head, tokens: Float[Array, "D T"]) -> Float[Array, "T T"]:
    """Return sigma((Q H)^T K H). The entry in row i and column j is the weight of token i for token j.

    Args:
        head: the head, whose matrices Q and K are used.
        tokens: the tokens H, as columns.
    """
    return jax.nn.sigmoid((head.query @ tokens).T @ (head.key @ tokens))


def attend(heads: tuple[Head, ...], tokens: Float[Array, "D T"]) -> Float[Array, "D T"]:
    """Return H plus 1/N times the sum of the heads' contributions, where N is the number of tokens minus one.

    Args:
        heads: the heads of one attention layer.
        tokens: the tokens H, as columns.
    """
    examples = tokens.shape[1] - 1
    return tokens + sum(head.value @ tokens @ attention_scores(head, tokens) for head in heads) / examples


@jax.jit
def _apply(layer: TransformerLayer, tokens: Array) -> Array:
    between = attend(layer.heads, tokens)
    return between + layer.outer @ jax.nn.relu(layer.inner @ between)


def transformer(layers: list[TransformerLayer], tokens: Float[Array, "D T"]) -> list[Float[Array, "D T"]]:
    """Return H(0), H(1), ..., H(L): the tokens before the first layer and after each layer.

    Args:
        layers: the L layers, in order.
        tokens: the tokens H(0), as columns.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.networks import TransformerLayer, transformer
        >>> layer = TransformerLayer((), jnp.eye(2), jnp.eye(2))
        >>> transformer([layer], jnp.array([[1.0, -1.0], [2.0, 0.0]]))[-1].tolist()
        [[2.0, -1.0], [4.0, 0.0]]
    """
    states = [tokens]
    for layer in layers:
        states.append(_apply(layer, states[-1]))
    return states
