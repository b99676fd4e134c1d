"""The interface of a layer: one object with the methods `init`, `apply` and `push`."""

import abc
from typing import Any, ClassVar

import equinox as eqx
from jaxtyping import Array, Bool, Float, Key

from ._state import State

# The number of coordinates of a vector, or the shape of a field: the shape of its grid of positions, then the number of
# coordinates.
Shape = int | tuple[int, ...]


class AbstractLayer(eqx.Module):
    """A layer of a network: a random map between vectors, or between fields of vectors, and its infinite-width limit.

    A field is an array of vectors, one vector at each position of a grid.

    The methods `init` and `apply` define the finite network, and `push` defines the limit. One object has all three
    methods, so they describe the same network. `tests/laws/test_architectures.py` compares `push` with `init` and
    `apply` for every layer.

    Attributes:
        whole: whether `push` also reads the moments of each input with itself (`Grid.left` and `Grid.right`) and
            returns them. If `whole` is false, `push` can ignore these moments.
    """

    whole: ClassVar[bool] = False

    def init(self, key: Key[Array, ""], fan_in: Shape, *, dtype: Any = float) -> tuple[Any, Shape]:
        """Draw the parameters for inputs of shape `fan_in`. Return the parameters and the shape of the outputs.

        By default, there are no parameters, and the outputs have the shape of the inputs.
        """
        return (), fan_in

    @abc.abstractmethod
    def apply(self, params: Any, x: Float[Array, "*sites fan_in"]) -> Float[Array, "*sites_out fan_out"]:
        """Apply the layer to one point."""

    @abc.abstractmethod
    def push(self, state: State) -> State:
        """Return the `State` (second moments) of the outputs from that of the inputs, at infinite width."""

    def apply_masked(
        self, params: Any, x: Float[Array, "*sites fan_in"], mask: Bool[Array, "*sites"]
    ) -> tuple[Float[Array, "*sites_out fan_out"], Bool[Array, "*sites_out"] | None]:
        """Apply the layer to one field. The mask is False at empty positions. Return the outputs and their mask.

        By default, this method calls `apply`. This default is correct for layers that act on each position separately.
        """
        return self.apply(params, x), mask

    def needs_pairs(self, pairs: bool) -> bool:
        """Return whether all pairs of positions are needed at the inputs.

        `pairs` is whether the outputs need all pairs.
        """
        return pairs

    def token_count(self) -> int | None:
        """Return the size of the vocabulary if points are tokens. Return None for vectors and fields of vectors."""
        return None


def channels(shape: Shape) -> int:
    """Return the number of coordinates at one position."""
    return shape if isinstance(shape, int) else shape[-1]


def with_channels(shape: Shape, width: int) -> Shape:
    """Return the shape with the number of coordinates replaced by `width`."""
    return width if isinstance(shape, int) else (*shape[:-1], width)
