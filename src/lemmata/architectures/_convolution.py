"""Convolutions: a dense layer on the patches of a field, with equal or different weights at its positions.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import math
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from lemmata.errors import ShapeError

from ._dense import Dense
from ._fields import at_equal_positions, at_filled, axes_of, field_shape, filled, visible_through
from ._layer import AbstractLayer, Shape
from ._parameterization import Parameterization
from ._serial import Serial
from ._state import Grid, Means, State
from ._versine import Term, versine_of_patches
from ._window import Padding, Size, Window


class Patches(AbstractLayer):
    r"""The layer that makes a field of patches. A patch holds all values of the input inside the window at a position.

    The mean square of a patch is a mean over the places o of the window. So, if s are the strides, e is the dilation
    and count is the number of places of the window,

        nngp'(p, q) = (1 / count) sum_o nngp(s p + e o, s q + e o),

    and ntk', xx', yy' in the same way. Positions in a padding of zeros count as zeros.
    """

    window: Window

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[tuple[()], Shape]:
        """Return no parameters, and the shape: the window's grid, and `count` times the coordinates of the input."""
        *sites, c = field_shape("Patches", fan_in)
        return (), (*self.window.over("Patches", tuple(sites)), self.window.count * c)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites_out fan_out"]:
        """Return the patches of one field."""
        self.window.over("Patches", x.shape[:-1])
        return self.window.patches(x)

    def apply_masked(
        self, params: Any, x: Float[Array, "*sites fan_in"], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, "*sites_out fan_out"], Bool[Array, "*sites_out"] | None]:
        """Return the patches, with zeros at empty positions."""
        axes = [(axis,) for axis in range(mask.ndim)]
        return self.apply(params, filled(x, mask)), self.window.visible(mask, axes)

    def push(self, state: State) -> State:
        """Average the moments over the places of the window. A term pairs equal places of the windows at p and at q."""
        state = at_filled(state)
        sites = self.window.over("Patches", state.grid.sites)
        mean = lambda values, axes: self.window.total(values, axes) / self.window.count
        both, one, other = axes_of(state.grid)
        means = state.means
        if means is not None:
            means = Means(mean(means.x, one), mean(means.y, other))
        versine = state.versine
        if versine is not None:
            total = self.window.total
            versine = versine_of_patches(
                Term(state.nngp, versine, state.xx, state.yy),
                total(state.xx, one),
                total(state.yy, other),
                (self.window.shown(state.xx, one), self.window.shown(state.yy, other)),
                lambda values: total(values, both),
            )
        return state.replace(
            nngp=mean(state.nngp, both),
            ntk=mean(state.ntk, both),
            xx=mean(state.xx, one),
            yy=mean(state.yy, other),
            versine=versine,
            fan_in=self.window.count * state.fan_in,
            law=state.law.perturbed(),
            means=means,
        ).with_grid(sites=sites, **visible_through(self.window, state))


class Flatten(AbstractLayer):
    """The layer that makes one vector from a field. Its moments are means of nngp(p, p) and ntk(p, p) over positions p.

    The coordinates of the vector belong to different positions, whose variances differ, so they are not Gaussian.
    Therefore, put a Dense layer before an activation. Vectors are not changed.
    """

    whole = True

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[tuple[()], Shape]:
        """Return no parameters, and the number of entries of the field."""
        return (), fan_in if isinstance(fan_in, int) else math.prod(fan_in)

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, " fan_out"]:
        """Return the numbers of the field, position after position."""
        return x.reshape(-1)

    def apply_masked(
        self, params: Any, x: Float[Array, "*sites fan_in"], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, " fan_out"], None]:
        """Return the numbers of the field, with zeros at empty positions."""
        return self.apply(params, filled(x, mask)), None

    def push(self, state: State) -> State:
        """Return the means of the moments over positions."""
        grid = state.grid
        if not grid.sites:
            return state
        state, size = at_filled(state), math.prod(grid.sites)
        every = tuple(range(grid.axes))
        mean = lambda values: _mean_over_positions(grid.sites, at_equal_positions(grid, values))
        alone = lambda values: jnp.sum(values, axis=every) / size
        means = None if state.means is None else Means(*map(alone, state.means))
        return state.replace(
            nngp=mean(state.nngp),
            ntk=mean(state.ntk),
            xx=alone(state.xx),
            yy=alone(state.yy),
            fan_in=size * state.fan_in,
            law=state.law.perturbed(),
            means=means,
            grid=Grid(joint=grid.joint),
        )

    def needs_pairs(self, pairs: bool) -> bool:
        """Return False, because the moments at equal positions are enough."""
        return False


def _mean_over_positions(sites: tuple[int, ...], values: Float[Array, "..."]) -> Float[Array, "..."]:
    """Average over the first axes (the positions) by a product with ones, which is ten times as fast as a sum."""
    size, batch = math.prod(sites), values.shape[len(sites) :]
    return jnp.matmul(jnp.ones(size, values.dtype), values.reshape(size, -1), precision="highest").reshape(batch) / size


class LocalDense(Dense):
    """A dense layer at every position of a field. Each position has its own parameters, including biases.

    Outputs at different positions are independent. So nngp'(p, q) and ntk'(p, q) are those of `Dense` if p = q, and 0
    otherwise.
    """

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[dict[str, Array], Shape]:
        """Draw the parameters of `Dense` for every position."""
        *sites, c = field_shape("LocalDense", fan_in)
        keys = jax.random.split(key, math.prod(sites))
        params = jax.vmap(lambda own: Dense.init(self, own, c, dtype=dtype)[0])(keys)
        return params, (*sites, self.width)

    def apply(self, params: dict[str, Array], x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites_out fan_out"]:
        """Return the outputs of the dense layers at their positions."""
        drawn = params["weight"].shape
        if len(drawn) != 3 or drawn[0] != math.prod(x.shape[:-1]):
            raise ShapeError(
                f"input of LocalDense({self.width})",
                found=f"shape {x.shape}, which has {math.prod(x.shape[:-1])} positions",
                rule=f"{drawn[0]} positions, because its weights were drawn with shape {drawn}",
                remedy="draw the weights anew for this input shape with init",
            )
        rows = jax.vmap(lambda own, point: Dense.apply(self, own, point))(params, x.reshape(-1, x.shape[-1]))
        return rows.reshape(*x.shape[:-1], self.width)

    def push(self, state: State) -> State:
        """Return the moments of `Dense`, without the moments between different positions."""
        pushed = Dense.push(self, state)
        grid = state.grid
        if not grid.pairs:
            return pushed
        batch = (1,) * (state.nngp.ndim - grid.axes)
        equal = jnp.eye(math.prod(grid.sites), dtype=bool).reshape(*grid.sites, *grid.sites, *batch)
        alone = lambda values, other: None if values is None else jnp.where(equal, values, other)
        nngp, ntk = alone(pushed.nngp, 0.0), alone(pushed.ntk, 0.0)
        return pushed.replace(nngp=nngp, ntk=ntk, versine=alone(pushed.versine, 1.0))


class Conv(Serial):
    r"""A convolution: one dense layer on the patch of every position, `Serial([Patches(window), Dense(width)])`.

    Let w = `weight_std` and b = `bias_std`, and let the window have c channels and `count` places. In the NTK
    parameterisation, h_i(p) = w / sqrt(count c) sum_{o, j} W_{i o j} x_j(s p + e o) + b B_i. Its moments are those of
    `Dense` on patches:

        nngp'(p, q) = w² / count sum_o nngp(s p + e o, s q + e o) + b².

    Points are fields (*sites, channels): images (height, width, channels), sequences (length, channels).

    Args:
        width: the number of output channels.
        window: the window's size along each axis of positions: 3 or (3,) for sequences, (3, 3) for images.
        weight_std, bias_std, parameterization: as in `Dense`.
        strides, dilation, padding: as in `Window`, but `"SAME"` if not given.

    Raises:
        SettingError: for the same reasons as `Window` and `Dense`.
        ShapeError: if the points are not fields on such a grid.
    """

    affine: ClassVar[type[Dense]] = Dense

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
        patches = Patches(Window(window, strides, dilation, padding))
        self.layers = (patches, self.affine(width, weight_std, bias_std, parameterization))


class LocallyConnected(Conv):
    """A convolution with separate weights at each position (LocalDense on patches). Arguments are as in `Conv`."""

    affine = LocalDense
    __init__ = Conv.__init__
