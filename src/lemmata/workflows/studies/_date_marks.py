"""Find dates that may stand for a missing value, such as 9999-12-31 or 1900-01-01."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from lemmata.errors import shortened
from lemmata.workflows.records.studies import Finding

from ._calendar import wall_clock
from ._columns import count
from ._memory import Table
from ._suspects import FEWEST, SHARE

_LATE, _EARLY = np.datetime64("2099-01-01"), np.datetime64("1000-01-01")
_MARKS = frozenset(
    np.datetime64(day)
    for day in (
        "1111-11-11", "1582-10-15", "1600-01-01", "1601-01-01", "1700-01-01", "1753-01-01", "1800-01-01", "1801-01-01",
        "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01", "1904-01-01", "1960-01-01", "1970-01-01", "1980-01-01",
        "2050-12-31", "2079-06-06",
    )
)  # fmt: skip
"""Dates that programs write for an unknown date, or that are their smallest or largest date."""
_MORE_OFTEN = 5
"""A date before or after all other dates counts as odd if it is this many times as frequent as any other date."""


def date_marks(read: Sequence[pl.Series], table: Table) -> list[Finding]:
    """Return a finding for each date that may stand for a missing value.

    Such a date is up to the year 1000, or from 2099 on, or is in a list of usual marks. The date occurs in several
    rows, and is before or after all other dates. Its distance to the nearest of the other dates is larger than the span
    of the other dates, or it is much more frequent than any of them.

    Args:
        read: the columns of the table, with texts of dates read as dates.
        table: the table as read, with the same rows.

    >>> import datetime
    >>> days = [datetime.date(2020, 1, 1 + i % 30) for i in range(36)] + [datetime.date(9999, 12, 31)] * 4
    >>> column = pl.Series("sold", days)
    >>> [one.columns for one in date_marks([column], Table("t", column.to_frame(), 40))]
    [('sold',)]
    """
    dates = [column for column in read if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime)]
    return [finding for column in dates for finding in _of_column(column, table)]


def _of_column(column: pl.Series, table: Table) -> list[Finding]:
    days = wall_clock(column).cast(pl.Date).to_numpy().astype("datetime64[D]")
    known, sizes = np.unique(days[~np.isnat(days)], return_counts=True)
    marks = [day <= _EARLY or day >= _LATE or day in _MARKS for day in known]
    common = sizes >= max(FEWEST, SHARE * sizes.sum())
    possible = np.flatnonzero(np.array(marks, bool) & common)
    others = np.delete(known, possible)
    if len(others) < 3:
        return []
    most, found = np.delete(sizes, possible).max(), []
    for place in possible.tolist():
        day, rows = known[place], int(sizes[place])
        apart = max(others[0] - day, day - others[-1])
        if apart <= np.timedelta64(0, "D") or (apart <= others[-1] - others[0] and rows < _MORE_OFTEN * most):
            continue
        cell = table.frame[column.name][int(np.flatnonzero(days == day)[0])]
        remedy = table.emptying(column.name, cell.strip() if isinstance(cell, str) and table.text else cell)
        text = (
            f"The date {day} occurs in {count(rows, 'row')} of {shortened(column.name)!r}. This date lies outside the "
            f"range of all other dates. If {day} stands for a missing value, {remedy}."
        )
        found.append(Finding("missing", (column.name,), text))
    return found
