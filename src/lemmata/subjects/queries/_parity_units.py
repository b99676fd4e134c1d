"""Networks whose output weights are the parity of the signs of their hidden weights."""

from collections.abc import Callable

import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.functions import cube

Unit = Callable[[Array], Array]


def parity_network(x: Float[Array, "... r"], unit: Unit, scale: Float[Array, ""] | float = 1.0) -> Float[Array, "..."]:
    """Return g(x) = sum over w in {-1, 1}^r of w_1 ... w_r unit(scale <w, x>/sqrt(r)) for x with r coordinates."""
    r = x.shape[-1]
    w = cube(r)
    return unit(scale * x @ w.T / jnp.sqrt(r)) @ jnp.prod(w, axis=1)


def magnitude(x: Float[Array, "... r"], unit: Unit, scale: Float[Array, ""] | float = 1.0) -> Float[Array, "..."]:
    """Return the sum of the absolute values of the terms of g(x) in `parity_network`."""
    w = cube(x.shape[-1])
    return jnp.sum(jnp.abs(unit(scale * x @ w.T / jnp.sqrt(x.shape[-1]))), axis=-1)
