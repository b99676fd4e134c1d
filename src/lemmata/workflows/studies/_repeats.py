"""How many rows repeat others."""

import numpy as np

from ._columns import POOLED
from ._copies import many_values, repeated
from ._data import Dataset


def copies(dataset: Dataset) -> int:
    """How many rows repeat an earlier one in every input, the target and the time.

    With groups and no time they are rows that equal an earlier one of another group: those of one group are never
    split. Rows with a pooled category may differ in their texts and are not counted. 0 where every column has so few
    values that equal rows are to be expected.
    """
    numbers = [j for j, names in enumerate(dataset.categories) if names is None]
    columns = [dataset.inputs[:, j] for j in numbers] + (
        [] if dataset.task == "classification" else [*dataset.targets.T]
    )
    known = ~_pooled(dataset)
    if not (known.any() and any(map(many_values, columns))):
        return 0
    rows = [array[known] for array in (dataset.inputs, dataset.targets)]
    groups = [] if dataset.groups is None else [dataset.groups[known]]
    if dataset.order is not None:
        return repeated(*rows, *groups, dataset.order[known])
    return repeated(*rows) - (repeated(*rows, *groups) if groups else 0)


def _pooled(dataset: Dataset) -> np.ndarray:
    """Which rows have a category that may stand for several texts."""
    found = np.zeros(len(dataset.inputs), bool)
    for column, names in zip(dataset.inputs.T, dataset.categories, strict=True):
        for code in (names.index(name) for name in POOLED if names is not None and name in names):
            found |= column == code
    return found
