"""The readout of a model: the last matrix, in which the outputs are linear, with one direction for each output."""

import numpy as np
from jaxtyping import Float

from ._contract import AbstractModel
from ._once import once
from ._trained import Trained

_ROUNDING = 1e-3
_TRIED = 32


def readout(model: AbstractModel, x: np.ndarray) -> Float[np.ndarray, "C h"] | None:
    """Return the last matrix W = (w_1, ..., w_C) with output c = <w_c, features> plus terms without W.

    Parameter matrices are tried, from the last. If w_c is doubled, only output c may change. If w_c is set to 0, output
    c must change by the opposite amount. Only the first and the last direction are tested.

    Args:
        model: the model at its parameters.
        x: the rows on which matrices are tried.

    Returns:
        The directions as rows, or None if no parameter array is such a matrix.
    """
    f = model.outputs(x)
    outputs, start = f.shape[1], len(model.theta)
    for layer in reversed(model.layers):
        start -= layer.size
        if len(layer.shape) != 2 or outputs not in layer.shape:
            continue
        places = np.arange(start, start + layer.size).reshape(layer.shape)
        for own in (places, places.T):
            if len(own) == outputs and _is_linear(model, x, f, own):
                return model.theta[own].astype(float)
    return None


def _is_linear(model: AbstractModel, x: np.ndarray, f: Float[np.ndarray, "n C"], places: np.ndarray) -> bool:
    """Return whether the parameters in the first and last row of `places` each move only its output, and linearly."""
    scale = max(float(np.abs(f).max()), 1e-300)
    for c in (0, len(places) - 1):
        double, nothing = (model.theta.copy() for _ in range(2))
        double[places[c]] *= 2
        nothing[places[c]] = 0
        up, down = model.at(double).outputs(x) - f, f - model.at(nothing).outputs(x)
        others = np.arange(f.shape[1]) != c
        apart = max(float(np.abs(up[:, others]).max(initial=0.0)), float(np.abs(up - down).max()))
        if apart > _ROUNDING * scale or not np.abs(up[:, c]).max() > _ROUNDING * scale:
            return False
    return True


@once
def readout_of(trained: Trained) -> Float[np.ndarray, "C h"] | None:
    """Return the direction w_c of each output, or None if the model has no readout matrix."""
    return readout(trained.model, trained.x[:_TRIED])
