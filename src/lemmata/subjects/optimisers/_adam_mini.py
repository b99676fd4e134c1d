"""Adam-mini, which is Adam with one second moment for each block of parameters."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax


class AdamMiniState(NamedTuple):
    """The number of steps, the moving mean of the gradients, and the moving mean square of the gradients per block."""

    count: Any
    mean: Any
    square: Any


def scale_by_adam_mini(b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> optax.GradientTransformation:
    """Scale by Adam with one second moment per block: the mean of g² over a row of a matrix, or over a whole vector.

    A row of a tensor is the part with one index on the first axis. Parameters in one row, which belong to one neuron,
    head or token, have gradients of similar scale. Therefore Adam-mini stores one second moment for each row, where
    Adam stores one second moment for each parameter.

    Args:
        b1: the decay rate of the moving mean of the gradients.
        b2: the decay rate of the moving mean of the squared gradients.
        eps: the number that is added to the square root of the second moment.

    >>> step = scale_by_adam_mini()
    >>> G = jnp.array([[3.0, 4.0], [0.0, 1.0]])
    >>> update, state = step.update(G, step.init(G))
    >>> state.square.shape, [round(float(size), 3) for size in jnp.linalg.norm(update, axis=1)]
    ((2, 1), [1.414, 1.414])
    """

    def blocks(g):
        axes = tuple(range(1, g.ndim)) if g.ndim > 1 else tuple(range(g.ndim))
        return jnp.mean(g**2, axis=axes, keepdims=True)

    def init(params):
        square = jax.tree.map(lambda p: jnp.zeros_like(blocks(p)), params)
        return AdamMiniState(jnp.zeros((), jnp.int32), jax.tree.map(jnp.zeros_like, params), square)

    def update(updates, state, params=None):
        del params
        mean = optax.tree.update_moment(updates, state.mean, b1, 1)
        square = jax.tree.map(lambda s, g: b2 * s + (1 - b2) * blocks(g), state.square, updates)
        count = state.count + 1
        step = lambda m, v: m / (1 - b1**count) / (jnp.sqrt(v / (1 - b2**count)) + eps)
        return jax.tree.map(step, mean, square), AdamMiniState(count, mean, square)

    return optax.GradientTransformation(init, update)


def adam_mini(
    learning_rate: optax.ScalarOrSchedule,
    b1: float = 0.9,
    b2: float = 0.999,
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> optax.GradientTransformation:
    """Return Adam-mini with a learning rate and decoupled weight decay (see `scale_by_adam_mini`).

    >>> method = adam_mini(0.1)
    >>> weights = jnp.ones((2, 3))
    >>> method.update(weights, method.init(weights), weights)[0].shape
    (2, 3)
    """
    decay = optax.add_decayed_weights(weight_decay) if weight_decay else optax.identity()
    return optax.chain(scale_by_adam_mini(b1, b2, eps), decay, optax.scale_by_learning_rate(learning_rate))
