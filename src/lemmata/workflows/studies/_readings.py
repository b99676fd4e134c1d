"""Findings on columns that may have been read in another way than they were meant."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from lemmata.errors import shortened
from lemmata.workflows.records.studies import Finding

from ._columns import MOST_CATEGORIES
from ._dates import in_future, unclear
from ._memory import Table
from ._numbers import stripped


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


def codes(table: Table, name: str) -> pl.Series | None:
    """Return as texts a column that the user declared as categories, if all its cells are numbers; else None."""
    cells = table.frame[name]
    if not table.declares(name) or cells.dtype == pl.Boolean or cells.dtype.is_temporal():
        return None
    if not cells.dtype.is_numeric():
        texts = stripped(cells.cast(pl.String))
    else:
        from lemmata.estimators import PlainTable  # the saved model writes numbers in the same way

        texts = PlainTable(["code"], codes=["code"]).fit_transform(cells.alias("code").to_frame())["code"].alias(name)
    numbers = texts.drop_nulls().cast(pl.Float64, strict=False)
    if numbers.n_unique() < 2 or not numbers.is_finite().fill_null(False).all():
        return None
    return texts


def declared(table: Table, names: Sequence[str]) -> tuple[dict[str, pl.Series], list[Finding]]:
    """Return, as texts, the columns of numbers that the user declared as categories.

    If its values hardly repeat, or are many numbers with decimals, a declared column stays numbers, and a finding says
    so.

    Args:
        table: the table as read.
        names: the input columns.
    """
    texts, findings = {}, []
    for name in names:
        if (column := codes(table, name)) is None:
            continue
        known = column.drop_nulls()
        distinct, values = known.n_unique(), known.cast(pl.Float64).to_numpy()
        said = f"{shortened(name)!r} is declared as categories, but its {distinct} different values are numbers "
        if 2 * distinct > len(known):
            text = f"{said}that hardly repeat. So the study uses them as numbers."
        elif distinct > MOST_CATEGORIES and (values != np.round(values)).any():
            text = f"{said}with decimals. So the study uses them as numbers. To make each value a category, write it"
            text += f" as text (such as 'code {known[0]}')."
        else:
            texts[name] = column
            continue
        findings.append(Finding("code", (name,), text))
    return texts, findings
