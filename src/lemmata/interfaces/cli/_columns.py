"""Columns of numbers from a table that a command reads."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from lemmata.errors import DataError, UnknownNameError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

_BYTES = 2**28


def frame_of(data: Path, row: str) -> "pl.DataFrame":
    """The table in a file, with at least one row.

    Args:
        data: the file.
        row: what a row is, for the message.
    """
    from lemmata.workflows.studies import Bundled, Reading, read_table

    table = read_table(str(data), Reading(_BYTES, 0), Bundled())
    frame = table.frame
    if frame.height == 0:
        raise DataError(f"table {data}", rule=f"one row for each {row}", found="no rows")
    if frame.height < table.rows:
        found, rule = f"{table.rows} rows", f"a table of at most {_BYTES >> 20} MiB, so that no row is left out"
        raise DataError(f"table {data}", found=found, rule=rule, remedy="keep only the columns that are needed")
    return frame


def usual_column(frame: "pl.DataFrame", usual: tuple[str, ...]) -> str:
    """The first of the usual names that a column has, in any case and with any signs between words.

    If there is none, it is the first usual name, which is then missing.

    Args:
        frame: the table.
        usual: names in lower case, with underscores between words.
    """
    plain = {"_".join("".join(sign if sign.isalnum() else " " for sign in name.lower()).split()): name
             for name in reversed(frame.columns)}  # fmt: skip
    return next((plain[name] for name in usual if name in plain), usual[0])


def numeric_column(frame: "pl.DataFrame", name: str, option: str, row: str, sizes: bool = False) -> "np.ndarray":
    """A column of numbers without empty cells.

    Args:
        frame: the table.
        name: of the column.
        option: that names the column on the command line.
        row: what a row is, for the message.
        sizes: whether the cells may end with K, M, B or T, for thousands to millions of millions, as in 70M.
    """
    if name not in frame.columns:
        near = difflib.get_close_matches(name, frame.columns, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        listed, rule = "columns " + ", ".join(frame.columns[:12]), "name a column of the table"
        remedy = f"{meant}name the column with {option}"
        raise UnknownNameError(f"column {name!r}", found=listed, rule=rule, remedy=remedy)
    series = _read_as_numbers(_spelled_out(frame[name]) if sizes else frame[name], name)
    if not series.dtype.is_numeric():
        rule, remedy = f"a column of numbers, one for each {row}", f"name another column with {option}"
        raise DataError(f"column {name!r}", found=f"type {series.dtype}", rule=rule, remedy=remedy)
    if series.null_count():
        line = int(series.is_null().arg_max() or 0) + 2
        rule, remedy = "a number in every row", "fill the cell, or delete the row"
        raise DataError(f"column {name!r} in line {line}", found="an empty cell", rule=rule, remedy=remedy)
    return series.to_numpy()


def _spelled_out(series: "pl.Series") -> "pl.Series":
    """Cells such as 70M and 1.4b as 70e6 and 1.4e9; others are not changed."""
    import polars as pl

    if series.dtype != pl.String:
        return series
    for letters, power in (("kK", 3), ("mM", 6), ("bB", 9), ("tT", 12)):
        series = series.str.replace(rf"^\s*(\d+(?:\.\d+)?)\s*[{letters}]\s*$", f"${{1}}e{power}")
    return series


def _read_as_numbers(series: "pl.Series", name: str) -> "pl.Series":
    """Cells of text as numbers, if they are numbers with spaces around them.

    A column without any number is not changed. In the other columns, the first cell that is not a number is
    refused.
    """
    import polars as pl

    if series.dtype != pl.String:
        return series
    numbers = series.str.strip_chars().cast(pl.Float64, strict=False)
    wrong = series.is_not_null() & numbers.is_null()
    if not wrong.any():
        return numbers
    place = int(wrong.arg_max() or 0)
    cell = str(series[place])
    percent = cell.strip().endswith("%")
    if numbers.null_count() == len(numbers) and not any(letter.isdigit() for letter in cell):
        return series
    remedy = "write the share: 22% is 0.22" if percent else "write digits, as in 1000000 or 1e6, with a decimal point"
    what, rule = f"column {name!r} in line {place + 2}", "a column of numbers"
    raise DataError(what, found=f"the cell {cell[:40]!r}", rule=rule, remedy=remedy)
