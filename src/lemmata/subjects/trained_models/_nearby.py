"""Move training rows, to test a model on inputs that it has not seen.

The distance of the move is the distance of the training row to its nearest other row. Two solutions of one objective
agree on rows that both have seen, and may differ on all other rows. New rows show the size of this difference. If there
are no new rows, or if new rows must not be used, moved training rows are nearly as good.
"""

import numpy as np

from ._copies import nearest_distances
from ._once import once
from ._polish import polished_copy
from ._trained import Trained

_STREAM = 17


def nearby_rows(x: np.ndarray, *, seed: int = 0) -> np.ndarray:
    """Return at most 512 rows, each moved in a random direction by the distance to its nearest other row.

    Rows of whole numbers, and a single row, are returned unchanged.

    Args:
        x: the rows (n, *row).
        seed: the seed of the directions.

    >>> moved = nearby_rows(np.array([[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]]))
    >>> np.linalg.norm(moved - [[0.0, 0.0], [3.0, 4.0], [6.0, 8.0]], axis=1).round(6).tolist()
    [5.0, 5.0, 5.0]
    """
    if np.asarray(x).dtype.kind != "f" or len(x) < 2:
        return np.asarray(x)
    distances, places = nearest_distances(x)
    rng, shape = np.random.default_rng([seed, _STREAM]), (len(places), *x.shape[1:])
    direction = rng.normal(size=(len(places), int(np.prod(x.shape[1:], dtype=int))))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return (x[places] + (distances[:, None] * direction).reshape(shape)).astype(x.dtype)


@once
def unsettled_nearby(trained: Trained) -> float:
    """Return the share of moved training rows whose predicted class differs between the model and its converged copy.

    The converged copy is the model after further training to a stationary point. The model and the copy are two
    approximate solutions of one objective for the same training rows. If the two solutions predict different classes at
    a row, then the training rows do not determine the class of this row. A Newton step from one of the solutions does
    not determine the class either.
    """
    rows = nearby_rows(trained.x, seed=trained.seed)
    calls = [model.outputs(rows).argmax(1) for model in (trained.model, polished_copy(trained).model)]
    return float(np.mean(calls[0] != calls[1]))
