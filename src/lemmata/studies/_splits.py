"""How rows are split into training and held-out rows: at random, whole groups together, or earlier before later."""

import math

import numpy as np
from jaxtyping import Int

from lemmata.errors import DataError

MOST_HELD_OUT = 500
LARGEST_SHARE = 0.8
MOST_TRAINED = 1000
"""The largest training set that is fitted in a split: eigenvalues of n x n matrices take n³ operations."""


def split_sizes(total: int, quick: bool = False, cost: int = 1) -> list[int]:
    """Eight numbers of training rows in geometric progression, from N/50 (at least 8) to 4N/5 (at most 1000).

    Quickly, five of them up to 400. Of a model whose fit costs more than eight fits of a kernel, every other size.

    >>> split_sizes(200)
    [8, 12, 19, 29, 44, 68, 104, 160]
    """
    points, most = (5, 400) if quick else (8, MOST_TRAINED)
    top = min(int(LARGEST_SHARE * total), most)
    sizes = sorted({round(float(size)) for size in np.geomspace(min(max(8, total // 50), top), top, points)})
    return sizes if cost <= 8 or len(sizes) < 5 else sizes[1 :: 1 if quick else 2]


def number_of_splits(total: int, n: int, quick: bool = False, cost: int = 1) -> int:
    """How many splits are measured at n training rows of N: small systems cost little, and vary most.

    At most 16, fewer above 150 training rows, and for cheap models as many as it takes until each row has been held out
    about once; at least 3, or 2 where a fit is costly and there is no time.

    Args:
        total: rows N.
        n: training rows.
        quick: half of them, and rows may never be held out.
        cost: of a model's fit, in fits of a kernel.
    """
    number = math.ceil(16 * min(1.0, 150 / n))
    if quick:
        return max(3 if cost <= 8 else 2, number // (2 * cost))
    if cost > 1:
        return max(3, number // cost)
    return max(6, number, math.ceil(total / min(held_out(n), total - n)))


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
