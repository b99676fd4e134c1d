"""Rows with missing cells as points. An added coordinate shows whether a cell is missing."""

import numpy as np
from jaxtyping import Float


def as_points(*parts: Float[np.ndarray, "_ d"]) -> tuple[Float[np.ndarray, "_ e"], ...]:
    """Return samples of rows without NaN, in common coordinates. If no cell is missing, the samples do not change.

    A missing cell becomes the mean of the known cells of its column in all samples. For each column with missing cells,
    a column is added. Its entry is the standard deviation of the known cells if the cell is missing, and 0 otherwise.

    Args:
        parts: the samples of rows.

    >>> as_points(np.array([[0.0], [2.0], [np.nan]]))[0].tolist()
    [[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]]
    """
    missing = np.isnan(np.concatenate(parts))
    if not missing.any():
        return parts
    joined, gaps = np.concatenate(parts), np.flatnonzero(missing.any(0))
    known = np.ma.masked_array(joined[:, gaps], missing[:, gaps])
    middle, spread = known.mean(0).filled(0.0), known.std(0).filled(1.0)
    joined[:, gaps] = known.filled(middle)
    wide = np.concatenate([joined, np.where(missing[:, gaps], np.where(spread > 0, spread, 1.0), 0.0)], axis=1)
    return tuple(np.split(wide, np.cumsum([len(part) for part in parts])[:-1]))
