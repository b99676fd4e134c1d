"""The moments after fixed linear maps of positions, such as weighted sums or selections of positions."""

import dataclasses
from collections.abc import Callable
from typing import Any

from jaxtyping import Array, Shaped

from lemmata.errors import SettingError

from ._fields import at_filled, visible_through, with_own_variances
from ._state import Centred, Grid, Means, State
from ._window import Window


def through_pairs(name: str, state: State, over: Any, sites: tuple[int, ...], window: Window | None = None) -> State:
    """Return the state after the first function of `over` has mapped the moments of pairs of positions.

    The second function of `over` maps the means. Variances come from the pairs of positions of each input with itself.
    """
    (pooled, alone), state = over, at_filled(state)
    if not state.grid.sites or state.grid.left is None or state.grid.right is None:
        places = f"moments only for pairs with x and y at the same position, on a grid of shape {state.grid.sites}"
        found = places if state.grid.sites else "vectors"
        raise SettingError(f"input of {name}", found=found, rule="fields with moments for all pairs of positions")

    def mapped(part: State) -> State:
        means = None if part.means is None else Means(*(alone(part, part.means[i], i) for i in (0, 1)))
        masks = {} if window is None else visible_through(window, part)
        grid = Grid(sites, bool(sites), joint=part.grid.joint, **masks)
        return part.replace(nngp=pooled(part, part.nngp), ntk=pooled(part, part.ntk), means=means, grid=grid)

    left, right = mapped(state.grid.left), mapped(state.grid.right)
    new = with_own_variances(mapped(state), state, left, right)
    if not sites:
        return new
    left, right = (
        with_own_variances(side, before, side, side)
        for side, before in ((left, state.grid.left), (right, state.grid.right))
    )
    return new.with_grid(left=left, right=right)


# the axes of positions that an array has: those of `nngp`, of `xx` or of `yy`
BOTH, OF_X, OF_Y = range(3)


def at_places(state: State, pick: Callable[[Shaped[Array, "..."], int], Any], sites: tuple[int, ...]) -> State:
    """Return the state at new positions, each of which is one of the old positions. So every moment is an old moment.

    Args:
        state: the state at the old positions.
        pick: a function that maps an array from the old positions to the new positions. Its second argument is BOTH,
            OF_X or OF_Y, for the axes of positions that the array has.
        sites: the new grid; () for a vector from one position.
    """
    state = state if sites else at_filled(state)
    known = lambda values, axes: None if values is None else pick(values, axes)

    def moments(part: State | Centred) -> dict[str, Any]:
        kinds = {"nngp": BOTH, "xx": OF_X, "yy": OF_Y, "versine": BOTH}
        return {name: known(getattr(part, name), axes) for name, axes in kinds.items()}

    grid, means, centred = state.grid, state.means, state.centred
    new = Grid(sites, grid.pairs and bool(sites), joint=grid.joint)
    if sites:
        masks = {"mask_x": known(grid.mask_x, OF_X), "mask_y": known(grid.mask_y, OF_Y)}
        new = dataclasses.replace(new, left=grid.left, right=grid.right, **masks)
    picked = state.replace(
        **moments(state),
        ntk=pick(state.ntk, BOTH),
        means=means and Means(pick(means.x, OF_X), pick(means.y, OF_Y)),
        centred=centred and Centred(**moments(centred)),
        grid=new,
    )
    return picked.with_sides(lambda side: at_places(side, pick, sites))
