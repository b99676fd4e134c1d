"""Rows that repeat others, counted by their hashes."""

import numpy as np
import polars as pl

from ._columns import MOST_CATEGORIES
from ._data import Dataset

_FIRST = 10_000


def copies(dataset: Dataset) -> int:
    """How many rows repeat an earlier one of another group in every column and the target.

    0 where every column has so few values that equal rows are to be expected. Rows count as equal where their hashes of
    64 bits are.
    """
    numbers = [j for j, names in enumerate(dataset.categories) if names is None]
    columns = [dataset.inputs[:, j] for j in numbers] + (
        [] if dataset.task == "classification" else [*dataset.targets.T]
    )
    if not any(_many(column) for column in columns):
        return 0
    inputs = pl.from_numpy(np.ascontiguousarray(dataset.inputs)).rename(lambda name: f"x {name}")
    rows = inputs.hstack(pl.from_numpy(np.ascontiguousarray(dataset.targets)).rename(lambda name: f"y {name}"))
    hashes = rows.hash_rows()
    kinds = hashes.n_unique()
    if dataset.groups is None:
        return len(hashes) - kinds
    return pl.DataFrame({"row": hashes, "group": dataset.groups}).n_unique() - kinds


def _many(column: np.ndarray) -> bool:
    """Whether there are more values than a category may have."""
    return any(pl.Series(part).n_unique() > MOST_CATEGORIES for part in (column[:_FIRST], column))
