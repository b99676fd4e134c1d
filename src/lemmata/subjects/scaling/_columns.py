"""Check the columns of a table before anything is computed from them."""

from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.core import real_numbers, single_of
from lemmata.errors import DataError, ShapeError


def floats_of(name: str, values: Any, rule: str) -> Float[np.ndarray, "..."]:
    """Return an array of real numbers, which may be infinite or NaN.

    Otherwise, raise PrecisionError, or DataError that says what the entries are.
    """
    array = real_numbers(name, single_of(name, values))
    if array.dtype.kind not in "fiub":
        remedy = "pass a list of numbers"
        raise DataError(name, found=f"entries of type {array.dtype}", rule=rule, remedy=remedy)
    return array.astype(float)


def positive_column(name: str, values: object) -> Float[np.ndarray, "m"]:
    """Return a column of positive finite numbers.

    Otherwise, raise ShapeError, PrecisionError, or DataError that names the first wrong row.
    """
    column = floats_of(name, values, "one positive number for each run")
    if column.ndim != 1:
        raise ShapeError(f"{name}", rule="one number for each run", found=f"shape {column.shape}")
    wrong = ~(np.isfinite(column) & (column > 0))
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"{name} in row {row}, counted from 0",
            found=f"{column[row]:g}",
            rule="a positive and finite number, because its logarithm is used",
        )
    return column
