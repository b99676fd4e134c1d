"""Check the rows of a regression problem, and whiten the inputs to mean 0 and covariance I."""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import stats

from lemmata.answers import Condition
from lemmata.core import numbers_of
from lemmata.errors import DataError, ShapeError


def checked(x: Any, y: Any) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
    """Return inputs and labels as arrays of numbers.

    Args:
        x: inputs, (n, d); only the values of a data frame are used.
        y: one number for each row.

    Raises:
        ShapeError, DataError: if the shapes of x and y do not fit each other, or if all labels are equal.
    """
    inputs, labels = numbers_of("x", x), numbers_of("y", y)
    if inputs.ndim != 2:
        raise ShapeError("x", found=f"shape {inputs.shape}", rule="shape (rows, columns)")
    if labels.shape != inputs.shape[:1]:
        found = f"shape {labels.shape}"
        raise ShapeError("y", found=found, rule=f"shape ({len(inputs)},), one number for each row of x")
    inputs, labels = inputs.astype(float), labels.astype(float)
    if np.ptp(labels) == 0:
        raise DataError(
            "y",
            found=f"{labels[0]:g} in every row",
            rule="at least two different labels",
            remedy="pass labels that vary",
        )
    return inputs, labels


def whitened(x: Float[np.ndarray, "n d"]) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, "d d"]]:
    """Return inputs z = (x - mean) A with sample covariance I, and the matrix A.

    Raises:
        DataError: if columns are linearly dependent, or there are too few rows.
    """
    n, d = x.shape
    if n < 10 * d:
        raise DataError(
            "x",
            found=f"{n} rows",
            rule=f"at least {10 * d} rows for {d} columns",
            remedy="add rows, or leave out columns",
        )
    constant = np.ptp(x, axis=0) == 0
    if constant.any():
        column = int(np.argmax(constant))
        raise DataError("x", found=f"column {column} with one value", rule="columns that vary", remedy="leave it out")
    units = np.abs(x).max(axis=0)  # squares of the entries may overflow
    centred = x / units - (x / units).mean(axis=0)
    scales = centred.std(axis=0)
    values, vectors = np.linalg.eigh((centred / scales).T @ (centred / scales) / n)
    if values[0] < 1e-8 * values[-1]:
        raise DataError("x", found="linearly dependent columns", rule="a covariance of full rank",
                        remedy="leave out columns that are linear functions of the others")  # fmt: skip
    back = (vectors / np.sqrt(values)) @ vectors.T / scales[:, None]
    return centred @ back, back / units[:, None]


def normality(z: Float[np.ndarray, "n d"], what: str) -> Condition:
    """Return the condition that columns are normal. Its value is the least Jarque-Bera p-value, times the number of
    columns.

    Args:
        z: the columns that are tested.
        what: the first words of the condition's name, which describe the columns.
    """
    squares = len(z) / 6 * (stats.skew(z, axis=0) ** 2 + stats.kurtosis(z, axis=0) ** 2 / 4)
    p = min(1.0, z.shape[1] * float(np.exp(-np.max(squares) / 2)))
    return Condition(f"{what} normal (p-value)", p, p >= 0.01, "the theory assumes normal inputs")
