"""Lower bounds of a network's margins over all inputs, by interval arithmetic without a radius."""

import numpy as np
from jaxtyping import Bool, Float

from ._network import ReluNetwork

_UNIT = np.finfo(float).eps


def least_anywhere(
    network: ReluNetwork,
    center: Float[np.ndarray, " d"],
    moves: Bool[np.ndarray, " d"],
    rows: Float[np.ndarray, "r k"],
) -> Float[np.ndarray, " r"]:
    """Return lower bounds of <row, outputs> if some input coordinates may take any value; -inf if there is no bound.

    A sum has no bound if it contains an unbounded number with a nonzero weight. Finite bounds are rounded outward.

    Args:
        network: the network.
        center: the input from which the other coordinates take their values.
        moves: for each coordinate, whether it may take any value. All other coordinates have the values of `center`.
        rows: the combinations of outputs. Each row is one output or the difference of two outputs.
    """
    low, high = np.where(moves, -np.inf, center), np.where(moves, np.inf, center)
    for weight, bias in zip(network.weights[:-1], network.biases[:-1], strict=True):
        least, most = _least(weight, bias, low, high), -_least(-weight, -bias, low, high)
        low, high = np.maximum(least, 0.0), np.maximum(most, 0.0)
    return _least(rows @ network.weights[-1], rows @ network.biases[-1], low, high)


def _least(weight: np.ndarray, bias: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the least W v + b for v between two bounds, rounded down. Rounding errors of W and b are included."""
    rises, falls = np.maximum(weight, 0.0), np.minimum(weight, 0.0)
    bounded = [np.where(np.isfinite(end), end, 0.0) for end in (low, high)]
    sizes = rises @ np.abs(bounded[0]) - falls @ np.abs(bounded[1]) + np.abs(bias)
    found = rises @ bounded[0] + falls @ bounded[1] + bias - _UNIT * (len(low) + 4) * sizes  # Higham 2002, section 3.1
    endless = (rises > 0) @ np.isneginf(low) | (falls < 0) @ np.isposinf(high)
    return np.where(endless, -np.inf, found)
