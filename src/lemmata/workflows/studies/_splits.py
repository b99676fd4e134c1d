"""Split rows into training and held-out rows: at random, by whole groups, or by time."""

import math

import numpy as np
import polars as pl
from jaxtyping import Int

from lemmata.errors import DataError, shortened

POINTS, QUICK_POINTS = 8, 5
LEAST_FACTOR = 1.5
"""The least factor between two sizes, unless it gives fewer than five sizes. Closer sizes share nearly all rows."""
LARGEST_SHARE = 0.8
LARGEST_SHARE_IN_TIME = 0.6
"""With --time, the last 40 % of the rows are divided into stretches, and each stretch is predicted."""
MOST_HELD_OUT, HELD_SHARE = 20_000, 0.2
FEWEST_EARLIER = 8
"""With --time, the least number of rows before the first predicted row."""
BLOCKS = 8
"""The number of stretches of later rows that are predicted with --time."""
FEWEST_OUTSIDE = 3
"""With --group, the least number of rows outside the largest group. A learning curve needs at least three sizes."""
FEW_GROUPS = 3
"""A note says that intervals are wide if there are fewer groups."""
FOLDS_OF_GROUPS = 5
"""The number of parts into which groups are divided. If there are fewer groups, each group is a part."""


def split_sizes(
    total: int, quick: bool = False, groups: Int[np.ndarray, " N"] | None = None, order: np.ndarray | None = None
) -> list[int]:
    """Return numbers of training rows in geometric progression, from N/50 (at least 8) to 4N/5 for a table of N rows.

    There are eight sizes, or five in a quick study.

    Tables of fewer than 172 rows have five to seven sizes. If rows are ordered in time (`order` is the time of each
    row), the sizes end at the number of rows before the first stretch, about 3N/5. With groups, no size exceeds the
    number of rows outside the largest group.

    >>> split_sizes(200)
    [8, 12, 19, 29, 44, 68, 104, 160]
    >>> split_sizes(60)
    [8, 13, 20, 31, 48]
    >>> split_sizes(50_000, quick=True)
    [1000, 2515, 6325, 15905, 40000]
    """
    top = int(LARGEST_SHARE * total) if order is None else before_stretches(order)[0]
    if groups is not None and order is None:
        top = min(top, total - int(np.bincount(groups).max()))
    least = min(max(8, total // 50), max(top // 4, 1))
    steps = math.log(max(top, least) / least) / math.log(LEAST_FACTOR)
    points = QUICK_POINTS if quick else int(np.clip(1 + steps, QUICK_POINTS, POINTS))
    return sorted({round(float(size)) for size in np.geomspace(least, max(top, least), points)})


def number_of_splits(total: int, n: int, quick: bool = False, most: float = math.inf) -> int:
    """Return how many splits are measured at n training rows of N.

    Small training sets cost little and vary most, so they have more splits.

    There are 16 splits, or fewer above 150 training rows, but at least 6, and enough to hold out each row about once. A
    quick study has half as many splits, but at least 3. An expensive model has fewer splits. Above 10,000 training
    rows, every model has at most 2 splits.

    Args:
        total: N, the number of rows.
        n: the number of training rows.
        quick: whether to measure half as many splits, so that some rows may never be held out.
        most: the number of splits that the cost of a fit allows. At least 2 splits are measured in any case, or 1 split
            from 4,000 training rows on.
    """
    number = math.ceil(16 * min(1.0, 150 / n))
    wanted = max(3, number // 2) if quick else max(6, number, math.ceil(total / held_out(total, n)))
    if n > 10_000:
        wanted = min(wanted, 2)
    return int(max(min(wanted, most), 1 if n >= 4000 else 2))


def held_out(total: int, n: int) -> int:
    """Return the most rows to hold out for n training rows. Small training sets need fewer than large ones."""
    return min(total - n, max(64, 4 * n), max(500, int(HELD_SHARE * total)), MOST_HELD_OUT)


def split(
    total: int,
    n: int,
    number: int,
    seed: int,
    groups: Int[np.ndarray, " N"] | None = None,
    order: np.ndarray | None = None,
) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " m"]]:
    """Return the training and held-out rows of the split with this number. Every model gets the same rows.

    Consecutive splits hold out different rows until every row has been held out, and then start again in another order.
    With groups, whole groups are held out in this way, and the training rows are drawn group by group from the others.
    If these groups have a single row, the smallest of the other groups is also held out.
    If rows are ordered in time, the n rows before a stretch of rows are used for training, and the stretch is held out.
    All training rows have earlier times than the stretch. The stretches are the same for every n, so every size
    forecasts equally far ahead.

    Args:
        total: N, the number of rows.
        n: the number of training rows.
        number: the number of the split.
        seed: the seed of the study.
        groups: the group of each row.
        order: the time of each row.

    Raises:
        DataError: if groups are so large that none can be held out.
    """
    if order is not None:
        return _in_time(total, n, number, order, groups)
    if groups is not None:
        return _by_groups(n, number, seed, groups)
    held = held_out(total, n)
    folds = total // held
    rows = np.random.default_rng([seed, n, number // folds]).permutation(total)
    rows = np.roll(rows, -held * (number % folds))
    return rows[held : held + n], rows[:held]


def folds_of(groups: Int[np.ndarray, " N"]) -> int:
    """Return the number of parts into which groups are divided."""
    return min(FOLDS_OF_GROUPS, len(np.unique(groups)))


def numbered_groups(column: pl.Series, timed: bool, notes: list[str]) -> Int[np.ndarray, " N"]:
    """Return the group of each row, numbered from 0. Add notes on the sizes of the groups.

    Args:
        column: the column of --group.
        timed: whether --time is given, which then decides the splits.
        notes: the notes on the table.

    Raises:
        DataError: if there is a single group, or nearly all rows are in one group.
    """
    _, codes, sizes = np.unique(column.to_numpy(), return_inverse=True, return_counts=True)
    name = shortened(column.name)
    if len(sizes) < 2:
        raise DataError(
            f"--group {name!r} has a single group",
            rule="at least two groups, because training and held-out rows come from different groups",
        )
    if not timed and len(column) - sizes.max() < FEWEST_OUTSIDE:
        raise DataError(
            f"--group {name!r} has nearly all rows in one group",
            found=f"{sizes.max()} of {len(column)} rows",
            rule=f"at least {FEWEST_OUTSIDE} rows outside the largest group, because models are trained on these rows",
            remedy="name another column, or add rows of other groups",
        )
    each = f"{sizes.min()} rows each" if len(set(sizes)) == 1 else f"{sizes.min()} to {sizes.max()} rows each"
    notes.append(f"{len(sizes)} groups of {name!r} with {each}; no group is split between training and testing")
    if len(sizes) < FEW_GROUPS:
        notes.append(
            f"{len(sizes)} groups show little about new groups, so the intervals are wide; more groups narrow them"
        )
    return codes.reshape(-1).astype(np.int64)


def before_stretches(order: np.ndarray) -> tuple[int, int]:
    """With rows in time order: return the number of rows before the first held-out stretch, and of each stretch.

    The first stretch begins at the start of a new time: at the cut (`cuts`) that is nearest to 3N/5. If there is no
    cut, it begins at 3N/5.
    """
    total = len(order)
    first, possible = int(LARGEST_SHARE_IN_TIME * total), cuts(np.sort(order))
    if len(possible):
        first = int(possible[np.abs(possible - first).argmin()])
    return first, max((total - first) // BLOCKS, 2)


def cuts(times: np.ndarray) -> Int[np.ndarray, " cuts"]:
    """Return the numbers of rows before which a new time begins, with enough earlier and later rows for a study.

    Enough rows are at least eight earlier rows, and two later rows for each stretch, or 2N/5 rows if this is less.

    Args:
        times: the times of the N rows, in increasing order.

    >>> cuts(np.repeat([2001, 2002, 2003], 20))
    array([20, 40])
    """
    total = len(times)
    later = min(2 * BLOCKS, total - int(LARGEST_SHARE_IN_TIME * total))
    places = 1 + np.flatnonzero(times[1:] != times[:-1])
    return places[(places >= FEWEST_EARLIER) & (places <= total - later)]


def check_times(order: np.ndarray, name: str, example: object) -> None:
    """Raise an error if no time has enough rows before it and from it on. `example` is a time as the table has it."""
    total = len(order)
    if len(cuts(np.sort(order))):
        return
    known, sizes = np.unique(order, return_counts=True)
    if len(known) == 1:
        raise DataError(
            f"--time {name!r} has a single time",
            found=f"{example} in all {total} rows",
            rule="at least two different times, because models trained on earlier rows are tested on later rows",
            remedy="name a column whose times differ, or leave --time out",
        )
    raise DataError(
        f"--time {name!r} has too few rows at other times",
        found=f"{sizes.max()} of {total} rows have the same time",
        rule=f"some time must have at least {FEWEST_EARLIER} rows before it and at least "
        f"{min(2 * BLOCKS, total - int(LARGEST_SHARE_IN_TIME * total))} rows at this time or later",
        remedy="name a column whose times differ more, add rows, or leave --time out",
    )


def _in_time(total: int, n: int, number: int, order: np.ndarray, groups: np.ndarray | None):
    """Return the n rows before a stretch, and the rows of the stretch.

    Rows of the stretch are left out if their group has training rows, unless fewer than two rows would be held out.
    """
    rows = np.argsort(order, kind="stable")
    first, ahead = before_stretches(order)
    starts = np.linspace(first, total - ahead, BLOCKS).astype(int)
    start = int(starts[number % BLOCKS])
    # Rows at the time of the stretch's first row are not used for training, because they are not earlier.
    end = int(np.searchsorted(order[rows], order[rows[start]])) or start
    train, held = rows[max(end - n, 0) : end], rows[start : start + min(ahead, MOST_HELD_OUT)]
    if groups is not None:
        apart = held[~np.isin(groups[held], groups[train])]
        held = apart if len(apart) >= 2 else held
    return train, held


def _two_rows(out: Int[np.ndarray, " g"], groups: Int[np.ndarray, " N"]) -> Int[np.ndarray, " h"]:
    """Return the groups to hold out. If they have a single row, the smallest of the other groups is added."""
    sizes = np.bincount(groups)
    if sizes[out].sum() >= 2:
        return out
    others = np.setdiff1d(np.flatnonzero(sizes), out)
    return np.append(out, others[sizes[others].argmin()])


def _by_groups(n: int, number: int, seed: int, groups: np.ndarray):
    names = np.unique(groups)
    folds = folds_of(groups)
    dealt = np.random.default_rng([seed, number // folds]).permutation(names)
    out = _two_rows(dealt[number % folds :: folds], groups)
    place = np.empty(names.max() + 1, np.int64)
    place[np.random.default_rng([seed, n, number]).permutation(names)] = np.arange(len(names))
    rows = np.random.default_rng([seed, n, number, 1]).permutation(len(groups))
    away = np.isin(groups[rows], out)
    held, rest = rows[away], rows[~away]
    rest = rest[np.argsort(place[groups[rest]], kind="stable")]
    if len(held) < 2 or len(rest) < 2:
        raise DataError(
            "--group leaves no rows to hold out",
            found=f"{len(names)} groups for {len(groups)} rows",
            rule="the held-out groups and the training groups must have at least two rows each",
            remedy="name a column with larger groups",
        )
    return rest[:n], held[:MOST_HELD_OUT]
