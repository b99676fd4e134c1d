"""One of the two kernels of an infinitely wide network, at given points."""

from collections.abc import Callable
from typing import Literal

import equinox as eqx
import jax
from jaxtyping import Array

from lemmata.errors import SettingError

from ._aggregate import with_graphs_of
from ._angular import angular_push
from ._bends import bent_push, is_bent
from ._embedding import own_token_state, token_state
from ._fields import field_state, own_state, with_masks_of
from ._layer import AbstractLayer
from ._norm_table import NormTable, norm_table
from ._reading import Reading, reading
from ._serial import through_parts
from ._state import State, diagonal_state, matrix_state, pair_state

_diagonal_state = jax.jit(diagonal_state)
# which of the two kernels: the name of the attribute of `State` that holds the kernel
Face = Literal["nngp", "ntk"]


class NetworkEntries(eqx.Module):
    """Computes one of the two kernels of a network from the moments of its inputs, which are a `State`."""

    network: AbstractLayer
    face: Face = eqx.field(static=True)

    def __call__(self, x: Array, y: Array) -> Array:
        """Return the kernel of all pairs, by the recursion over layers or a cheaper substitute.

        The recursion applies `push` of every layer. Derivatives always use the recursion.

        The derivative of a substitute with respect to the correlation would divide by the sine of the angle. The
        derivative of the recursion is finite even if this sine is 0.
        """
        if x.ndim > 2:
            return self.exact(self.fields(x, y))
        state = matrix_state(x, y)
        push = self.faster_push(state)
        if push is None:
            return self.exact(state)
        value = jax.custom_jvp(push)
        value.defjvp(lambda primals, tangents: (push(*primals), jax.jvp(self.exact, primals, tangents)[1]))
        return value(state)

    def diagonal(self, x: Array) -> Array:
        """Return the kernel of every point with itself, by the recursion over the layers of the network."""
        if x.ndim == 2:
            return getattr(through_parts(self.network, _diagonal_state(x)), self.face)
        read = reading(self.network, x)
        state = (own_token_state if read.tokens else own_state)(read.values, self.network.needs_pairs(False))
        return self.exact(_on_positions(state, read, read))

    def fields(self, x: Array, y: Array) -> State:
        """Return the moments of all pairs of fields."""
        one, other = reading(self.network, x), reading(self.network, y)
        build = token_state if one.tokens else field_state
        return _on_positions(build(one.values, other.values, self.network.needs_pairs(False)), one, other)

    def pair(self, x: Array, y: Array) -> Array:
        """Return the kernel of two single points, by the recursion over the layers of the network."""
        if x.ndim == 1:
            return self.exact(pair_state(x, y))
        return self.exact(self.fields(x[None], y[None]))[0, 0]

    def faster_push(self, state: State) -> Callable[[State], Array] | None:
        """Return a function that costs less than the recursion over layers, or None if there is no such function."""
        series = angular_push(self.network, self.face, state.fan_in, state.nngp.dtype)
        return bent_push(self.network, self.face, state.fan_in) if series is None else series

    def table(self, x: Array, y: Array) -> NormTable | None:
        """Return a table that replaces the recursion over layers at points with the norms of x and y, or else None."""
        if x.ndim > 2 or is_bent(self.network, x.shape[1]):
            return None
        return norm_table(self.network, self.face, x, y)

    def exact(self, state: State) -> Array:
        """Return the kernel of all pairs of the state, by the recursion over the layers of the network."""
        pushed = self.network.push(state)
        if pushed.grid.sites:
            raise SettingError(
                "output of the network",
                found=f"a field on a grid of shape {pushed.grid.sites}",
                rule="a vector",
                remedy="put Flatten() or GlobalAveragePool() before the last Dense layer",
            )
        return getattr(pushed, self.face)


def _on_positions(state: State, one: Reading, other: Reading) -> State:
    """Return the state with the masks and graphs of the points."""
    if one.mask is not None and other.mask is not None:
        state = with_masks_of(state, one.mask, other.mask)
    if one.adjacency is not None and other.adjacency is not None:
        state = with_graphs_of(state, one.adjacency, other.adjacency)
    return state
