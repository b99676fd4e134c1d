"""The rules by which a network reads points: as vectors, fields, tokens, fields with a mask, or graphs."""

from functools import singledispatch
from typing import NamedTuple

from jaxtyping import Array, Bool, Float

from ._embedding import token_points
from ._layer import AbstractLayer


class Reading(NamedTuple):
    """The points of a network, split into values, mask and graphs. The moments of the inputs are computed from these.

    Attributes:
        values: vectors, fields, or tokens as fields with one channel.
        mask: the filled positions; None if all positions are filled.
        tokens: whether the values are tokens.
        adjacency: the adjacency matrix of the graph of each point; None if points are not graphs.
    """

    values: Float[Array, "n *sites c"]
    mask: Bool[Array, "n *sites"] | None
    tokens: bool
    adjacency: Float[Array, "n nodes nodes"] | None = None


@singledispatch
def reading(network: AbstractLayer, x: Float[Array, "n *sites c"]) -> Reading:
    """Split points, in the form of `as_read`, into a `Reading`. A layer with its own kind of points registers a rule.

    By default, all positions are filled.
    """
    return Reading(x, None, network.token_count() is not None)


@singledispatch
def check_points(network: AbstractLayer, x: Array) -> None:
    """Refuse points that the network cannot read, for reasons other than their shapes. A layer can register its rule.

    By default, no points are refused.
    """


def as_read(network: AbstractLayer, x: Array) -> Array:
    """Return the points in the form that the network reads. Tokens become fields with one channel."""
    count = network.token_count()
    return x if count is None else token_points(x, count)
