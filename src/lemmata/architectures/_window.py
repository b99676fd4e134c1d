"""Windows that slide over a grid of positions."""

import functools
import itertools
import math
import operator
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.lax import optimization_barrier, slice_in_dim
from jaxtyping import Array, Bool, Float

from lemmata.errors import SettingError, ShapeError

Padding = Literal["SAME", "VALID", "CIRCULAR"]
Size = int | tuple[int, ...]


class Window(eqx.Module):
    """A window that slides over a grid of positions.

    Args:
        size: the number of places along each axis of the grid.
        strides: the number of positions by which the window moves in one step; 1 if not given.
        dilation: the distance between neighbouring places of the window; 1 if not given.
        padding: `"VALID"` keeps the window inside the grid. `"SAME"` surrounds the grid by zeros, so that for strides 1
            there are as many windows as positions. `"CIRCULAR"` surrounds the grid by copies of itself, as on a torus.

    Raises:
        SettingError: for numbers that are not whole and positive, a wrong count of numbers, or an unknown padding.
    """

    size: tuple[int, ...] = eqx.field(static=True)
    strides: tuple[int, ...] = eqx.field(static=True)
    dilation: tuple[int, ...] = eqx.field(static=True)
    padding: Padding = eqx.field(static=True)

    def __init__(self, size: Size, strides: Size | None = None, dilation: Size | None = None, padding: Any = "VALID"):
        self.size = _whole_numbers("size of a window", size)
        count = len(self.size)
        self.strides = _whole_numbers("strides of a window", (1,) * count if strides is None else strides, count)
        self.dilation = _whole_numbers("dilation of a window", (1,) * count if dilation is None else dilation, count)
        if padding not in ("SAME", "VALID", "CIRCULAR"):
            raise SettingError("padding of a window", found=padding, rule="'SAME', 'VALID' or 'CIRCULAR'")
        self.padding = padding

    @property
    def count(self) -> int:
        """The number of places in the window."""
        return math.prod(self.size)

    def over(self, layer: str, sites: tuple[int, ...]) -> tuple[int, ...]:
        """Return the grid of the window's positions over a grid of shape `sites`.

        Raises:
            ShapeError: for vectors, for a grid with another number of dimensions, and for a grid on which no window
                fits.
        """
        if len(sites) != len(self.size):
            raise ShapeError(
                f"input of {layer}",
                found=f"a grid of shape {sites}" if sites else "vectors",
                rule=f"fields on a grid with {len(self.size)} dimensions, because the window has size {self.size}",
                remedy="pass points of shape (n, height, width, channels) for images, or (n, length, channels) "
                "for sequences",
            )
        grid = tuple(self._frame(length, axis)[2] for axis, length in enumerate(sites))
        if min(grid) < 1:
            extent = tuple((n - 1) * gap + 1 for n, gap in zip(self.size, self.dilation, strict=True))
            raise ShapeError(
                f"input of {layer}",
                found=f"a grid of shape {sites}",
                rule=f"at least {extent}, the size of the window with its dilation",
                remedy="use padding='SAME'",
            )
        return grid

    def total(self, values: Float[Array, "..."], groups: list[tuple[int, ...]]) -> Float[Array, "..."]:
        """Return the sums of the values over the places of the window, at each position of the window.

        For each axis of the grid, `groups` gives the axes of `values` along which the window slides at once. If there
        are two such axes, the window slides along the diagonals of their plane.
        """
        return self._total(values, tuple(groups))

    @functools.partial(jax.jit, static_argnums=(0, 2))  # so that covariances and tangent kernels are traced once
    def _total(self, values: Array, groups: tuple[tuple[int, ...], ...]) -> Array:
        for axis, group in enumerate(groups):
            # Without barriers, the compiler would compute the earlier layers again for every place of the window.
            padded = optimization_barrier(self._padded(optimization_barrier(values), axis, group))
            places = range(self.size[axis])
            values = functools.reduce(operator.add, (self._cut(padded, values, axis, group, o) for o in places))
        return values

    def visible(self, mask: Bool[Array, "..."], groups: list[tuple[int, ...]]) -> Bool[Array, "..."]:
        """Return the mask of the windows: the given mask for `"SAME"`; for `"VALID"`, true if a whole window is filled.

        Raises:
            SettingError: for padding that depends on where the filled positions end.
        """
        if self.padding == "VALID":
            return self.total(mask.astype(float), groups) > self.count - 0.5
        if self.padding == "SAME" and set(self.strides) == {1}:
            return mask
        raise SettingError(
            "window on masked fields",
            found=f"padding {self.padding!r} with strides {self.strides}",
            rule="padding 'VALID', or 'SAME' with strides 1: then the windows lie at the same positions for every "
            "length",
        )

    def patches(self, x: Float[Array, "*sites c"]) -> Float[Array, "*grid p"]:
        """Return the p = count * c numbers in the window, place after place, at each position of the window."""
        return jnp.concatenate(self.shown(x, [(axis,) for axis in range(len(self.size))]), axis=-1)

    def shown(self, values: Float[Array, "..."], groups: list[tuple[int, ...]]) -> list[Float[Array, "..."]]:
        """Return, for each place in the window, the values at this place for all positions of the window.

        `groups` has the same meaning as in `total`.
        """
        padded = values
        for axis, group in enumerate(groups):
            padded = self._padded(padded, axis, group)

        def at(places: tuple[int, ...]) -> Array:
            part = padded
            for axis, (group, place) in enumerate(zip(groups, places, strict=True)):
                part = self._cut(part, values, axis, group, place)
            return part

        return [at(places) for places in itertools.product(*map(range, self.size))]

    def _frame(self, length: int, axis: int) -> tuple[int, int, int]:
        """Return the padding before and after a line of positions, and the number of windows in the padded line."""
        span, stride = (self.size[axis] - 1) * self.dilation[axis] + 1, self.strides[axis]
        if self.padding == "VALID":
            return 0, 0, max(0, (length - span) // stride + 1)
        count = -(-length // stride)
        added = max((count - 1) * stride + span - length, 0)
        return added // 2, added - added // 2, count

    def _padded(self, values: Array, axis: int, group: tuple[int, ...]) -> Array:
        before, after, _ = self._frame(values.shape[group[0]], axis)
        if not (before or after):
            return values
        widths = [(before, after) if own in group else (0, 0) for own in range(values.ndim)]
        return jnp.pad(values, widths, mode="wrap" if self.padding == "CIRCULAR" else "constant")

    def _cut(self, padded: Array, values: Array, axis: int, group: tuple[int, ...], place: int) -> Array:
        """Return the values at one place in the window along an axis, for all positions of the window."""
        count, stride = self._frame(values.shape[group[0]], axis)[2], self.strides[axis]
        start = place * self.dilation[axis]
        for own in group:
            padded = slice_in_dim(padded, start, start + (count - 1) * stride + 1, stride, own)
        return padded


def _whole_numbers(name: str, value: Any, count: int | None = None) -> tuple[int, ...]:
    numbers = tuple(value) if isinstance(value, tuple | list) else (value,) * (count or 1)
    whole = all(isinstance(n, int) and not isinstance(n, bool) and n >= 1 for n in numbers)
    if not numbers or not whole or (count is not None and len(numbers) != count):
        each = "" if count is None else f", one for each of {count} axes"
        raise SettingError(name, found=value, rule=f"whole numbers, at least 1{each}")
    return numbers
