"""Squared Euclidean distances between two sets of points.

The distances are computed as fast as a matrix product and as accurately as from differences of coordinates.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# Up to this number of coordinates, the differences cost no more than the matrix product and the correction of its lost
# digits.
_FEW_COORDINATES = 8

# |x|^2 + |y|^2 - 2 <x, y> carries an error of about eps (|x|^2 + |y|^2). If the square of a distance is below this
# share of |x|^2 + |y|^2, the square has lost more than two digits. The square is then computed again from x - y.
_NEAR = 1e-2

# The mean of about this many rows of y is subtracted from all points before the matrix product.
_CENTRE_ROWS = 32


def squared_distance(
    x: Float[Array, " d"],
    y: Float[Array, " d"],
    scales: Float[Array, " d"] | None = None,
    unit: Float[Array, "*columns"] | None = None,
) -> Float[Array, ""]:
    """|x - y|² of two points after multiplication by `unit`; each difference of coordinates is divided by its scale."""
    return jnp.sum(_in_units(_in_units(x, unit) - _in_units(y, unit), None, scales) ** 2)


def _in_units(x: Float[Array, "*points d"], unit: Any, scales: Float[Array, " d"] | None = None) -> Array:
    moved = x if unit is None else x * unit
    return moved if scales is None else moved / scales


def squared_distances(
    x: Float[Array, "n d"],
    y: Float[Array, "m d"],
    scales: Float[Array, " d"] | None = None,
    unit: Float[Array, "*columns"] | None = None,
) -> Float[Array, "n m"]:
    """The matrix |x_i - y_j|², each entry with a small relative error, and exactly 0 if x_i equals y_j.

    With many coordinates, a matrix product of the centred points is used. If two points are much nearer to each other
    than to the centre (a mean of points y), the matrix product loses digits by cancellation. The squared distances of
    such pairs are computed again from the differences of the points. The function is compiled, so that differences are
    summed without being stored. If `x` and `y` are the same array, the diagonal is set to 0 and needs no second
    computation.

    Args:
        x: points.
        y: points.
        scales: one number for each coordinate, by which the differences of this coordinate are divided. None means 1
            for each coordinate.
        unit: a power of two, or one power for each coordinate, by which points are multiplied without rounding. None
            means 1. Derivatives treat the unit as a constant.
    """
    return _all_pairs(x, None if y is x else y, unit, scales)


@jax.jit
def _all_pairs(x: Array, y: Array | None, unit: Array | None, scales: Array | None) -> Float[Array, "n m"]:
    own, other = y is None, x if y is None else y
    if scales is not None:
        return _in_scales(own, x, other, unit, scales)
    return _by_differences(x, other, unit, None) if _few(x, other) else _by_product(own, x, other, unit, None)


def _few(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> bool:
    return x.shape[0] == 0 or y.shape[0] == 0 or x.shape[1] <= _FEW_COORDINATES


def _by_differences(x: Array, y: Array, unit: Array | None, scales: Array | None) -> Float[Array, "n m"]:
    difference = _in_units(x, unit)[:, None, :] - _in_units(y, unit)[None, :, :]
    return jnp.sum(_in_units(difference, None, scales) ** 2, axis=-1)


def _product(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
    return jnp.matmul(x, y.T, precision="highest")


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _by_product(own: bool, x: Array, y: Array, unit: Array | None, scales: Array | None) -> Float[Array, "n m"]:
    # `einsum` does not store the products, and takes a third of the time of a sum of stored squares.
    squares_of = lambda values: jnp.einsum("nd,nd->n", values, values, precision="highest")
    # A mean of a few rows is near enough to the mean of all points.
    centre = jnp.mean(_in_units(y[:: -(-len(y) // _CENTRE_ROWS)], unit), axis=0)
    a = _in_units(_in_units(x, unit) - centre, None, scales)
    b = a if own else _in_units(_in_units(y, unit) - centre, None, scales)
    norms = squares_of(a)[:, None] + squares_of(b)[None, :]
    diagonal = own & (jnp.arange(len(x))[:, None] == jnp.arange(len(y))[None, :])
    squares = jnp.where(diagonal, 0.0, norms - 2 * _product(a, b))
    # The mask of pairs that lost digits. The mask includes pairs whose norms overflow, because the computed square is
    # then inf - inf. `repaired` computes the mask again, because a mask that is passed as an argument would be stored.
    near = lambda: ~(squares >= _NEAR * norms) & ~diagonal
    repaired = lambda: _repaired(own, _in_units(x, unit), _in_units(y, unit), scales, squares, near())
    return jax.lax.cond(jnp.any(near()), repaired, lambda: squares)


def _repaired(own: bool, x: Array, y: Array, scales: Array | None, squares: Array, near: Array) -> Array:
    """The squared distances, where those of the pairs in `near` are recomputed from differences of coordinates."""
    # The differences use points that are not centred, because centring rounds the points and would change small
    # differences.
    exact = lambda point, others: jnp.sum(_in_units(point - others, None, scales) ** 2, axis=1)

    def repair_row(row: tuple[Array, Array, Array]) -> Array:
        point, found, wrong = row
        return jax.lax.cond(jnp.any(wrong), lambda: jnp.where(wrong, exact(point, y), found), lambda: found)

    by_rows = lambda squares, near: jax.lax.map(repair_row, (x, squares, near))
    if own:
        return by_rows(squares, near)
    # If the points of one set are also in the other set, each row usually has one near pair. The nearest pair of each
    # row is recomputed for all rows at once. If there are further near pairs (clusters, duplicates), they are
    # recomputed row by row.
    rows, nearest = jnp.arange(len(x)), jnp.argmin(jnp.where(near, squares, jnp.inf), axis=1)
    first = jnp.where(near[rows, nearest], exact(x, y[nearest]), squares[rows, nearest])
    squares, near = squares.at[rows, nearest].set(first), near.at[rows, nearest].set(False)
    return jax.lax.cond(jnp.any(near), by_rows, lambda squares, _: squares, squares, near)


@_by_product.defjvp
def _by_product_jvp(own, primals, tangents):
    # d |x_i - y_j|^2 = 2 <x_i - y_j, dx_i - dy_j>, computed by matrix products of centred points. The second
    # computation of near pairs only corrects rounding, so it must not be differentiated.
    (x, y, unit, _), (dx, dy, _, _) = primals, tangents
    u, v, du, dv = (_in_units(each, unit) for each in (x, y, dx, dy))
    return _by_product(own, x, y, unit, None), _moved_points(u, v, du, dv, None)


def _moved_points(x: Array, y: Array, dx: Array, dy: Array, scales: Array | None) -> Float[Array, "n m"]:
    centre = jax.lax.stop_gradient(jnp.mean(y, axis=0))
    a, b, dx, dy = (_in_units(each, None, scales) for each in (x - centre, y - centre, dx, dy))
    own = jnp.sum(a * dx, axis=1)[:, None] + jnp.sum(b * dy, axis=1)[None, :]
    return 2 * (own - _product(a, dy) - _product(dx, b))


@functools.partial(jax.custom_jvp, nondiff_argnums=(0,))
def _in_scales(own: bool, x: Array, y: Array, unit: Array | None, scales: Array) -> Float[Array, "n m"]:
    return _by_differences(x, y, unit, scales) if _few(x, y) else _by_product(own, x, y, unit, scales)


@_in_scales.defjvp
def _in_scales_jvp(own, primals, tangents):
    # d sum_k (x_ik - y_jk)²/l_k² = 2 sum_k (x_ik - y_jk) (dx_ik - dy_jk) / l_k² - 2 sum_k (x_ik - y_jk)² dl_k / l_k³.
    # The second sum is computed from differences. The root of a distance has the derivative 1 / (2 |x - y|), which
    # magnifies the error of a product form between near points.
    (x, y, unit, scales), (dx, dy, _, dscales) = primals, tangents
    points = _moved_by_differences if _few(x, y) else _moved_points
    u, v, du, dv = (_in_units(each, unit) for each in (x, y, dx, dy))
    moved = points(u, v, du, dv, scales) + _stretched(u, v, -2 * dscales / scales**3)
    return _in_scales(own, x, y, unit, scales), moved


# Without `jax.checkpoint`, differentiation would store the differences of all pairs in each coordinate.


@jax.checkpoint
def _moved_by_differences(x: Array, y: Array, dx: Array, dy: Array, scales: Array) -> Float[Array, "n m"]:
    return 2 * jnp.sum((x[:, None, :] - y[None, :, :]) * (dx[:, None, :] - dy[None, :, :]) / scales**2, axis=-1)


@jax.checkpoint
def _stretched(x: Float[Array, "n d"], y: Float[Array, "m d"], weights: Float[Array, " d"]) -> Float[Array, "n m"]:
    return jnp.sum((x[:, None, :] - y[None, :, :]) ** 2 * weights, axis=-1)
