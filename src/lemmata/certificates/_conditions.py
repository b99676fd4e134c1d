"""What every certificate says beside its numbers, and what none of them accepts."""

import dataclasses

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from lemmata.core import check_numbers
from lemmata.errors import SettingError, ShapeError


@dataclasses.dataclass(frozen=True)
class Condition:
    """A condition that a number rests on.

    Args:
        name: in words.
        value: what was found; NaN where it cannot be told.
        holds: whether it holds; None where it cannot be told.
        why: what depends on it.
    """

    name: str
    value: float
    holds: bool | None
    why: str


def check_positive(name: str, value: object) -> float:
    """A finite number above 0, or SettingError.

    Args:
        name: what it is, for the message.
        value: the number.
    """
    if np.ndim(value) != 0 or isinstance(value, str) or not (np.isfinite(value) and value > 0):  # type: ignore[operator]
        raise SettingError(name, found=repr(value), rule="a finite number above 0")
    return float(value)  # type: ignore[arg-type]


def check_probability(name: str, value: object) -> float:
    """A probability in [0, 1], or SettingError.

    Args:
        name: what it is, for the message.
        value: the number.
    """
    if np.ndim(value) != 0 or isinstance(value, str) or not 0 <= value <= 1:  # type: ignore[operator]
        raise SettingError(name, found=repr(value), rule="a probability between 0 and 1")
    return float(value)  # type: ignore[arg-type]


def check_count(name: str, value: object, least: int = 0) -> int:
    """A whole number that is at least `least`, or SettingError.

    Args:
        name: what it is, for the message.
        value: the number.
        least: the smallest that makes sense.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise SettingError(name, found=repr(value), rule=f"a whole number, at least {least}")
    return int(value)


def as_point(x: ArrayLike) -> Float[np.ndarray, "*shape"]:
    """One finite input as float64, or ShapeError or DataError.

    Args:
        x: the numbers.
    """
    point = np.asarray(x)
    if point.ndim < 1 or not point.size:
        raise ShapeError("x", found=f"shape {point.shape}", rule="one input, shape (d,)")
    check_numbers("x", point)
    return point.astype(float)


def check_vector(x: np.ndarray) -> None:
    """ShapeError for what is not one vector.

    Args:
        x: the input.
    """
    if x.ndim != 1:
        remedy = "one row at a time: [certify(network, row, radius) for row in x]"
        raise ShapeError("x", found=f"shape {x.shape}", rule="one input, shape (d,)", remedy=remedy)
