"""A layer that selects some positions of a field, or one position.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import operator
from types import EllipsisType
from typing import Any

import equinox as eqx
from jaxtyping import Array, Bool, Float, Key

from lemmata.errors import SettingError, ShapeError

from ._fields import field_shape, filled
from ._layer import AbstractLayer, Shape
from ._position_maps import BOTH, OF_X, at_places
from ._state import State

# Along one axis, a position, or the start, stop and step of a slice. None stands for the axes that `...` keeps whole.
_Place = int | tuple[int | None, int | None, int | None] | None


class Index(AbstractLayer):
    """The layer that selects positions of a field by an index: h(p) = x(i(p)), so nngp'(p, q) = nngp(i(p), i(q)).

    Here, i(p) is the position of the input that becomes position p of the output h.

    The same formula holds for ntk'.

    A whole number selects one position along an axis and removes this axis. If all axes are removed, the output is a
    vector. A slice keeps its axis. The moments at equal positions of the inputs determine the moments at equal
    positions of the outputs. Coordinates stay Gaussian.

    The index only applies to positions. Coordinates cannot be selected: their number tends to infinity, and any part
    of them has the same moments as all coordinates. To get fewer coordinates, make the layer before this layer
    narrower.

    Args:
        index: the expression in the brackets. `index` is a whole number, a slice, `...`, or a tuple of these in the
            order of the axes. Axes without an entry of their own are kept. `numpy.s_[::2, 0]` allows bracket notation.

    Raises:
        SettingError: for an invalid index. On masked fields, also for an index counted from the end, because the
            lengths of fields differ. Positions that a masked field does not fill give the vector 0.
        ShapeError: if the points are vectors, an index is outside its axis, there are more indices than axes, or no
            position is left.

    Example:
        >>> import jax, numpy
        >>> from lemmata.architectures import Index
        >>> Index(numpy.s_[::2, 0]).init(jax.random.key(0), (5, 4, 3))[1]
        (3, 3)
        >>> Index(-1).init(jax.random.key(0), (5, 3))[1]
        3
    """

    places: tuple[_Place, ...] = eqx.field(static=True)
    whole = True

    def __init__(self, index: int | slice | EllipsisType | tuple[int | slice | EllipsisType, ...]):
        parts = index if isinstance(index, tuple) else (index,)
        self.places = tuple(_place(part, index) for part in parts)
        if self.places.count(None) > 1:
            raise SettingError("index of Index", found=index, rule="at most one '...'")

    def over(self, sites: tuple[int, ...]) -> tuple[int | slice, ...]:
        """Return a position or a slice for every axis of a grid.

        Raises:
            ShapeError: if the points are vectors, an index is outside its axis, there are more indices than axes, or no
                position is left.
        """
        given = tuple(place for place in self.places if place is not None)
        if not sites or len(given) > len(sites):
            raise ShapeError(
                "input of Index",
                found=f"a grid of shape {sites}" if sites else "vectors",
                rule=f"fields on a grid with {len(given)} axes of positions, because {len(given)} indices are given",
                remedy="give the layer before Index a smaller width if you want fewer coordinates",
            )
        cut = self.places.index(None) if None in self.places else len(given)
        rest = ((None, None, None),) * (len(sites) - len(given))
        return tuple(map(_on_axis, (*given[:cut], *rest, *given[cut:]), sites))

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[tuple[()], Shape]:
        """Return no parameters, and the shape with the grid of the selected positions and the same coordinates."""
        *sites, c = field_shape("Index", fan_in)
        left = _sites(self.over(tuple(sites)), tuple(sites))
        return (), (*left, c) if left else c

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites_out fan_in"]:
        """Return the field at the selected positions."""
        return x[self.over(x.shape[:-1])]

    def apply_masked(
        self, params: Any, x: Float[Array, "*sites fan_in"], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, "*sites_out fan_in"], Bool[Array, "*sites_out"] | None]:
        """Return the field and its mask at the selected positions. Empty positions become zeros."""
        self._check_masked()
        places = self.over(mask.shape)
        return filled(x, mask)[places], mask[places] if _sites(places, mask.shape) else None

    def push(self, state: State) -> State:
        """Return the moments at the selected positions."""
        grid, places = state.grid, self.over(state.grid.sites)
        if grid.mask_x is not None:
            self._check_masked()
        # values of one input have a single entry along the axes of the other input
        ones = tuple(0 if isinstance(place, int) else slice(None) for place in places) if grid.pairs else ()
        indices = {BOTH: (*places, *places) if grid.pairs else places, OF_X: (*places, *ones)}
        pick = lambda values, axes: values[indices.get(axes, (*ones, *places))]
        return at_places(state, pick, _sites(places, grid.sites))

    def _check_masked(self) -> None:
        for place in self.places:
            numbers = place if isinstance(place, tuple) else (place,)
            if any(number is not None and number < 0 for number in numbers):
                raise SettingError(
                    "index on masked fields",
                    found=slice(*place) if isinstance(place, tuple) else place,
                    rule="nonnegative positions, because positions counted from the end depend on the length",
                )


def _place(part: Any, index: Any) -> _Place:
    if part is Ellipsis:
        return None
    try:
        if isinstance(part, slice):
            start, stop, step = (n if n is None else operator.index(n) for n in (part.start, part.stop, part.step))
            if step != 0:
                return start, stop, step
        elif not isinstance(part, bool):
            return operator.index(part)
    except TypeError:
        pass
    raise SettingError("index of Index", found=index, rule="whole numbers, slices with a step other than 0, and '...'")


def _on_axis(place: Any, length: int) -> int | slice:
    """Return the index on an axis of a known length. Raise an error if the index selects no position."""
    if isinstance(place, int):
        if not -length <= place < length:
            rule = f"a position from {-length} to {length - 1}"
            raise ShapeError("input of Index", found=f"{length} positions for the index {place}", rule=rule)
        return place % length
    if not range(length)[slice(*place)]:
        found, rule = f"{length} positions for the {slice(*place)}", "an index that selects at least one position"
        raise ShapeError("input of Index", found=found, rule=rule)
    return slice(*place)


def _sites(places: tuple[int | slice, ...], sites: tuple[int, ...]) -> tuple[int, ...]:
    """Return the shape of the grid that the index leaves."""
    lengths = zip(places, sites, strict=True)
    return tuple(len(range(length)[place]) for place, length in lengths if isinstance(place, slice))
