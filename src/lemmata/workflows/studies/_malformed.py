"""Rewrite texts that polars cannot read as a table if Python's csv module can read them, or name the faulty line."""

import csv
import dataclasses
import io

from lemmata.errors import DataError, shortened

from ._sources import Source

QUOTES = "quotes inside fields are part of the text"
ROW_NAMES = "the first field of each line has no name in the header"
_UNCLOSED = "write a quote inside a quoted field twice, and close each field that begins with a quote"


def mended(source: Source, skipped: int, separator: str, names: int) -> Source:
    """Return a text with regular quotes and an equal number of fields in each line.

    A field such as 5'3" may have a quote that is part of the text. Suppose that all lines have one field more than the
    header. If all last fields are empty, they are removed. Otherwise the first field gets an empty name, because R
    writes the names of rows in this way.

    Args:
        source: the text in UTF-8.
        skipped: the number of lines above the header.
        separator: the separator of the fields.
        names: the number of columns in the header.

    Raises:
        DataError: if a quote is not closed, or a line has too many fields. The message names the line.
    """
    lines = source.head(source.size).decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    reader = csv.reader(lines[skipped:], delimiter=separator, strict=True)
    rows, starts, start = [], [], skipped + 1
    try:
        for row in reader:
            if row:
                rows.append(row)
                starts.append(start)
            start = skipped + reader.line_num + 1
    except csv.Error as error:
        raise DataError(
            f"line {start} of {source.path} cannot be read",
            found=f"{shortened(lines[start - 1].strip())!r} ({error})",
            rule="a quote at the start of a field must be closed at its end",
            remedy=_UNCLOSED,
        ) from error
    header, *rows = rows
    notes = (QUOTES,)
    if rows and all(len(row) == names + 1 for row in rows):
        ends = all(not row[-1].strip() for row in rows)
        header, rows = (header, [row[:-1] for row in rows]) if ends else (["", *header], rows)
        names, notes = len(header), () if ends else (ROW_NAMES,)
    for row, start in zip(rows, starts[1:], strict=True):
        if len(row) > names:
            raise DataError(
                f"line {start} of {source.path} has too many fields",
                found=f"{len(row)} fields in {shortened(lines[start - 1].strip())!r}",
                rule=f"at most {names} fields, as in the header",
                remedy=f"correct this line, or put a field that contains {separator!r} in quotes",
            )
    written = io.StringIO()
    csv.writer(written, delimiter=separator, lineterminator="\n").writerows([header, *rows])
    content = "".join(lines[:skipped]) + written.getvalue()
    return dataclasses.replace(source, content=content.encode(), notes=(*source.notes, *notes))
