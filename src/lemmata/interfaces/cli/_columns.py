"""Read columns of numbers from the table that is passed to a command."""

import difflib
from pathlib import Path
from typing import TYPE_CHECKING

from lemmata.errors import DataError, UnknownNameError

if TYPE_CHECKING:
    import numpy as np
    import polars as pl

_BYTES = 2**28


def frame_of(data: Path, row: str) -> "pl.DataFrame":
    """Read the table in a file, and refuse a table without rows.

    Args:
        data: the path of the file.
        row: the word for one row of the table in the message.
    """
    from lemmata.workflows.studies import Bundled, Reading, read_table

    table = read_table(str(data), Reading(_BYTES, 0), Bundled())
    frame = table.frame
    if frame.height == 0:
        raise DataError(f"table {data}", rule=f"one row for each {row}", found="no rows")
    if frame.height < table.rows:
        found, rule = f"{table.rows} rows", f"all rows must be read, but lemmata reads at most {_BYTES >> 20} MiB"
        raise DataError(f"table {data}", found=found, rule=rule, remedy="keep only the columns that are needed")
    return frame


def usual_column(frame: "pl.DataFrame", usual: tuple[str, ...]) -> str:
    """Find the column with one of the usual names, whatever its capital letters and the signs between its words.

    The first name in `usual` that a column has is chosen. If no column has one of them, the first usual name is
    returned.

    Args:
        frame: the table.
        usual: the usual names in lower case, with underscores between words.
    """
    plain = {"_".join("".join(sign if sign.isalnum() else " " for sign in name.lower()).split()): name
             for name in reversed(frame.columns)}  # fmt: skip
    return next((plain[name] for name in usual if name in plain), usual[0])


def numeric_column(frame: "pl.DataFrame", name: str, option: str, row: str, sizes: bool = False) -> "np.ndarray":
    """Return a column as numbers, and refuse empty cells and cells that are not numbers.

    Args:
        frame: the table.
        name: the name of the column.
        option: the option of the command line that names the column.
        row: the word for one row of the table in the message.
        sizes: whether cells may end with K, M, B or T (thousand, million, billion, trillion), as in 70M.
    """
    if name not in frame.columns:
        near = difflib.get_close_matches(name, frame.columns, n=1)
        meant = f"did you mean {near[0]!r}? " if near else ""
        listed, rule = "columns " + ", ".join(frame.columns[:12]), "name a column of the table"
        remedy = f"{meant}name the column with {option}"
        raise UnknownNameError(f"column {name!r}", found=listed, rule=rule, remedy=remedy)
    series = _read_as_numbers(_spelled_out(frame[name]) if sizes else frame[name], name)
    if not series.dtype.is_numeric():
        rule, remedy = f"a column with one number for each {row}", f"name another column with {option}"
        raise DataError(f"column {name!r}", found=f"type {series.dtype}", rule=rule, remedy=remedy)
    if series.null_count():
        line = int(series.is_null().arg_max() or 0) + 2
        rule, remedy = "a number in every row", "fill the cell, or delete the row"
        raise DataError(f"column {name!r} in line {line}", found="an empty cell", rule=rule, remedy=remedy)
    return series.to_numpy()


def _spelled_out(series: "pl.Series") -> "pl.Series":
    """Rewrite cells such as 70M and 1.4b as 70e6 and 1.4e9; leave other cells unchanged."""
    import polars as pl

    if series.dtype != pl.String:
        return series
    for letters, power in (("kK", 3), ("mM", 6), ("bB", 9), ("tT", 12)):
        series = series.str.replace(rf"^\s*(\d+(?:\.\d+)?)\s*[{letters}]\s*$", f"${{1}}e{power}")
    return series


def _read_as_numbers(series: "pl.Series", name: str) -> "pl.Series":
    """Convert cells of text to numbers; spaces around a number are allowed.

    A column without any number is not changed. If a column holds some numbers, the first cell that is not a number
    raises an error.
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
    remedy = (
        "write the share: 22% is 0.22"
        if percent
        else "write numbers with digits and a decimal point, such as 1000000, 1e6 or 0.5"
    )
    what, rule = f"column {name!r} in line {place + 2}", "a column of numbers"
    raise DataError(what, found=f"the cell {cell[:40]!r}", rule=rule, remedy=remedy)
