"""Fields: inputs that are vectors at the positions of a grid, and their moments at pairs of positions."""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Shaped

from lemmata.errors import ShapeError

from ._state import INPUTS, Means, State
from ._window import Window


def own_state(x: Float[Array, "n *sites c"], pairs: bool) -> State:
    """The state of every field with itself: all pairs of positions, or each position alone; of batch shape (n,)."""
    bare = _own(x, pairs)
    return bare.replace(left=bare, right=bare) if pairs else bare


def field_state(x: Float[Array, "n *sites c"], y: Float[Array, "m *sites c"], pairs: bool) -> State:
    """The state of all pairs of fields: nngp = <x_p, y_q> / c for equal positions, or for all pairs of positions."""
    sites, c = x.shape[1:-1], x.shape[-1]
    left, right = _own(x, pairs), _own(y, pairs)
    a, b = (points.reshape(len(points), -1, c) for points in (x, y))
    nngp = jnp.einsum("npc,mqc->pqnm" if pairs else "npc,mpc->pnm", a, b) / c
    nngp = nngp.reshape(*(sites + sites if pairs else sites), len(x), len(y))
    means = Means(_position_means(x, pairs)[0][..., None], _position_means(y, pairs)[1][..., None, :])
    xx, yy = left.xx[..., None], right.yy[..., None, :]
    state = State(nngp, jnp.zeros_like(nngp), xx, yy, c, INPUTS, means, sites, pairs)
    return state.replace(left=left, right=right) if pairs else state


def _own(x: Array, pairs: bool) -> State:
    sites, c = x.shape[1:-1], x.shape[-1]
    points = x.reshape(len(x), -1, c)
    xx, yy = _at_positions(jnp.mean(points**2, axis=2), sites, pairs)
    nngp = (jnp.einsum("npc,nqc->pqn", points, points) / c).reshape(*sites, *sites, -1) if pairs else xx
    means = Means(*_position_means(x, pairs))
    return State(nngp, jnp.zeros_like(nngp), xx, yy, c, INPUTS, means, sites, pairs)


def _position_means(x: Array, pairs: bool) -> tuple[Array, Array]:
    return _at_positions(jnp.mean(x.reshape(len(x), -1, x.shape[-1]), axis=2), x.shape[1:-1], pairs)


def _at_positions(values: Shaped[Array, "n p"], sites: tuple[int, ...], pairs: bool) -> tuple[Array, Array]:
    """Values at the positions of x and of y, shaped to broadcast with pairs of positions."""
    ones = (1,) * len(sites) if pairs else ()
    return values.T.reshape(*sites, *ones, -1), values.T.reshape(*ones, *sites, -1)


def with_masks_of(state: State, x: Bool[Array, "n *sites"], y: Bool[Array, "m *sites"]) -> State:
    """The state, and those of inputs with themselves, with masks: of all pairs of inputs, or of each with itself."""
    axes = lambda mask: _at_positions(mask.reshape(len(mask), -1), state.sites, state.pairs)
    own = lambda side, mask: None if side is None else side.replace(mask_x=axes(mask)[0], mask_y=axes(mask)[1])
    mask_x, mask_y = axes(x)[0], axes(y)[1]
    if state.nngp.ndim - len(state.sites) * (1 + state.pairs) == 2:
        mask_x, mask_y = mask_x[..., :, None], mask_y[..., None, :]
    return state.replace(mask_x=mask_x, mask_y=mask_y, left=own(state.left, x), right=own(state.right, y))


def at_filled(state: State) -> State:
    """The state with moments 0 at empty positions; so are those of inputs with themselves."""
    if state.mask_x is None or state.mask_y is None:
        return state
    one, other, both = state.mask_x, state.mask_y, state.mask_x & state.mask_y
    zero = lambda values, mask: jnp.where(mask, values, 0.0)
    means = state.means
    if means is not None:
        means = Means(zero(means.x, one), zero(means.y, other))
    left, right = (None if side is None else at_filled(side) for side in (state.left, state.right))
    return state.replace(
        nngp=zero(state.nngp, both),
        ntk=zero(state.ntk, both),
        xx=zero(state.xx, one),
        yy=zero(state.yy, other),
        means=means,
        left=left,
        right=right,
    )


def filled(x: Float[Array, "*sites c"], mask: Bool[Array, "*sites"]) -> Float[Array, "*sites c"]:
    """The field with 0 at empty positions."""
    return jnp.where(mask[..., None], x, 0.0)


def visible_through(window: Window, state: State) -> dict[str, Any]:
    """The masks of the state after a window."""
    if state.mask_x is None or state.mask_y is None:
        return {}
    _, one, other = axes_of(state)
    return {"mask_x": window.visible(state.mask_x, one), "mask_y": window.visible(state.mask_y, other)}


def axes_of(state: State) -> tuple[list[tuple[int, ...]], list[tuple[int, ...]], list[tuple[int, ...]]]:
    """For each axis of the grid, the axes of a state's arrays that go with it: in `nngp`, in `xx` and in `yy`."""
    k = len(state.sites)
    if not state.pairs:
        alone = [(axis,) for axis in range(k)]
        return alone, alone, alone
    return [(axis, k + axis) for axis in range(k)], [(axis,) for axis in range(k)], [(k + axis,) for axis in range(k)]


def at_equal_positions(state: State, values: Float[Array, "..."]) -> Float[Array, "..."]:
    """The entries for equal positions of x and y, of shape sites + batch."""
    if not state.pairs:
        return values
    size, batch = math.prod(state.sites), values.shape[2 * len(state.sites) :]
    index = jnp.arange(size)
    return values.reshape(size, size, *batch)[index, index].reshape(*state.sites, *batch)


def field_shape(layer: str, shape: Any) -> tuple[int, ...]:
    """The shape of a field as a tuple; refused for vectors."""
    if isinstance(shape, int) or len(shape) < 2:
        raise ShapeError(
            f"input of {layer}",
            found=f"vectors of {shape} numbers",
            rule="fields: (*sites, channels)",
            remedy="init(key, (height, width, channels)), or (length, channels) for sequences",
        )
    return tuple(shape)
