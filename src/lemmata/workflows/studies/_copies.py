"""Find the rows of a table that equal other rows. Rows are hashed, so that a million rows take a second."""

import numpy as np
import polars as pl
from jaxtyping import Int

from ._columns import MOST_CATEGORIES, Inputs, Targets, count

CONTRADICTING = 0.01
"""Differences between rows of equal inputs are reported if they are at least this share of the target's variance."""
_FIRST = 10_000


def first_equal(*columns: np.ndarray) -> Int[np.ndarray, " N"]:
    """Return, for each row, the index of the first row that equals it. NaN equals NaN.

    A row consists of the entries of all given arrays in this row.

    >>> first_equal(np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0]]))
    array([0, 1, 0])
    """
    parts = [part.reshape(len(part), -1) for part in columns]
    series = [pl.Series(f"{i}-{j}", np.ascontiguousarray(part[:, j])) for i, part in enumerate(parts)
              for j in range(part.shape[1])]  # fmt: skip
    keys = [column.name for column in series]
    # Rows of several columns are compared by two hashes. For each pair of rows, the probability of a collision is
    # 2^-128, which is neglected.
    frame = pl.DataFrame(series)
    if len(keys) > 1:
        frame = pl.DataFrame([frame.hash_rows(seed=1).alias("a"), frame.hash_rows(seed=2).alias("b")])
        keys = ["a", "b"]
    frame = frame.with_columns(pl.Series("row", np.arange(len(parts[0]))))
    return frame.select(pl.col("row").min().over(keys)).to_series().to_numpy()


def repeated(*columns: np.ndarray) -> int:
    """Return the number of rows that equal an earlier row.

    >>> repeated(np.array([1.0, 2.0, 1.0, 1.0]))
    2
    """
    return len(columns[0]) - len(np.unique(first_equal(*columns)))


def repeated_across(groups: np.ndarray, *columns: np.ndarray) -> int:
    """Return the number of rows that equal an earlier row of another group.

    >>> repeated_across(np.array([0, 0, 1, 0]), np.array([2.0, 2.0, 2.0, 2.0]))
    2
    """
    same = first_equal(*columns)
    other = groups != groups[same]  # whether a row's group differs from the group of the first equal row
    earliest = np.full(len(same), len(same))
    np.minimum.at(earliest, same[other], np.flatnonzero(other))
    return int((other | (earliest[same] < np.arange(len(same)))).sum())


def copied_rows(
    inputs: np.ndarray, pooled: np.ndarray, y: np.ndarray, group: np.ndarray | None, time: np.ndarray | None
) -> tuple[int, int]:
    """Count the rows that equal an earlier row, in two ways. All counts of duplicate rows use this function.

    Args:
        inputs: the raw inputs.
        pooled: the codes that distinguish the texts that are pooled in one category.
        y: the targets.
        group: the group of each row, or None.
        time: the time of each row, or None.

    Returns:
        First, the number of rows that equal an earlier row in inputs and target, and in group and time if these are
        given. Second, the number of rows that equal an earlier row of another group in inputs and target; 0 without
        groups, and if a time is given.
    """
    cells = [inputs, pooled, y, *([] if time is None else [time])]
    whole = repeated(*cells, *([] if group is None else [group]))
    return whole, 0 if group is None or time is not None else repeated_across(group, *cells)


def many_values(column: np.ndarray) -> bool:
    """Whether the column has more values than a category may have, so that equal rows are not expected by chance."""
    return any(pl.Series(part).n_unique() > MOST_CATEGORIES for part in (column[:_FIRST], column))


def equal_rows(
    inputs: Inputs, targets: Targets, label: str, group: np.ndarray | None, time: np.ndarray | None
) -> list[tuple[str, str]]:
    """Return findings, as kinds and texts, about rows that occur more than once and about rows with equal inputs.

    Rows of different times do not count as equal.

    Args:
        inputs: the raw inputs.
        targets: the targets of the same rows.
        label: the name of the target.
        group: a number for the group of each row, if --group is given; otherwise None.
        time: the time of each row, if --time is given; otherwise None.
    """
    cells = [inputs.values, inputs.pooled, *([] if time is None else [time])]
    found = []
    whole, across = copied_rows(inputs.values, inputs.pooled, targets.y, group, time)
    if whole:
        asked = [name for name, given in (("the time", time), ("the group", group)) if given is not None]
        same = ["every input", "the target", *asked]
        twice = "every number here counts these rows more than once"
        away = "a copy in the training set reveals the target of the held-out row"
        text = (
            f"{count(whole, 'row repeats', 'rows repeat')} an earlier row in {', '.join(same[:-1])} and {same[-1]}. If"
            f" these rows are copies, remove them, because {away if len(same) == 2 else twice}."
        )
        found.append(("repeats", text))
    if across and _tells_apart(inputs, targets):
        text = (
            f"{count(across, 'row equals', 'rows equal')} an earlier row of another group in every input and the "
            "target. If such rows are the same case, give them the same group. Then no held-out row has a copy in the "
            "training set."
        )
        found.append(("repeats", text))
    return found + _contradictions(first_equal(*cells), targets, label, time is not None)


def _tells_apart(inputs: Inputs, targets: Targets) -> bool:
    """Whether some column of numbers has so many values that equal rows are not expected by chance."""
    numbers = [column for column, own in zip(inputs.values.T, inputs.categories, strict=True) if own is None]
    return any(map(many_values, numbers if targets.classes else [*numbers, *targets.values.T]))


def _contradictions(earliest: np.ndarray, targets: Targets, label: str, timed: bool) -> list[tuple[str, str]]:
    """Return a finding on how much the target varies among rows with equal inputs and times, if it varies much.

    No function of inputs and times can explain this variance.
    """
    _, inverse, sizes = np.unique(earliest, return_inverse=True, return_counts=True)
    means = np.stack([np.bincount(inverse, column) / sizes for column in targets.y.T], axis=1)
    inside = ((targets.y - means[inverse]) ** 2).sum(axis=1)
    involved = int((np.bincount(inverse, inside)[inverse] > 1e-12 * inside.sum()).sum())
    share = inside.sum() / (targets.y**2).sum()
    if share < CONTRADICTING:
        return []
    given, known = ("inputs and time", "the inputs and the time") if timed else ("inputs", "the inputs alone")
    text = (
        f"{involved:,} rows have the same {given} as another row, but a different {label!r}. No model of {known} can "
        f"explain these differences, which make up {100 * share:.1f} % of the target's variance."
    )
    return [("contradiction", text)]
