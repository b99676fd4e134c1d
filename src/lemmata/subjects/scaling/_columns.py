"""Check the columns of a table before anything is computed from them."""

import numpy as np
from jaxtyping import Float

from lemmata.errors import DataError, ShapeError


def positive_column(name: str, values: object) -> Float[np.ndarray, "m"]:
    """Return a column of positive finite numbers.

    Otherwise, raise ShapeError, or DataError that names the first wrong row.
    """
    try:
        column = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise DataError(
            f"{name} is not numeric", rule="one positive number for each run", remedy="pass a list of numbers"
        ) from error
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
