"""The two kernels of an infinitely wide network."""

from typing import ClassVar

import numpy as np
from jaxtyping import Array, Float

from lemmata.kernels import AbstractKernel

from ._bends import is_bent
from ._checks import check_network, check_pair, finite
from ._entries import Face, NetworkEntries
from ._homogeneous import is_homogeneous
from ._layer import AbstractLayer
from ._numpy_cross import numpy_network_cross
from ._reading import as_read
from ._tiling import cross_entries, diagonal_entries, field_tile

# the approximate number of tiles of fields along a side; with more tiles, their fixed costs would only add up
_MOST_TILES = 64


class AbstractNetworkKernel(AbstractKernel):
    """A kernel of one output of an infinitely wide network.

    Attributes:
        face: the attribute of `State` that holds this kernel, "nngp" or "ntk".
    """

    network: AbstractLayer
    face: ClassVar[Face]
    exactly_symmetric = True
    numpy_entries = 2.0**26

    def __check_init__(self):
        check_network(self.network)

    @property
    def cheap_points(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether a cheap formula (a series, or one loop over the layers) replaces `push` of every layer."""
        return is_homogeneous(self.network) or is_bent(self.network, 1)

    def tile_rows(self, shape: tuple[int, ...]) -> int | None:
        """Return the number of rows of a tile.

        For fields, the tile fits into the cache unless there are very many points.
        """
        if len(shape) == 2:
            return super().tile_rows(shape)
        side = field_tile(self.network, shape[1:-1])
        return side * max(1, shape[0] // (_MOST_TILES * side))

    def __call__(self, x: Float[Array, "*d"], y: Float[Array, "*d"]) -> Float[Array, ""]:
        """The kernel at two points."""
        check_pair(x, y)
        return finite(self.entries().pair(as_read(self.network, x), as_read(self.network, y)))

    def cross(self, x: Float[Array, "n *d"], y: Float[Array, "m *d"]) -> Float[Array, "n m"]:
        """Return the kernel of all pairs, from one matrix product and `push` of every layer (the recursion).

        A series in the angle, a table or one loop over the layers replaces the recursion if it is faster.
        """
        return cross_entries(self.entries(), x, y)

    def numpy_cross(
        self, x: Float[np.ndarray, "n *d"], y: Float[np.ndarray, "m *d"]
    ) -> Float[np.ndarray, "n m"] | None:
        """The kernel of all pairs, computed by NumPy, for dense networks with rectifiers or error functions."""
        return numpy_network_cross(self.network, self.face, x, y)

    def diagonal(self, x: Float[Array, "n *d"]) -> Float[Array, " n"]:
        """The kernel of every point with itself."""
        return diagonal_entries(self.entries(), x)

    def entries(self) -> NetworkEntries:
        """Return the object that computes this kernel from the moments of the inputs."""
        return NetworkEntries(self.network, self.face)


class NNGPKernel(AbstractNetworkKernel):
    """The covariance E[f(x) f(y)] of one output of an infinitely wide random network (its Gaussian-process limit).

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import NNGPKernel, relu_network
        >>> x = jnp.array([1.0, 1.0])
        >>> round(float(NNGPKernel(relu_network(depth=3))(x, x)), 6)
        1.0
    """

    face = "nngp"


class TangentKernel(AbstractNetworkKernel):
    """The neural tangent kernel of one output at infinite width: <df(x)/dparams, df(y)/dparams> at initialisation.

    With a `Dense` readout, the tangent kernel between different outputs is 0, and each output has this kernel. In the
    standard parameterisation, this kernel is the leading order at the widths of the given layers (see `Dense`).

    Example:
        >>> import jax.numpy as jnp
        >>> from lemmata.architectures import TangentKernel, relu_network
        >>> x = jnp.array([1.0, 1.0])
        >>> round(float(TangentKernel(relu_network(depth=3))(x, x)), 6)
        4.0
    """

    face = "ntk"
