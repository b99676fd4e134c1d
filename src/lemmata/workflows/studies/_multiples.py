"""Find out whether a column of numbers is a multiple or a monotone function of the target, exactly or nearly."""

import numpy as np
from jaxtyping import Float
from scipy.stats import rankdata

SAME = 0.999
"""The share of the target's variance that a column must explain alone to count as a function of the target."""
MONOTONE = 0.75
"""A monotone relation is tested only if at least this share of the target's steps have the same direction.

The steps are those between neighbours in the order of the column. The test then compares ranks.
"""
_EXTREME = 3
"""The relation must also hold without this number of rows that are farthest from the median, such as a row of sums."""


def relation(column: Float[np.ndarray, " n"], target: Float[np.ndarray, " n"]) -> str | None:
    """Return a text if the column explains more than 99.9 % of the variance of the target or of its ranks, else None.

    The text says that the column is a function of the target only if this holds in every row, up to rounding.
    """
    if _nearly(column, target):
        if _rounded(column, target):
            return "is a multiple of {target}, up to a constant and rounding"
        return (
            f"alone explains more than {100 * SAME:.1f} % of the variance of {{target}} by a straight line. Check "
            "whether it contains the target or is computed from it"
        )
    # If the relation is monotone, the target is nearly sorted in the column's order. Ranks measure this.
    order = np.argsort(column, kind="stable")
    if max((np.diff(target[order]) >= 0).mean(), (np.diff(target[order]) <= 0).mean()) < MONOTONE:
        return None
    if not _nearly(rankdata(column), rankdata(target)):
        return None
    if _monotone(column, target) or _monotone(column, -target):
        return "is a monotone function of {target}"
    return (
        f"has nearly the same order as {{target}}: its ranks explain more than {100 * SAME:.1f} % of the variance of "
        "the target's ranks. Check whether it contains the target or is computed from it"
    )


def explained(a: Float[np.ndarray, " n"], b: Float[np.ndarray, " n"]) -> float:
    """Return the share of the variance of b that a linear function of a explains.

    >>> round(explained(np.array([1.0, 2.0, 4.0]), np.array([3.0, 5.0, 9.0])), 9)
    1.0
    """
    if not (np.ptp(a) > 0 and np.ptp(b) > 0):
        return 0.0
    a, b = a / np.abs(a).max(), b / np.abs(b).max()
    a, b = a - a.mean(), b - b.mean()
    return float((a @ b) ** 2 / max((a @ a) * (b @ b), np.finfo(float).tiny))


def _nearly(column: np.ndarray, target: np.ndarray) -> bool:
    """Whether the column explains the target, with and without the rows that are farthest from the median."""
    if explained(column, target) < SAME:
        return False
    away = [np.argsort(np.abs(values - np.median(values)))[-_EXTREME:] for values in (column, target)]
    kept = np.delete(np.arange(len(column)), np.concatenate(away))
    return explained(column[kept], target[kept]) >= SAME


def _rounded(column: np.ndarray, target: np.ndarray) -> bool:
    """Whether the target differs from a linear function of the column by no more than the rounding of both."""
    a, b = column / np.abs(column).max(), target / np.abs(target).max()
    slope = ((a - a.mean()) @ (b - b.mean())) / ((a - a.mean()) @ (a - a.mean()))
    apart = np.abs(b - b.mean() - slope * (a - a.mean())).max()
    return bool(apart <= _step(target) + abs(slope) * _step(column))


def _step(values: Float[np.ndarray, " n"]) -> float:
    """Return the step to which values were rounded, as a share of the largest: their type's precision, or coarser.

    A coarser step is the least distance between two values, if all distances are multiples of it.
    """
    with np.errstate(over="ignore"):
        single = bool((values == values.astype(np.float32)).all())
    least = len(values) * float(np.finfo(np.float32 if single else np.float64).eps)
    known = np.unique(values / np.abs(values).max())
    apart = np.diff(known).min()
    multiples = (known - known[0]) / apart
    return max(least, float(apart) if np.abs(multiples - np.round(multiples)).max() < 1e-3 else 0.0)


def _monotone(column: np.ndarray, target: np.ndarray) -> bool:
    """Whether all rows with a larger value of the column have the same or a larger target."""
    order = np.lexsort((target, column))
    first = np.flatnonzero(np.r_[True, np.diff(column[order]) > 0])
    last = np.r_[first[1:], len(order)] - 1
    return bool((target[order][last[:-1]] <= target[order][first[1:]]).all())
