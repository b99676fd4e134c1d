"""Data frames as arrays of numbers, from which the frames can be restored for the model."""

import dataclasses
import functools
import math
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from jaxtyping import Float

from lemmata.errors import DataError

from ._columns import columns_of_model, is_frame
from ._contract import AbstractModel
from ._estimators import BlackBox
from ._read import read_model

_FEW = 2  # number of rows in a test whether the model accepts a frame
_EXACT = 2**53  # whole numbers up to this size are exact in float64


@dataclasses.dataclass(frozen=True)
class _Column:
    """A column of a frame, with its different values in the order of their codes.

    Args:
        name: the name of the column.
        kind: the type of the column in the training rows.
        values: the different values, as a pandas or polars series; None for numbers.
        codes: the index of each value in `values`.
    """

    name: Any
    kind: Any
    values: Any = None
    codes: dict[Any, int] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class FrameCode:
    """A code that turns the rows of a frame into arrays of numbers, and these arrays back into a frame.

    Numbers do not change. Any other value, such as a category or a text, becomes its index among the values of its
    column. Categories have their own order, and other values are sorted. A missing cell becomes NaN.

    Args:
        columns: the columns of the frame.
        of_polars: whether the frames are frames of polars instead of pandas.
    """

    columns: tuple[_Column, ...]
    of_polars: bool

    def numbers(self, frame: Any) -> Float[np.ndarray, "n d"]:
        """Return the rows of a frame with these columns as numbers. Arrays are returned unchanged."""
        if not is_frame(frame):
            return frame
        cells = [_series(frame, place) for place in range(len(self.columns))]
        found = [
            _floats(own) if column.values is None else _codes(own, column.codes)
            for own, column in zip(cells, self.columns, strict=True)
        ]
        return np.stack(found, axis=1)

    def frame(self, rows: Float[np.ndarray, "n d"]) -> Any:
        """Return rows of numbers as a frame with the columns and types of the training rows.

        A code that is not a whole number, or is out of range, gives the value with the nearest code.
        """
        if all(column.values is None and column.kind == "float64" for column in self.columns) and not self.of_polars:
            return sys.modules["pandas"].DataFrame(rows, columns=[column.name for column in self.columns])
        found = [self._cells(column, rows[:, place]) for place, column in enumerate(self.columns)]
        if self.of_polars:
            return pl.DataFrame({column.name: own for column, own in zip(self.columns, found, strict=True)})
        frame = sys.modules["pandas"].concat(found, axis=1)
        frame.columns = [column.name for column in self.columns]
        return frame

    def _cells(self, column: _Column, cells: Float[np.ndarray, " n"]) -> Any:
        if column.values is None:
            return _polars_numbers(column.kind, cells) if self.of_polars else _pandas_numbers(column.kind, cells)
        empty = ~np.isfinite(cells)
        places = np.clip(np.round(np.where(empty, 0, cells)), 0, max(len(column.values) - 1, 0)).astype(int)
        if self.of_polars:
            return column.values.gather([None if gap else place for gap, place in zip(empty, places, strict=True)])
        taken = column.values.array.take(np.where(empty, -1, places), allow_fill=True)
        return sys.modules["pandas"].Series(taken)


def only_numbers(frame: Any) -> bool:
    """Return whether all columns of a frame contain numbers or Booleans, and no categories, texts or dates."""
    return all(_is_number(_series(frame, place)) for place in range(len(frame.columns)))


def frame_code(x: Any, *others: Any) -> FrameCode:
    """Return a code of the frame of training rows.

    Args:
        x: the training rows.
        others: other frames with the same columns, whose values the code must contain.

    Raises:
        DataError: if another frame has a text where the training rows have numbers.
    """
    frames = [own for own in (x, *others) if is_frame(own) and len(own.columns) == len(x.columns)]
    of_polars = not hasattr(x, "iloc")
    columns = tuple(_column([_series(own, k) for own in frames], name) for k, name in enumerate(x.columns))
    return FrameCode(columns, of_polars)


def with_frames(model: BlackBox, code: FrameCode) -> BlackBox:
    """Return the model as a function of coded rows. The user's own function gets frames."""
    call = model.call
    return dataclasses.replace(model, call=lambda rows: call(code.frame(rows)))


def model_of_frames(model: Any, code: FrameCode | None) -> Any:
    """Return a user's model as a model of coded rows if only its outputs are known, and otherwise the model itself.

    Args:
        model: a model in a form that `read_model` accepts.
        code: the code of the frames that the model accepts. With None, the model itself is returned.
    """
    found = None if code is None else read_model(model)
    return model if code is None or not isinstance(found, BlackBox) else with_frames(found, code)


def fit_of_frames(fit: Callable[..., Any] | None, code: FrameCode | None) -> Callable[..., Any] | None:
    """Return a function that trains models of coded rows by calling the user's function with frames.

    Args:
        fit: the user's function fit(x, y, seed, ...).
        code: the code of the frames. With None, the function itself is returned.
    """
    if fit is None or code is None:
        return fit

    @functools.wraps(fit)
    def fitted(x: np.ndarray, *rest: Any, **more: Any) -> Any:
        return model_of_frames(fit(code.frame(x), *rest, **more), code)

    return fitted


class Coded(NamedTuple):
    """A model of arrays of numbers, its training, held-out and deployment rows, and the code of frames or None."""

    model: AbstractModel
    x: Any
    held: Any
    deployed: Any
    code: FrameCode | None = None


def as_numbers(model: AbstractModel, own: Any, x: Any, held: Any, deployed: Any) -> Coded:
    """Return a model and its rows as arrays of numbers if the training rows are a frame.

    If only the outputs of a model are known and the model accepts frames, it is called with rows of the user's frame. A
    model with derivatives, and an estimator that was fitted to arrays, are called with arrays of numbers.

    Args:
        model: the model that `read_model` has read.
        own: the user's model, before it was read.
        x: the training rows.
        held: a pair of held-out rows and their targets; anything else is returned unchanged.
        deployed: the deployment rows, or None.

    Raises:
        DataError: if a model with derivatives would get texts or categories, or if other rows are not frames like the
            training rows.
    """
    if not is_frame(x) or not len(x.columns):
        return Coded(model, x, held, deployed)
    words = not only_numbers(x)
    if words and not isinstance(model, BlackBox):
        _refuse_words(x, model.kind)
    new = held[0] if isinstance(held, tuple | list) and held else None
    code = frame_code(x, new, deployed)
    read = _numbers if words else _array
    rows = read(code, x, "x")
    if new is not None:
        held = (read(code, new, "held-out rows"), *held[1:])
    met = None if deployed is None else read(code, deployed, "deployment rows")
    if isinstance(model, BlackBox) and (words or _of_frames(own)):
        framed = with_frames(model, code)
        if words or _takes(framed, np.asarray(rows[:_FEW], float)):
            model = dataclasses.replace(framed, given=code.frame) if words else framed
    return Coded(model, rows, held, met, code if words else None)


def _of_frames(own: Any) -> bool:
    """Return whether to call a model with frames of numbers: True for a function, and for a model fitted to a frame."""
    fitted = hasattr(own, "n_features_in_") or hasattr(getattr(own, "__self__", None), "n_features_in_")
    return columns_of_model(own) is not None or not fitted


def _takes(model: AbstractModel, few: np.ndarray) -> bool:
    try:
        return len(model.outputs(few)) == len(few)
    except Exception:  # the user's own function may raise anything
        return False


def _numbers(code: FrameCode, rows: Any, name: str) -> Any:
    if not is_frame(rows):
        raise DataError(name, found=f"a {type(rows).__name__}", rule="a data frame, as in training",
                        remedy="pass a frame with the columns of the training rows")  # fmt: skip
    return code.numbers(rows)


def _array(code: FrameCode, rows: Any, _: str) -> Any:
    """Return rows as a NumPy array, or as coded numbers if no numeric type of NumPy fits all columns."""
    found = np.asarray(rows) if is_frame(rows) else rows
    return code.numbers(rows) if is_frame(rows) and found.dtype.kind not in "fiub" else found


def _refuse_words(x: Any, kind: str) -> None:
    """Raise DataError for the first column that is not numbers."""
    place = next(k for k in range(len(x.columns)) if not _is_number(_series(x, k)))
    raise DataError(
        f"x, column {list(x.columns)[place]!r}", found=f"cells of type {_series(x, place).dtype}",
        rule=f"numbers, because lemmata passes arrays to a model of this kind ({kind}) and computes its derivatives",
        remedy="pass the numbers that the model was trained on, or a fitted pipeline that encodes the column",
    )  # fmt: skip


def _series(frame: Any, place: int) -> Any:
    return frame.iloc[:, place] if hasattr(frame, "iloc") else frame.to_series(place)


def _is_number(cells: Any) -> bool:
    if isinstance(cells, pl.Series):
        return cells.dtype.is_numeric() or cells.dtype == pl.Boolean
    return bool(sys.modules["pandas"].api.types.is_numeric_dtype(cells.dtype)) and cells.dtype.kind != "c"


def _floats(cells: Any) -> Float[np.ndarray, " n"]:
    if isinstance(cells, pl.Series):
        return cells.cast(pl.Float64).to_numpy()
    return cells.to_numpy(dtype=float, na_value=math.nan)


def _column(parts: list[Any], name: Any) -> _Column:
    """Return a column with all values that occur in the series `parts`. The first series is from the training rows."""
    own = parts[0]
    if _is_number(own):
        for other in parts[1:]:
            if not _is_number(other):
                raise DataError(f"column {name!r}", found=f"{other.dtype} in rows other than training rows",
                                rule=f"numbers, as in training ({own.dtype})",
                                remedy="convert the column as for training")  # fmt: skip
        sizes = [np.nanmax(np.abs(_floats(part)), initial=0.0) for part in parts]
        if max(sizes) <= _EXACT or not _is_whole(own):
            return _Column(name, own.dtype)
    known: dict[Any, int] = {}
    for values in [_first_values(own), *(_sorted(part) for part in parts)]:
        for value in values:
            known.setdefault(value, len(known))
    return _Column(name, own.dtype, _values(list(known), own), known)


def _is_whole(cells: Any) -> bool:
    return cells.dtype.is_integer() if isinstance(cells, pl.Series) else cells.dtype.kind in "iu"


def _first_values(cells: Any) -> list[Any]:
    """Return the categories of a series in their order, or an empty list for a type without categories."""
    if isinstance(cells, pl.Series):
        return cells.dtype.categories.to_list() if isinstance(cells.dtype, pl.Enum) else []
    return list(getattr(cells.dtype, "categories", ()))


def _sorted(cells: Any) -> list[Any]:
    try:
        values = cells.drop_nulls().unique() if isinstance(cells, pl.Series) else cells.dropna().unique()
    except (TypeError, pl.exceptions.PolarsError) as error:  # of lists and other cells that cannot be compared
        found, remedy = (
            f"{type(error).__name__}: {error}"[:120],
            "split each cell into several columns, one for each of its entries",
        )
        rule = "numbers, texts, categories or dates"
        raise DataError(f"a column of type {cells.dtype}", found=found, rule=rule, remedy=remedy) from error
    try:
        return sorted(values)
    except TypeError:  # values of several types
        return sorted(values, key=lambda value: (str(type(value)), str(value)))


def _codes(cells: Any, codes: dict[Any, int]) -> Float[np.ndarray, " n"]:
    empty = cells.is_null() if isinstance(cells, pl.Series) else cells.isna()
    pairs = zip(cells, empty, strict=True)
    return np.array([math.nan if gap else codes[value] for value, gap in pairs], dtype=float)


def _values(values: list[Any], own: Any) -> Any:
    """Return values as a series of the type of the training rows. Categories that this type lacks are added."""
    if isinstance(own, pl.Series):
        try:
            return pl.Series(values, dtype=own.dtype)
        except Exception:  # a value that an Enum does not have
            return pl.Series(values)
    pandas = sys.modules["pandas"]
    if hasattr(own.dtype, "categories"):
        more = [value for value in values if value not in own.dtype.categories]
        kind = pandas.CategoricalDtype([*own.dtype.categories, *more], own.dtype.ordered) if more else own.dtype
        return pandas.Series(values, dtype=kind)
    return pandas.Series(values, dtype=own.dtype)


def _pandas_numbers(kind: Any, cells: Float[np.ndarray, " n"]) -> Any:
    """Return numbers in the type of the training rows, or as fractions if this type cannot hold them."""
    series = sys.modules["pandas"].Series(cells)
    whole = kind.kind not in "biu" or bool((np.round(cells) == cells).all())
    nullable = not isinstance(kind, np.dtype)
    if kind.kind in "biu" and nullable:
        whole = bool((np.isnan(cells) | (np.round(cells) == cells)).all())
    return series.astype(kind) if whole else series


def _polars_numbers(kind: Any, cells: Float[np.ndarray, " n"]) -> Any:
    series = pl.Series(cells, nan_to_null=True)
    whole = kind.is_float() or bool((np.isnan(cells) | (np.round(cells) == cells)).all())
    return series.cast(kind, strict=False) if whole else series
