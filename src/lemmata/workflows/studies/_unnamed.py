"""Give names to columns whose name is empty or blank."""

import re
from collections.abc import Sequence

from ._columns import count, listing

UNNAMED = re.compile(r"column (\d+) \(unnamed\)")
"""The name that stands for a missing column name. It contains the column's position in the table, counted from 1."""


def unnamed(place: int) -> str:
    """Return the name of a column without a name.

    Args:
        place: the position of the column, from 0.
    """
    return f"column {place + 1} (unnamed)"


def filled(names: Sequence[str]) -> list[str]:
    """Return the names of columns, with a name for each column whose name is blank.

    >>> filled(["a", " ", ""])
    ['a', 'column 2 (unnamed)', 'column 3 (unnamed)']
    """
    return [name if name.strip() else unnamed(place) for place, name in enumerate(names)]


def note_on_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return a note about the columns that have no name of their own; empty if there are none."""
    found = [repr(name) for name in names if UNNAMED.fullmatch(name)]
    if not found:
        return ()
    verbs = "has no name and is" if len(found) == 1 else "have no name and are"
    return (f"{count(found, 'column')} {verbs} called {listing(found, 5)}",)
