"""The overlaps of an erf unit with the first and third Hermite polynomials of one direction of normal inputs."""

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float

from lemmata.core import check_numbers, known
from lemmata.errors import DataError, ShapeError


def hermite_overlaps(overlap: Float[ArrayLike, "*s"], squared_norm: Float[ArrayLike, "*s"]) -> Float[Array, "*s 2"]:
    """Return E[erf(w'x) H(v'x)] for x ~ N(0, I), |v| = 1, and H = H_1 and H_3/sqrt 6, where H_3(t) = t³ - 3t.

    With q = w'v, these two numbers are

        2 q / sqrt(pi (1 + 2|w|²))    and    -4 q³ / sqrt(6 pi (1 + 2|w|²)³),

    Let y = q²/(1 + 2|w|²), which is at least 0 and below 1/2. Then the two numbers are 2 sqrt(y/pi) and -4 sqrt(y³/(6
    pi)), each times the sign of q. The outer product of the two numbers, averaged over the distribution of w, is the
    kernel matrix on the two polynomials (`rubin2024grokking`).

    Args:
        overlap: the overlap q.
        squared_norm: the squared norm |w|², at least q².

    Raises:
        DataError: for a squared norm below the square of the overlap, and for values that are not finite numbers.
        ShapeError: for empty arrays, and for shapes that do not fit each other.

    Example:
        >>> from lemmata.subjects.phases import hermite_overlaps
        >>> [round(float(overlap), 4) for overlap in hermite_overlaps(1.0, 1.0)]  # 2/sqrt(3 pi), -4/sqrt(162 pi)
        [0.6515, -0.1773]
    """
    for name, given in (("overlap", overlap), ("squared_norm", squared_norm)):
        check_numbers(name, given)
    try:
        np.broadcast_shapes(np.shape(overlap), np.shape(squared_norm))
    except ValueError as error:
        found = f"shapes {np.shape(overlap)} and {np.shape(squared_norm)}"
        raise ShapeError("overlap and squared_norm", found=found, rule="the same shape for both") from error
    q, norm = jnp.asarray(overlap, float), jnp.asarray(squared_norm, float)
    least = known(jnp.min(norm - q**2))
    if least is not None and not least >= -1e-12 * float(jnp.max(norm)):
        raise DataError(
            "squared_norm",
            found=f"a value that is below the square of the overlap by {-least:.3g}",
            rule="|w|² >= (w'v)²",
        )
    size = 1 + 2 * norm
    first = 2 * q / jnp.sqrt(jnp.pi * size)
    third = -4 * q**3 / jnp.sqrt(6 * jnp.pi * size**3)
    return jnp.stack([first, third], axis=-1)
