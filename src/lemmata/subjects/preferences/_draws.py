"""Check arrays that have one number for each draw."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from lemmata.core import check_numbers
from lemmata.errors import DataError, ShapeError


def as_vector(name: str, values: ArrayLike | Any, least: int = 2) -> Float[np.ndarray, " n"]:
    """Return the values as a vector of at least `least` finite numbers.

    Args:
        name: the name of the array in the message.
        values: the numbers.
        least: the least allowed number of values.

    Raises:
        ShapeError, DataError: if the values are not such a vector.
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise ShapeError(name, found=f"shape {array.shape}", rule="shape (n,), one number for each answer")
    if len(array) < least:
        raise ShapeError(name, found=f"{len(array)} numbers", rule=f"at least {least} numbers")
    check_numbers(name, array)
    return array.astype(float)


def as_log_probabilities(name: str, values: ArrayLike | Any, least: int = 2) -> Float[np.ndarray, " n"]:
    """Return the values as a vector of finite log probabilities, at most 0 up to rounding.

    Args:
        name: the name of the array in the message.
        values: the numbers.
        least: the least allowed number of values.

    Raises:
        ShapeError, DataError: if the values are not such a vector.
    """
    logs = as_vector(name, values, least)
    if logs.max() > 1e-6:
        remedy = "pass the log probability of each answer, summed over its tokens, and not densities or scores"
        raise DataError(name, found=f"{logs.max():.6g}", rule="log probabilities, none of them above 0", remedy=remedy)
    return np.minimum(logs, 0.0)


def check_same_length(**arrays: np.ndarray | None) -> None:
    """Raise ShapeError if the arrays have different lengths. Arrays that are None are ignored.

    Args:
        arrays: the arrays, each passed by its name.

    Raises:
        ShapeError: if two lengths differ.
    """
    lengths = {name: len(array) for name, array in arrays.items() if array is not None}
    if len(set(lengths.values())) > 1:
        found = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise ShapeError("lengths", found=found, rule="one entry for each answer in each of these arrays")
