"""An upper bound on the rounding errors in the bounds of a network's outputs."""

import numpy as np
from jaxtyping import Float

from ._network import ReluNetwork
from ._relaxation import Ball, Bounds

_UNIT = np.finfo(float).eps


def rounding(
    network: ReluNetwork, ball: Ball, bounds: Bounds, rows: Float[np.ndarray, "r k"]
) -> Float[np.ndarray, " r"]:
    """Return an upper bound on the rounding errors of the lower bounds of <row, outputs>.

    Every bound is a sum of products along paths from the inputs to an output, with slopes of at most 1. The sizes of
    the products add up to M = |C W_L| ... |W_2| (|W_1| (|x| + radius) + |b_1|) + .... Here C is the matrix of the rows,
    and W_k and b_k are weights and biases. The dots stand for the terms of the other biases, and the sums are over
    units that are active somewhere on the ball. The error of a sum of n products is at most n eps times the sum of the
    products' sizes (Higham 2002, section 3.1). The bounds of the hidden units in each layer add further errors.

    Args:
        network: the network.
        ball: the inputs.
        bounds: the bounds of the hidden units.
        rows: the combinations of outputs, one in each row.
    """
    layers = len(network.weights)
    unit = 2 * layers * _UNIT * sum(weight.shape[1] + 8 for weight in network.weights)
    size = np.abs(ball.center) + ball.radius
    for (low, high), weight, bias in zip(bounds, network.weights, network.biases, strict=False):
        size = np.abs(weight) @ size + np.abs(bias)
        off = high + unit * size <= 0
        size = np.where(off, 0.0, size + np.maximum(-low, 0.0))
    return unit * (np.abs(rows @ network.weights[-1]) @ size) + _UNIT * np.abs(rows @ network.biases[-1])
