"""Theory runs in float64; lemmata never switches it on behind the caller's back."""

import jax

from lemmata.errors import PrecisionError


def require_float64(what: str) -> None:
    """Raise PrecisionError unless JAX computes in float64.

    Args:
        what: the computation that needs it, for the message.
    """
    if not jax.config.jax_enable_x64:
        raise PrecisionError(
            f"{what} needs float64, which JAX has switched off by default",
            remedy="run jax.config.update('jax_enable_x64', True) first, or wrap the call in `with jax.enable_x64(True):`",
        )
