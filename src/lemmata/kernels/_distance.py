"""Squared Euclidean distances between two sets of points: as fast as a matrix product, as accurate as differences."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# Up to this many coordinates the differences cost no more than the matrix product and its repair.
_FEW_COORDINATES = 8

# |x|^2 + |y|^2 - 2 <x, y> carries an error of about eps (|x|^2 + |y|^2). A distance whose square is below this share
# of |x|^2 + |y|^2 has lost more than two digits and is computed again from the difference.
_NEAR = 1e-2


def squared_distance(
    x: Float[Array, " d"], y: Float[Array, " d"], scales: Float[Array, " d"] | None = None
) -> Float[Array, ""]:
    """|x - y|² for two points, with each coordinate of the difference divided by its scale."""
    return jnp.sum(_divided(x - y, scales) ** 2)


def _divided(x: Float[Array, "*points d"], scales: Float[Array, " d"] | None) -> Float[Array, "*points d"]:
    return x if scales is None else x / scales


@jax.jit
def squared_distances(
    x: Float[Array, "n d"], y: Float[Array, "m d"], scales: Float[Array, " d"] | None = None
) -> Float[Array, "n m"]:
    """The matrix |x_i - y_j|², each entry with a small relative error, and exactly 0 where x_i equals y_j.

    Many coordinates go through a matrix product of the centred points; pairs that are near to each other compared
    with their distance from the centre, where the product form cancels, are computed again from their difference.
    Compiled, so that differences are summed without being stored.

    Args:
        x: points.
        y: points.
        scales: one number for each coordinate, by which differences are divided; None is 1 for each.
    """
    if scales is not None:
        return _in_scales(x, y, scales)
    return _by_differences(x, y, None) if _few(x, y) else _by_product(x, y, None)


def _few(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> bool:
    return x.shape[0] == 0 or y.shape[0] == 0 or x.shape[1] <= _FEW_COORDINATES


def _by_differences(x: Float[Array, "n d"], y: Float[Array, "m d"], scales: Float[Array, " d"] | None) -> Array:
    return jnp.sum(_divided(x[:, None, :] - y[None, :, :], scales) ** 2, axis=-1)


def _product(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    return jnp.matmul(x, y.T, precision="highest")


@jax.custom_jvp
def _by_product(
    x: Float[Array, "n d"], y: Float[Array, "m d"], scales: Float[Array, " d"] | None
) -> Float[Array, "n m"]:
    centre = jnp.mean(y, axis=0)
    a, b = _divided(x - centre, scales), _divided(y - centre, scales)
    norms = jnp.sum(a**2, axis=1)[:, None] + jnp.sum(b**2, axis=1)[None, :]
    squares = norms - 2 * _product(a, b)
    near = ~(squares >= _NEAR * norms)  # and where the norms overflow: inf - inf
    # One near pair a row is the rule where the two sets are the same: the diagonal. It is repaired for all rows at
    # once, and further near pairs (clusters, duplicates) row by row, only if there are any. Repairs take the points
    # as given: centring them rounds, which a small difference would feel.
    rows, nearest = jnp.arange(len(x)), jnp.argmin(squares, axis=1)
    squares = squares.at[rows, nearest].set(jnp.sum(_divided(x - y[nearest], scales) ** 2, axis=1))
    near = near.at[rows, nearest].set(False)

    def repair_row(row):
        point, found, wrong = row
        repaired = lambda: jnp.where(wrong, jnp.sum(_divided(point - y, scales) ** 2, axis=1), found)
        return jax.lax.cond(jnp.any(wrong), repaired, lambda: found)

    return jax.lax.cond(jnp.any(near), lambda: jax.lax.map(repair_row, (x, squares, near)), lambda: squares)


@_by_product.defjvp
def _by_product_jvp(primals, tangents):
    # d |x_i - y_j|^2 = 2 <x_i - y_j, dx_i - dy_j>, in products about the same centre: the repair above is a matter of
    # rounding alone and must not be differentiated.
    (x, y, _), (dx, dy, _) = primals, tangents
    return _by_product(x, y, None), _moved_points(x, y, dx, dy, None)


def _moved_points(x: Array, y: Array, dx: Array, dy: Array, scales: Array | None) -> Float[Array, "n m"]:
    centre = jax.lax.stop_gradient(jnp.mean(y, axis=0))
    a, b = _divided(x - centre, scales), _divided(y - centre, scales)
    dx, dy = _divided(dx, scales), _divided(dy, scales)
    own = jnp.sum(a * dx, axis=1)[:, None] + jnp.sum(b * dy, axis=1)[None, :]
    return 2 * (own - _product(a, dy) - _product(dx, b))


@jax.custom_jvp
def _in_scales(x: Float[Array, "n d"], y: Float[Array, "m d"], scales: Float[Array, " d"]) -> Float[Array, "n m"]:
    return _by_differences(x, y, scales) if _few(x, y) else _by_product(x, y, scales)


@_in_scales.defjvp
def _in_scales_jvp(primals, tangents):
    # d sum_k (x_ik - y_jk)²/l_k² = 2 sum_k (x_ik - y_jk) (dx_ik - dy_jk) / l_k² - 2 sum_k (x_ik - y_jk)² dl_k / l_k³.
    # The second sum is taken from differences: the root of a distance has the derivative 1 / (2 |x - y|), which
    # magnifies what a product form loses between near points.
    (x, y, scales), (dx, dy, dscales) = primals, tangents
    points = _moved_by_differences if _few(x, y) else _moved_points
    moved = points(x, y, dx, dy, scales) + _stretched(x, y, -2 * dscales / scales**3)
    return _in_scales(x, y, scales), moved


# Checkpoints: without them, differentiation keeps the differences of all pairs in each coordinate.


@jax.checkpoint
def _moved_by_differences(x: Array, y: Array, dx: Array, dy: Array, scales: Array) -> Float[Array, "n m"]:
    return 2 * jnp.sum((x[:, None, :] - y[None, :, :]) * (dx[:, None, :] - dy[None, :, :]) / scales**2, axis=-1)


@jax.checkpoint
def _stretched(x: Float[Array, "n d"], y: Float[Array, "m d"], weights: Float[Array, " d"]) -> Float[Array, "n m"]:
    return jnp.sum((x[:, None, :] - y[None, :, :]) ** 2 * weights, axis=-1)
