"""Read and check rows with classes, which are the inputs of the functions of this subpackage."""

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import ArrayLike

from lemmata.core import array_of, check_numbers, real_numbers
from lemmata.errors import DataError, ShapeError


def as_rows(x: ArrayLike, name: str = "x") -> Float[np.ndarray, "n *shape"]:
    """Return finite rows as float64.

    Args:
        x: one point in each row.
        name: the name of the rows, for messages.

    Raises:
        ShapeError, DataError: if the arrays are not valid.
    """
    rows = real_numbers(name, array_of(name, x))
    if rows.ndim < 2:
        raise ShapeError(name, found=f"shape {rows.shape}", rule="one point in each row, shape (n, d)")
    check_numbers(name, rows)
    return rows.astype(float)


def as_labelled(x: ArrayLike, y: ArrayLike) -> tuple[Float[np.ndarray, "n *shape"], Int[np.ndarray, " n"], np.ndarray]:
    """Return rows, the classes of the rows as numbers 0, 1, ..., and the class in y that belongs to each number.

    Args:
        x: one point in each row.
        y: the class of each row, with at least two different classes.

    Raises:
        ShapeError, DataError: if the arrays do not fit each other.
    """
    rows = as_rows(x)
    given = _one_each("y", y, len(rows))
    classes, labels = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        raise DataError("y", found=f"only the class {classes[0]!r}", rule="at least two classes")
    if np.issubdtype(classes.dtype, np.floating) and len(classes) > max(20, len(rows) // 4):
        found = f"{len(classes)} different numbers in {len(rows)} rows"
        raise DataError(
            "y",
            found=found,
            rule="classes, because these bounds are about errors of classification",
            remedy="divide the target into classes first",
        )
    return rows, labels.astype(int), classes


def as_held(
    held: object, rows: np.ndarray, classes: np.ndarray
) -> tuple[Float[np.ndarray, "n *shape"], Int[np.ndarray, " n"]]:
    """Return held-out rows and their classes, with the same class numbers as in training.

    Args:
        held: a pair of held-out rows and their classes.
        rows: the training rows.
        classes: the classes of the training rows.

    Raises:
        ShapeError, DataError: if the arrays do not fit each other, or a class is not in the training rows.
    """
    if not (isinstance(held, tuple | list) and len(held) == 2):
        raise ShapeError("held", found=type(held).__name__, rule="a pair (rows, classes)")
    points = as_rows(held[0], "held rows")
    if points.shape[1:] != rows.shape[1:]:
        found = f"points of shape {points.shape[1:]}"
        raise ShapeError("held rows", found=found, rule=f"points of shape {rows.shape[1:]}, like the training rows")
    given = _one_each("held classes", held[1], len(points))
    unknown = ~np.isin(given, classes)
    if unknown.any():
        found = f"{given[unknown][0]!r}"
        raise DataError("held classes", found=found, rule="classes that the training rows have")
    return points, np.searchsorted(classes, given)


def _one_each(name: str, y: ArrayLike, count: int) -> np.ndarray:
    given = array_of(name, y)
    if given.dtype == object and all(isinstance(value, int | float) for value in given.ravel().tolist()):
        given = real_numbers(name, given)
    if given.shape != (count,):
        raise ShapeError(name, found=f"shape {given.shape}", rule=f"one class for each of the {count} rows")
    if np.issubdtype(given.dtype, np.number):
        check_numbers(name, given)
    elif given.dtype == object and any(value is None or value != value for value in given):
        raise DataError(
            name, found="a missing class", rule="a class for each row", remedy="remove the rows without a class"
        )
    return given
