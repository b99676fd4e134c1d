"""Read the arrays of a trial from a row of the ledger."""

import contextlib
import json
from typing import Any

import numpy as np

from lemmata.stored import Told, refusing

Row = dict[str, Any]
ARRAYS = ("predicted", "false", "measured", "condition", "trivial")


def reading() -> contextlib.AbstractContextManager[None]:
    """A context for reading rows. If another program has changed a cell, to any type, a DataError is raised."""
    remedy = "name another file with --ledger, or move this file away; then `lemmata verify` begins a new ledger"
    return refusing(Told("a row of the ledger", "in its table", remedy), "rows as `lemmata verify` writes them")


def numbers_of(row: Row) -> dict[str, list[float]]:
    """A row's arrays as flat lists of numbers, by their names."""
    return {name: array.ravel().tolist() for name, array in arrays_of(row).items()}


def arrays_of(row: Row) -> dict[str, np.ndarray]:
    """A row's arrays, by their names."""
    with reading():
        numbers, found, start = np.frombuffer(row["arrays"]), {}, 0
        for name, shape in zip(ARRAYS, json.loads(row["shapes"]), strict=True):
            size = int(np.prod(shape, dtype=int))
            found[name] = numbers[start : start + size].reshape(shape)
            start += size
        return found
