"""Transposed convolutions: at each position of a finer grid, a dense layer on the nearby positions of the old grid.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import math

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool

from lemmata.errors import SettingError, ShapeError

from ._convolution import Patches
from ._dense import Dense
from ._parameterization import Parameterization
from ._serial import Serial
from ._window import Padding, Size, Window


class TransposedWindow(Window):
    """The window of a transposed convolution. The window slides in steps of 1 over a grid of spread-out positions.

    Consider one axis of the grid as a line of n old positions, and let s be the stride along this axis. Old position i
    is moved to s i, with zeros in between. With the dilation e, place o of the window at the new position p shows the
    value at p + e o - a. Let E = (size - 1) e + 1 be the window's extent. The offset a is E - 1 under `"VALID"`.
    Otherwise, a is the smaller of E - 1 and (E + s - 2) / 2, rounded up.

    Args:
        size: the window's size along each axis of the grid.
        strides: the distance between neighbouring positions after spreading; 1 by default.
        dilation: the distance between neighbouring places of the window; 1 by default.
        padding: the rule at the two ends of the line. `"SAME"` surrounds the line by zeros, so that a line of n old
            positions gives n s new positions p. `"CIRCULAR"` joins the two ends of the line, which also gives n s new
            positions. `"VALID"` surrounds the line by zeros and gives all n s + max(E - s, 0) new positions that an old
            position reaches.

    Raises:
        SettingError: for the same reasons as `Window`.
    """

    __init__ = Window.__init__

    def over(self, layer: str, sites: tuple[int, ...]) -> tuple[int, ...]:
        """Return the finer grid over a grid of shape `sites`.

        Raises:
            ShapeError: for vectors, for a grid with another number of dimensions, and for a grid without positions.
        """
        if sites and not math.prod(sites):
            found, rule = f"a grid of shape {sites}", "a grid with at least one position along each axis"
            raise ShapeError(f"input of {layer}", found=found, rule=rule)
        return super().over(layer, sites)

    def visible(self, mask: Bool[Array, "..."], groups: list[tuple[int, ...]]) -> Bool[Array, "..."]:
        """Return the mask of the new positions that a filled position reaches.

        The number of new positions is that of a field without a mask that consists of the filled positions only.

        Raises:
            SettingError: for padding that depends on where the filled positions end.
        """
        if self.padding == "CIRCULAR":
            rule = "padding 'VALID' or 'SAME': then the window is the same for every length"
            raise SettingError("window on masked fields", found="padding 'CIRCULAR'", rule=rule)
        reach = self.strides
        if self.padding == "VALID":
            reach = tuple(max(self._extent(axis), s) for axis, s in enumerate(self.strides))
        return TransposedWindow(reach, self.strides).total(mask.astype(float), groups) > 0.5

    def _extent(self, axis: int) -> int:
        return (self.size[axis] - 1) * self.dilation[axis] + 1

    def _frame(self, length: int, axis: int) -> tuple[int, int, int]:
        """Return the padding before and after a line of spread positions, and the number of new positions."""
        extent, stride = self._extent(axis), self.strides[axis]
        if self.padding == "VALID":
            more = max(extent - stride, 0)
            return extent - 1, more, length * stride + more
        before = min(extent - 1, (extent + stride - 1) // 2)
        return before, extent - 1 - before, length * stride

    def _padded(self, values: Array, axis: int, group: tuple[int, ...]) -> Array:
        between = self.strides[axis] - 1
        widths = [(0, between, between) if own in group else (0, 0, 0) for own in range(values.ndim)]
        return super()._padded(lax.pad(values, jnp.zeros((), values.dtype), widths), axis, group)

    def _cut(self, padded: Array, values: Array, axis: int, group: tuple[int, ...], place: int) -> Array:
        start, count = place * self.dilation[axis], self._frame(values.shape[group[0]], axis)[2]
        for own in group:
            padded = lax.slice_in_dim(padded, start, start + count, axis=own)
        return padded


class ConvTranspose(Serial):
    r"""A transposed convolution to a finer grid: `Serial([Patches(TransposedWindow(...)), Dense(width)])`.

    Let w = `weight_std` and b = `bias_std`. Let c be the number of channels, s the strides, e the dilation and `count`
    the number of places of the window. Let a be defined as in `TransposedWindow`. In the NTK parameterisation,

        h_i(p) = w / sqrt(count c) sum_{o, j} W_{i o j} x_j((p + e o - a) / s) + b B_i

    over the places o of the window at which the quotient is a position. Its moments are those of `Dense` on patches,

        nngp'(p, q) = w² / count sum_o nngp((p + e o - a) / s, (q + e o - a) / s) + b²,

    over the places o at which both quotients are positions. On average, only one in prod(s) places of a window is a
    position. So the variances of the weights' part of the output are smaller by the factor prod(s) than those of a
    convolution with the same weights.

    Args:
        width: the number of output channels.
        window: the window's size along each axis of positions: 3 or (3,) for sequences, (3, 3) for images.
        weight_std, bias_std, parameterization: as in `Dense`.
        strides: the factor by which the grid becomes finer along each axis; 1 by default.
        dilation, padding: as in `TransposedWindow`, but `"SAME"` by default.

    Raises:
        SettingError: for the same reasons as `Window` and `Dense`.
        ShapeError: if the points are not fields on such a grid, or have no positions.

    Example:
        >>> import jax
        >>> from lemmata.architectures import ConvTranspose
        >>> ConvTranspose(8, (3, 3), strides=(2, 2)).init(jax.random.key(0), (4, 5, 2))[1]
        (8, 10, 8)
    """

    def __init__(
        self,
        width: int,
        window: Size,
        weight_std: float = 1.0,
        bias_std: float = 0.0,
        *,
        strides: Size | None = None,
        dilation: Size | None = None,
        padding: Padding = "SAME",
        parameterization: Parameterization = "ntk",
    ):
        patches = Patches(TransposedWindow(window, strides, dilation, padding))
        self.layers = (patches, Dense(width, weight_std, bias_std, parameterization))
