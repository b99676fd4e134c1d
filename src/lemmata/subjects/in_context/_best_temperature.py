"""The best temperature of a product in finite precision, and its error."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

PRECISIONS = (jnp.bfloat16, jnp.float32, jnp.float64)


def best_temperature(size: float | Array, dtype: Any) -> Array:
    """(size³ / (6 eps))^(1/3), which minimises size³ / (12 tau²) + eps tau, the sum of truncation and rounding of one
    product.

    Args:
        size: |x|.
        dtype: the type of the computation; eps is the distance from 1 to the next number.

    Example:
        >>> from lemmata.subjects.in_context.finite_precision import best_temperature
        >>> [round(float(best_temperature(1.0, kind)), 1) for kind in ("bfloat16", "float32")]
        [2.8, 111.8]
    """
    return jnp.asarray(size / (6 * float(jnp.finfo(dtype).eps)) ** (1 / 3))


def least_error(size: float | Array, dtype: Any) -> Array:
    """3/2 eps tau at the best temperature, which is size (9 eps² / 16)^(1/3). It is the accuracy of a product.

    Args:
        size: |x|.
        dtype: the type of the computation.
    """
    return 1.5 * float(jnp.finfo(dtype).eps) * best_temperature(size, dtype)


def rounded_product(x: Float[Array, "*s"], temperature: Float[Array, ""], dtype: Any) -> Float[Array, "*s"]:
    """4 tau (sigma(x/tau) - 1/2) with every number rounded to the type, as float64.

    Args:
        x: numbers.
        temperature: tau.
        dtype: the type.
    """
    kind = jnp.finfo(dtype)
    # Compilers may compute with more digits than a type has, unless they are told to drop them.
    store = lambda values: jax.lax.reduce_precision(values, kind.nexp, kind.nmant)
    tau = store(temperature.astype(dtype))
    mass = store(jax.nn.sigmoid(store(store(x.astype(dtype)) / tau)))
    return store(4 * tau * (mass - jnp.asarray(0.5, dtype))).astype(float)
