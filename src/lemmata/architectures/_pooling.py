"""Pooling: means and sums over windows of a field, or over all of it.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import math
from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from ._fields import axes_of, field_shape, filled
from ._layer import AbstractLayer, Shape
from ._position_maps import through_pairs
from ._state import State
from ._window import Padding, Size, Window


class AveragePool(AbstractLayer):
    """The means of a field over windows: nngp'(p, q) is the mean of nngp over pairs of places in windows p and q.

    The same formula holds for ntk'.

    Places on a padding of zeros count as zeros. Gaussian coordinates stay Gaussian.

    Args:
        size: the window's size along each axis of positions.
        strides: the number of positions by which the window moves in one step; by default, the window's size.
        padding: as in `Window`.

    Raises:
        SettingError: for the same reasons as `Window`.
        ShapeError: if the points are not fields on such a grid.
    """

    window: Window
    whole = True

    def __init__(self, size: Size, strides: Size | None = None, padding: Padding = "VALID"):
        self.window = Window(size, size if strides is None else strides, padding=padding)

    @property
    def factor(self) -> float:
        """The factor by which the sum over a window is multiplied, 1 over the number of places."""
        return 1.0 / self.window.count

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[tuple[()], Shape]:
        """Return no parameters, and the shape with the window's grid and the same coordinates."""
        *sites, c = field_shape(type(self).__name__, fan_in)
        return (), (*self.window.over(type(self).__name__, tuple(sites)), c)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites_out fan_in"]:
        """Return the pooled field."""
        self.window.over(type(self).__name__, x.shape[:-1])
        return self.factor * self.window.total(x, [(axis,) for axis in range(x.ndim - 1)])

    def apply_masked(
        self, params: Any, x: Float[Array, "*sites fan_in"], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, "*sites_out fan_in"], Bool[Array, "*sites_out"] | None]:
        """Return the pooled field, with zeros at empty positions."""
        axes = [(axis,) for axis in range(mask.ndim)]
        return self.apply(params, filled(x, mask)), self.window.visible(mask, axes)

    def push(self, state: State) -> State:
        """Return means of the moments over both windows, from all pairs of positions."""
        sites = self.window.over(type(self).__name__, state.grid.sites)
        _, *sides = axes_of(state.grid)
        alone = lambda _, values, side: self.factor * self.window.total(values, sides[side])
        pooled = lambda part, values: alone(part, alone(part, values, 0), 1)
        return through_pairs(type(self).__name__, state, (pooled, alone), sites, self.window)

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether all pairs of positions are needed. The variance of a mean needs all pairs."""
        return True


class SumPool(AveragePool):
    """The sums of a field over windows: `AveragePool` times the number of places in the window."""

    @property
    def factor(self) -> float:
        """The factor 1, because a sum is not divided."""
        return 1.0


class GlobalAveragePool(AbstractLayer):
    """The mean of a field over all positions, a vector: nngp' is the mean of nngp over all pairs of positions.

    The same formula holds for ntk'.
    """

    whole = True

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[tuple[()], Shape]:
        """Return no parameters, and the number of coordinates of the field at a position."""
        return (), field_shape(type(self).__name__, fan_in)[-1]

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, " fan_in"]:
        """Return the pooled vector."""
        *sites, c = field_shape(type(self).__name__, x.shape)
        return self._share(None, tuple(sites), ()) * jnp.sum(x.reshape(-1, c), axis=0)

    def _share(self, mask: Any, sites: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        """The factor of the sum over the filled positions, 1 over their number, so that the result is a mean."""
        return 1.0 / math.prod(sites) if mask is None else 1.0 / jnp.sum(mask, axis=axes)

    def apply_masked(
        self, params: Any, x: Float[Array, "*sites fan_in"], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, " fan_in"], None]:
        """Return the pooled vector of the filled positions."""
        every = tuple(range(mask.ndim))
        return self._share(mask, mask.shape, every) * jnp.sum(filled(x, mask), axis=every), None

    def push(self, state: State) -> State:
        """Return means of the moments over all pairs of positions."""
        every = tuple(range(2 * len(state.grid.sites)))
        share = lambda part, side: self._share((part.grid.mask_x, part.grid.mask_y)[side], part.grid.sites, every)
        alone = lambda part, values, side: share(part, side) * jnp.sum(values, axis=every)
        pooled = lambda part, values: share(part, 0) * share(part, 1) * jnp.sum(values, axis=every)
        return through_pairs(type(self).__name__, state, (pooled, alone), ())

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether all pairs of positions are needed. The variance of a mean needs all pairs."""
        return True


class GlobalSumPool(GlobalAveragePool):
    """The sum of a field over all positions: `GlobalAveragePool` times the number of positions."""

    def _share(self, mask: Any, sites: tuple[int, ...], axes: tuple[int, ...]) -> Any:
        return 1.0
