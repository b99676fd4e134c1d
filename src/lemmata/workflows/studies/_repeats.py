"""Count the rows that repeat other rows."""

from ._copies import copied_rows, many_values
from ._data import Dataset


def copies(dataset: Dataset) -> int:
    """Count the rows that repeat an earlier row in every input, the target and the time, as written in the table.

    With groups and no time, only rows that equal an earlier row of another group count, because a split never separates
    rows of one group.
    """
    whole, across = copied_rows(dataset.inputs, dataset.pooled, dataset.y, dataset.groups, dataset.order)
    return whole if dataset.groups is None or dataset.order is not None else across


def few_values(dataset: Dataset) -> bool:
    """Whether every column has so few different values that equal rows are expected by chance."""
    numbers = [j for j, names in enumerate(dataset.categories) if names is None]
    columns = [dataset.inputs[:, j] for j in numbers] + (
        [] if dataset.task == "classification" else [*dataset.targets.T]
    )
    return not any(map(many_values, columns))
