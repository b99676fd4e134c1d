"""The two kernels of an infinitely wide network."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import AbstractKernel

from ._angular import angular_push
from ._layer import AbstractLayer
from ._state import State, diagonal_state, matrix_state, pair_state

# Rows of a tile: two megabytes in float64, which the caches of current processors hold.
_TILE = 512


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

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The covariance of the outputs at two points."""
        return _checked(_pair(self.network, "nngp", x, y))

    def cross(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        """All pairs, from one matrix product; from a series in the angle where that is faster (`is_homogeneous`)."""
        return cross_entries(NetworkEntries(self.network, "nngp"), x, y)

    def diagonal(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The variance of the output at every point."""
        return _checked(_diagonal(NetworkEntries(self.network, "nngp"), x))


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

    def __call__(self, x: Float[Array, " d"], y: Float[Array, " d"]) -> Float[Array, ""]:
        """The tangent kernel at two points."""
        return _checked(_pair(self.network, "ntk", x, y))

    def cross(self, x: Float[Array, "n d"], y: Float[Array, "m d"]) -> Float[Array, "n m"]:
        """All pairs, from one matrix product; from a series in the angle where that is faster (`is_homogeneous`)."""
        return cross_entries(NetworkEntries(self.network, "ntk"), x, y)

    def diagonal(self, x: Float[Array, "n d"]) -> Float[Array, " n"]:
        """The squared norm of the gradient at every point."""
        return _checked(_diagonal(NetworkEntries(self.network, "ntk"), x))


class NetworkEntries(eqx.Module):
    """One of the two kernels of a network, from the state of its inputs."""

    network: AbstractLayer
    face: str = eqx.field(static=True)

    def __call__(self, state: State) -> Array:
        """All pairs of the state, by the recursion over layers or a series that stands for it."""
        push = angular_push(self.network, self.face, state.fan_in, state.nngp.dtype)
        return self.exact(state) if push is None else push(state)

    def exact(self, state: State) -> Array:
        """All pairs of the state, by the recursion."""
        return getattr(self.network.push(state), self.face)


def _pair(network: AbstractLayer, face: str, x: Array, y: Array) -> Array:
    if jnp.ndim(x) != 1 or jnp.shape(x) != jnp.shape(y):
        raise ShapeError("points x and y", found=f"shapes {jnp.shape(x)} and {jnp.shape(y)}", rule="two of shape (d,)")
    return getattr(network.push(pair_state(x, y)), face)


@eqx.filter_jit
def _diagonal(entries: NetworkEntries, x: Array) -> Array:
    return entries.exact(diagonal_state(x))


def cross_entries(entries: NetworkEntries, x: Array, y: Array) -> Array:
    """The matrix of all pairs, its diagonal by the recursion where y is x; refused where a diagonal is not finite."""
    if jnp.ndim(x) != 2 or jnp.ndim(y) != 2 or x.shape[1] != y.shape[1]:
        raise ShapeError(
            "points x and y", found=f"shapes {jnp.shape(x)} and {jnp.shape(y)}", rule="(n, d) and (m, d), the same d",
        )
    diagonal = _checked(_diagonal(entries, x))
    if y is x:
        return _symmetric(entries, x, diagonal)
    _checked(_diagonal(entries, y))
    return _rectangle(entries, x, y)


@eqx.filter_jit
def _rectangle(entries: NetworkEntries, x: Array, y: Array) -> Array:
    tile = lambda a, b: entries(matrix_state(a, b))
    if min(len(x), len(y)) < 2 * _TILE:
        return tile(x, y)
    return _tiled(tile, x, y, [(i, j) for i in _starts(len(x)) for j in _starts(len(y))])


@eqx.filter_jit
def _symmetric(entries: NetworkEntries, x: Array, diagonal: Array) -> Array:
    tile = lambda a, b: entries(matrix_state(a, b))
    if len(x) < 2 * _TILE:
        matrix = tile(x, x)
        matrix = (matrix + matrix.T) / 2
    else:
        pairs = [(i, j) for i in _starts(len(x)) for j in _starts(len(x)) if i <= j]
        matrix = _tiled(tile, x, x, pairs, mirrored=True)
    # The product x x^T rounds otherwise than the sums of squares, so the diagonal is not left to it.
    index = jnp.arange(len(x))
    return matrix.at[index, index].set(diagonal, unique_indices=True)


def _starts(length: int) -> list[int]:
    # The last tile is moved back to end with the matrix, so that all have one size; what it repeats is the same.
    return [min(i, length - _TILE) for i in range(0, length, _TILE)]


def _tiled(tile: Callable, x: Array, y: Array, starts: list[tuple[int, int]], mirrored: bool = False) -> Array:
    """The matrix from square tiles that stay in the cache through all layers; with `mirrored` from half of them."""
    corners = jnp.asarray(starts, jnp.int32)

    def write(t: Array, matrix: Array) -> Array:
        i, j = corners[t, 0], corners[t, 1]
        rows, columns = (jax.lax.dynamic_slice_in_dim(points, k, _TILE) for points, k in ((x, i), (y, j)))
        values = tile(rows, columns)
        if mirrored:
            matrix = jax.lax.dynamic_update_slice(matrix, values.T, (j, i))
        return jax.lax.dynamic_update_slice(matrix, values, (i, j))

    return jax.lax.fori_loop(0, len(starts), write, jnp.zeros((len(x), len(y)), jnp.result_type(x)))


def _checked(values: Array) -> Array:
    """The values, refused where not finite; as they are under a transformation, where nothing can be raised."""
    try:
        finite = bool(jnp.all(jnp.isfinite(values)))
    except jax.errors.TracerBoolConversionError:
        return values
    if not finite:
        raise SettingError(
            "kernel of the network", found="values that are not finite", rule="finite moments of every activation",
            remedy="an activation that grows slower than exp(u²/4), smaller weight_std, more quadrature nodes "
            "(Elementwise(fn, degree=...)), or inputs that are finite",
        )
    return values
