"""How rows are split into training and held-out rows: at random, whole groups together, or earlier before later."""

import math

import numpy as np
from jaxtyping import Int

from lemmata.errors import DataError

MOST_HELD_OUT = 500
LARGEST_SHARE = 0.8
MOST_TRAINED = 1000
"""The largest training set that is fitted in a split: eigenvalues of n x n matrices take n³ operations."""


def split_sizes(total: int, points: int = 8, most: int = MOST_TRAINED) -> list[int]:
    """Numbers of training rows in geometric progression, from N/50 (at least 8) to 4N/5 (at most 1000).

    >>> split_sizes(200)
    [8, 12, 19, 29, 44, 68, 104, 160]
    """
    top = min(int(LARGEST_SHARE * total), most)
    return sorted({round(float(size)) for size in np.geomspace(min(max(8, total // 50), top), top, points)})


def resamples(n: int, quick: bool = False) -> int:
    """How many splits are measured at a size: small systems cost little, and vary most."""
    number = math.ceil(16 * min(1.0, 150 / n))
    return max(3, number // 2) if quick else max(6, number)


def fewest(total: int, n: int) -> int:
    """How many splits it takes until each row has been held out about once, at least 3."""
    return max(3, math.ceil(total / min(held_out(n), total - n)))


def held_out(n: int) -> int:
    """The largest number of rows that are held out beside n training rows: few splits of few rows need not many."""
    return min(MOST_HELD_OUT, max(64, 4 * n))


def split(
    total: int,
    n: int,
    number: int,
    seed: int,
    groups: Int[np.ndarray, " N"] | None = None,
    order: np.ndarray | None = None,
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """Training and held-out rows of the split of this number: the same for every model.

    Consecutive splits hold out different rows until all have been, and then begin again in another order.
    With groups, whole groups are drawn until there are n rows; the last is cut, and its rest left out. With an order,
    a stretch of rows is drawn, of which the first n train and those directly after them are held out.

    Args:
        total: rows N.
        n: training rows.
        number: of the split.
        seed: of the study.
        groups: the group of each row.
        order: when each row was seen.

    Raises:
        DataError: groups so large that none is held out.
    """
    held = min(held_out(n), total - n)
    if order is None and groups is None:
        folds = total // held
        rows = np.random.default_rng([seed, n, number // folds]).permutation(total)
        rows = np.roll(rows, -held * (number % folds))
        return rows[held : held + n], rows[:held]
    rng = np.random.default_rng([seed, n, number])
    if order is not None:
        rows = np.argsort(order, kind="stable")
        held = min(held_out(n), max(2, (total - n) // 2))
        first = int(rng.integers(0, total - n - held + 1))
        return rows[first : first + n], rows[first + n : first + n + held]
    assert groups is not None
    shuffled = rng.permutation(np.unique(groups))
    place = np.empty(groups.max() + 1, np.int64)
    place[shuffled] = np.arange(len(shuffled))
    rows = rng.permutation(total)
    rows = rows[np.argsort(place[groups[rows]], kind="stable")]
    train = rows[:n]
    held = rows[n:][~np.isin(groups[rows[n:]], groups[train])][: held_out(n)]
    if len(held) < 2:
        raise DataError(
            "--group leaves no rows to hold out",
            found=f"{len(shuffled)} groups for {total} rows",
            rule="the groups that do not train hold at least two rows",
            remedy="name a column with smaller groups, or leave --group out",
        )
    return train, held
