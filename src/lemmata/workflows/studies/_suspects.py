"""Find cells that may have another meaning: numbers that mean missing, spellings, numbers among texts, merged cells."""

from collections.abc import Iterable

import numpy as np
import polars as pl

from lemmata.errors import shortened
from lemmata.workflows.records.studies import Finding

from ._columns import count, listing
from ._hints import merged
from ._memory import Table

FEWEST, SHARE = 3, 0.005
"""A number can mean a missing value only if it is in at least this number and at least this share of the rows."""
NUMBERS = 0.8
"""If at least this share of the cells of a text column are numbers, the other cells are suspicious."""
_SENTINEL = frozenset(
    sign * float(digit * length) for digit in "9876" for length in range(2, 8) for sign in (1, -1)
) | {-1.0, -9.0}


def suspects(frame: pl.DataFrame, table: Table) -> list[Finding]:
    """Return findings about suspicious values in columns that were read as numbers or texts.

    Args:
        frame: the columns as numbers or texts.
        table: the table as read, with the same rows.

    >>> import polars as pl
    >>> frame = pl.DataFrame({"x": [1.0, 2.5, 4.0, -999.0] * 9, "y": ["a", "A", "b", "c"] * 9})
    >>> [one.columns for one in suspects(frame, Table("t", frame, 36))]
    [('x',), ('y',)]
    """
    found = []
    for column in frame:
        found += _numbers(column, table) if column.dtype.is_numeric() else _texts(column)
        if merged(column):
            text = (
                f"{shortened(column.name)!r} looks like merged cells: {column.len() - column.null_count()} of "
                f"{column.len()} cells are filled, and each text is followed by empty cells. If a text also applies to "
                "the rows below it, fill the column down (in pandas with ffill)."
            )
            found.append(Finding("missing", (column.name,), text))
    return found


def total_row(frame: pl.DataFrame) -> list[Finding]:
    """Return a finding if the last row holds the sums of the rows above in at least half of its columns of numbers.

    At least one of these sums must be larger in size than every number above it. A sum counts as equal up to rounding:
    it may differ by √n steps for n numbers above. A step is the least distance between these numbers, but not more
    than 1/n of their mean size.

    >>> total_row(pl.DataFrame({"x": [*range(1, 30), 435]}))[0].columns
    ('x',)
    """
    sums, larger, filled = [], False, 0
    for column in frame:
        if not column.dtype.is_numeric() or not column.len() or column[-1] is None:
            continue
        values = column.drop_nulls().to_numpy().astype(float)
        above, last, filled = values[:-1], values[-1], filled + 1
        known = np.unique(above)
        if np.count_nonzero(above) < FEWEST or len(known) < 2:
            continue
        step = min(float(np.diff(known).min()), np.abs(above).mean() / len(above))
        if abs(last - above.sum()) <= 1e-9 * np.abs(above).sum() + step * len(above) ** 0.5:
            sums.append(column.name)
            larger |= bool(abs(last) > np.abs(above).max())
    if not larger or 2 * len(sums) < filled:
        return []
    text = (
        "The last row looks like a total row: its cells are the sums of the rows above in "
        f"{listing([repr(shortened(name)) for name in sums], 5)}. A total is not an observation, so remove this row."
    )
    return [Finding("total", tuple(sums), text)]


def _numbers(column: pl.Series, table: Table) -> Iterable[Finding]:
    """Find a number in many rows, such as -999, if its distance to all others exceeds the others' whole range."""
    values = column.drop_nulls().to_numpy()
    if len(values) < 2:
        return
    ends = {float(values.min()), float(values.max())} & _SENTINEL
    inner = values[~np.isin(values, list(ends))]
    for end in sorted(ends):
        # If both ends are such numbers, each is compared with the numbers between them.
        others = inner if len(np.unique(inner)) >= 3 else values[values != end]
        rows = int((values == end).sum())
        if rows < max(FEWEST, SHARE * len(values)) or len(np.unique(others)) < 3:
            continue
        if np.abs(others - end).min() > np.ptp(others):
            cells = table.frame[column.name]
            written = cells[int((column == end).fill_null(False).arg_max() or 0)]
            remedy = table.emptying(column.name, written if cells.dtype == pl.String and not table.text else end)
            text = (
                f"The value {end:g} occurs in {count(rows, 'row')} of {column.name!r}, far from all other values. If "
                f"{end:g} stands for a missing value, {remedy}."
            )
            yield Finding("missing", (column.name,), text)


def _texts(column: pl.Series) -> Iterable[Finding]:
    """Find texts that differ only in capital letters or blanks, and texts among mostly numbers."""
    values = column.drop_nulls()
    known = values.unique().sort()
    if 2 * len(known) > len(values):
        return
    odd = known.filter(known.cast(pl.Float64, strict=False).is_null())
    rows = int(values.is_in(odd.to_list()).sum())
    if odd.len() and rows <= (1 - NUMBERS) * len(values):
        text = (
            f"{column.name!r} has {listing([repr(shortened(one)) for one in odd], 5)} ({count(rows, 'cell')}) among "
            f"numbers, so each of its {len(known)} values is a category. If the column holds numbers, correct these "
            "cells."
        )
        yield Finding("categories", (column.name,), text)
    alike: dict[str, list[str]] = {}
    for text in known:
        alike.setdefault("".join(text.split()).casefold(), []).append(repr(shortened(text)))
    groups = [" and ".join(names) for names in alike.values() if len(names) > 1]
    if groups:
        text = (
            f"{column.name!r} has values that differ only in capital letters or blanks: {listing(groups, 5)}. The "
            "study treats them as different values. If such values mean the same, write them in the same way."
        )
        yield Finding("categories", (column.name,), text)
