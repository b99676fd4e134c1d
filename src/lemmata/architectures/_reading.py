"""How a network reads points: as vectors, fields, tokens, fields with a mask, or graphs."""

from functools import singledispatch
from typing import NamedTuple

from jaxtyping import Array, Bool, Float

from ._embedding import token_points
from ._layer import AbstractLayer


class Reading(NamedTuple):
    """Points as the state of the inputs needs them.

    Attributes:
        values: vectors, fields, or tokens as fields of single numbers.
        mask: the filled positions; None if all are filled.
        tokens: whether the values are tokens.
        adjacency: the graph on the positions of every point, if points are graphs.
    """

    values: Float[Array, "n *sites c"]
    mask: Bool[Array, "n *sites"] | None
    tokens: bool
    adjacency: Float[Array, "n nodes nodes"] | None = None


@singledispatch
def reading(network: AbstractLayer, x: Float[Array, "n *sites c"]) -> Reading:
    """Values, mask and kind of points that `as_read` returned. A layer with its own kind of points registers its rule.

    Here: values everywhere.
    """
    return Reading(x, None, network.token_count() is not None)


@singledispatch
def check_points(network: AbstractLayer, x: Array) -> None:
    """Refuse points that the network cannot read, for reasons other than their shapes. A layer registers its rule.

    Here: none.
    """


def as_read(network: AbstractLayer, x: Array) -> Array:
    """The points as the network reads them: tokens as fields of single numbers."""
    count = network.token_count()
    return x if count is None else token_points(x, count)
