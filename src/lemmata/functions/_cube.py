"""Functions on the cube {-1, 1}^d: their coefficients for products of coordinates, degrees and influences.

A function f has the expansion f(x) = sum_S c_S chi_S(x), where chi_S is the product of the coordinates in the set S.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from lemmata.errors import SettingError

MOST_INPUTS = 20


def cube(d: int) -> Float[Array, "points d"]:
    """All points of {-1, 1}^d. Coordinate i of point number p is -1 if bit i of p is 1. Bit 0 is the lowest.

    Raises:
        SettingError: if d is not between 0 and 20.

    >>> cube(2).tolist()
    [[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0], [-1.0, -1.0]]
    """
    if not 0 <= d <= MOST_INPUTS:
        raise SettingError(f"d is {d}, but must be between 0 and {MOST_INPUTS}: a table of a function has 2^d values")
    return 1.0 - 2.0 * ((jnp.arange(2**d)[:, None] >> jnp.arange(d)) & 1)


def degrees(d: int) -> Int[Array, " sets"]:
    """The degree |S| of each product chi_S of the coordinates in S. The set number is the sum of 2^i over i in S.

    >>> degrees(2).tolist()
    [0, 1, 1, 2]
    """
    return jnp.bitwise_count(jnp.arange(2**d)).astype(int)


@jax.jit
def walsh_hadamard(values: Float[Array, "*batch n"]) -> Float[Array, "*batch n"]:
    """The coefficients E f(x) chi_S(x) of a function f on the cube, with the mean E over all points x of the cube.

    The values are those at the points of `cube(d)`, and the coefficients are in the order of `degrees(d)`. To invert
    the transform, apply it to the coefficients and multiply by 2^d. The transform takes d 2^d additions.

    Raises:
        SettingError: if the number of values is not a power of 2.

    >>> x = cube(3)
    >>> walsh_hadamard(x[:, 0] * x[:, 2]).tolist()  # chi_S for S = {0, 2}, which has number 1 + 4
    [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]
    """
    n = values.shape[-1]
    d = n.bit_length() - 1
    if n != 2**d:
        raise SettingError(f"there are {n} values, but a function on the cube has 2^d values: 1, 2, 4, 8, ...")
    batch = values.shape[:-1]
    for place in range(d):
        pairs = values.reshape(*batch, n // 2 ** (place + 1), 2, 2**place)
        low, high = pairs[..., 0, :], pairs[..., 1, :]
        values = jnp.stack([low + high, low - high], axis=-2).reshape(*batch, n)
    return values / n


def weights_by_degree(coefficients: Float[Array, " n"]) -> Float[Array, " degrees"]:
    """The sums of the squared coefficients of products of each degree 0, ..., d.

    >>> x = cube(3)
    >>> weights_by_degree(walsh_hadamard(x[:, 0] * x[:, 2])).tolist()
    [0.0, 0.0, 1.0, 0.0]
    """
    d = coefficients.shape[-1].bit_length() - 1
    return jax.ops.segment_sum(coefficients**2, degrees(d), d + 1)


@jax.jit
def influences(coefficients: Float[Array, " n"]) -> Float[Array, " d"]:
    """The influence of each coordinate: the sum of squared coefficients over the sets that contain the coordinate.

    If f has only the values -1 and 1, the influence is the probability that f(x) changes when this coordinate of a
    uniformly random x changes its sign.

    >>> x = cube(3)
    >>> influences(walsh_hadamard(x[:, 0] * x[:, 2])).tolist()
    [1.0, 0.0, 1.0]
    """
    d = coefficients.shape[-1].bit_length() - 1
    contains = (np.arange(2**d)[:, None] >> np.arange(d)) & 1
    return coefficients**2 @ jnp.asarray(contains, coefficients.dtype)
