"""Where the units of a piecewise linear network change sign along a line."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

_APART = 1e-10  # a zero this close to the end of a piece is a rounding error


class Layer(NamedTuple):
    """A layer of units with given weights and biases. Each activation has a given slope below 0 and another above 0. A
    slope is one number for all units, or one number for each unit.
    """

    weights: Float[np.ndarray, "n m"]
    biases: Float[np.ndarray, " n"]
    below: float | Float[np.ndarray, " n"] = 0.0
    above: float | Float[np.ndarray, " n"] = 1.0


class Bends(NamedTuple):
    """The values of t at which units change sign along start + t direction.

    Args:
        places: the value of t at each change of sign, layer by layer.
        layers: the number of the layer to which each place belongs.
        units: the number of the unit within its layer, for each place.
        ends: the ends of the pieces, in order, including both ends of the line.
        values: the constant part of the last layer's activations, which are values + t slopes on each piece.
        slopes: the slopes in t of the last layer's activations.
    """

    places: Float[np.ndarray, " k"]
    layers: Int[np.ndarray, " k"]
    units: Int[np.ndarray, " k"]
    ends: Float[np.ndarray, " p"]
    values: Float[np.ndarray, "pieces n"]
    slopes: Float[np.ndarray, "pieces n"]


def inner_points(ends: Float[np.ndarray, " p"]) -> Float[np.ndarray, " pieces"]:
    """Return a point inside each piece; the first and the last piece may be infinite."""
    low, high = ends[:-1], ends[1:]
    first = np.where(np.isinf(high), 0.0, high - 1)
    with np.errstate(invalid="ignore"):
        return np.where(np.isinf(low), first, np.where(np.isinf(high), low + 1, low + (high - low) / 2))


def bends(
    layers: Sequence[Layer],
    start: Float[np.ndarray, " d"],
    direction: Float[np.ndarray, " d"],
    low: float = -np.inf,
    high: float = np.inf,
) -> Bends:
    """Find the values of t between low and high at which units change sign. The search goes through the layers in
    order.

    On each piece, the inputs of a layer are affine in t, so the zero of a unit has a closed form. Zeros at the ends of
    a piece, within rounding, come from a layer whose inputs all become 0. These zeros are not changes of sign.
    """
    ends, values, slopes = np.array([low, high]), start[None], direction[None]
    places, numbers, units = [], [], []
    for number, layer in enumerate(layers):
        values, slopes = values @ layer.weights.T + layer.biases, slopes @ layer.weights.T
        with np.errstate(divide="ignore", invalid="ignore"):
            zeros = -values / slopes
            space = _APART * (np.abs(zeros) if np.isinf(high) else high - low)
            within = (zeros > ends[:-1, None] + space) & (zeros < ends[1:, None] - space)
        found = zeros[within]
        places.append(found)
        units.append(np.nonzero(within)[1])
        numbers.append(np.full(len(found), number))
        finer = np.sort(np.concatenate([ends, found]))
        inner = inner_points(finer)
        piece = np.searchsorted(ends, inner) - 1
        values, slopes, ends = values[piece], slopes[piece], finer
        slope = np.where(values + slopes * inner[:, None] > 0, layer.above, layer.below)
        values, slopes = slope * values, slope * slopes
    at, of, unit = (np.concatenate(each) for each in (places, numbers, units))
    return Bends(at, of, unit, ends, values, slopes)
