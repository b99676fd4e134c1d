"""Losses of documents from features and a readout (last matrix), without storing the logits of a whole document.

A language model may return (features, matrix) or (features, matrix, bias) instead of logits, with features (n, T, h),
matrix (h, V) and bias (V,). The logits are features @ matrix + bias. The functions in this file form logits for one
chunk of tokens at a time, in the forward pass and in every derivative. Between the forward and backward pass of a
gradient, only the features are stored.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

_CHUNK = 2**22  # the largest number of logits in a chunk


def is_factored(found: Any) -> bool:
    """Return whether a model returned features and a readout in place of logits."""
    return isinstance(found, tuple | list) and len(found) in (2, 3)


def logits_shape(found: Any) -> tuple[int, ...]:
    """Return the shape that the logits would have.

    Raises:
        ValueError: if the features and the readout do not fit each other.
    """
    shapes = [tuple(part.shape) for part in found]
    fits = len(shapes[0]) == 3 and len(shapes[1]) == 2 and shapes[0][2] == shapes[1][0]
    if not fits or (len(shapes) == 3 and shapes[2] != shapes[1][1:]):
        raise ValueError(f"features (n, T, h), a matrix (h, vocabulary) and a bias (vocabulary,), not {shapes}")
    return *shapes[0][:2], shapes[1][1]


def factored_losses(found: Any, x: jax.Array, chunk: int = _CHUNK) -> jax.Array:
    """Return (n, 1) sums of log sum exp f - f_token over tokens that count, with the logits f.

    The features at t are for token t + 1.

    Args:
        found: the features, the matrix and perhaps a bias.
        x: the documents.
        chunk: the largest number of logits in memory at once. The logits of at least one token are formed in any case.
    """
    if logits_shape(found)[:2] != x.shape:
        raise ValueError(f"features of a language model are (documents, tokens, h), not {found[0].shape}")
    parts, tokens = _chunks(found, x, chunk)
    readout = tuple(found[1:])

    @jax.checkpoint
    def losses(own: jax.Array, token: jax.Array) -> jax.Array:
        f = _logits(own, readout)
        at = jnp.take_along_axis(f, jnp.maximum(token, 0)[:, None], axis=1)[:, 0]
        return jnp.where(token < 0, 0.0, jax.nn.logsumexp(f, axis=1) - at)

    found = jax.lax.map(lambda own: losses(*own), (parts, tokens)).ravel()
    return found[: x.shape[0] * (x.shape[1] - 1)].reshape(x.shape[0], -1).sum(1, keepdims=True)


def factored_gauss_newton(
    call: Callable[[jax.Array], Any], theta: jax.Array, v: jax.Array, x: jax.Array, chunk: int = _CHUNK
) -> jax.Array:
    """Return J' Lambda J v for the logits of all tokens that count, where Lambda are the Hessians of their losses.

    Args:
        call: a function from parameters to features, matrix and perhaps a bias.
        theta: the parameters.
        v: the direction.
        x: the documents.
        chunk: as in `factored_losses`.
    """
    found, moved = jax.jvp(call, (theta,), (v,))
    (parts, tokens), (along, _) = _chunks(found, x, chunk), _chunks(moved, x, chunk)
    readout, turned = tuple(found[1:]), tuple(moved[1:])

    def add(total: Any, own: Any) -> tuple[Any, jax.Array]:
        part, push, token = own
        f, pushed = jax.jvp(_logits, (part, readout), (push, turned))
        p = jax.nn.softmax(f) * (token >= 0)[:, None]
        weights = p * (pushed - jnp.sum(p * pushed, axis=1, keepdims=True))
        back, more = jax.vjp(_logits, part, readout)[1](weights)
        return jax.tree.map(jnp.add, total, more), back

    more, back = jax.lax.scan(add, jax.tree.map(jnp.zeros_like, readout), (parts, along, tokens))
    n, length, width = found[0].shape
    back = back.reshape(-1, width)[: n * (length - 1)].reshape(n, length - 1, width)
    whole = (jnp.pad(back, ((0, 0), (0, 1), (0, 0))), *more)
    return jax.vjp(call, theta)[1](type(found)(whole))[0]


def _logits(features: jax.Array, readout: tuple[jax.Array, ...]) -> jax.Array:
    f = features @ readout[0]
    return f + readout[1] if len(readout) == 2 else f


def _chunks(found: Any, x: jax.Array, chunk: int) -> tuple[jax.Array, jax.Array]:
    """Return features and tokens in chunks, (chunks, tokens of a chunk, ...), padded with tokens that do not count."""
    features, tokens = found[0][:, :-1].reshape(-1, found[0].shape[2]), x[:, 1:].ravel()
    few = max(min(chunk // found[1].shape[1], len(tokens)), 1)
    more = -len(tokens) % few
    features, tokens = jnp.pad(features, ((0, more), (0, 0))), jnp.pad(tokens, (0, more), constant_values=-1)
    return features.reshape(-1, few, features.shape[1]), tokens.reshape(-1, few)
