"""Read rows in the form that a model takes: the columns of a table, or the arrays x and y of an NPZ file."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import polars as pl

from lemmata.core import available_bytes
from lemmata.errors import DataError, MemoryPlanError, MissingFileError, UnknownNameError
from lemmata.workflows.studies import Reading, read_arrays, read_table

from ._row_names import PLACES, Names, RowNames, names_in_file

Pair = tuple[Any, np.ndarray | None]
HELD_WORDS = ("held", "test", "validation", "valid", "1", "true")
TARGETS = ("y", "target", "label")
_SHOWN = 12


@dataclasses.dataclass(frozen=True)
class Form:
    """The form in which a model takes rows of a table.

    Args:
        gaps: whether cells may be empty; empty cells become NaN.
        columns: the columns that the model was fitted to, in their order; None if the model has no names of columns.
        frames: whether rows stay a data frame: never, always, or ("for words") only if a column does not hold numbers.
    """

    gaps: bool = False
    columns: tuple[str, ...] | None = None
    frames: Literal["never", "for words", "always"] = "never"


PLAIN = Form()
"""The form of an array of numbers without empty cells."""


@dataclasses.dataclass(frozen=True)
class Loaded:
    """Rows with targets, and held-out rows if the file marks them.

    Args:
        name: the name of the file or bundled set.
        pair: x and y; y is None for documents.
        held: x and y of held-out rows; None if the file marks none.
        columns: the names of the inputs in their order; None for an NPZ file.
        target: the name of the target; None for an NPZ file.
        corrected: the right targets of the training rows; None if the file does not hold them.
        names: the names of the rows.
        form: the form in which the model takes rows.
    """

    name: str
    pair: Pair
    held: Pair | None = None
    columns: tuple[str, ...] | None = None
    target: str | None = None
    corrected: np.ndarray | None = None
    names: RowNames = PLACES
    form: Form = PLAIN


class _Table(NamedTuple):
    """A table: its name, cells, target if known, the names of its rows, and a function that returns original cells."""

    name: str
    frame: pl.DataFrame
    known: str | None
    rows: Names
    as_given: Callable[..., Any] | None = None


def read_rows(
    data: object, target: str | None = None, split: str | None = None, documents: bool = False,
    corrected: str | None = None, form: Form = PLAIN,
) -> Loaded:  # fmt: skip
    """Read training rows.

    Args:
        data: the name of a bundled set, or the path of a CSV, TSV, Parquet or NPZ file; an NPZ file holds x, y, and
            optionally x_held, y_held.
        target: the column to predict; by default y, target, label, or the target of a bundled set.
        split: a column with one of the words in `HELD_WORDS`, such as "held", for the held-out rows.
        documents: whether the rows are sequences of tokens, which are also the targets. A table of documents has a
            column for each position. An NPZ file has x and optionally x_held.
        corrected: a column, or an array of an NPZ file, with the right targets of the training rows. If `corrected`
            names neither, then it is the name of a file, which `read_corrected` reads.
        form: the form in which the model takes rows. If `form` names columns, other columns are not read as inputs.

    Raises:
        DataError: if a table lacks the target, or has inputs that are not numbers.
        UnknownNameError: if a column does not exist.
        MemoryPlanError: if a file is too large to be read whole.
    """
    needed = ("x",) if documents else ("x", "y")
    arrays = _arrays(data, needed)
    if arrays is not None:
        if target is not None or split is not None:
            rule, remedy = "a table, because --target and --split name columns", "leave out --target and --split"
            raise DataError(f"{data}", found="arrays x and y", rule=rule, remedy=remedy)
        held = (arrays["x_held"], arrays.get("y_held")) if {f"{name}_held" for name in needed} <= set(arrays) else None
        pair = arrays["x"], None if documents else arrays["y"]
        other = held and (held[0], None if documents else held[1])
        right, names = arrays.get(corrected) if corrected else None, RowNames(Names(words="rows of x, counted from 0"))
        names = dataclasses.replace(names, held=Names(words="rows of x_held, counted from 0"))
        return Loaded(Path(str(data)).name, pair, other, corrected=right, names=names)
    table = _table(data, [name for name in (target, split) if name is not None])
    name, frame, known, rows, _ = table
    own = None if documents else target or known or next((own for own in TARGETS if own in frame.columns), None)
    if own is None and not documents:
        found = f"columns {_listed(frame.columns)}"
        remedy = "name the target with --target COLUMN"
        raise DataError(f"{name}", found=found, rule="a column named y, target or label", remedy=remedy)
    _check_columns(name, frame, [column for column in (own, split) if column is not None])
    if corrected is not None and corrected in (own, split):
        found = f"column {corrected!r}, which is also the target or the split"
        raise DataError("--corrected", found=found, rule="a separate column with the corrected targets")
    right = _targets(table, corrected) if corrected is not None and corrected in frame.columns else None
    inputs = [column for column in frame.columns if column not in (own, split, corrected)]
    if form.columns is not None:
        inputs = list(form.columns)
        _check_columns(name, frame, inputs)
    x, y = _inputs(table, inputs, form), None if own is None else _targets(table, own)
    if split is None:
        return Loaded(name, (x, y), None, tuple(inputs), own, right, RowNames(rows), form)
    words = [str(value).strip().lower() for value in frame[split].to_list()]
    seen = np.array([word not in HELD_WORDS for word in words])
    if seen.all() or not seen.any():
        rule = f"a column in which some rows, but not all, have one of the values {', '.join(HELD_WORDS)}"
        raise DataError(f"column {split!r}", found=f"{(~seen).sum()} held-out rows of {len(seen)}", rule=rule)
    known_rows, unseen = ((_kept(x, part), None if y is None else y[part]) for part in (seen, ~seen))
    names = RowNames(rows.of(seen), rows.of(~seen))
    return Loaded(name, known_rows, unseen, tuple(inputs), own, None if right is None else right[seen], names, form)


def read_corrected(data: str, own: Loaded) -> np.ndarray:
    """Return the right targets of the training rows, in the order of these rows, from a separate file.

    Args:
        data: a table with the column of the target, or with a single column; or an NPZ file with y.
        own: the training rows, as `read_rows` returned them.

    Raises:
        DataError: if the file is missing, has another number of rows, or has an empty cell.
    """
    if not Path(data).is_file():
        known = "" if own.columns is None else f"; columns are {_listed([*own.columns, str(own.target)])}"
        found = f"{data!r}, which is neither a column nor a file{known}"
        raise MissingFileError("--corrected", found=found, rule="a column or a file")
    arrays = _arrays(data, ("y",))
    if arrays is not None:
        name, right = Path(data).name, arrays["y"]
    else:
        table = _table(data, [str(own.target)])
        name, frame, *_ = table
        column = own.target if own.target in frame.columns else frame.columns[0]
        if column != own.target and frame.width > 1:
            found = f"columns {_listed(frame.columns)}"
            raise DataError(name, found=found, rule=f"a column {own.target!r}, or a single column")
        right = _targets(table, column)
    if len(right) != len(own.pair[0]):
        raise DataError(name, found=f"{len(right)} rows", rule=f"{len(own.pair[0])} rows, one for each training row")
    return right


def read_held(data: object, own: Loaded) -> tuple[Pair, Names]:
    """Return the held-out rows of a file, with columns in the order of the training rows, and the names of the rows.

    The errors are those of `read_rows`.

    Args:
        data: the file or bundled set, as in `read_rows`.
        own: the training rows, as `read_rows` returned them.
    """
    documents = own.pair[1] is None
    arrays = _arrays(data, ("x",) if documents else ("x", "y"))
    if arrays is not None:
        return (arrays["x"], None if documents else arrays["y"]), Names(words="rows of the held-out x, counted from 0")
    table = _table(data, own.columns or [])
    name, frame, known, rows, _ = table
    if documents:
        inputs = list(frame.columns) if own.columns is None else list(own.columns)
        _check_columns(name, frame, inputs)
        return (_inputs(table, inputs, own.form), None), rows
    target = own.target or known or next((column for column in TARGETS if column in frame.columns), "y")
    inputs = [column for column in frame.columns if column != target] if own.columns is None else list(own.columns)
    _check_columns(name, frame, [target, *inputs])
    return (_inputs(table, inputs, own.form), _targets(table, target)), rows


def read_deployed(data: object, own: Loaded) -> Any:
    """Return the deployment rows of a file, with columns in the order of the training rows. A target is not read.

    Args:
        data: the file or bundled set, as in `read_rows`; an NPZ file needs no y.
        own: the training rows, as `read_rows` returned them.
    """
    arrays = _arrays(data, ("x",))
    if arrays is not None:
        return arrays["x"]
    table = _table(data, own.columns or [])
    name, frame, *_ = table
    inputs = [column for column in frame.columns if column not in TARGETS] if own.columns is None else own.columns
    _check_columns(name, frame, list(inputs))
    return _inputs(table, list(inputs), own.form)


def _arrays(data: object, needed: tuple[str, ...] = ("x", "y")) -> dict[str, np.ndarray] | None:
    """Return the arrays of an NPZ file that has all needed arrays; None for anything else."""
    if not (isinstance(data, str | os.PathLike) and Path(data).suffix.lower() == ".npz" and Path(data).is_file()):
        return None
    arrays, _ = read_arrays(Path(data), _limit())
    return arrays if set(needed) <= set(arrays) else None


def _limit() -> int:
    return int(available_bytes() / 4)


def _table(data: object, columns: Sequence[str]) -> _Table:
    table = read_table(data, Reading(_limit(), 0, columns=tuple(columns)))
    if table.rows > table.frame.height:
        rule, remedy = f"at most {_limit():,} bytes", "pass an NPZ file with some of the rows as x and y"
        raise MemoryPlanError(f"{table.name} is too large to be read whole", rule=rule, remedy=remedy)
    if not table.frame.height:
        raise DataError(table.name, found="no rows", rule="the rows that the model was trained on")
    return _Table(
        table.name, table.frame, table.default_target, names_in_file(data, table.frame.height), table.as_given
    )


def _listed(columns: list[str]) -> str:
    """Return the first names and the last name, which is often the name of the target."""
    return ", ".join(columns if len(columns) <= _SHOWN else [*columns[: _SHOWN - 2], "...", columns[-1]])


def _check_columns(name: str, frame: pl.DataFrame, columns: list[str]) -> None:
    for column in columns:
        if column not in frame.columns:
            raise UnknownNameError(f"{name} has no column {column!r}", found=_listed(frame.columns))


def _targets(table: _Table, target: str) -> np.ndarray:
    if table.frame[target].null_count():
        raise _empty(table, target)
    return table.frame[target].to_numpy()


def _empty(table: _Table, column: str) -> DataError:
    row = table.rows.told(np.flatnonzero(table.frame[column].is_null().to_numpy())[:1])
    rule, remedy = (
        "a number in every cell, because the model does not accept missing cells",
        "fill the cell in the same way as for training",
    )
    return DataError(
        f"{table.name}, column {column!r}, row {row}", found="a cell that is empty or NaN", rule=rule, remedy=remedy
    )


def _inputs(table: _Table, inputs: list[str], form: Form) -> Any:
    """Return columns in the form in which the model takes them: an array of numbers or a data frame."""
    kinds: list[Any] = [table.frame[column].dtype for column in inputs]
    words = not all(kind.is_numeric() or kind == pl.Boolean for kind in kinds)
    if table.as_given is not None and inputs and (form.frames == "always" or (words and form.frames == "for words")):
        return table.as_given(inputs, np.arange(table.frame.height))
    return _matrix(table, inputs, form.gaps)


def _kept(rows: Any, part: np.ndarray) -> Any:
    return rows.filter(part) if isinstance(rows, pl.DataFrame) else rows[part]


def _matrix(table: _Table, inputs: list[str], gaps: bool = False) -> np.ndarray:
    """Return columns as one array: whole numbers if all cells are whole numbers and none is empty, otherwise floats."""
    name, frame, *_ = table
    if not inputs:
        raise DataError(name, found="only the target column", rule="the input columns of the model")
    for column in inputs:
        kind: Any = frame[column].dtype
        if not (kind.is_numeric() or kind == pl.Boolean):
            remedy = "encode the column in the same way as for training, or leave it out of the file"
            rule = "numbers"
            raise DataError(f"{name}, column {column!r}", found=_words(frame[column]), rule=rule, remedy=remedy)
        if frame[column].null_count() and not gaps:
            raise _empty(table, column)
    whole = all(frame[column].dtype.is_integer() and not frame[column].null_count() for column in inputs)
    return frame.select(pl.col(inputs).cast(pl.Int64 if whole else pl.Float64)).to_numpy()


def _kind(column: pl.Series) -> str:
    return "words" if column.dtype == pl.String else str(column.dtype).lower()


def _words(column: pl.Series) -> str:
    first = column.drop_nulls().head(1).to_list()
    return f"{_kind(column)}, for example {str(first[0])[:40]!r}" if first else "only empty cells"
