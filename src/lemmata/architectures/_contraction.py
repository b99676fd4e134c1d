"""Contractions of a field's positions with a fixed array: any linear map of positions.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import string
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Key, Shaped

from lemmata.errors import SettingError, ShapeError

from ._fields import filled
from ._layer import AbstractLayer, Shape
from ._position_maps import through_pairs
from ._state import Centred, Grid, Means, State


class Contract(AbstractLayer):
    r"""A contraction of positions with a fixed array A: h'(P) = sum_p A(P, p) h(p), the same for all coordinates.

    The form names axes by letters, as in `numpy.einsum`. The form names the axes of the array, then the axes of the
    positions, then the axes of the new positions. For example, `"gh,hw->gw"` is a matrix along the first axis of a
    grid, and `"h,hw->w"` is a weighted sum over this axis. `"h,hw->hw"` multiplies by weights, `"k,hw->hwk"` makes
    scaled copies, and `"ghij,ij->gh"` is any linear map of a grid. `...` matches the axes of positions that have no
    letters. For example, `",...->..."` multiplies by a number. The moments are

        nngp'(P, Q) = sum_{p, q} A(P, p) A(Q, q) nngp(p, q),

    and the same formula for ntk'. If the form does not sum over positions, the moments at equal positions of x and y
    are enough. Coordinates that were Gaussian stay Gaussian.

    The form has no axis for coordinates. An array has a fixed size, but the number of coordinates goes to infinity, so
    a contraction over coordinates would have no limit. The moments do not change if the coordinates are multiplied by
    an orthogonal matrix or permuted. For a matrix with random entries, use Dense. To contract the points of a kernel,
    multiply its matrix: `A @ gram(kernel, x) @ A.T`.

    On masked fields (`Masked`), empty positions count as zeros. A new position is filled if all positions from which
    it is computed are filled.

    Args:
        array: A, real numbers. `array` is an array, a number, or nested lists.
        form: the axes, as described above. Letters of the positions that the new positions do not have are summed over.

    Raises:
        SettingError: for an array that is not finite or not real. This error is also raised for a form that does not
            fit the axes of the array, names an axis twice, has an unknown axis among the new positions, or leaves an
            axis of the array unused.
        ShapeError: if the axes of the points do not fit the form, or their lengths do not fit the array.

    `push` raises ShapeError if the form would turn vectors into fields.

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import Contract, Conv, Dense, NNGPKernel, Serial
        >>> difference = Contract(jnp.array([1.0, -1.0]), "h,hw->w")  # of two sequences, one above the other
        >>> kernel = NNGPKernel(Serial([Conv(64, (1, 3)), difference, Conv(64, 3), Contract(1.0, ",w->"), Dense(1)]))
        >>> float(kernel(jnp.ones((2, 5, 3)), jnp.ones((2, 5, 3))))
        0.0
    """

    array: Float[Array, "..."]
    form: str = eqx.field(static=True)
    whole = True

    def __init__(self, array: ArrayLike | Sequence[Any], form: str):
        values = jnp.asarray(array)
        if jnp.iscomplexobj(values):
            raise SettingError("array of Contract", found=f"entries of type {values.dtype}", rule="real numbers")
        self.array, self.form = values.astype(jnp.result_type(float)), form

    def __check_init__(self):
        try:
            finite = bool(jnp.all(jnp.isfinite(self.array)))
        except jax.errors.TracerBoolConversionError:  # a traced array has no values yet
            finite = True
        if not finite:
            raise SettingError("array of Contract", found="entries that are not finite", rule="finite numbers")
        own, old, new = self._parts()
        for names in (own, old, new):
            if len(set(names)) < len(names) or any(name not in string.ascii_letters for name in names if name != "."):
                raise self._wrong("different letters within each part")
        if "." in own or ("." in old) != ("." in new):
            raise self._wrong("'...' in both the old and the new positions, or in neither")
        if len(own) != self.array.ndim:
            raise self._wrong(f"{self.array.ndim} letters for the array, because its shape is {self.array.shape}")
        if set(new) - set(own) - set(old):
            raise self._wrong("new positions whose letters also occur in the array or in the old positions")
        if set(own) - set(old) - set(new):
            raise self._wrong("axes of the array whose letters also occur in the old or in the new positions")

    def _wrong(self, rule: str) -> SettingError:
        remedy = "write, for example, 'gh,hw->gw' for a matrix along the first axis of a grid"
        return SettingError("form of Contract", found=repr(self.form), rule=rule, remedy=remedy)

    def _parts(self) -> tuple[str, str, str]:
        """Return the three parts of the form, in which one dot stands for `...`."""
        inputs, arrow, new = self.form.replace(" ", "").replace("...", ".").partition("->")
        own, comma, old = inputs.partition(",")
        if not arrow or not comma:
            raise self._wrong("the form 'array,positions->new positions'")
        return own, old, new

    @property
    def summed(self) -> bool:
        """Whether new positions are sums over old positions."""
        _, old, new = self._parts()
        return bool(set(old) - set(new))

    def over(self, sites: tuple[int, ...]) -> tuple[int, ...]:
        """Return the new grid over a grid of shape `sites`.

        Raises:
            ShapeError: if the axes do not fit the form, or the lengths do not fit the array.
        """
        own, old, new = self._letters(len(sites))
        lengths = dict(zip(own, self.array.shape, strict=True))
        wrong = len(old) != len(sites)
        if wrong or any(lengths.setdefault(name, size) != size for name, size in zip(old, sites, strict=True)):
            raise ShapeError(
                "input of Contract",
                found=f"a grid of shape {sites}" if sites else "vectors",
                rule=f"a grid whose axes match the array of shape {self.array.shape} in the form {self.form!r}",
            )
        return tuple(lengths[name] for name in new)

    def _letters(self, count: int) -> tuple[str, str, str]:
        """Return the parts of the form for a grid with `count` axes, with letters in place of `...`."""
        own, old, new = self._parts()
        free = [name for name in string.ascii_letters if name not in own + old + new]
        rest = "".join(free[: max(0, count - len(old) + 1)])
        return own, old.replace(".", rest), new.replace(".", rest)

    def along(self, array: Array, values: Float[Array, "..."], count: int, first: int) -> Float[Array, "..."]:
        """Contract an array of the shape of A with the `count` axes of positions in `values` from axis `first` on."""
        own, old, new = self._letters(count)
        letters = [name for name in string.ascii_letters if name not in own + old + new]
        before, after = letters[:first], letters[first : values.ndim - count]
        inputs, outputs = ("".join([*before, *names, *after]) for names in (old, new))
        return jnp.einsum(f"{own},{inputs}->{outputs}", array.astype(values.dtype), values)

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[tuple[()], Shape]:
        """Return no parameters, and the shape with the new grid and the same coordinates."""
        *sites, c = (fan_in,) if isinstance(fan_in, int) else fan_in
        new = self.over(tuple(sites))
        return (), (*new, c) if new else c

    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites_out fan_in"]:
        """Return the contraction of one field."""
        self.over(x.shape[:-1])
        return self.along(self.array, x, x.ndim - 1, 0)

    def apply_masked(
        self, params: Any, x: Float[Array, "*sites fan_in"], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, "*sites_out fan_in"], Bool[Array, "*sites_out"] | None]:
        """Return the contraction, with zeros at empty positions."""
        new = self.over(mask.shape)
        empty = self.along(self.array != 0, (~mask).astype(x.dtype), mask.ndim, 0)
        return self.apply(params, filled(x, mask)), empty < 0.5 if new else None

    def push(self, state: State) -> State:
        """Return the new state: sums over pairs of positions, or products at single positions if these are enough."""
        grid, count = state.grid, len(state.grid.sites)
        sites = self.over(grid.sites)
        if sites and not count:
            raise ShapeError(
                "input of Contract",
                found="vectors",
                rule=f"fields with positions, because the form creates a grid of positions of shape {sites}",
            )
        if not self.summed and not grid.pairs:
            return self._multiplied(state, sites)
        if grid.left is None or grid.right is None:
            raise SettingError(
                "input of Contract",
                found="moments only for pairs with x and y at the same position",
                rule="moments for all pairs of positions",
            )
        pooled = lambda _, values: self.along(self.array, self.along(self.array, values, count, count), count, 0)
        alone = lambda part, values, side: self._of_one(self.array, values, side, part.grid)
        new = through_pairs("Contract", state, (pooled, alone), sites)
        if grid.mask_x is None or not sites:
            return new
        left, right = (
            side.with_grid(**self._masks(before.grid))
            for side, before in ((new.grid.left, grid.left), (new.grid.right, grid.right))
            if side is not None
        )
        return new.with_grid(left=left, right=right, **self._masks(grid))

    def _of_one(self, array: Array, values: Shaped[Array, "..."], side: int, grid: Grid) -> Float[Array, "..."]:
        """Return the contraction of values that depend only on x (side 0), or only on y (side 1)."""
        count = len(grid.sites)
        if not grid.pairs:
            return self.along(array, values, count, 0)
        found = self.along(array, values, count, side * count)
        # with pairs, there is one entry along every axis of the other point's positions
        new = found.ndim - values.ndim + count
        start = new if side == 0 else 0
        return found.reshape(*found.shape[:start], *(1,) * new, *found.shape[start + count :])

    def _masks(self, grid: Grid) -> dict[str, Bool[Array, "..."]]:
        """Return the masks of the new grid: the new positions that are computed only from filled positions."""
        if grid.mask_x is None or grid.mask_y is None:
            return {}
        empty = lambda mask, side: self._of_one(self.array != 0, (~mask).astype(float), side, grid)
        return {"mask_x": empty(grid.mask_x, 0) < 0.5, "mask_y": empty(grid.mask_y, 1) < 0.5}

    def _multiplied(self, state: State, sites: tuple[int, ...]) -> State:
        """Return the moments at equal positions, if every new position is an old position times a number."""
        by = lambda array, values: self.along(array, values, len(state.grid.sites), 0)

        def moments(part: State | Centred) -> dict[str, Any]:
            found: dict[str, Any] = {name: by(self.array**2, getattr(part, name)) for name in ("nngp", "xx", "yy")}
            if part.versine is not None:  # |correlation| is kept, and is 0 if variances are 0
                found["versine"] = by(self.array != 0, part.versine) + by(self.array == 0, jnp.ones_like(part.versine))
            return found

        means, centred = state.means, state.centred
        new = state.replace(
            **moments(state),
            ntk=by(self.array**2, state.ntk),
            means=means and Means(*(by(self.array, mean) for mean in means)),
            centred=centred and Centred(**moments(centred)),
        )
        return new.with_grid(sites=sites, **self._masks(state.grid))

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether all pairs of positions are needed. The variance of a sum needs all pairs."""
        return pairs or self.summed
