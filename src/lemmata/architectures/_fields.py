"""Fields: inputs that are vectors at the positions of a grid, and their moments at pairs of positions."""

import functools
import math
import operator
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from lemmata.errors import ShapeError

from ._state import INPUTS, Centred, Grid, Means, State, less_mean
from ._versine import input_versines
from ._window import Window

# Up to this number of channels, sums of products are faster than a matrix product for each position.
_FEW_CHANNELS = 8


def own_state(x: Float[Array, "n *sites c"], pairs: bool) -> State:
    """Return the moments of every field with itself, for all pairs of positions or for each position alone.

    The batch shape is (n,).
    """
    bare = _own(x, pairs)
    return bare.with_grid(left=bare, right=bare) if pairs else bare


def field_state(x: Float[Array, "n *sites c"], y: Float[Array, "m *sites c"], pairs: bool) -> State:
    """Return the moments of all pairs of fields: nngp = <x_p, y_q> / c for equal positions, or all pairs of positions.

    The compiler removes moments that a network does not use, such as the versine or the centred moments.
    """
    left, right = _own(x, pairs), _own(y, pairs)
    nngp, xx, yy, versine = _moments(x, y, pairs)
    centred = Centred(*_moments(less_mean(x), less_mean(y), pairs))
    means = Means(_position_means(x, pairs)[0][..., None], _position_means(y, pairs)[1][..., None, :])
    grid = Grid(x.shape[1:-1], pairs, left, right) if pairs else Grid(x.shape[1:-1])
    return State(nngp, jnp.zeros_like(nngp), xx, yy, x.shape[-1], INPUTS, means, grid, versine, centred)


def _own(x: Array, pairs: bool) -> State:
    nngp, xx, yy, versine = _own_moments(x, pairs)
    centred = Centred(*_own_moments(less_mean(x), pairs))
    means, grid = Means(*_position_means(x, pairs)), Grid(x.shape[1:-1], pairs)
    return State(nngp, jnp.zeros_like(nngp), xx, yy, x.shape[-1], INPUTS, means, grid, versine, centred)


# Compiled as separate functions, so that the trace for fields is reused for their centred moments.
@functools.partial(jax.jit, static_argnames="pairs")
def _moments(x: Float[Array, "n *sites c"], y: Float[Array, "m *sites c"], pairs: bool) -> tuple[Array, ...]:
    """Return covariances, the variances of x and of y, and versines, for all pairs of fields."""
    sites, c = x.shape[1:-1], x.shape[-1]
    a, b = (points.reshape(len(points), -1, c) for points in (x, y))
    nngp = _products(a, b, pairs) / c
    one, other = (_squares(points) for points in (a, b))
    if pairs:
        rows, columns = a.swapaxes(0, 1).reshape(-1, c), b.swapaxes(0, 1).reshape(-1, c)
        count = a.shape[1], len(a), b.shape[1], len(b)
        flat = nngp.transpose(0, 2, 1, 3).reshape(len(rows), len(columns))
        versine = input_versines(rows, columns, flat, one.T.reshape(-1, 1), other.T.reshape(1, -1))
        versine = versine.reshape(count).transpose(0, 2, 1, 3)
    else:
        versine = jax.vmap(input_versines)(
            a.swapaxes(0, 1), b.swapaxes(0, 1), nngp, one.T[:, :, None], other.T[:, None, :]
        )
    nngp, versine = (v.reshape(*(sites + sites if pairs else sites), len(x), len(y)) for v in (nngp, versine))
    xx, yy = _at_positions(one, sites, pairs)[0][..., None], _at_positions(other, sites, pairs)[1][..., None, :]
    return nngp, xx, yy, versine


def _products(a: Float[Array, "n p c"], b: Float[Array, "m q c"], pairs: bool) -> Float[Array, "..."]:
    """Return <a_p, b_q> of all pairs of fields, of shape (p, q, n, m), or (p, n, m) for equal positions."""
    if a.shape[2] > _FEW_CHANNELS:
        return jnp.einsum("npc,mqc->pqnm" if pairs else "npc,mpc->pnm", a, b)
    row = jnp.s_[:, None, :, None] if pairs else jnp.s_[:, :, None]
    column = jnp.s_[None, :, None, :] if pairs else jnp.s_[:, None, :]
    terms = (one.T[row] * other.T[column] for one, other in zip(_channels(a), _channels(b), strict=True))
    return functools.reduce(operator.add, terms)


def _squares(points: Float[Array, "n p c"]) -> Float[Array, "n p"]:
    c = points.shape[2]
    if c > _FEW_CHANNELS:
        return jnp.mean(points**2, axis=2)
    return functools.reduce(operator.add, (one**2 for one in _channels(points))) / c


def _channels(points: Float[Array, "n p c"]) -> list[Float[Array, "n p"]]:
    return [points[:, :, k] for k in range(points.shape[2])]


@functools.partial(jax.jit, static_argnames="pairs")
def _own_moments(x: Float[Array, "n *sites c"], pairs: bool) -> tuple[Array, ...]:
    """Return the moments of `_moments`, for every field with itself."""
    sites, c = x.shape[1:-1], x.shape[-1]
    points = x.reshape(len(x), -1, c)
    squares = _squares(points)
    xx, yy = _at_positions(squares, sites, pairs)
    if not pairs:
        return xx, xx, yy, jnp.zeros_like(xx)
    nngp = jnp.einsum("npc,nqc->npq", points, points) / c
    versine = jax.vmap(input_versines)(points, points, nngp, squares[:, :, None], squares[:, None, :])
    nngp, versine = (jnp.moveaxis(v, 0, -1).reshape(*sites, *sites, -1) for v in (nngp, versine))
    return nngp, xx, yy, versine


def _position_means(x: Array, pairs: bool) -> tuple[Array, Array]:
    return _at_positions(jnp.mean(x.reshape(len(x), -1, x.shape[-1]), axis=2), x.shape[1:-1], pairs)


def _at_positions(values: Shaped[Array, "n p"], sites: tuple[int, ...], pairs: bool) -> tuple[Array, Array]:
    """Return the values at positions of x, and again at positions of y. Both broadcast with arrays over pairs."""
    ones = (1,) * len(sites) if pairs else ()
    return values.T.reshape(*sites, *ones, -1), values.T.reshape(*ones, *sites, -1)


def with_masks_of(state: State, x: Bool[Array, "n *sites"], y: Bool[Array, "m *sites"]) -> State:
    """Add masks to the state, and to the states that pair each input with itself.

    Each of these states may hold all pairs of inputs, or only pairs of an input with itself.
    """
    grid = state.grid
    of_x, of_y = (_at_positions(mask.reshape(len(mask), -1), grid.sites, grid.pairs) for mask in (x, y))
    (mask_x, _), (_, mask_y) = of_x, of_y
    if state.nngp.ndim - grid.axes == 2:
        mask_x, mask_y = mask_x[..., :, None], mask_y[..., None, :]
    state = state.with_grid(mask_x=mask_x, mask_y=mask_y)
    if grid.left is None or grid.right is None:
        return state
    left, right = (
        side.with_grid(mask_x=own[0], mask_y=own[1]) for side, own in ((grid.left, of_x), (grid.right, of_y))
    )
    return state.with_grid(left=left, right=right)


def at_filled(state: State) -> State:
    """Return the state with moments 0 at empty positions, also in the states that pair each input with itself."""
    one, other = state.grid.mask_x, state.grid.mask_y
    if one is None or other is None:
        return state
    both = one & other
    zero = lambda values, mask: jnp.where(mask, values, 0.0)
    means = state.means
    if means is not None:
        means = Means(zero(means.x, one), zero(means.y, other))
    filled = state.replace(
        nngp=zero(state.nngp, both),
        ntk=zero(state.ntk, both),
        xx=zero(state.xx, one),
        yy=zero(state.yy, other),
        means=means,
        versine=None if state.versine is None else jnp.where(both, state.versine, 1.0),
    )
    return filled.with_sides(at_filled)


def filled(x: Float[Array, "*sites c"], mask: Bool[Array, "*sites"]) -> Float[Array, "*sites c"]:
    """Return the field with 0 at empty positions."""
    return jnp.where(mask[..., None], x, 0.0)


def visible_through(window: Window, state: State) -> dict[str, Any]:
    """Return the masks of the state's grid after a window has been applied."""
    grid = state.grid
    if grid.mask_x is None or grid.mask_y is None:
        return {}
    _, one, other = axes_of(grid)
    return {"mask_x": window.visible(grid.mask_x, one), "mask_y": window.visible(grid.mask_y, other)}


def axes_of(grid: Grid) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], list[tuple[int, ...]]]:
    """Return three lists: for each axis of the grid, the corresponding axes of `nngp`, of `xx` and of `yy`."""
    k = len(grid.sites)
    if not grid.pairs:
        alone = [(axis,) for axis in range(k)]
        return alone, alone, alone
    return [(axis, k + axis) for axis in range(k)], [(axis,) for axis in range(k)], [(k + axis,) for axis in range(k)]


def at_equal_positions(grid: Grid, values: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the entries for equal positions of x and y, of shape sites + batch."""
    if not grid.pairs:
        return values
    size, batch = math.prod(grid.sites), values.shape[grid.axes :]
    index = jnp.arange(size)
    return values.reshape(size, size, *batch)[index, index].reshape(*grid.sites, *batch)


def with_own_variances(state: State, before: State, left: State, right: State) -> State:
    """Return `state` with the variances from the states `left` and `right`, which hold each input with itself.

    The points lie along the same axes as in the variances of `before`, a state of the same points.
    """
    ones = (1,) * (state.grid.axes - len(state.grid.sites))
    column = at_equal_positions(left.grid, left.nngp)
    row = column if right is left else at_equal_positions(right.grid, right.nngp)
    points_x, points_y = (part.shape[before.grid.axes :] for part in (before.xx, before.yy))
    xx = column.reshape(*state.grid.sites, *ones, *points_x)
    return state.replace(xx=xx, yy=row.reshape(*ones, *state.grid.sites, *points_y))


def field_shape(layer: str, shape: Any) -> tuple[int, ...]:
    """Return the shape of a field as a tuple. Refuse the shape of a vector."""
    if isinstance(shape, int) or len(shape) < 2:
        raise ShapeError(
            f"input of {layer}",
            found=f"vectors of {shape} numbers",
            rule="fields of shape (*sites, channels)",
            remedy="call init(key, (height, width, channels)) for images, or init(key, (length, channels)) "
            "for sequences",
        )
    return tuple(shape)
