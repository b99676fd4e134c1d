"""Random positional embeddings: Gaussian vectors at positions, added to a field or concatenated with it.

A `State` holds the second moments of a layer's coordinates at two points x and y: the covariance nngp, the tangent
kernel ntk, and the variances xx and yy. `push` maps the state of a layer's inputs to the state of its outputs, whose
moments have a prime, as in nngp'.
"""

import math
from collections.abc import Callable
from typing import Any, Literal

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.core import check_real, whole
from lemmata.errors import NotPositiveDefiniteError, SettingError

from ._fields import field_shape
from ._layer import AbstractLayer, Shape
from ._state import Grid, Means, State


class PositionalEmbedding(AbstractLayer):
    r"""A trained random vector at every position of a field. The vectors are the same for all inputs.

    The coordinates e_j of the vectors are independent Gaussian fields with E[e_j(p) e_j(q)] = sigma² R(p, q). Here,
    sigma = `std` and R(p, q) = decay(|p - q|), where |.| is the Euclidean distance on the grid. Without `decay`, R is
    the identity.

    * `"sum"`: h(p) = x(p) + e(p), so nngp' = nngp + sigma² R and ntk' = ntk + sigma² R.
    * `"concat"`: h(p) = (x(p), e(p)) with c + k coordinates, where k = `channels` (or c). Then nngp' and ntk' are
      weighted means: the moments of x have weight c / (c + k), and sigma² R has weight k / (c + k).

    Add a fixed table of embeddings, for example a sinusoidal table, to the inputs of the network. In
    `Attention(positions=...)`, embeddings are added to queries and keys but not to values. To add embeddings to
    queries, keys and values, put this layer before Attention.

    Args:
        kind: `"sum"` or `"concat"`.
        std: sigma, the standard deviation of a coordinate of e.
        decay: a function of the distance, written in numpy or JAX, with decay(0) = 1 for vectors of variance sigma².
        channels: the number of coordinates of e. None means the number of coordinates of x.

    Raises:
        SettingError: for an unknown kind, a negative `std`, or `channels` below 1.
        NotPositiveDefiniteError: if `decay` does not give a positive semidefinite matrix on the grid.

    `push` raises SettingError for `"sum"` at the inputs of a network. The number of inputs is fixed, so the products of
    x and e would not average out.
    """

    kind: Literal["sum", "concat"] = eqx.field(default="sum", static=True)
    std: float = 1.0
    decay: Callable[[Any], Any] | None = eqx.field(default=None, static=True)
    channels: int | None = eqx.field(default=None, static=True)

    def __check_init__(self):
        if self.kind not in ("sum", "concat"):
            raise SettingError("kind of a positional embedding", found=self.kind, rule="'sum' or 'concat'")
        check_real("std of a positional embedding", self.std, "finite and not negative", lambda number: number >= 0)
        if self.channels is not None and whole("channels of a positional embedding", self.channels) < 1:
            raise SettingError("channels of a positional embedding", found=self.channels, rule="at least 1")

    def covariance(self, sites: tuple[int, ...]) -> Float[np.ndarray, "s s"]:
        """Return the matrix R between all positions of a grid, in row-major order."""
        size = math.prod(sites)
        if self.decay is None:
            return np.eye(size)
        grid = np.stack(np.unravel_index(np.arange(size), sites), axis=1)
        distance = np.sqrt(np.sum((grid[:, None] - grid[None]) ** 2, axis=2))
        with jax.ensure_compile_time_eval(), np.errstate(divide="ignore", invalid="ignore"):
            matrix = np.broadcast_to(np.asarray(self.decay(distance), float), (size, size))
        lowest, largest = np.linalg.eigvalsh(matrix)[[0, -1]] if np.isfinite(matrix).all() else (-np.inf, 1.0)
        if lowest < -10 * size * np.finfo(float).eps * max(largest, 0.0):
            raise NotPositiveDefiniteError(
                "decay of a positional embedding",
                found=f"a matrix with lowest eigenvalue {lowest:.3g} on a grid of shape {sites}",
                rule="a positive semidefinite matrix of the values decay(|p - q|)",
                remedy="use a positive definite function, such as exp(-|p - q|)",
            )
        return matrix

    def shares(self, channels: int) -> tuple[float, float]:
        """Return the factors of the moments of x and of R in the new moments, if x has `channels` coordinates."""
        if self.kind == "sum":
            return 1.0, self.std**2
        own = self.channels or channels
        return channels / (channels + own), self.std**2 * own / (channels + own)

    def embedding(self, params: Float[Array, "s k"], sites: tuple[int, ...]) -> Float[Array, "s k"]:
        """Return the Gaussian fields of covariance R, without `std`, from independent standard normal parameters."""
        if self.decay is None:
            return params
        values, vectors = np.linalg.eigh(self.covariance(sites))
        return jnp.asarray(vectors * np.sqrt(np.maximum(values, 0.0)), params.dtype) @ params

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[Float[Array, "s k"], Shape]:
        """Draw a standard normal number for every position and coordinate of e."""
        *sites, c = field_shape("PositionalEmbedding", fan_in)
        own = self.channels or c
        if self.kind == "sum" and own != c:
            raise SettingError(
                "channels of a positional embedding",
                found=own,
                rule=f"{c} channels, because kind='sum' adds the embedding to the {c} channels of the field",
            )
        self.covariance(tuple(sites))
        return jax.random.normal(key, (math.prod(sites), own), dtype), (*sites, c if self.kind == "sum" else c + own)

    def apply(self, params: Float[Array, "s k"], x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites fan_out"]:
        """Return the field x + e, or (x, e), at every position."""
        sites = x.shape[:-1]
        e = (self.std * self.embedding(params, sites)).reshape(*sites, -1)
        return x + e if self.kind == "sum" else jnp.concatenate([x, e], axis=-1)

    def push(self, state: State) -> State:
        """Add the covariance of the embedding to the moments."""
        field_shape("PositionalEmbedding", (*state.grid.sites, state.fan_in))
        law = state.law
        if self.kind == "sum" and not law.wide:
            raise SettingError(
                "input of PositionalEmbedding",
                found="the network's own inputs",
                rule="kind='sum' adds random coordinates, so the layer before must have infinite width",
                remedy="put a Dense layer before PositionalEmbedding, or use kind='concat'",
            )
        share, own = self.shares(state.fan_in)
        covariance = own * jnp.asarray(self.covariance(state.grid.sites), state.nngp.dtype)
        added = self._added(covariance, state, state.nngp.ndim)
        one, other = self._variances(covariance, state)
        means = state.means
        if means is not None:
            means = Means(*(share * mean for mean in means))
        if self.kind == "concat":
            law = law.perturbed()
        width = state.fan_in + (0 if self.kind == "sum" else self.channels or state.fan_in)
        return state.replace(
            nngp=share * state.nngp + added,
            ntk=share * state.ntk + added,
            xx=share * state.xx + one,
            yy=share * state.yy + other,
            law=law,
            means=means,
            fan_in=width,
        )

    @staticmethod
    def _added(covariance: Array, state: State, ndim: int) -> Array:
        grid = state.grid
        values = covariance.reshape(*grid.sites, *grid.sites) if grid.pairs else _diagonal(covariance, grid)
        return values.reshape(*values.shape, *(1,) * (ndim - values.ndim))

    @staticmethod
    def _variances(covariance: Array, state: State) -> tuple[Array, Array]:
        grid, values = state.grid, _diagonal(covariance, state.grid)
        ones, batch = (1,) * (grid.axes - len(grid.sites)), (1,) * (state.nngp.ndim - grid.axes)
        return values.reshape(*grid.sites, *ones, *batch), values.reshape(*ones, *grid.sites, *batch)


def _diagonal(covariance: Array, grid: Grid) -> Array:
    """Return the variances at the positions of the grid."""
    return jnp.diagonal(covariance).reshape(grid.sites)
