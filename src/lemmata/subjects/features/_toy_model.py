"""Train the toy model of superposition, which stores n sparse features in m dimensions."""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Key

_BATCH, _RATE = 256, 0.02


def sparse_rows(key: Key[Array, ""], shape: tuple[int, ...], p: Array | float) -> Array:
    """Draw entries that are uniform on [0, 1] with probability p, and 0 otherwise.

    Args:
        key: the random key.
        shape: the shape of the array that is drawn.
        p: the probability that a feature is active.
    """
    value_key, active_key = jax.random.split(key)
    return jax.random.uniform(value_key, shape) * jax.random.bernoulli(active_key, p, shape)


@partial(jax.jit, static_argnames=("n", "m", "steps", "relu"))
def stored(key: Key[Array, ""], n: int, m: int, p: Array | float, *, steps: int, relu: bool) -> Float[Array, "m n"]:
    """Train by Adam on |x - ReLU(W'W x + b)|², or on |x - W'W x - b|² without the ReLU, and return W.

    Args:
        key: the random key for the start and the rows.
        n: the number of features.
        m: the number of dimensions.
        p: the probability that a feature is active.
        steps: the number of steps of Adam.
        relu: whether the output has a ReLU.
    """
    start_key, row_key = jax.random.split(key)
    adam = optax.adam(optax.cosine_decay_schedule(_RATE, steps))

    def loss(model, x):
        w, b = model
        out = x @ w.T @ w + b
        return jnp.mean(jnp.sum((x - (jnp.maximum(out, 0.0) if relu else out)) ** 2, axis=1)) / p

    def step(state: Any, own: Array) -> tuple[Any, None]:
        model, moments = state
        change, moments = adam.update(jax.grad(loss)(model, sparse_rows(own, (_BATCH, n), p)), moments)
        return (optax.apply_updates(model, change), moments), None

    model = (jax.random.normal(start_key, (m, n)) / jnp.sqrt(m), jnp.zeros(n))
    ((w, _), _), _ = jax.lax.scan(step, (model, adam.init(model)), jax.random.split(row_key, steps))
    return w
