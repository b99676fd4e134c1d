"""Checks that JAX computes in float64, which theory needs. lemmata never switches float64 on by itself."""

import jax.numpy as jnp

from lemmata.errors import PrecisionError


def float64_enabled() -> bool:
    """Return whether JAX computes in float64 in the current context."""
    return jnp.zeros(()).dtype == jnp.float64


def require_float64(what: str) -> None:
    """Raise PrecisionError unless JAX computes in float64.

    Args:
        what: the computation that needs float64, for the message.
    """
    if not float64_enabled():
        raise PrecisionError(
            f"{what} needs float64, but float64 is switched off in JAX (this is the default)",
            remedy="call jax.config.update('jax_enable_x64', True) first, or work in `with jax.enable_x64(True):`",
        )
