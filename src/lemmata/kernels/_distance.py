"""Squared Euclidean distances between two sets of points: as fast as a matrix product, as accurate as differences."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# Up to this many coordinates the differences cost no more than the matrix product and its repair.
_FEW_COORDINATES = 8

# |x|^2 + |y|^2 - 2 <x, y> carries an error of about eps (|x|^2 + |y|^2). A distance whose square is below this share
# of |x|^2 + |y|^2 has lost more than two digits and is computed again from the difference.
_NEAR = 1e-2


def squared_distance(x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
    """|x - y|² for two points."""
    return jnp.sum((x - y) ** 2)


@jax.jit
def squared_distances(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    """The matrix |x_i - y_j|², each entry with a small relative error, and exactly 0 where x_i equals y_j.

    Many coordinates go through a matrix product of the centred points; pairs that are near to each other compared
    with their distance from the centre, where the product form cancels, are computed again from their difference.
    Compiled, so that differences are summed without being stored.
    """
    if x.shape[0] == 0 or y.shape[0] == 0 or x.shape[1] <= _FEW_COORDINATES:
        return jnp.sum((x[:, None, :] - y[None, :, :]) ** 2, axis=-1)
    return _by_product(x, y)


def _product(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    return jnp.matmul(x, y.T, precision="highest")


@jax.custom_jvp
def _by_product(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    centre = jnp.mean(y, axis=0)
    a, b = x - centre, y - centre
    norms = jnp.sum(a**2, axis=1)[:, None] + jnp.sum(b**2, axis=1)[None, :]
    squares = norms - 2 * _product(a, b)
    near = ~(squares >= _NEAR * norms)  # and where the norms overflow: inf - inf
    # One near pair a row is the rule where the two sets are the same: the diagonal. It is repaired for all rows at
    # once, and further near pairs (clusters, duplicates) row by row, only if there are any. Repairs take the points
    # as given: centring them rounds, which a small difference would feel.
    rows, nearest = jnp.arange(len(x)), jnp.argmin(squares, axis=1)
    squares = squares.at[rows, nearest].set(jnp.sum((x - y[nearest]) ** 2, axis=1))
    near = near.at[rows, nearest].set(False)

    def repair_row(row):
        point, found, wrong = row
        return jax.lax.cond(
            jnp.any(wrong), lambda: jnp.where(wrong, jnp.sum((point - y) ** 2, axis=1), found), lambda: found
        )

    return jax.lax.cond(jnp.any(near), lambda: jax.lax.map(repair_row, (x, squares, near)), lambda: squares)


@_by_product.defjvp
def _by_product_jvp(primals, tangents):
    # d |x_i - y_j|^2 = 2 <x_i - y_j, dx_i - dy_j>, in products about the same centre: the repair above is a matter of
    # rounding alone and must not be differentiated.
    (x, y), (dx, dy) = primals, tangents
    centre = jax.lax.stop_gradient(jnp.mean(y, axis=0))
    a, b = x - centre, y - centre
    own = jnp.sum(a * dx, axis=1)[:, None] + jnp.sum(b * dy, axis=1)[None, :]
    return _by_product(x, y), 2 * (own - _product(a, dy) - _product(dx, b))
