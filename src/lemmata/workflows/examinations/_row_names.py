"""Find the names of rows: their positions counted from 0, the index of a frame, or the lines of a file."""

import contextlib
import dataclasses
import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lemmata.subjects.trained_models import TargetError

_SHOWN = 8
_DELIMITED = (".csv", ".tsv", ".txt", ".dat")


@dataclasses.dataclass(frozen=True)
class Names:
    """The names of some rows.

    Args:
        own: the name of each row, by position; None if the names are positions counted from 0.
        words: the kind of these names, in words, such as "index of the frame".
    """

    own: Sequence[Any] | np.ndarray | None = None
    words: str = "counted from 0"

    def told(self, places: Sequence[int] | np.ndarray) -> str:
        """Return the names of the first eight rows at these positions, and the kind of these names.

        >>> Names().told([3, 5])
        '3, 5 (counted from 0)'
        >>> Names(["a", "b", "c"], "index of the frame").told([2])
        'c (index of the frame)'
        """
        shown = [int(place) if self.own is None else self.own[int(place)] for place in places[:_SHOWN]]
        more = " and others" if len(places) > _SHOWN else ""
        return f"{', '.join(map(str, shown))}{more} ({self.words})"

    def of(self, kept: np.ndarray) -> "Names":
        """Return the names of the rows that are kept.

        Args:
            kept: for each row, whether it is kept.
        """
        own = np.arange(len(kept)) if self.own is None else np.asarray(self.own, dtype=object)
        return dataclasses.replace(self, own=own[kept])


_PLACES = Names()


@dataclasses.dataclass(frozen=True)
class RowNames:
    """The names of training and held-out rows, and the names of inputs and targets, if they have names."""

    training: Names = _PLACES
    held: Names = _PLACES
    columns: tuple[str, ...] | None = None
    targets: tuple[str, ...] | None = None


PLACES = RowNames()
"""The names of rows without names: their positions, counted from 0."""


@contextlib.contextmanager
def naming_rows(names: RowNames) -> Iterator[None]:
    """Add the name of the row, such as its line in a file, to errors about the target of a row.

    Args:
        names: the names of the rows.
    """
    try:
        yield
    except TargetError as error:
        own = names.held if error.row_name.startswith("held-out") else names.training
        if own.words == PLACES.training.words:
            raise
        raise error.named(own.told([error.row])) from error


def names_in_frame(rows: Any) -> Names:
    """Return the index of a pandas frame as names, unless the index counts from 0; positions for anything else."""
    index = getattr(rows, "index", None)
    if index is None or callable(index):
        return Names()
    own = list(index)
    return Names() if own == list(range(len(own))) else Names(own, "index of the frame")


def columns_in_frame(rows: Any) -> tuple[str, ...] | None:
    """Return the column names of a pandas or polars frame; None for anything else."""
    columns = getattr(rows, "columns", None)
    return None if columns is None or callable(columns) else tuple(str(name) for name in columns)


def columns_after(steps: Any) -> tuple[str, ...] | None:
    """Return the names of the columns after steps of scikit-learn; None if the steps do not return names.

    Args:
        steps: a pipeline without its last step.
    """
    try:
        return tuple(str(name) for name in steps.get_feature_names_out())
    except Exception:  # a step of the user may raise any error
        return None


def names_in_file(path: object, rows: int) -> Names:
    """Return the lines of a delimited file with a header as names, if each line is one row; otherwise positions from 0.

    Args:
        path: the path of the file, or the name of a bundled set.
        rows: the number of rows that were read from the file.
    """
    file = Path(str(path))
    kind = Path(file.stem).suffix if file.suffix.lower() == ".gz" else file.suffix
    if kind.lower() not in _DELIMITED or not file.is_file():
        return Names(words=f"rows of {file.name}, counted from 0")
    with gzip.open(file) if file.suffix.lower() == ".gz" else file.open("rb") as lines:
        filled = [number for number, line in enumerate(lines, 1) if line.strip()]
    if len(filled) != rows + 1:  # for example, because a cell has several lines
        return Names(words=f"rows of {file.name} below its header, counted from 0")
    return Names(filled[1:], f"lines of {file.name}")
