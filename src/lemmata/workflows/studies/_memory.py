"""Read tables in memory: turn data frames, arrays and scikit-learn bunches into one table of named columns."""

import dataclasses
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl

from lemmata.errors import DataError, shortened
from lemmata.workflows.records.studies import Finding

from ._columns import listing
from ._offsets import offsets_written
from ._unnamed import filled

MOST_COLUMNS = 50_000
MOST_DENSE = 10**8
"""The largest number of cells of a sparse matrix that is stored densely."""
_REFUSED = {
    "c": ("complex", "store real and imaginary parts as two arrays"),
    "V": ("structured or of raw bytes", "store each field as an array of its own"),
}


@dataclasses.dataclass(frozen=True)
class Table:
    """Named columns as read, before anything is encoded or scaled.

    Args:
        name: the bundled name, or the file's name.
        frame: the columns of inputs and targets.
        rows: the number of rows of the source. The source has more rows than `frame` if only a sample of rows was read.
        notes: remarks for the user on how the table was read.
        default_target: the target column that is used if the user names none; None if the user must name a target.
        kept: for each row of the frame, the row of the source, from 0; None if the frame holds all rows.
        findings: warnings that were found while the table was read.
        given: the user's data frame of another library, with the columns of `frame` in their order; None otherwise.
        of_polars: whether the user gave a polars data frame.
        sheet: the sheet of a spreadsheet that holds the table; empty for other tables.
        others: the other sheets of the spreadsheet that hold cells.
        index: the names of the levels of the index of the user's data frame, if it may hold data; otherwise empty.
        text: whether the table was read from a text file, to which --na applies.
    """

    name: str
    frame: pl.DataFrame
    rows: int
    notes: tuple[str, ...] = ()
    default_target: str | None = None
    kept: np.ndarray | None = None
    findings: tuple[Finding, ...] = ()
    given: Any = None
    of_polars: bool = False
    sheet: str = ""
    others: tuple[str, ...] = ()
    index: tuple[str, ...] = ()
    text: bool = False

    @property
    def in_memory(self) -> bool:
        """Whether the table is a data frame that the user passed."""
        return self.given is not None or self.of_polars

    def emptying(self, name: str, cell: object) -> str:
        """Return the advice how the user makes all cells of a column missing that are equal to this cell.

        >>> Table("t", pl.DataFrame({"x": [-999, 2]}), 2, of_polars=True).emptying("x", -999)
        "write frame = frame.with_columns(polars.col('x').replace(-999, None)), with the name of your data frame"
        """
        value = repr(cell) if isinstance(cell, str) else f"{cell:g}" if isinstance(cell, int | float) else ""
        if self.text and value:
            return f"add --na {value}"
        names = [*(self.frame.columns if self.of_polars else () if self.given is None else self.given.columns)]
        place = self.frame.columns.index(name)
        if not value or place >= len(names):
            return "leave these cells empty" + ("" if isinstance(cell, str) or not value else ", or write nan in them")
        step = f"frame = frame.with_columns(polars.col({name!r}).replace({value}, None))"
        column = f"frame[{names[place]!r}]"
        step = step if self.of_polars else f"{column} = {column}.replace({value}, numpy.nan)"
        return f"write {step}, with the name of your data frame"

    def declares(self, name: str) -> bool:
        """Whether the user declared a column as categories without an order.

        >>> frame = pl.DataFrame({"k": ["1", "2"]}, schema={"k": pl.Categorical})
        >>> table_in_memory(frame).declares("k"), table_in_memory(frame.cast(pl.String)).declares("k")
        (True, False)
        """
        if self.frame[name].dtype in (pl.Categorical, pl.Enum):
            return True
        place = self.frame.columns.index(name)
        if self.given is None or place >= len(self.given.columns):
            return False
        kind = getattr(self.given.iloc[:, place], "dtype", None)
        return hasattr(kind, "categories") and not getattr(kind, "ordered", True)

    def as_given(self, names: Sequence[str], rows: np.ndarray) -> Any:
        """Return some columns and rows in the user's own form, with unchanged cells and the user's own names.

        For a file or arrays, the result is a pandas data frame if pandas can be imported, and a polars data frame
        otherwise.

        Args:
            names: the names of columns of `frame`.
            rows: rows of `frame`, from 0.
        """
        if self.given is not None:
            places = [self.frame.columns.index(name) for name in names]
            return self.given.iloc[rows, places]
        cells = self.frame.select(names)[rows]
        if self.of_polars:
            return cells
        try:
            import pandas
        except ImportError:
            return cells
        return pandas.DataFrame({column.name: column.to_numpy() for column in cells}, index=rows)


def check_names(source: object, names: Sequence[str]) -> None:
    """Check the names of the columns of a table.

    Raises:
        DataError: if there are more than 50,000 columns, or two columns have the same name.
    """
    check_width(source, len(names))
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise DataError(
            f"{source} has columns of the same name",
            found=listing([repr(shortened(name)) for name in repeated]),
            rule="every column must have its own name; entry j of a matrix X is called 'X[j]'",
            remedy="rename one of them",
        )


def check_width(source: object, columns: int) -> None:
    """Check the number of columns before any column is read.

    Raises:
        DataError: if there are more than 50,000 columns.
    """
    if columns > MOST_COLUMNS:
        raise DataError(
            f"{source} has too many columns",
            found=f"{columns} columns",
            rule=f"at most {MOST_COLUMNS} columns",
            remedy=("keep the informative columns, or transpose the table if its rows and columns are swapped"),
        )


def table_in_memory(data: Any) -> Table:
    """Turn a polars or pandas data frame, a pair (x, y) of arrays, or a scikit-learn bunch into a table.

    A pandas data frame is recognised by its methods, and pandas is never imported.

    Raises:
        DataError: if the object is of another kind, or if columns cannot be distinguished or read.
    """
    if isinstance(data, pl.LazyFrame):
        data = data.collect()
    if isinstance(data, tuple) and len(data) == 2:
        return _joined("the arrays", data[0], "x", data[1], str(getattr(data[1], "name", None) or "y"))
    if isinstance(data, Mapping) and "data" in data and "target" in data:
        return _bunch(data)
    frame = _frame(data)
    if frame is None:
        raise DataError(
            "the data have a type that lemmata cannot read",
            found=f"type {type(data).__name__}",
            rule="a path, the name of a bundled set, a pandas or polars data frame, a pair (x, y) of arrays, or a"
            " scikit-learn bunch",
            remedy=_as_frame(data),
        )
    other = hasattr(data, "iloc")
    given, index = (data if other else None), _index(data)
    findings = _unused(index)
    return Table("the table", frame, frame.height, (), None, None, findings, given, of_polars=not other, index=index)


def _as_frame(data: object) -> str:
    """Return advice for data of another kind: named rows or columns as a data frame, and other arrays as a pair."""
    named = getattr(getattr(data, "dtype", None), "names", None) is not None
    if named or isinstance(data, Mapping | list):
        return "give pandas.DataFrame(data)"
    return "give the pair (x, y) for arrays, or pandas.DataFrame(data)"


def _index(data: Any) -> tuple[str, ...]:
    """Return the level names of a data frame's index that may hold data: a named, date or multi-level index.

    A level without a name gets the name that `reset_index` gives to it.
    """
    index = getattr(data, "index", None)
    names = list(getattr(index, "names", None) or [])
    dated = type(index).__name__ in ("DatetimeIndex", "PeriodIndex")
    if not hasattr(data, "iloc") or not (dated or len(names) > 1 or any(name is not None for name in names)):
        return ()
    usual = ["index"] if len(names) == 1 else [f"level_{j}" for j in range(len(names))]
    return tuple(own if name is None else str(name) for name, own in zip(names, usual, strict=True))


def _unused(index: tuple[str, ...]) -> tuple[Finding, ...]:
    """Return a finding that the index of a data frame is not used; nothing without an index."""
    if not index:
        return ()
    named = listing([repr(shortened(name)) for name in index])
    made = "a column" if len(index) == 1 else "columns"
    text = f"The index of the data frame ({named}) is not used. frame.reset_index() makes it {made}."
    return (Finding("index", (), text),)


def _frame(data: Any) -> pl.DataFrame | None:
    """Return the columns of a data frame of any library; None for other objects."""
    if isinstance(data, pl.DataFrame):
        frame = data.rename(dict(zip(data.columns, filled(data.columns), strict=True)))
    elif hasattr(data, "columns") and hasattr(data, "iloc"):
        names = filled([str(name) for name in data.columns])
        check_names("the table", names)
        cells = [data.iloc[:, j] for j in range(len(names))]
        frame = pl.DataFrame([_series(name, cell) for name, cell in zip(names, cells, strict=True)])
    elif hasattr(data, "column_names") and hasattr(data, "__arrow_c_stream__"):
        frame = pl.DataFrame(data)
    else:
        return None
    check_names("the table", frame.columns)
    return frame


def _series(name: str, cells: Any) -> pl.Series:
    """Convert a column of any library. Missing cells become null."""
    values = _dates_or_texts(cells.to_numpy() if hasattr(cells, "to_numpy") else np.asarray(cells))
    if values.dtype.kind == "O" or values.dtype.kind not in "biufUSMm":
        missing = cells.isna().to_numpy() if hasattr(cells, "isna") else [cell is None for cell in values]
        listed = [None if void else cell for cell, void in zip(values.tolist(), missing, strict=True)]
        try:
            return pl.Series(name, listed, strict=False)
        except (TypeError, ValueError, pl.exceptions.PolarsError) as error:
            raise DataError(
                f"column {shortened(name)!r} cannot be read",
                found=f"type {values.dtype}",
                rule="every cell must be one number, one text or one date",
            ) from error
    return pl.Series(name, plain_array("the table", name, values))


def _dates_or_texts(values: np.ndarray) -> np.ndarray:
    """Return pandas' periods as their first moments, and intervals and times with fixed offsets as texts."""
    if values.dtype.kind != "O":
        return values
    kind = next((type(cell).__name__ for cell in values.flat if not _void(cell)), "")
    if kind == "Period":
        return np.array([None if _void(cell) else cell.to_timestamp() for cell in values.flat], dtype="datetime64[us]")
    if kind == "Interval":
        return np.array([None if _void(cell) else str(cell) for cell in values.flat], dtype=object)
    return offsets_written(values)


def _void(cell: object) -> bool:
    """Whether a cell is None, NaN or a missing value of pandas."""
    return cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell)


def _dense(x: Any) -> Any:
    """Return a sparse matrix as an array, and other objects unchanged.

    Raises:
        DataError: if the array would have too many cells.
    """
    if not (hasattr(x, "toarray") and hasattr(x, "nnz")):
        return x
    rows, columns = x.shape
    if rows * columns > MOST_DENSE:
        raise DataError(
            "the sparse matrix is too large to be stored densely",
            found=f"{rows:,} x {columns:,} cells",
            rule=f"at most {MOST_DENSE:,} cells",
            remedy=(
                "keep the columns that are most often nonzero, or reduce the matrix with "
                "sklearn.decomposition.TruncatedSVD"
            ),
        )
    return x.toarray()


def _joined(source: str, x: Any, prefix: str, y: Any, label: str) -> Table:
    inputs = _frame(x := _dense(x))
    notes: tuple[str, ...] = ()
    if inputs is None:
        table = arrays_table(source, {prefix: np.asarray(x)}, [])
        inputs, notes = table.frame, table.notes
    targets = _frame(y)
    if targets is None and isinstance(y, pl.Series):
        targets = y.alias(label).to_frame()
    elif targets is None and hasattr(y, "to_numpy"):
        targets = _series(label, y).to_frame()
    elif targets is None:
        targets = arrays_table(source, {label: np.asarray(y)}, []).frame
    if inputs.height != targets.height:
        raise DataError(
            f"{source} do not form a table",
            found=f"x {inputs.shape}, y {targets.shape}",
            rule="all arrays must have the same first dimension, with one entry for each row",
        )
    check_names(source, [*inputs.columns, *targets.columns])
    frame = inputs.hstack(targets)
    target = label if targets.width > 1 else targets.columns[0]
    given = x if hasattr(x, "iloc") else None  # its columns come first
    index, polars = _index(x), isinstance(x, pl.DataFrame)
    return Table(source, frame, frame.height, notes, target, None, _unused(index), given, polars, index=index)


def _bunch(bunch: Mapping[str, Any]) -> Table:
    target, labels = bunch["target"], bunch.get("target_names")
    values = np.asarray(target)
    if values.ndim == 1 and values.dtype.kind in "iu" and labels is not None and len(labels) == values.max() + 1:
        target = np.asarray(labels).astype(str)[values]
    label = str(getattr(target, "name", None) or "target")
    x, names = bunch["data"], bunch.get("feature_names")
    if _frame(x) is None and names is not None and np.ndim(x) == 2 and len(names) == np.shape(x)[1]:
        check_names("the bunch", list(map(str, names)))
        x = pl.DataFrame(np.asarray(x), schema=list(map(str, names)))
    return _joined("the bunch", x, "x", target, label)


def arrays_table(source: object, arrays: dict[str, np.ndarray], notes: list[str]) -> Table:
    """Return a table with one row for each entry of the first axis of the arrays.

    The table has one column for each entry of a row, such as X[0], X[1], ... for a matrix X.

    Raises:
        DataError: if the arrays do not have the same number of rows, or contain something that is not a column.
    """
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "no arrays"
    arrays = {name: array for name, array in arrays.items() if array.ndim}
    if len({array.shape[0] for array in arrays.values()}) != 1:
        raise DataError(
            f"{source}: the arrays do not form a table",
            found=shapes,
            rule="all arrays must have the same first dimension, with one entry for each row",
        )
    widths = {name: math.prod(array.shape[1:]) for name, array in arrays.items()}
    check_width(source, sum(widths.values()))
    names, columns = [], []
    for name, array in arrays.items():
        if array.ndim > 2:
            notes.append(
                f"array {name!r} of shape {array.shape} was flattened: each index of the first axis is one row"
            )
        width = widths[name]
        flat = (array if array.dtype.kind == "O" else plain_array(source, name, array)).reshape(len(array), width)
        own = [name if width == 1 else f"{name}[{j}]" for j in range(width)]
        names += own
        columns += [_series(column, np.ascontiguousarray(flat[:, j])) for j, column in enumerate(own)]
    check_names(source, names)
    target = next((name for name in arrays if name in ("y", "Y", "target")), None)
    frame = pl.DataFrame(columns)
    return Table(str(source), frame, frame.height, tuple(notes), default_target=target)


def plain_array(source: object, name: str, array: np.ndarray) -> np.ndarray:
    """Convert an array to a type for columns: floats to float64, bytes to text, times to microseconds.

    Other arrays get the native byte order.

    Raises:
        DataError: if the array holds complex numbers, structures, raw bytes, or bytes that are not text.
    """
    kind = array.dtype.kind
    if kind not in "biufUSMm":
        words, remedy = _REFUSED["c" if kind == "c" else "V"]
        raise DataError(
            f"array {name!r} of {source} is {words}",
            found=f"type {array.dtype}",
            rule="arrays must hold real numbers, booleans, dates or text",
            remedy=remedy,
        )
    if kind == "f":
        with np.errstate(over="ignore"):
            return array.astype(np.float64)
    if kind in "Mm":
        return array.astype(f"{'datetime64' if kind == 'M' else 'timedelta64'}[us]")
    if kind == "S":
        try:
            return np.char.decode(array, "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"array {name!r} of {source} holds bytes that are not text",
                found=str(error),
                rule="the text must be in UTF-8",
                remedy="store it as numbers, or decode it to text first",
            ) from error
    return array.astype(array.dtype.newbyteorder("="))
