"""Tables that every tool must take, and tables that every tool must refuse."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas
import polars
import pytest

from lemmata.errors import DataError, PrecisionError, ShapeError


def read_only(x: np.ndarray) -> np.ndarray:
    fixed = x.copy()
    fixed.flags.writeable = False
    return fixed


TABLES: tuple[Callable[[np.ndarray], Any], ...] = (
    lambda x: x.tolist(),
    np.asfortranarray,
    read_only,
    lambda x: pandas.DataFrame(x, index=range(7, 7 + len(x))),
    lambda x: polars.DataFrame(x),
)


def refused(tool: Callable[[Any], Any], name: str, x: np.ndarray) -> None:
    """Assert that a tool refuses each bad version of a table in one line that names it."""
    bad: list[tuple[Any, str, type[Exception]]] = [
        (x[:19], "19 rows; rule: at least 20 rows", DataError),
        (x[:0], "0 rows", DataError),
        (x[:, 0], "remedy: pass a single column as an array", ShapeError),
        (x[:, :0], "no axis of length 0", ShapeError),
        (np.where(x > x.mean(), np.nan, x), "not finite", DataError),
        (np.where(x > x.mean(), np.inf, x), "not finite", DataError),
        (np.ma.masked_greater(x, x.mean()), "masked", DataError),
        (x * 1e305, "as the largest absolute value", DataError),
        (x + 1j, "real numbers", DataError),
        (x.astype(np.float16), "float16", PrecisionError),
        ([["a"]] * 30, "the entry 'a'", DataError),
        ([[1.0], [1.0, 2.0]] * 15, "not an array", DataError),
        (None, r"shape \(\)", ShapeError),
    ]
    for value, words, kind in bad:
        with pytest.raises(kind, match=words) as caught:
            tool(value)
        assert str(caught.value).startswith(name)
        assert "\n" not in str(caught.value)
