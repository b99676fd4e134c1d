"""The arrays of a trial as a row of the ledger keeps them."""

import json
from typing import Any

import numpy as np

Row = dict[str, Any]
ARRAYS = ("predicted", "false", "measured", "condition", "trivial")


def numbers_of(row: Row) -> dict[str, list[float]]:
    """A row's arrays as flat lists of numbers, by their names."""
    return {name: array.ravel().tolist() for name, array in arrays_of(row).items()}


def arrays_of(row: Row) -> dict[str, np.ndarray]:
    """A row's arrays, by their names."""
    numbers, found, start = np.frombuffer(row["arrays"]), {}, 0
    for name, shape in zip(ARRAYS, json.loads(row["shapes"]), strict=True):
        size = int(np.prod(shape, dtype=int))
        found[name] = numbers[start : start + size].reshape(shape)
        start += size
    return found
