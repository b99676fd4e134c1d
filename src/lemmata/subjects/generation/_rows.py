"""Check rows that a user passes, and scale these rows to a unit in which squares neither overflow nor underflow."""

import os
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.core import array_of, numbers_of
from lemmata.errors import DataError, SettingError, ShapeError

FEWEST = 20
_LARGEST = 1e300
_WHOLE = 2.0**53  # up to this number, double precision represents each whole number exactly
_SQUARABLE = 1e-140, 1e140

_TAKES = "a function that takes the arguments of its description"
_CALL = "call it on such arrays to see the error"


def rows_of(name: str, values: Any, fewest: int = FEWEST) -> Float[np.ndarray, "n d"]:
    """Return a table of finite numbers, one row for each point.

    Args:
        name: the name of the table, for messages.
        values: an array, a list of rows, or a data frame.
        fewest: the least number of rows.

    Raises:
        ShapeError, PrecisionError, DataError: if the values are not a table of finite numbers, or have too few rows.
    """
    if isinstance(values, str | os.PathLike):
        raise DataError(name, found=f"the path {os.fspath(values)[:60]!r}", rule="rows, as an array or a list",
                        remedy="load the files first, for example with numpy.load and numpy.stack")  # fmt: skip
    array = array_of(name, values)
    if array.ndim != 2:
        raise ShapeError(
            name,
            found=f"shape {array.shape}",
            rule="shape (n, d), one row for each point",
            remedy="pass a single column as an array of shape (n, 1)" if array.ndim == 1 else "flatten each point",
        )
    if len(array) < fewest:
        raise DataError(name, found=f"{len(array)} rows", rule=f"at least {fewest} rows", remedy="add rows")
    numbers = numbers_of(name, array)
    rows = numbers.astype(float)
    if numbers.dtype.kind in "iu" and np.abs(rows).max() > _WHOLE:
        raise DataError(name, found=f"whole numbers above 2^53, such as {numbers[np.abs(rows) > _WHOLE][0]}",
                        rule="numbers of double precision", remedy="subtract a common offset")  # fmt: skip
    largest = np.abs(rows).max()
    if largest > _LARGEST:
        raise DataError(
            name, found=f"{largest:.3g} as the largest absolute value", rule=f"at most {_LARGEST:g}",
            remedy="change the unit",
        )  # fmt: skip
    return rows


def same_columns(name: str, rows: np.ndarray, other: str, others: np.ndarray) -> None:
    """Raise ShapeError if two tables have different numbers of columns.

    Args:
        name: the name of the second table.
        rows: the second table.
        other: the name of the first table.
        others: the first table.
    """
    if rows.shape[1] != others.shape[1]:
        raise ShapeError(
            name, found=f"{rows.shape[1]} columns", rule=f"{others.shape[1]} columns, as many as {other} has"
        )


def in_unit(*tables: Float[np.ndarray, "_ d"]) -> tuple[list[np.ndarray], float, np.ndarray]:
    """Shift and scale tables so that all entries are in [-1, 1]. Return the new tables, the unit and the shift.

    Args:
        tables: tables with the same number of columns.
    """
    low = np.min([table.min(axis=0) for table in tables], axis=0)
    high = np.max([table.max(axis=0) for table in tables], axis=0)
    middle = low / 2 + high / 2
    unit = float((high / 2 - low / 2).max())
    if not unit > 0:
        unit = 1.0
    return [(table - middle) / unit for table in tables], unit, middle


def principal(rows: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, " k"], Float[np.ndarray, " d"]]:
    """Return the eigenvalues of the covariance of centred rows, and the eigenvector of the largest eigenvalue.

    Args:
        rows: the rows, whose mean is 0.
    """
    n, d = rows.shape
    if d <= n:
        values, vectors = np.linalg.eigh(rows.T @ rows / n)
        way = vectors[:, -1]
    else:
        values, vectors = np.linalg.eigh(rows @ rows.T / n)
        way = rows.T @ vectors[:, -1]
    length = float(np.linalg.norm(way))
    return np.maximum(values, 0.0), way / (length or 1.0)


def squarable(name: str, unit: float) -> None:
    """Raise DataError if a unit is outside 1e-140 to 1e140, so that squares may overflow or underflow.

    Args:
        name: the name of the argument, for messages.
        unit: the largest size of the numbers, or of their differences.
    """
    if not _SQUARABLE[0] <= unit <= _SQUARABLE[1]:
        rule = f"between {_SQUARABLE[0]:g} and {_SQUARABLE[1]:g}, because squared distances are reported"
        raise DataError(name, found=f"numbers as large as {unit:.3g}", rule=rule, remedy="change the unit")


def answered(name: str, function: Any, given: tuple[Any, ...], shape: tuple[int, ...]) -> np.ndarray:
    """Call a user's function and return the result, which must be finite numbers in the expected shape.

    Args:
        name: the name of the function, for messages.
        function: the user's function.
        given: the arguments. Arrays are copied, because the function may change them.
        shape: the expected shape.

    Raises:
        SettingError: if `function` is not a function, or fails.
        ShapeError, DataError: if the result has another shape, or is not finite.
    """
    if not callable(function) or isinstance(function, type):
        raise SettingError(name, found=f"a {type(function).__name__}", rule="a function")
    try:
        value = function(*(own.copy() if isinstance(own, np.ndarray) else own for own in given))
    except Exception as error:  # any error of a user's function
        found = f"{type(error).__name__}: {' '.join(str(error).split())[:80]}"
        raise SettingError(name, found=found, rule=_TAKES, remedy=_CALL) from error
    numbers = numbers_of(f"values of {name}", value).astype(float)
    if numbers.shape != shape:
        raise ShapeError(f"values of {name}", found=f"shape {numbers.shape}", rule=f"shape {shape}")
    return numbers
