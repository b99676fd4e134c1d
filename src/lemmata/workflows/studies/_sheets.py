"""Choose the sheet of a spreadsheet that holds the table, and find its header."""

import contextlib
import dataclasses
import functools
import logging
import re
import zipfile
from collections.abc import Iterator, Sequence

import polars as pl

from lemmata.errors import DataError, shortened

from ._columns import listing
from ._memory import check_names
from ._sources import Source
from ._titles import LEAST, LOOK, title_rows, told
from ._unnamed import unnamed as _called

_UNCOMPUTED = re.compile(rb"""<c\b(?![^>]*\bt="str")[^>]*>\s*<f\b[^>]*>([^<]+)</f>\s*(?:<v\s*/>|<v>\s*</v>)?\s*</c>""")
"""A cell with a formula and without a value, in the XML of an Excel sheet. A formula may also give an empty text."""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Return a context in which fastexcel prints no line for each empty column."""
    log = logging.getLogger("fastexcel.types.dtype")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        yield
    finally:
        log.setLevel(level)


@_quiet()
def sheet_of(source: Source, columns: Sequence[str]) -> tuple[Source, pl.DataFrame, str, tuple[str, ...]]:
    """Return the source with notes, the cells and the name of a sheet, and the names of other sheets that hold cells.

    The sheet is the first one whose table has the given columns. If no table has them, it is the first sheet with a
    table.

    Args:
        source: the spreadsheet.
        columns: the columns that the table must have.

    Raises:
        DataError: if the file cannot be read, or no sheet has a table, or the table has no header.
    """
    import fastexcel

    try:
        sheets = pl.read_excel(source.readable, sheet_id=0, engine="calamine", infer_schema_length=None)
    except (fastexcel.FastExcelError, ValueError) as error:
        raise DataError(
            f"{source.path} cannot be read as a spreadsheet",
            found=str(error).strip().splitlines()[0][:200],
            rule="the file must be complete and have no password",
            remedy="save the sheet as CSV",
        ) from error
    full = {name: frame for name, frame in sheets.items() if frame.width > 1 and frame.height}
    if not full:
        raise DataError(f"{source.path} has no sheet with a table", found=listing(list(sheets)),
                        rule="a sheet must have a row of column names, and one row for each example")  # fmt: skip
    first = name = next(iter(full))
    own, frame = _below_title(source, full[name], name)
    if len(full) > 1 and not {*columns} <= {*frame.columns}:
        others = ((name, *_below_title(source, full[name], name)) for name in full if name != first)
        found = (item for item in others if {*columns} <= {*item[2].columns})
        name, own, frame = next(found, (first, own, frame))
    unnamed = _unnamed(frame)
    if 2 * len(unnamed) > frame.width:
        raise DataError(
            f"sheet {name!r} of {source.path} seems to have no header",
            found=f"{len(unnamed)} of {frame.width} columns without a name in the first row",
            rule="the first row names the columns",
            remedy="delete the rows above the table",
        )
    frame = frame.rename({own: _called(frame.columns.index(own)) for own in unnamed})
    check_names(source.path, frame.columns)
    _check_formulas(source, frame)
    return own, frame, name, tuple(other for other in full if other != name)


def _below_title(source: Source, frame: pl.DataFrame, name: str) -> tuple[Source, pl.DataFrame]:
    """Return a sheet without the rows of a title above its header, and the source with a note about them."""
    if len(_unnamed(frame)) < max(frame.width - 1, LEAST - 1):
        return source, frame
    sheet = functools.partial(pl.read_excel, source.readable, sheet_name=name, engine="calamine",
                              infer_schema_length=None)  # fmt: skip
    cells = sheet(has_header=False, drop_empty_rows=False, read_options={"skip_rows": 0})
    empty = cells.select(pl.any_horizontal(pl.all().is_not_null())).to_series().arg_max() or 0
    cells = cells[empty : empty + LOOK]
    title = title_rows(cells.rows())
    if not title:
        return source, frame
    above = [" ".join(str(cell) for cell in row if cell is not None) for row in cells.rows()[:title]]
    noted = dataclasses.replace(source, notes=(*source.notes, told(above)))
    return noted, sheet(read_options={"header_row": empty + title})


def _check_formulas(source: Source, frame: pl.DataFrame) -> None:
    """Check that an Excel workbook holds the values of its formulas, if a column of the table is empty.

    Raises:
        DataError: if the column of a formula is empty.
    """
    empty = [name for name in frame.columns if frame[name].null_count() == frame.height]
    if not empty or source.suffix != ".xlsx":
        return
    with zipfile.ZipFile(source.readable) as book:
        sheets = [name for name in book.namelist() if name.startswith("xl/worksheets/") and name.endswith(".xml")]
        found = next((match for name in sheets if (match := _UNCOMPUTED.search(book.read(name)))), None)
    if found is None:
        return
    raise DataError(
        f"{source.path} has formulas without values",
        found=(
            f"no value in {listing([repr(shortened(name)) for name in empty])}, for example for the formula "
            f"={shortened(found[1].decode(errors='replace'))}"
        ),
        rule=(
            "a workbook must hold the value of each formula, but the program that wrote this workbook computed no "
            "values"
        ),
        remedy="open it in a spreadsheet program, and save it",
    )


def _unnamed(frame: pl.DataFrame) -> list[str]:
    """Return the columns whose cell in the header is empty or blank. fastexcel calls several blank names "_1", "_2"."""
    names = r"__UNNAMED__\d+|_\d+|" if "" in frame.columns else r"__UNNAMED__\d+"
    return [own for own in frame.columns if re.fullmatch(names, own)]
