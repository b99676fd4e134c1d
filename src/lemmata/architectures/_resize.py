"""Resampling of fields on a finer or a coarser grid.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

from typing import Any, Literal, get_args

import equinox as eqx
import jax
from jaxtyping import Array, Bool, Float, Key

from lemmata.errors import SettingError, ShapeError

from ._fields import field_shape
from ._layer import AbstractLayer, Shape
from ._position_maps import BOTH, OF_X, at_places, through_pairs
from ._state import State

Method = Literal["nearest", "linear", "cubic", "lanczos3", "lanczos5"]


class ImageResize(AbstractLayer):
    r"""The layer that resamples a field on another grid by `jax.image.resize`, in the same way for every coordinate.

    This layer is a linear map of positions, h(p) = sum_i A(p, i) x(i), so

        nngp'(p, q) = sum_{i, j} A(p, i) A(q, j) nngp(i, j),

    and the same formula for ntk'. The map A is a (tensor) product of one matrix for each axis of the grid. For
    `"nearest"`, each new position is one of the old positions, so the moments at equal positions are enough. The other
    methods need all pairs of positions. Gaussian coordinates stay Gaussian.

    Args:
        shape: the number of positions along each axis of the new grid; None keeps the axis.
        method: `"nearest"`, `"linear"`, `"cubic"` (Keys), `"lanczos3"` or `"lanczos5"`.
        antialias: whether to widen the filter by the ratio of the two grids if the new grid is coarser. `"nearest"`
            ignores this setting.

    Raises:
        SettingError: for an unknown method, for numbers of positions below 1, and for masked fields, because the new
            grid does not show where the filled positions end.
        ShapeError: if the points are not fields on a grid with this number of axes.

    Example:
        >>> import jax
        >>> from lemmata.architectures import ImageResize
        >>> ImageResize((8, None), "linear").init(jax.random.key(0), (4, 5, 2))[1]
        (8, 5, 2)
    """

    shape: tuple[int | None, ...] = eqx.field(static=True)
    method: Method = eqx.field(static=True)
    antialias: bool = eqx.field(static=True)
    whole = True

    def __init__(self, shape: int | tuple[int | None, ...], method: Method, antialias: bool = True):
        self.shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
        self.method, self.antialias = method, antialias

    def __check_init__(self):
        if self.method not in get_args(Method):
            raise SettingError("method of ImageResize", found=self.method, rule=f"one of {get_args(Method)}")
        whole = lambda n: isinstance(n, int) and not isinstance(n, bool) and n >= 1
        if not self.shape or not all(n is None or whole(n) for n in self.shape):
            rule = "whole numbers of at least 1, or None for an axis that keeps its length"
            raise SettingError("shape of ImageResize", found=self.shape, rule=rule)

    def over(self, sites: tuple[int, ...]) -> tuple[int, ...]:
        """Return the new grid for a grid of shape `sites`.

        Raises:
            ShapeError: for vectors, for a grid with another number of axes, and for a grid without positions.
        """
        if len(sites) != len(self.shape) or 0 in sites:
            raise ShapeError(
                "input of ImageResize",
                found=f"a grid of shape {sites}" if sites else "vectors",
                rule=f"fields on a grid of {len(self.shape)} axes, with at least one position along each axis",
                remedy="pass points of shape (n, height, width, channels) for images, or (n, length, channels) "
                "for sequences",
            )
        return tuple(old if new is None else new for old, new in zip(sites, self.shape, strict=True))

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[tuple[()], Shape]:
        """Return no parameters, and the shape with the new grid and the same coordinates."""
        *sites, c = field_shape("ImageResize", fan_in)
        return (), (*self.over(tuple(sites)), c)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites_out fan_in"]:
        """Return the resampled field."""
        return self._resized(x, (*self.over(x.shape[:-1]), x.shape[-1]))

    def apply_masked(
        self, params: Any, x: Float[Array, "*sites fan_in"], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, "*sites_out fan_in"], Bool[Array, "*sites_out"] | None]:
        """Raise an error, because masked fields cannot be resampled."""
        raise _masked()

    def push(self, state: State) -> State:
        """Return the moments, resampled along the positions of x and of y."""
        grid, sites = state.grid, self.over(state.grid.sites)
        if grid.mask_x is not None:
            raise _masked()
        ones = (1,) * len(sites) if grid.pairs else ()
        grids = {BOTH: (*sites, *sites) if grid.pairs else sites, OF_X: (*sites, *ones)}

        def resized(values: Array, axes: int) -> Array:
            new = grids.get(axes, (*ones, *sites))
            return self._resized(values, (*new, *values.shape[grid.axes :]))

        if not self._mixes():
            return at_places(state, resized, sites)
        pairs = lambda _, values: resized(values, BOTH)
        alone = lambda _, values, side: resized(values, OF_X + side)
        return through_pairs("ImageResize", state, (pairs, alone), sites)

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether all pairs of positions are needed. The variance of a weighted sum needs all pairs."""
        return pairs or self._mixes()

    def _mixes(self) -> bool:
        """Return whether new positions are sums over several old positions."""
        return self.method != "nearest" and any(n is not None for n in self.shape)

    def _resized(self, values: Array, shape: tuple[int, ...]) -> Array:
        return jax.image.resize(values, shape, self.method, self.antialias)


def _masked() -> SettingError:
    return SettingError(
        "input of ImageResize",
        found="fields with masks",
        rule="fields without masks, because the size of the new grid depends on the size of the whole field",
        remedy="resample each field before padding it",
    )
