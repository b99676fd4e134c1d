"""Squared Euclidean distances between two sets of points.

The distances are computed as fast as a matrix product and as accurately as from differences of coordinates.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

# up to this number of coordinates, the differences cost no more than the matrix product and its repair
_FEW_COORDINATES = 8

# |x|^2 + |y|^2 - 2 <x, y> carries an error of about eps (|x|^2 + |y|^2). If the square of a distance is below this
# share of |x|^2 + |y|^2, it has lost more than two digits. It is then computed again from the difference.
_NEAR = 1e-2

# Rows whose mean the points are moved to before their product.
_CENTRE_ROWS = 32


def squared_distance(
    x: Float[Array, " d"],
    y: Float[Array, " d"],
    scales: Float[Array, " d"] | None = None,
    unit: Float[Array, "*columns"] | None = None,
) -> Float[Array, ""]:
    """|x - y|² for two points multiplied by `unit`; each coordinate of the difference is divided by its scale."""
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
    than to the centre, this form loses digits by cancellation. Such pairs are computed again from their difference.
    The function is compiled, so that differences are summed without being stored. If one array is given twice, the
    diagonal is set to 0 and needs no repair.

    Args:
        x: points.
        y: points.
        scales: one number for each coordinate, by which differences are divided. None means 1 for each.
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
    # Products of rows, which are not stored, take a third of the time of sums of squares.
    squares_of = lambda values: jnp.einsum("nd,nd->n", values, values, precision="highest")
    # A few rows tell where the points are.
    centre = jnp.mean(_in_units(y[:: -(-len(y) // _CENTRE_ROWS)], unit), axis=0)
    a = _in_units(_in_units(x, unit) - centre, None, scales)
    b = a if own else _in_units(_in_units(y, unit) - centre, None, scales)
    norms = squares_of(a)[:, None] + squares_of(b)[None, :]
    diagonal = own & (jnp.arange(len(x))[:, None] == jnp.arange(len(y))[None, :])
    squares = jnp.where(diagonal, 0.0, norms - 2 * _product(a, b))
    # Near, and also if the norms overflow, because then the difference is inf - inf. The repair finds them again, since
    # what it is given is stored.
    near = lambda: ~(squares >= _NEAR * norms) & ~diagonal
    repaired = lambda: _repaired(own, _in_units(x, unit), _in_units(y, unit), scales, squares, near())
    return jax.lax.cond(jnp.any(near()), repaired, lambda: squares)


def _repaired(own: bool, x: Array, y: Array, scales: Array | None, squares: Array, near: Array) -> Array:
    """The squared distances. The distances of near pairs are recomputed from differences of coordinates."""
    # Repairs use the points as given, because centring rounds them, and this would change a small difference.
    exact = lambda point, others: jnp.sum(_in_units(point - others, None, scales) ** 2, axis=1)

    def repair_row(row: tuple[Array, Array, Array]) -> Array:
        point, found, wrong = row
        return jax.lax.cond(jnp.any(wrong), lambda: jnp.where(wrong, exact(point, y), found), lambda: found)

    by_rows = lambda squares, near: jax.lax.map(repair_row, (x, squares, near))
    if own:
        return by_rows(squares, near)
    # If the points of one set are also in the other set, each row usually has one near pair. Such pairs are repaired
    # for all rows at once. Further near pairs (clusters, duplicates) are repaired row by row, only if there are any.
    rows, nearest = jnp.arange(len(x)), jnp.argmin(jnp.where(near, squares, jnp.inf), axis=1)
    first = jnp.where(near[rows, nearest], exact(x, y[nearest]), squares[rows, nearest])
    squares, near = squares.at[rows, nearest].set(first), near.at[rows, nearest].set(False)
    return jax.lax.cond(jnp.any(near), by_rows, lambda squares, _: squares, squares, near)


@_by_product.defjvp
def _by_product_jvp(own, primals, tangents):
    # d |x_i - y_j|^2 = 2 <x_i - y_j, dx_i - dy_j>, in products about the same centre. The repair above only corrects
    # rounding, so it must not be differentiated.
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


# Without checkpoints, differentiation would store the differences of all pairs in each coordinate.


@jax.checkpoint
def _moved_by_differences(x: Array, y: Array, dx: Array, dy: Array, scales: Array) -> Float[Array, "n m"]:
    return 2 * jnp.sum((x[:, None, :] - y[None, :, :]) * (dx[:, None, :] - dy[None, :, :]) / scales**2, axis=-1)


@jax.checkpoint
def _stretched(x: Float[Array, "n d"], y: Float[Array, "m d"], weights: Float[Array, " d"]) -> Float[Array, "n m"]:
    return jnp.sum((x[:, None, :] - y[None, :, :]) ** 2 * weights, axis=-1)
