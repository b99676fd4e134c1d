"""Find the lines of a title above the header of a table."""

import csv
import re
from collections.abc import Sequence

from lemmata.errors import shortened

LOOK = 12
"""The largest number of lines of a title."""
_NUMBER = r"[+-]?(\d+[.,]?\d*|[.,]\d+)([eE][+-]?\d+)?"
LEAST = 3
"""Empty fields may follow a title if the table has at least this number of columns."""


def title_lines(lines: Sequence[str], separators: str) -> int:
    """Return how many of the first lines are a title above the header.

    A title line has one field, whatever the separator is, or one non-empty field among empty fields. The header is the
    first line with several non-empty fields. One of these fields contains a letter, and the line below has equally many
    fields. If the first line with several non-empty fields lacks such a letter or line below, there is no title.

    Args:
        lines: the first lines of a text.
        separators: the possible separators of the fields.

    >>> title_lines(["Sales of 2024", "", "shop;sold", "north;3"], ",;"), title_lines(["shop;sold", "north;3"], ",;")
    (2, 0)
    """
    first = lines[: LOOK + 2]
    for place in range(min(LOOK, len(first) - 1)):
        header, below = ([_fields(first[place + more], s) for s in separators] for more in (0, 1))
        if any('"' in line and line.count('"') % 2 for line in first[: place + 1]):
            return 0
        if any(_full(own) > 1 for own in header):
            pairs = zip(header, below, strict=True)
            names = [own for own, other in pairs if _full(own) > 1 and len(own) == len(other)]
            return place if any(any(re.search(r"[^\W\d_]", field) for field in own) for own in names) else 0
        empty = max(len(own) - _full(own) for own in header)
        if empty and max(map(len, header)) < LEAST and first[place].strip():
            return 0
    return 0


def comment_lines(lines: Sequence[str], separators: str) -> int:
    """Return how many of the first lines are comments, which begin with '#'.

    The last of these lines does not count if it is the header. A line is the header if the line below has equally many
    fields, at least two, and at least one of them is a number.

    >>> comment_lines(["# station 12", "a,b", "1,2"], ","), comment_lines(["# station 12", "#a,b", "1,2"], ",")
    (1, 1)
    """
    place = next((i for i, line in enumerate(lines) if line.strip() and not line.startswith("#")), 0)
    last = next((i for i in reversed(range(place)) if lines[i].strip()), 0)
    for mark in separators:
        above, below = _fields(lines[last], mark), _fields(lines[place], mark)
        if len(above) == len(below) > 1 and any(re.fullmatch(_NUMBER, field.strip()) for field in below):
            return last
    return place


def title_rows(rows: Sequence[Sequence[object]]) -> int:
    """Return how many of the first rows of a sheet are a title.

    A title row has at most one non-empty cell. The first row below the title must fill more than half of its cells, and
    one of these cells must contain a letter.

    Args:
        rows: the first rows, with None for empty cells.

    >>> title_rows([("Sales of 2024", None, None), ("shop", "sold", "on"), ("north", 3, 1)])
    1
    """
    for place, row in enumerate(rows[:LOOK]):
        full = sum(cell is not None for cell in row)
        if full > 1:
            named = any(letter.isalpha() for cell in row if isinstance(cell, str) for letter in cell)
            return place if len(row) >= LEAST and 2 * full > len(row) and named else 0
    return 0


def told(lines: Sequence[str]) -> str:
    """Return a note about the lines that were left out."""
    shown = next((line.strip() for line in lines if line.strip()), "")
    number = len(lines)
    return f"{number} line{'s' if number > 1 else ''} above the header left out, beginning {shortened(shown)!r}"


def left_out_of(notes: Sequence[str]) -> int:
    """Return how many lines above the header of a table were left out, according to its notes.

    >>> left_out_of([told(["Sales of 2024", ""])]), left_out_of(["bundled with scikit-learn"])
    (2, 0)
    """
    found = (re.match(r"(\d+) lines? above the header left out", note) for note in notes)
    return next((int(match[1]) for match in found if match), 0)


def _fields(line: str, separator: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator), [])
    except csv.Error:  # a field is longer than the limit of the reader
        return []


def _full(fields: list[str]) -> int:
    return sum(bool(field.strip()) for field in fields)
