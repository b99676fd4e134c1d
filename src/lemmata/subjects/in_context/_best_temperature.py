"""The best temperature of a product by logistic functions in finite precision, and the error at this temperature."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

PRECISIONS = (jnp.bfloat16, jnp.float32, jnp.float64)


def best_temperature(size: float | Array, dtype: Any) -> Array:
    """Return the tau that minimises truncation plus rounding, size³/(12 tau²) + eps tau; it is (size³/(6 eps))^(1/3).

    Args:
        size: the size |x| of the product.
        dtype: the type of the computation; eps is the distance from 1 to the next number.

    Example:
        >>> from lemmata.subjects.in_context.finite_precision import best_temperature
        >>> [round(float(best_temperature(1.0, kind)), 1) for kind in ("bfloat16", "float32")]
        [2.8, 111.8]
    """
    return jnp.asarray(size / (6 * float(jnp.finfo(dtype).eps)) ** (1 / 3))


def least_error(size: float | Array, dtype: Any) -> Array:
    """Return the error of a product at the best temperature: 3/2 eps tau, which is size (9 eps² / 16)^(1/3).

    Args:
        size: the size |x| of the product.
        dtype: the type of the computation.
    """
    return 1.5 * float(jnp.finfo(dtype).eps) * best_temperature(size, dtype)


def rounded_product(x: Float[Array, "*s"], temperature: Float[Array, ""], dtype: Any) -> Float[Array, "*s"]:
    """Return 4 tau (sigma(x/tau) - 1/2) as float64, with every intermediate number rounded to the type.

    Args:
        x: the numbers x, which the result approximates.
        temperature: tau.
        dtype: the type.
    """
    kind = jnp.finfo(dtype)
    # Compilers may compute with more digits than a type has, unless they are told to drop them.
    store = lambda values: jax.lax.reduce_precision(values, kind.nexp, kind.nmant)
    tau = store(temperature.astype(dtype))
    mass = store(jax.nn.sigmoid(store(store(x.astype(dtype)) / tau)))
    return store(4 * tau * (mass - jnp.asarray(0.5, dtype))).astype(float)
