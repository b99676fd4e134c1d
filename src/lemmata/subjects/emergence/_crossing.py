"""The place where a rising function passes a level."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array


def crossing(rising: Callable[[Array], Array], level: Array | float, low: Array | float, high: Array | float) -> Array:
    """Return the place where a rising function passes a level, by bisection between two ends."""

    def halve(_: Array, ends: tuple[Array, Array]) -> tuple[Array, Array]:
        middle = (ends[0] + ends[1]) / 2
        below = rising(middle) < level
        return jnp.where(below, middle, ends[0]), jnp.where(below, ends[1], middle)

    least, most = jax.lax.fori_loop(0, 70, halve, (jnp.asarray(low), jnp.asarray(high)))
    return (least + most) / 2
