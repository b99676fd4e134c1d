"""Choose the sheet of a spreadsheet that holds the table, and find its header."""

import dataclasses
import functools
from collections.abc import Sequence

import polars as pl

from lemmata.errors import DataError

from ._columns import listing
from ._memory import check_names
from ._sources import Source
from ._titles import LEAST, LOOK, title_rows, told


def sheet_of(source: Source, columns: Sequence[str]) -> tuple[Source, pl.DataFrame, str, tuple[str, ...]]:
    """Return the source with notes, a sheet's cells, this sheet's name, and the names of other sheets with cells.

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
                        rule="a sheet must have a row of names, and a row for each example")  # fmt: skip
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
    frame = frame.rename({own: f"column {frame.columns.index(own) + 1} (unnamed)" for own in unnamed})
    check_names(source.path, frame.columns)
    return own, frame, name, tuple(other for other in full if other != name)


def _below_title(source: Source, frame: pl.DataFrame, name: str) -> tuple[Source, pl.DataFrame]:
    """Return a sheet without the rows of a title above its header, and the source with a note about them."""
    if len(_unnamed(frame)) < max(frame.width - 1, LEAST - 1):
        return source, frame
    sheet = functools.partial(pl.read_excel, source.readable, sheet_name=name, engine="calamine",
                              infer_schema_length=None)  # fmt: skip
    cells = sheet(has_header=False, drop_empty_rows=False).head(LOOK)
    title = title_rows(cells.rows())
    if not title:
        return source, frame
    above = [" ".join(str(cell) for cell in row if cell is not None) for row in cells.rows()[:title]]
    noted = dataclasses.replace(source, notes=(*source.notes, told(above)))
    return noted, sheet(read_options={"header_row": title})


def _unnamed(frame: pl.DataFrame) -> list[str]:
    return [own for own in frame.columns if own.startswith("__UNNAMED__")]
