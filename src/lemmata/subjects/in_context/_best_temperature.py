"""The best temperature for products that are computed by logistic functions in finite precision.

A number x, such as a product, is approximated by 4 tau (sigma(x/tau) - 1/2), where sigma is the logistic function and
tau the temperature.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

PRECISIONS = (jnp.bfloat16, jnp.float32, jnp.float64)


def best_temperature(size: float | Array, dtype: Any) -> Array:
    """Return the temperature tau = (size³/(6 eps))^(1/3), which minimises the error size³/(12 tau²) + eps tau.

    The first term bounds the truncation error, the distance of 4 tau (sigma(x/tau) - 1/2) from x in exact arithmetic.
    The second term is the size of the rounding error.

    Args:
        size: the absolute value |x| of the number x.
        dtype: the type of the computation; eps is the distance from 1 to its next larger number.

    Example:
        >>> from lemmata.subjects.in_context.finite_precision import best_temperature
        >>> [round(float(best_temperature(1.0, kind)), 1) for kind in ("bfloat16", "float32")]
        [2.8, 111.8]
    """
    return jnp.asarray(size / (6 * float(jnp.finfo(dtype).eps)) ** (1 / 3))


def least_error(size: float | Array, dtype: Any) -> Array:
    """Return the error size³/(12 tau²) + eps tau at the best temperature tau, which is size (9 eps² / 16)^(1/3).

    Args:
        size: the absolute value |x| of the number x.
        dtype: the type of the computation, with the precision eps.
    """
    return 1.5 * float(jnp.finfo(dtype).eps) * best_temperature(size, dtype)


def rounded_product(x: Float[Array, "*s"], temperature: Float[Array, ""], dtype: Any) -> Float[Array, "*s"]:
    """Return 4 tau (sigma(x/tau) - 1/2) as float64. Each intermediate number is rounded to the type `dtype`.

    Args:
        x: the numbers x, which the result approximates.
        temperature: the temperature tau.
        dtype: the floating-point type of the computation.
    """
    kind = jnp.finfo(dtype)
    # A compiler may keep more digits than the type has, unless the code reduces the precision explicitly.
    store = lambda values: jax.lax.reduce_precision(values, kind.nexp, kind.nmant)
    tau = store(temperature.astype(dtype))
    mass = store(jax.nn.sigmoid(store(store(x.astype(dtype)) / tau)))
    return store(4 * tau * (mass - jnp.asarray(0.5, dtype))).astype(float)
