"""Layers with the same input whose outputs are concatenated, along coordinates or along an axis of positions.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import functools
import itertools
import operator
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lemmata.errors import SettingError, ShapeError

from ._branches import AbstractBranches, law_around, sum_of
from ._fields import axes_of
from ._layer import AbstractLayer, Shape
from ._state import Means, State


class Concatenate(AbstractBranches):
    r"""Layers (branches) with the same input and independent parameters, whose outputs are placed one after another.

    Along coordinates, h(x) = (h_1(x), ..., h_b(x)). The moments are means over coordinates. Let branch b have d_b
    coordinates, and let d = sum_b d_b. Let branch b have the moments nngp_b and ntk_b. Then the moments of the
    concatenation are

        nngp = sum_b (d_b / d) nngp_b,    ntk = sum_b (d_b / d) ntk_b,

    and the variances and means are averaged in the same way. The branches need not satisfy any condition. The branches
    may pass on the inputs of the network or depend on each other, because the next Dense layer mixes their coordinates
    with independent weights. For example, `Concatenate([Identity(), Serial([Conv(k, 3), Relu()])])` is the layer of
    DenseNets (Huang et al., 2017).

    Coordinates of different branches have different distributions, so no activation may follow. An activation after the
    concatenation is not needed, because an activation acts on each coordinate alone. Put the same activation at the end
    of every branch instead.

    Along an axis of positions, the grids of the branches are joined. The branches need equally many coordinates.
    Between positions of one branch, nngp and ntk are those of this branch. Between positions of different branches,
    nngp and ntk are 0. If moments of pairs of positions are stored, the branches must satisfy the condition of
    `Parallel`: given the input, all branches but one have mean 0. The output is Gaussian if every branch is Gaussian.
    To copy positions, use `Contract`, because copies are not independent.

    Args:
        branches: at least one layer.
        axis: the axis of a point (*sites, coordinates) along which outputs are concatenated; -1 for the coordinates.

    Raises:
        SettingError: if there are no branches, if the axis is not a whole number, or if the shapes differ along
            another axis.
        ShapeError: for an axis that the outputs do not have.

    Along an axis of positions, `push` raises SettingError if the means of two branches are not known to be 0. `push`
    also raises this error if one of several branches passes on the inputs of the network.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import Concatenate, Dense, Erf, NNGPKernel, Relu, Serial
        >>> network = Serial([Concatenate([Serial([Dense(30), Relu()]), Serial([Dense(10), Erf()])]), Dense(1)])
        >>> x = jnp.array([1.0, 1.0])
        >>> round(float(NNGPKernel(network)(x, x)), 4)  # 3/4 of 1/2, and 1/4 of (2 / pi) arcsin(2/3)
        0.4911
    """

    axis: int = eqx.field(static=True, default=-1)

    def __init__(self, branches: Sequence[AbstractLayer], axis: int = -1):
        self.branches, self.axis = tuple(branches), axis

    def __check_init__(self):
        if not isinstance(self.axis, int) or isinstance(self.axis, bool):
            raise SettingError("axis of Concatenate", found=self.axis, rule="a whole number")

    def place(self, axes: int) -> int:
        """Return the axis of concatenation, counted from the first axis, for points with `axes` axes."""
        if not -axes <= self.axis < axes:
            raise ShapeError(
                "outputs of the branches of Concatenate",
                found=f"{axes} axes",
                rule=f"enough axes for axis={self.axis}",
                remedy="use axis=-1 to concatenate the coordinates",
            )
        return self.axis % axes

    def joined(self, values: list[Float[Array, "..."]]) -> Float[Array, "*sites_out fan_out"]:
        """Return the outputs of the branches, one after another."""
        self.joined_shape([value.shape for value in values])
        return jnp.concatenate(values, axis=self.place(values[0].ndim))

    def joined_shape(self, shapes: list[Shape]) -> Shape:
        """Return the shape of the outputs, whose length along the axis is the sum of the branches' lengths."""
        full = [(shape,) if isinstance(shape, int) else tuple(shape) for shape in shapes]
        place = self.place(len(full[0]))
        if len({(*shape[:place], *shape[place + 1 :]) for shape in full}) > 1:
            along = "coordinates" if place == len(full[0]) - 1 else f"axis {place}"
            rule = f"branches whose shapes are equal except along the {along}"
            raise SettingError("branches of Concatenate", found=f"outputs of shapes {full}", rule=rule)
        joined = (*full[0][:place], sum(shape[place] for shape in full), *full[0][place + 1 :])
        return joined[0] if len(joined) == 1 else joined

    def joined_mask(self, masks: list[Bool[Array, "*sites"] | None]) -> Bool[Array, "*sites_out"] | None:
        """Return the mask of positions that all branches fill. If positions are concatenated, concatenate the masks."""
        known = [mask for mask in masks if mask is not None]
        if not known or self._place_of(known[0].ndim) is None:
            return super().joined_mask(masks)
        return jnp.concatenate(known, axis=self.axis)

    def _place_of(self, sites: int) -> int | None:
        """Return the axis of the grid along which the branches are joined, or None along coordinates."""
        place = self.place(sites + 1)
        return None if place == sites else place

    def push(self, state: State) -> State:
        """Return weighted means of the branches' moments, or the moments as blocks if positions are concatenated."""
        level = state.law.level + 1
        pushed = self.pushed(state, level)
        place = self._place_of(len(pushed[0].grid.sites))
        gaussian = all(branch.law.gaussian for branch in pushed)
        law = law_around(state.law, pushed, gaussian, min(branch.law.centred for branch in pushed))
        if len(pushed) == 1:
            return pushed[0].with_law(law)
        if place is None:
            return _beside(pushed).with_law(law.perturbed())
        if pushed[0].grid.pairs:
            self.check_apart(pushed, level)
        return _after(pushed, place, law.centred >= 0).with_law(law)


def _beside(parts: list[State]) -> State:
    """Return the weighted means of the moments of parts. The weight of a part is its number of coordinates."""
    total = sum(part.fan_in for part in parts)
    # whether the mean of some part is unknown and may differ from 0
    unknown = any(part.law.centred < 0 and part.means is None for part in parts)

    def share_of(part: State) -> State:
        share = part.fan_in / total
        means = None if part.means is None or unknown else Means(*(share * mean for mean in part.means))
        moments = {name: share * getattr(part, name) for name in ("nngp", "ntk", "xx", "yy")}
        return part.replace(**moments, versine=part.versine, means=means, fan_in=total)

    return functools.reduce(sum_of, (share_of(part).with_sides(share_of) for part in parts))


def _after(parts: list[State], axis: int, centred: bool) -> State:
    """Return the moments of parts whose grids are joined along an axis. Products of different parts have mean 0."""
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + part.grid.sites[axis])

    def joined(values: list[Any], axes: tuple[int, ...]) -> Any:
        """Place blocks along the diagonal of some axes, with 0 elsewhere."""
        if any(value is None for value in values):
            return None
        spans = [(start, ends[-1] - end) for start, end in itertools.pairwise(ends)]
        pads = [[span if own in axes else (0, 0) for own in range(values[0].ndim)] for span in spans]
        return functools.reduce(operator.add, map(jnp.pad, values, pads))

    first, grids = parts[0], [part.grid for part in parts]
    both, one, other = (axes[axis] for axes in axes_of(first.grid))
    along = lambda name, axes: joined([getattr(part, name) for part in parts], axes)
    means = None
    if not centred:
        zero = lambda part: Means(jnp.zeros_like(part.xx), jnp.zeros_like(part.yy))
        known = [zero(part) if part.law.centred >= 0 else part.means for part in parts]
        known = [mean for mean in known if mean is not None]
        if len(known) == len(parts):
            means = Means(joined([mean.x for mean in known], one), joined([mean.y for mean in known], other))
    sides: dict[str, Any] = {}
    for name in ("left", "right"):
        own = [getattr(grid, name) for grid in grids]
        sides[name] = None if own[0] is None else _after(own, axis, centred)
    masks = {
        name: joined([getattr(grid, name) for grid in grids], axes)
        for name, axes in (("mask_x", one), ("mask_y", other))
    }
    sites = (*first.grid.sites[:axis], ends[-1], *first.grid.sites[axis + 1 :])
    moments = {"nngp": along("nngp", both), "ntk": along("ntk", both), "xx": along("xx", one), "yy": along("yy", other)}
    return first.replace(**moments, means=means).with_grid(sites=sites, **masks, **sides)
