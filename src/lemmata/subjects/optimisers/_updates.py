"""The updates of an optimiser for given gradients."""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float


def updates_of(
    transform: optax.GradientTransformation, gradients: Float[Array, "t *s"], at: Float[Array, "*s"] | None = None
) -> Float[Array, "t *s"]:
    """Return the updates for a sequence of gradients, with constant weights `at`, by default 0.

    >>> updates_of(optax.sgd(1.0, momentum=0.5), jnp.array([1.0, 0.0, 0.0]))
    Array([-1.  , -0.5 , -0.25], dtype=float64)
    """
    held = jnp.zeros_like(gradients[0]) if at is None else at

    def one(state: Any, gradient: Array) -> tuple[Any, Any]:
        update, state = transform.update(gradient, state, held)
        return state, update

    return jax.lax.scan(one, transform.init(held), gradients)[1]
