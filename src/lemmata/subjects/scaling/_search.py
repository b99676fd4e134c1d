"""Find the lowest point of a function of one variable, without its derivative."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

_GOLDEN = (5**0.5 - 1) / 2


def lowest_point(
    function: Callable[[Array], Array], low: Float[Array, ""], high: Float[Array, ""], steps: int = 90
) -> Float[Array, ""]:
    """Find the minimum of a unimodal function between two points by golden section search.

    Functions are flat at a minimum. So the error of the point is about the square root of the rounding error of the
    values.

    >>> round(float(lowest_point(lambda x: (x - 2.0) ** 2, jnp.zeros(()), jnp.full((), 5.0))), 6)
    2.0
    """

    def narrow(_, ends):
        left, right = ends
        inner = right - _GOLDEN * (right - left), left + _GOLDEN * (right - left)
        lower = function(inner[0]) < function(inner[1])
        return jnp.where(lower, left, inner[0]), jnp.where(lower, inner[1], right)

    left, right = jax.lax.fori_loop(0, steps, narrow, (jnp.asarray(low, float), jnp.asarray(high, float)))
    return (left + right) / 2
