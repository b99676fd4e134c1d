"""Findings on columns that may have been read in another way than they were meant."""

from collections.abc import Sequence

import polars as pl

from lemmata.errors import shortened
from lemmata.workflows.records.studies import Finding

from ._dates import in_future, unclear
from ._memory import Table


def dates_to_check(table: Table, needed: Sequence[str]) -> list[Finding]:
    """Warn of dates whose order of day, month and year is not clear, and of years of two digits in the future."""
    found = []
    for name in needed:
        if table.frame[name].dtype != pl.String:
            continue
        text = ""
        if both := unclear(table.frame[name]):
            text = (
                f"{shortened(name)!r} is read as text, because the order of day, month and year is not clear: {both}."
                " Write its dates as YYYY-MM-DD."
            )
        elif late := in_future(table.frame[name]):
            text = (
                f"{shortened(name)!r} has years of two digits. {late[0]!r} was read as a date in {late[1]}, which is "
                f"in the future. If the year is {late[1] - 100}, write the years of this column with four digits."
            )
        if text:
            found.append(Finding("time", (name,), text))
    return found
