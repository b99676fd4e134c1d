"""The last features of a model: the inputs of its readout, which is its last matrix.

The model may be of any library.
"""

import numpy as np
from jaxtyping import Float

from ._contract import AbstractModel
from ._readout import _is_linear

_TRIED = 32


def readout_places(model: AbstractModel, x: np.ndarray) -> np.ndarray | None:
    """Return the indices (C, h) of the readout matrix in the parameter vector.

    The result is None if the model has no such matrix (see `readout`).

    Args:
        model: the model at its parameters.
        x: the rows on which matrices are tried.
    """
    few = x[:_TRIED]
    f, start = model.outputs(few), len(model.theta)
    for layer in reversed(model.layers):
        start -= layer.size
        if len(layer.shape) != 2 or f.shape[1] not in layer.shape:
            continue
        places = np.arange(start, start + layer.size).reshape(layer.shape)
        for own in (places, places.T):
            if len(own) == f.shape[1] and _is_linear(model, few, f, own):
                return own
    return None


def last_features(model: AbstractModel, places: np.ndarray, x: np.ndarray) -> Float[np.ndarray, "n h"]:
    """Return the features phi of rows.

    Let w_c be row c of the readout matrix. Output c is <w_c, phi> plus terms without w_c, so its gradient with respect
    to w_c is phi.

    Args:
        model: the model at its parameters.
        places: the indices of the readout, from `readout_places`.
        x: the rows. Each feature costs one product with the Jacobian.
    """
    found = np.empty((len(x), places.shape[1]))
    for k, place in enumerate(places[0].tolist()):
        v = np.zeros_like(model.theta)
        v[place] = 1.0
        found[:, k] = model.jvp(v, x)[:, 0]
    return found
