"""One of the two kernels of an infinitely wide network, at given points."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
from jaxtyping import Array

from lemmata.errors import SettingError

from ._angular import angular_push
from ._embedding import own_token_state, token_state
from ._fields import field_state, own_state, with_masks_of
from ._layer import AbstractLayer
from ._reading import reading
from ._state import State, diagonal_state, matrix_state, pair_state

# Which of the two kernels: the attribute of a state that holds it.
Face = Literal["nngp", "ntk"]


class NetworkEntries(eqx.Module):
    """One of the two kernels of a network, from the state of its inputs."""

    network: AbstractLayer
    face: Face = eqx.field(static=True)

    def __call__(self, x: Array, y: Array) -> Array:
        """All pairs, by the recursion over layers or a series that stands for it."""
        if x.ndim > 2:
            return self.exact(self.fields(x, y))
        state = matrix_state(x, y)
        push = self.series_push(state)
        return self.exact(state) if push is None else push(state)

    def diagonal(self, x: Array) -> Array:
        """Every point with itself, by the recursion."""
        if x.ndim == 2:
            return self.exact(diagonal_state(x))
        values, mask, tokens = reading(self.network, x)
        state = (own_token_state if tokens else own_state)(values, self.network.needs_pairs(False))
        return self.exact(state if mask is None else with_masks_of(state, mask, mask))

    def fields(self, x: Array, y: Array) -> State:
        """The state of all pairs of fields."""
        (x, mask_x, tokens), (y, mask_y, _) = reading(self.network, x), reading(self.network, y)
        state = (token_state if tokens else field_state)(x, y, self.network.needs_pairs(False))
        return state if mask_x is None or mask_y is None else with_masks_of(state, mask_x, mask_y)

    def pair(self, x: Array, y: Array) -> Array:
        """Two single points, by the recursion."""
        if x.ndim == 1:
            return self.exact(pair_state(x, y))
        return self.exact(self.fields(x[None], y[None]))[0, 0]

    def series_push(self, state: State) -> Callable[[State], Array] | None:
        """What stands for the recursion at less cost, if anything does."""
        return angular_push(self.network, self.face, state.fan_in, state.nngp.dtype)

    def exact(self, state: State) -> Array:
        """All pairs of the state, by the recursion."""
        pushed = self.network.push(state)
        if pushed.grid.sites:
            raise SettingError(
                "output of the network",
                found=f"a field on a grid of shape {pushed.grid.sites}",
                rule="a vector",
                remedy="Flatten() or GlobalAveragePool() before the last Dense layer",
            )
        return getattr(pushed, self.face)
