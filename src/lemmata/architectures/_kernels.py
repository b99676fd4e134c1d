"""The two kernels of an infinitely wide network."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import AbstractKernel

from ._angular import angular_push
from ._embedding import own_token_state, token_points, token_state
from ._fields import field_state, own_state, with_masks_of
from ._layer import AbstractLayer
from ._masked import Masked, split_mask
from ._state import State, diagonal_state, matrix_state, pair_state

# Rows of a tile of vectors, in a matrix of all pairs and in a symmetric one, where smaller tiles leave less below the
# diagonal; entries of a tile of fields, at pairs of points and of their positions. Caches of processors hold them.
_TILE, _SYMMETRIC_TILE, _FIELD_TILE = 512, 256, 2**16


class NNGPKernel(AbstractKernel):
    """The covariance E[f(x) f(y)] of one output of an infinitely wide random network (its Gaussian-process limit).

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import NNGPKernel, relu_network
        >>> x = jnp.array([1.0, 1.0])
        >>> round(float(NNGPKernel(relu_network(depth=3))(x, x)), 6)
        1.0
    """

    network: AbstractLayer
    exactly_symmetric = True

    def __check_init__(self):
        _check_network(self.network)

    def __call__(self, x: Float[Array, "*d"], y: Float[Array, "*d"]) -> Float[Array, ""]:
        """The covariance of the outputs at two points."""
        return _checked(_pair(self.network, "nngp", x, y))

    def cross(self, x: Float[Array, "n *d"], y: Float[Array, "m *d"]) -> Float[Array, "n m"]:
        """All pairs, from one matrix product; from a series in the angle where that is faster (`is_homogeneous`)."""
        return cross_entries(NetworkEntries(self.network, "nngp"), x, y)

    def diagonal(self, x: Float[Array, "n *d"]) -> Float[Array, " n"]:
        """The variance of the output at every point."""
        return _checked(_diagonal(NetworkEntries(self.network, "nngp"), as_read(self.network, x)))


class TangentKernel(AbstractKernel):
    """The neural tangent kernel of one output at infinite width: <df(x)/dparams, df(y)/dparams>, f at its initial draw.

    With a `Dense` readout different outputs have tangent kernel 0 between them and this one each. In the standard
    parameterisation it is the leading order at the widths of the given layers (see `Dense`).

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import TangentKernel, relu_network
        >>> x = jnp.array([1.0, 1.0])
        >>> round(float(TangentKernel(relu_network(depth=3))(x, x)), 6)
        4.0
    """

    network: AbstractLayer
    exactly_symmetric = True

    def __check_init__(self):
        _check_network(self.network)

    def __call__(self, x: Float[Array, "*d"], y: Float[Array, "*d"]) -> Float[Array, ""]:
        """The tangent kernel at two points."""
        return _checked(_pair(self.network, "ntk", x, y))

    def cross(self, x: Float[Array, "n *d"], y: Float[Array, "m *d"]) -> Float[Array, "n m"]:
        """All pairs, from one matrix product; from a series in the angle where that is faster (`is_homogeneous`)."""
        return cross_entries(NetworkEntries(self.network, "ntk"), x, y)

    def diagonal(self, x: Float[Array, "n *d"]) -> Float[Array, " n"]:
        """The squared norm of the gradient at every point."""
        return _checked(_diagonal(NetworkEntries(self.network, "ntk"), as_read(self.network, x)))


class NetworkEntries(eqx.Module):
    """One of the two kernels of a network, from the state of its inputs."""

    network: AbstractLayer
    face: str = eqx.field(static=True)

    def __call__(self, x: Array, y: Array) -> Array:
        """All pairs, by the recursion over layers or a series that stands for it."""
        if x.ndim > 2:
            return self.exact(self.fields(x, y))
        state = matrix_state(x, y)
        push = self.series_push(state)
        return self.exact(state) if push is None else push(state)

    def diagonal(self, x: Array) -> Array:
        """Every point with itself, by the recursion."""
        if x.ndim == 2:
            return self.exact(diagonal_state(x))
        values, mask, tokens = self._split(x)
        state = (own_token_state if tokens else own_state)(values, self.network.needs_pairs(False))
        return self.exact(state if mask is None else with_masks_of(state, mask, mask))

    def fields(self, x: Array, y: Array) -> State:
        """The state of all pairs of fields."""
        (x, mask_x, tokens), (y, mask_y, _) = self._split(x), self._split(y)
        state = (token_state if tokens else field_state)(x, y, self.network.needs_pairs(False))
        return state if mask_x is None or mask_y is None else with_masks_of(state, mask_x, mask_y)

    def _split(self, x: Array) -> tuple[Array, Array | None, bool]:
        """Fields, their masks, and whether they are tokens."""
        if not isinstance(self.network, Masked):
            return x, None, self.network.token_count() is not None
        values, mask = split_mask(x)
        count = self.network.network.token_count()
        return (values if count is None else token_points(values[..., 0], count)), mask, count is not None

    def pair(self, x: Array, y: Array) -> Array:
        """Two single points, by the recursion."""
        if x.ndim == 1:
            return self.exact(pair_state(x, y))
        return self.exact(self.fields(x[None], y[None]))[0, 0]

    def series_push(self, state: State) -> Callable[[State], Array] | None:
        """What stands for the recursion at less cost, if anything does."""
        return angular_push(self.network, self.face, state.fan_in, state.nngp.dtype)

    def exact(self, state: State) -> Array:
        """All pairs of the state, by the recursion."""
        pushed = self.network.push(state)
        if pushed.sites:
            raise SettingError(
                "output of the network",
                found=f"a field on a grid of shape {pushed.sites}",
                rule="a vector",
                remedy="Flatten() or GlobalAveragePool() before the last Dense layer",
            )
        return getattr(pushed, self.face)


def _check_network(network: object) -> None:
    if not isinstance(network, AbstractLayer):
        raise SettingError("network", found=repr(network), rule="a layer", remedy="Serial([...]) of layers")


def _pair(network: AbstractLayer, face: str, x: Array, y: Array) -> Array:
    if jnp.ndim(x) < 1 or jnp.shape(x) != jnp.shape(y):
        rule = "two of shape (d,), or two fields of shape (*sites, channels)"
        raise ShapeError("points x and y", found=f"shapes {jnp.shape(x)} and {jnp.shape(y)}", rule=rule)
    return NetworkEntries(network, face).pair(as_read(network, x), as_read(network, y))


def as_read(network: AbstractLayer, x: Array) -> Array:
    """The points as the network reads them: tokens as fields of single numbers."""
    count = network.token_count()
    return x if count is None else token_points(x, count)


@eqx.filter_jit
def _diagonal(entries: NetworkEntries, x: Array) -> Array:
    if x.ndim == 2 or len(x) <= (size := _field_tile(entries, x) ** 2):
        return entries.diagonal(x)
    return jax.lax.map(lambda one: entries.diagonal(one[None])[0], x, batch_size=size)


def cross_entries(entries: NetworkEntries, x: Array, y: Array) -> Array:
    """The matrix of all pairs, its diagonal by the recursion where y is x; refused where a diagonal is not finite."""
    if jnp.ndim(x) < 2 or jnp.ndim(x) != jnp.ndim(y) or x.shape[1:] != y.shape[1:]:
        rule = "(n, d) and (m, d), the same d, or fields (n, *sites, channels) on the same grid"
        raise ShapeError("points x and y", found=f"shapes {jnp.shape(x)} and {jnp.shape(y)}", rule=rule)
    if isinstance(entries.network, Masked):
        entries.network.check(x)
        entries.network.check(y)
    same, x = y is x, as_read(entries.network, x)
    if 0 in (len(x), len(y)):
        return jnp.zeros((len(x), len(y)), jnp.result_type(x, y))
    diagonal = _checked(_diagonal(entries, x))
    if same:
        return _symmetric(entries, x, diagonal)
    y = as_read(entries.network, y)
    _checked(_diagonal(entries, y))
    return _rectangle(entries, x, y)


def _field_tile(entries: NetworkEntries, x: Array) -> int:
    """Rows of a square tile of pairs of fields: at least 8, which are computed at once, where four such tiles fit."""
    positions = math.prod(x.shape[1:-1]) ** (2 if entries.network.needs_pairs(False) else 1)
    side = math.isqrt(_FIELD_TILE // positions)
    return max(1, min(8, 2 * side) if side < 8 else side // 8 * 8)


def _tile(entries: NetworkEntries, x: Array, y: Array, side: int) -> tuple[int, int]:
    """Rows and columns of a tile, of `side` points where they are vectors."""
    if x.ndim == 2:
        return (side, side) if min(len(x), len(y)) >= 2 * side else (len(x), len(y))
    side = _field_tile(entries, x)
    return min(side, len(x)), min(side, len(y))


@eqx.filter_jit
def _rectangle(entries: NetworkEntries, x: Array, y: Array) -> Array:
    shape = rows, columns = _tile(entries, x, y, _TILE)
    if shape == (len(x), len(y)):
        return entries(x, y)
    return _tiled(entries, x, y, shape, [(i, j) for i in _starts(len(x), rows) for j in _starts(len(y), columns)])


@eqx.filter_jit
def _symmetric(entries: NetworkEntries, x: Array, diagonal: Array) -> Array:
    shape = side, _ = _tile(entries, x, x, _SYMMETRIC_TILE)
    if side == len(x):
        matrix = entries(x, x)
        matrix = (matrix + matrix.T) / 2
    else:
        starts = [(i, j) for i in _starts(len(x), side) for j in _starts(len(x), side) if i <= j]
        matrix = _even_on_diagonal(_tiled(entries, x, x, shape, starts, mirrored=True), side)
    # The product x x^T rounds otherwise than the sums of squares, so the diagonal is not left to it.
    index = jnp.arange(len(x))
    return matrix.at[index, index].set(diagonal, unique_indices=True)


def _even_on_diagonal(matrix: Array, size: int) -> Array:
    """The matrix with exactly symmetric tiles on its diagonal: a product of a tile with itself may round unevenly."""
    corners = jnp.asarray(_starts(len(matrix), size), jnp.int32)

    def write(t: Array, matrix: Array) -> Array:
        i = corners[t]
        tile = jax.lax.dynamic_slice(matrix, (i, i), (size, size))
        return jax.lax.dynamic_update_slice(matrix, (tile + tile.T) / 2, (i, i))

    return jax.lax.fori_loop(0, len(corners), write, matrix)


def _starts(length: int, size: int) -> list[int]:
    # The last tile is moved back to end with the matrix, so that all have one size; what it repeats is the same.
    return [min(i, length - size) for i in range(0, length, size)]


def _tiled(
    entries: NetworkEntries,
    x: Array,
    y: Array,
    shape: tuple[int, int],
    starts: list[tuple[int, int]],
    mirrored: bool = False,
) -> Array:
    """The matrix from tiles that stay in the cache through all layers; with `mirrored` each is written twice."""
    # A tile is written one step after it was computed: what is written in its own step the compiler computes entry by
    # entry into the matrix, on one core. The first step writes zeros, where the second writes the first tile.
    corners = jnp.asarray([starts[0], *starts], jnp.int32)
    rows, columns = shape

    def placed(matrix: Array, tile: Array, corner: Array) -> Array:
        if mirrored:
            matrix = jax.lax.dynamic_update_slice(matrix, tile.T, (corner[1], corner[0]))
        return jax.lax.dynamic_update_slice(matrix, tile, (corner[0], corner[1]))

    def step(t: Array, carried: tuple[Array, Array]) -> tuple[Array, Array]:
        matrix, i, j = placed(carried[0], carried[1], corners[t]), corners[t + 1, 0], corners[t + 1, 1]
        left = jax.lax.dynamic_slice_in_dim(x, i, rows)
        return matrix, entries(left, jax.lax.dynamic_slice_in_dim(y, j, columns))

    dtype = jnp.result_type(x)
    empty = jnp.zeros((len(x), len(y)), dtype), jnp.zeros((rows, columns), dtype)
    matrix, last = jax.lax.fori_loop(0, len(starts), step, empty)
    return placed(matrix, last, corners[-1])


def _checked(values: Array) -> Array:
    """The values, refused where not finite; as they are under a transformation, where nothing can be raised."""
    try:
        finite = bool(jnp.all(jnp.isfinite(values)))
    except jax.errors.TracerBoolConversionError:
        return values
    if not finite:
        raise SettingError(
            "kernel of the network",
            found="values that are not finite",
            rule="finite moments of every activation",
            remedy="an activation that grows slower than exp(u²/4), smaller weight_std, more quadrature nodes "
            "(Elementwise(fn, degree=...)), or inputs that are finite",
        )
    return values
