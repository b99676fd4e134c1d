"""Numbers that are refused before anything is computed from them."""

import math

import numpy as np
from jaxtyping import Float

from lemmata.errors import DataError, SettingError, ShapeError


def positive_column(name: str, values: object) -> Float[np.ndarray, "m"]:
    """A column of positive finite numbers, or DataError with the first row that is not."""
    try:
        column = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(f"{name} is not numeric", rule="one positive number a run") from error
    if column.ndim != 1:
        raise ShapeError(f"{name} has the shape {column.shape}", rule="one number a run")
    wrong = ~(np.isfinite(column) & (column > 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{name} in row {row + 1}", found=f"{column[row]:g}", rule="positive and finite, for logarithms"
        )
    return column


def positive(name: str, value: object) -> float:
    """A positive finite number, or SettingError."""
    number = _number(name, value)
    if not (math.isfinite(number) and number > 0):
        raise SettingError(name, found=f"{number:g}", rule="positive and finite")
    return number


def inside(name: str, value: object, low: float, high: float) -> float:
    """A number strictly between two others, or SettingError."""
    number = _number(name, value)
    if not low < number < high:
        raise SettingError(name, found=f"{number:g}", rule=f"strictly between {low:g} and {high:g}")
    return number


def whole(name: str, value: object, least: int) -> int:
    """A whole number of at least `least`, or SettingError."""
    number = _number(name, value)
    if not (math.isfinite(number) and number == int(number) and number >= least):
        raise SettingError(name, found=f"{number:g}", rule=f"a whole number of at least {least}")
    return int(number)


def _number(name: str, value: object) -> float:
    try:
        if isinstance(value, (str, bytes)):
            raise TypeError
        return float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError) as error:
        raise SettingError(name, found=repr(value), rule="a number") from error
