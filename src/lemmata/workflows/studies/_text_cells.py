"""Read the cells of a text file, and list the texts that mark missing cells.

Studies and saved models use these functions.
"""

from collections.abc import Iterable, Sequence

import polars as pl

from lemmata.errors import SettingError

from ._memory import Table
from ._sources import Source

MISSING_MARKS = ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "Null", "null", "None", "?", "#N/A", "<NA>"]


def missing_marks(na: tuple[str, ...] | None) -> list[str]:
    """Return the texts that mark missing cells in a text file: the texts in `na`, or the usual texts if `na` is None.

    A number stands for all its spellings with up to six decimals, so "999" also stands for "999.0", as in pandas.

    >>> missing_marks(("NA", "-9.5"))
    ['', 'NA', '-9.5', '-9.50', '-9.500', '-9.5000', '-9.50000', '-9.500000']
    """
    return MISSING_MARKS if na is None else list(dict.fromkeys(["", *(own for text in na for own in _spellings(text))]))


def check_marks_apply(table: Table, na: Sequence[str]) -> None:
    """Raise a SettingError if marks of missing cells are given for a table that is not a text file."""
    if na and not table.text:
        raise SettingError(
            f"--na does not apply to {table.name}",
            found=f"--na {na[0]!r} and a table that is not a text file",
            rule="--na says which texts of a text file (such as .csv) mark missing cells",
            remedy="leave --na out, and make these cells missing in the table itself",
        )


def _spellings(text: str) -> list[str]:
    try:
        value = float(text)
    except ValueError:
        return [text]
    return [text, *(own for own in (f"{value:.{places}f}" for places in range(7)) if float(own) == value)]


def scan_text(
    source: Source, skipped: int, separator: str, marks: list[str], texts: Iterable[str] = (), plain: bool = False
) -> pl.LazyFrame:
    """Return a lazy frame of the cells of a text file. The file is read when the frame is collected.

    Args:
        source: the file, in UTF-8.
        skipped: the number of lines above the header.
        separator: the separator of the fields.
        marks: the texts that mark missing cells.
        texts: the columns, by polars' names, that stay texts.
        plain: whether all columns stay texts.
    """
    return pl.scan_csv(
        source.readable, separator=separator, infer_schema=not plain, infer_schema_length=None, null_values=marks,
        glob=False, skip_lines=skipped, encoding="utf8", schema_overrides=dict.fromkeys(texts, pl.String),
    )  # fmt: skip
