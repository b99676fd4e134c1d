"""Rows with missing cells as points: that a cell is missing is a coordinate of its own."""

import numpy as np
from jaxtyping import Float


def as_points(*parts: Float[np.ndarray, "_ d"]) -> tuple[Float[np.ndarray, "_ e"], ...]:
    """Samples of rows without NaN, in coordinates that they share; unchanged if no cell is missing.

    In a column with missing cells, a missing cell is the mean of the known cells of all samples. An added column is
    their spread if a cell is missing, and 0 otherwise.

    Args:
        parts: samples of rows.

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
