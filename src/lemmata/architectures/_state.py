"""What an infinitely wide layer passes on: the covariance of its outputs at two inputs, and the variance at each."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from lemmata.errors import SettingError

from ._correlation import safe_sqrt
from ._versine import far_versines, input_versines, sign_of


@dataclasses.dataclass(frozen=True)
class Law:
    """The known properties of the distribution of a layer's outputs (coordinates), apart from their second moments.

    Attributes:
        gaussian: whether the coordinates at all inputs are jointly Gaussian with mean 0, as every moment formula of an
            activation assumes.
        centred: the innermost level of branches at which the coordinates have mean 0, given everything outside that
            level. `centred` is -1 if their mean is not known to be 0.
        level: how many layers of branches (`Parallel`, `Multiply`, `Concatenate`) surround this layer.
        wide: whether averages over coordinates converge to their means as the width grows. At the network's inputs,
            they do not.
        fresh: the innermost level of branches inside which the coordinates were drawn independently from one
            distribution, given everything outside that level. `fresh` is -1 if they do not have one distribution.
    """

    gaussian: bool = True
    centred: int = 0
    level: int = 0
    wide: bool = True
    fresh: int = 0

    def drawn(self) -> "Law":
        """Return the law after a layer with new Gaussian weights: Gaussian, with mean 0 for any inputs."""
        return Law(centred=self.level, level=self.level, fresh=self.level)

    def activated(self, odd: bool = False) -> "Law":
        """Return the law after an activation function, which needs a Gaussian distribution.

        An odd activation keeps the mean 0.

        Raises:
            SettingError: if the distribution is not Gaussian.
        """
        if not self.gaussian:
            raise SettingError(
                "input of an activation",
                found=(
                    "coordinates that are not Gaussian, or that have different distributions. Examples are inputs of "
                    "the network, and outputs of an activation, of Dropout, of Flatten, of a concatenation or of a "
                    "product"
                ),
                rule="outputs of Dense or of a convolution, or sums of such outputs",
                remedy="put a Dense layer before the activation, or move the activation to the end of each "
                "concatenated branch",
            )
        return dataclasses.replace(self.dropped(), centred=self.centred if odd else -1)

    def dropped(self) -> "Law":
        """Return the law after random factors multiply the coordinates: not Gaussian, but otherwise unchanged."""
        return dataclasses.replace(self, gaussian=False)

    def perturbed(self) -> "Law":
        """Return the law of coordinates that come from several distributions.

        Such coordinates are not Gaussian and do not share one distribution. The value of `centred` does not change.
        """
        return dataclasses.replace(self, gaussian=False, fresh=-1)


# The coordinates of the inputs are given numbers.
INPUTS = Law(gaussian=False, centred=-1, wide=False, fresh=-1)


class Means(NamedTuple):
    """The means over coordinates, E[h(x)] and E[h(y)], as arrays of the shapes of `xx` and `yy` of a `State`."""

    x: Float[Array, "..."]
    y: Float[Array, "..."]


class Centred(NamedTuple):
    """The moments of points minus their means over coordinates.

    The arrays have the names and shapes of those in a `State`.
    """

    nngp: Float[Array, "..."]
    xx: Float[Array, "..."]
    yy: Float[Array, "..."]
    versine: Float[Array, "..."] | None = None


class Grid(eqx.Module):
    """The positions of fields, and the known moments at pairs of positions. By default, the inputs are vectors.

    Attributes:
        sites: the shape of the grid of positions; () for vectors.
        pairs: whether all pairs of positions are stored.
        left: if `pairs`, the moments of every x with itself at all pairs of positions, of shape sites + sites + (n,).
        right: the same moments of every y.
        mask_x: the filled positions of x, if not all are filled (`Masked`); an array like `State.xx`.
        mask_y: the filled positions of y; an array like `State.yy`.
        adjacency_x: the graphs of x if points are graphs (`OnGraphs`), of shape (n, nodes, nodes).
        adjacency_y: the graphs of y, (m, nodes, nodes).
        joint: whether x and y are both the whole set of inputs, so that an estimate may draw for all inputs together.
    """

    sites: tuple[int, ...] = eqx.field(static=True, default=())
    pairs: bool = eqx.field(static=True, default=False)
    left: "State | None" = None
    right: "State | None" = None
    mask_x: Bool[Array, "..."] | None = None
    mask_y: Bool[Array, "..."] | None = None
    adjacency_x: Float[Array, "n nodes nodes"] | None = None
    adjacency_y: Float[Array, "m nodes nodes"] | None = None
    joint: bool = eqx.field(static=True, default=False)

    @property
    def axes(self) -> int:
        """The number of axes of positions, which come first in the moments of a state."""
        return len(self.sites) * (1 + self.pairs)


class State(eqx.Module):
    """The second moments of one layer's outputs, between inputs x and inputs y, at infinite width.

    The arrays nngp, ntk, xx and yy broadcast to one shape. So one `push` can compute a single pair (scalars), the
    diagonal (vectors) or a whole matrix. For a matrix, `nngp` and `ntk` have the shape (n, m), `xx` has (n, 1), and
    `yy` has (1, m).

    If inputs are fields (vectors at the positions of a grid of shape `sites`), the axes of positions come first. The
    shape is sites + (n, m) if only equal positions of x and y are stored. If all pairs of positions are stored
    (`pairs`), the shape is sites + sites + (n, m), with the positions of x before the positions of y. A layer that acts
    on each position separately can ignore these axes.

    Attributes:
        nngp: E[h(x) h(y)], the covariance of one coordinate of the outputs.
        ntk: the tangent kernel <dh(x)/dparams, dh(y)/dparams> of one coordinate of the outputs.
        xx: E[h(x)^2].
        yy: E[h(y)^2].
        fan_in: the number of coordinates (at one position). In the standard parameterisation, the tangent kernel of the
            next dense layer depends on this number.
        law: other known properties of the coordinates; by default, they are Gaussian with mean 0.
        means: the means of the coordinates, if these are known and may differ from 0.
        grid: the positions of fields; by default the inputs are vectors.
        versine: 1 - |nngp| / sqrt(xx yy), an array like nngp. The versine is stored if it is known more accurately than
            nngp determines it. If a correlation is near 1 or -1, its rounding error is larger than the versine, so the
            angle would be lost. `replace` discards the versine if the moments change.
        centred: the moments of the inputs minus their means. Computing these moments from the other moments would lose
            digits by cancellation. The centred moments are discarded in the same cases as the versine.
    """

    nngp: Float[Array, "..."]
    ntk: Float[Array, "..."]
    xx: Float[Array, "..."]
    yy: Float[Array, "..."]
    fan_in: int = eqx.field(static=True)
    law: Law = eqx.field(static=True, default=Law())
    means: Means | None = None
    grid: Grid = Grid()
    versine: Float[Array, "..."] | None = None
    centred: Centred | None = None

    def replace(self, **changes: Any) -> "State":
        """Return the state with some attributes changed.

        If `nngp`, `xx` or `yy` changes, the versine and the centred moments are discarded, unless `changes` gives them,
        too.
        """
        if not changes.keys().isdisjoint(("nngp", "xx", "yy")):
            changes = {"versine": None, "centred": None} | changes
        return dataclasses.replace(self, **changes)

    def with_grid(self, **changes: Any) -> "State":
        """Return the state with some attributes of its grid changed."""
        return self.replace(grid=dataclasses.replace(self.grid, **changes))

    def with_sides(self, change: Callable[["State"], "State"]) -> "State":
        """Change the states that pair each input with itself, if this state has them."""
        if self.grid.left is None or self.grid.right is None:
            return self
        left = change(self.grid.left)
        right = left if self.grid.right is self.grid.left else change(self.grid.right)
        return self.with_grid(left=left, right=right)

    def with_law(self, law: Law) -> "State":
        """Give this state, and the states that pair each input with itself, another `Law`."""
        return self.replace(law=law).with_sides(lambda side: side.replace(law=law))

    def through(self, layer: Any) -> "State":
        """Push this state, and the states that pair each input with itself, through a layer of a network."""
        if layer.whole or self.grid.left is None or self.grid.right is None:
            return layer.push(self)
        sides = self.with_sides(lambda side: _with_variances(layer.push(side))).grid
        return layer.push(self.with_grid(left=None, right=None)).with_grid(left=sides.left, right=sides.right)


def _with_variances(side: State) -> State:
    """Put the variances of an input on the diagonal of its own moments.

    With Dropout, these are the variances of one random pass.
    """
    size = math.prod(side.grid.sites)
    flat = side.nngp.reshape(size, size, -1)
    index = jnp.arange(size)
    nngp = flat.at[index, index].set(side.xx.reshape(size, -1)).reshape(side.nngp.shape)
    versine = side.versine
    if versine is not None:
        versine = versine.reshape(flat.shape).at[index, index].set(0.0).reshape(side.nngp.shape)
    return side.replace(nngp=nngp, versine=versine, centred=side.centred)


def versine_of(state: State) -> Float[Array, "..."]:
    """Return 1 - |correlation|, as the state stores it or computed from its covariances.

    The result is 1 if a variance is 0.
    """
    if state.versine is not None:
        return state.versine
    scale = safe_sqrt(state.xx) * safe_sqrt(state.yy)  # the product of two variances may leave the range of the type
    versine = 1.0 - sign_of(state.nngp) * (state.nngp / jnp.where(scale > 0, scale, 1.0))
    # `correlation` treats a correlation within a few units of rounding of 1 in the same way, because the angle is a
    # square root near 1
    return jnp.where(versine < 4.0 * jnp.finfo(versine.dtype).eps, 0.0, versine)


def pair_state(x: Float[Array, " d"], y: Float[Array, " d"]) -> State:
    """Return the state of a network's inputs for a single pair: nngp = <x, y> / d, and ntk = 0."""
    means = Means(jnp.mean(x), jnp.mean(y))
    nngp, xx, yy, versine = _pair_moments(x, y)
    centred = Centred(*_pair_moments(less_mean(x), less_mean(y)))
    return State(nngp, jnp.zeros_like(nngp), xx, yy, x.size, INPUTS, means, versine=versine, centred=centred)


def less_mean(x: Float[Array, "*n d"]) -> Float[Array, "*n d"]:
    """Return the coordinates minus their mean. The result is exactly 0 if all coordinates are equal."""
    apart = x - x[..., :1]
    return apart - jnp.mean(apart, axis=-1, keepdims=True)


def _pair_moments(x: Float[Array, " d"], y: Float[Array, " d"]) -> tuple[Array, Array, Array, Array]:
    # the three products are contracted by the same operation; therefore they agree to the last bit if y equals x
    nngp, xx, yy = jax.vmap(jnp.dot)(jnp.stack([x, x, y]), jnp.stack([y, x, y])) / x.size
    whole = (value[None, None] for value in (nngp, xx, yy))
    return nngp, xx, yy, input_versines(x[None], y[None], *whole)[0, 0]


def diagonal_state(x: Float[Array, "n d"]) -> State:
    """Return the state that pairs every input with itself."""
    square, mean = _squares(x), jnp.mean(x, axis=1)
    none, own = jnp.zeros_like(square), _squares(less_mean(x))
    means, centred = Means(mean, mean), Centred(own, own, own, none)
    return State(square, none, square, square, x.shape[1], INPUTS, means, versine=none, centred=centred)


def _squares(x: Float[Array, "n d"]) -> Float[Array, " n"]:
    return jnp.sum(x * x, axis=1) / x.shape[1]


def matrix_state(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> State:
    """Return the state of all pairs: one matrix product, and the variances as a column and a row.

    The compiler removes moments that a network does not use, such as the versine or the centred moments.
    """
    left, right = jnp.mean(x, axis=1)[:, None], jnp.mean(y, axis=1)[:, None]
    own = y is x
    nngp, xx, yy, versine = _matrix_moments(x, None if own else y)
    centred = Centred(*_matrix_moments(less_mean(x), None if own else less_mean(y)))
    means = Means(left, right.T)
    return State(nngp, jnp.zeros_like(nngp), xx, yy, x.shape[1], INPUTS, means, versine=versine, centred=centred)


def far_moments(x: Float[Array, "n d"], y: Float[Array, "m d"]) -> tuple[Array, Array, Array, Array]:
    """Return nngp, xx, yy and the versine of all pairs. The versine is NaN where `matrix_state` would recompute it.

    `matrix_state` recomputes the versines of nearly parallel and nearly opposite points from differences of the points.
    """
    nngp, xx, yy = x @ y.T / x.shape[1], _squares(x)[:, None], _squares(y)[None, :]
    return nngp, xx, yy, far_versines(nngp, xx, yy)


@jax.jit
def _matrix_moments(x: Float[Array, "n d"], y: Float[Array, "m d"] | None) -> tuple[Array, Array, Array, Array]:
    other = x if y is None else y
    nngp, xx, yy = x @ other.T / x.shape[1], _squares(x)[:, None], _squares(other)[None, :]
    return nngp, xx, yy, input_versines(x, other, nngp, xx, yy, own=y is None)
