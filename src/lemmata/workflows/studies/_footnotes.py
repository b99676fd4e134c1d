"""Find the lines of text below the last row of a table."""

import dataclasses
import re
from collections.abc import Callable, Sequence

import polars as pl

from lemmata.errors import shortened

from ._columns import count
from ._dates import with_dates
from ._memory import Table
from ._numbers import NO_NUMBER, as_numbers, decimal_mark, stripped

Texts = dict[str, str] | None
"""For a row without numbers, its texts by column; None for other rows."""
MOST = 20
"""The largest number of lines below a table."""
SAMPLED = 50
"""The number of cells of a column with which a text below the table is compared."""


def without_footnotes(table: Table, names: Sequence[str], targets: Sequence[str], decimal: str | None = None) -> Table:
    """Return the table without the lines of text below its last row, with a note that quotes the first of them.

    Such a line has text in at least one column whose other cells are numbers or dates, and contains no number. Its
    target cell is empty. Alternatively, few cells of the line are filled, and the target cell is a text although the
    target's other cells are numbers or dates.

    Args:
        table: the table as read.
        names: the names of the columns in use.
        targets: the columns of the target among them.
        decimal: the decimal mark; None if it is read from the cells.

    >>> cells = {"x": [*map(str, range(30)), "Source: own data"], "y": [*range(30), None]}
    >>> found = without_footnotes(Table("t", pl.DataFrame(cells), 31), ["x", "y"], ["y"])
    >>> found.rows, found.notes
    (30, ("1 line of text below the table left out, beginning 'Source: own data'",))
    """
    frame = table.frame.select([name for name in table.frame.columns if name in {*names}])
    last = [_texts(row) for row in frame.tail(MOST).rows(named=True)]
    own = _ending(last, lambda texts: texts is not None)
    if not any(own):
        return table
    body = frame.head(frame.height - len(own))
    filled = {name for texts in own if texts for name in texts}
    mark = decimal or decimal_mark(stripped(column) for column in body if column.dtype == pl.String)
    numbers = {name: body[name].drop_nulls().head(SAMPLED) for name in filled if _is_of_numbers(body[name], mark)}

    def is_footnote(texts: Texts) -> bool:
        among = {name: text for name, text in (texts or {}).items() if name in numbers}
        held = [name for name in targets if name in (texts or {})]
        few = 2 * len(texts or {}) <= frame.width + 1
        if not texts or not among or (held and not (few and all(name in among for name in held))):
            return texts == {}
        return not any(_reads(numbers[name], text, mark) for name, text in among.items())

    own = _ending(own, is_footnote)
    told = [next(iter(texts.values())) for texts in own if texts]
    if not told:
        return table
    note = f"{count(len(told), 'line')} of text below the table left out, beginning {shortened(told[0])!r}"
    kept = None if table.kept is None else table.kept[: table.frame.height - len(own)]
    return dataclasses.replace(
        table, frame=table.frame.head(table.frame.height - len(own)), rows=table.rows - len(own),
        notes=(*table.notes, note), kept=kept,
    )  # fmt: skip


def _texts(row: dict[str, object]) -> Texts:
    """Return the texts of a row. None if a cell is not a text with a letter; words for missing cells are left out."""
    texts = {}
    for name, cell in row.items():
        if cell is None or cell != cell:
            continue
        if not isinstance(cell, str):
            return None
        text = cell.strip()
        if text and text.lower() not in NO_NUMBER:
            texts[name] = text
    return texts if all(re.search(r"[^\W\d_]", text) and not _is_number(text) for text in texts.values()) else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _is_of_numbers(column: pl.Series, mark: str | None) -> bool:
    """Whether a column of texts holds numbers or dates."""
    if column.dtype != pl.String or column.null_count() == column.len():
        return False
    return with_dates(column).dtype.is_temporal() or as_numbers(stripped(column), mark) is not None


def _reads(column: pl.Series, text: str, mark: str | None) -> bool:
    """Whether a text is a number or a date in the format of a column, such as 12 kg or 30-Jan-24."""
    joined = stripped(pl.concat([column, pl.Series(column.name, [text])]))
    read = as_numbers(joined, mark)
    return with_dates(joined).dtype.is_temporal() or (read is not None and read.column[-1] is not None)


def _ending(rows: list[Texts], holds: Callable[[Texts], bool]) -> list[Texts]:
    """Return the longest final part of a list in which every entry has the property `holds`."""
    place = next((i for i in reversed(range(len(rows))) if not holds(rows[i])), -1)
    return rows[place + 1 :]
