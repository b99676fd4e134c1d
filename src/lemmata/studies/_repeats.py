"""How many rows repeat others."""

import numpy as np
import polars as pl

from ._columns import MOST_CATEGORIES
from ._copies import first_equal
from ._data import Dataset

_FIRST = 10_000


def copies(dataset: Dataset) -> int:
    """How many rows repeat an earlier one of another group in every column and the target.

    0 where every column has so few values that equal rows are to be expected.
    """
    numbers = [j for j, names in enumerate(dataset.categories) if names is None]
    columns = [dataset.inputs[:, j] for j in numbers] + (
        [] if dataset.task == "classification" else [*dataset.targets.T]
    )
    if not any(_many(column) for column in columns):
        return 0
    first = first_equal(dataset.inputs, dataset.targets)
    kinds = len(np.unique(first))
    if dataset.groups is None:
        return len(first) - kinds
    return len(np.unique(np.stack([first, dataset.groups], axis=1), axis=0)) - kinds


def _many(column: np.ndarray) -> bool:
    """Whether there are more values than a category may have."""
    return any(pl.Series(part).n_unique() > MOST_CATEGORIES for part in (column[:_FIRST], column))
