"""Draw random rows of a table that is too large, in whole groups if rows come in groups."""

import numpy as np
import polars as pl
from jaxtyping import Int


def drawn(total: int, most: int, seed: int, groups: Int[np.ndarray, " N"] | None = None) -> Int[np.ndarray, " m"]:
    """Return the positions of at most `most` rows, drawn without replacement, in increasing order.

    With groups, whole groups are drawn one after the other, until the next group would give more than `most` rows. If
    this gives fewer than two groups, or less than half of `most` rows, single rows are drawn instead, and some rows of
    a group may be missing.

    Args:
        total: N, the number of rows.
        most: the largest number of rows to draw, at least 1.
        seed: the seed of the draw.
        groups: the group of each row, or None.

    >>> drawn(6, 4, 0, np.array([0, 0, 1, 1, 2, 2]))
    array([0, 1, 4, 5])
    """
    rng = np.random.default_rng(seed)
    if total <= most:
        return np.arange(total)
    if groups is not None:
        _, codes, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        order = rng.permutation(len(sizes))
        chosen = order[np.cumsum(sizes[order]) <= most]
        if len(chosen) >= 2 and 2 * sizes[chosen].sum() >= most:
            return np.flatnonzero(np.isin(codes, chosen))
    return np.sort(rng.choice(total, size=most, replace=False))


def how_drawn(groups: Int[np.ndarray, " N"] | None, chosen: Int[np.ndarray, " m"]) -> str:
    """Return a description of how `drawn` has chosen the rows."""
    if groups is None:
        return "drawn at random"
    used, here = np.unique(groups[chosen], return_counts=True)
    if np.array_equal(here, np.unique(groups[np.isin(groups, used)], return_counts=True)[1]):
        return f"{len(used)} whole groups drawn at random"
    return "drawn at random and not by groups, because the groups are too large"


def group_codes(column: pl.Series) -> Int[np.ndarray, " N"]:
    """Return, for each cell of a column, the number of its value. Missing cells have the number -1.

    >>> group_codes(pl.Series(["b", "a", None, "b"]))
    array([ 2,  1, -1,  2])
    """
    return column.rank("dense").cast(pl.Int64).fill_null(-1).to_numpy()
