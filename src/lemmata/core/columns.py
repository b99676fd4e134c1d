"""Turn columns into signs or bits by thresholds, and name the inputs of a function of signs or bits."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from lemmata.errors import DataError, SettingError, ShapeError

from ._given import numbers_of

COLUMNS = ("median", "binary")
MOST_INPUTS = 10_000


def thresholds_of(x: Float[np.ndarray, "n d"], columns: Any, names: Sequence[str]) -> Float[np.ndarray, " d"]:
    """Return the threshold of each column. Entries above the threshold count as true.

    The threshold is the middle of the column's two values, or the median if the column has more values. A threshold
    that equals the largest of several values is replaced by the second-largest value.

    Args:
        x: the rows.
        columns: "median" or "binary"; "binary" refuses a column with more than two values.
        names: the names of the columns.

    Raises:
        SettingError: for another value of `columns`.
        DataError: for a column that is refused; the message names this column.
    """
    if not isinstance(columns, str) or columns not in COLUMNS:
        found = " ".join(repr(columns).split())[:60]
        raise SettingError("columns", found=found, rule='"median" or "binary"')
    found = np.empty(x.shape[1])
    for place, column in enumerate(x.T):
        values = np.unique(column)
        if len(values) > 2 and columns == "binary":
            raise DataError(
                f"column {names[place]}",
                found=f"{len(values)} different values",
                rule="at most two values",
                remedy='set columns="median" to split each column at its median',
            )
        middle = np.median(values if len(values) <= 2 else column)
        # The middle of two neighbouring numbers may round to the larger number, and a median may be the largest value.
        # Then no entry would be above the threshold, and no entry would be true.
        found[place] = middle if middle < values[-1] or len(values) == 1 else values[-2]
    return found


def signs_of(x: Float[np.ndarray, "n d"], thresholds: Float[np.ndarray, " d"]) -> Int[np.ndarray, "n d"]:
    """Replace entries above the threshold of their column by 1, and all other entries by -1."""
    return np.where(x > thresholds, 1, -1).astype(np.int8)


def named(names: Any, d: int | None = None, what: str = "names") -> tuple[str, ...]:
    """Return the names of inputs. The names are given as a list, or are made from the number of inputs.

    Args:
        names: the names, or the number of inputs.
        d: the required number of names; None allows any number.
        what: the name of the argument, for error messages.

    Raises:
        SettingError, ShapeError: for invalid names, or a wrong number of names.
    """
    if isinstance(names, int | np.integer) and not isinstance(names, bool):
        if names > MOST_INPUTS:
            raise SettingError(what, found=f"{names} inputs", rule=f"at most {MOST_INPUTS} inputs")
        given = tuple(f"x{place}" for place in range(int(names)))
    elif isinstance(names, list | tuple | range) or (hasattr(names, "tolist") and np.ndim(names) == 1):
        several: Any = names
        given = tuple(_name(name) for name in several)
    else:
        found = " ".join(repr(names).split())[:60]
        raise SettingError(what, found=found, rule="a list of names, or the number of inputs")
    if not given or len(set(given)) < len(given):
        found = "no name" if not given else f"{max(given, key=given.count)!r} twice"
        raise SettingError(what, found=found, rule="at least one input, and a different name for each")
    if d is not None and len(given) != d:
        raise ShapeError(what, found=f"{len(given)} names", rule=f"{d} names, one for each input")
    return given


def column_names(x: Any, d: int) -> tuple[str, ...]:
    """The names of the columns of a data frame, or x0, x1, ... for an array."""
    columns = getattr(x, "columns", None)
    return named(d if columns is None else list(columns), d)


def bits_of(values: Any, name: str, signs: bool = False) -> Bool[np.ndarray, "..."]:
    """Return the bits of an array of booleans, of 0 and 1, or of signs. In an array of signs, -1 is bit 1, and 1 is 0.

    So a product of entries -1 and 1 gives the parity of their bits.

    Args:
        values: the array of booleans or numbers.
        name: the name of the array, for error messages.
        signs: how to read an array that contains only the number 1: as signs (bits 0) if true, as bits 1 if false.

    Raises:
        ShapeError, DataError: for any other array; the message names a wrong value.
    """
    array = numbers_of(name, values)
    if array.dtype == bool:
        return array
    present = np.unique(array)
    if np.isin(present, (-1, 1)).all() and (signs or -1 in present):
        return array == -1
    if np.isin(present, (0, 1)).all():
        return array == 1
    wrong = next(value for value in present.tolist() if value not in (0, 1) and not (value == -1 and 0 not in present))
    raise DataError(
        name,
        found=f"the value {wrong:g} among {len(present)} different values",
        rule="only 0 and 1, only -1 and 1, or booleans",
        remedy="compare each column with a threshold first, for example x > np.median(x, axis=0)",
    )


def _name(label: Any) -> str:
    """Return the name of a column.

    In a frame without names, the labels are numbers, which would look like constants in a formula. Label 3 becomes x3.
    """
    if isinstance(label, tuple):
        return ".".join(str(part) for part in label if str(part))
    if isinstance(label, int | np.integer) and not isinstance(label, bool):
        return f"x{label}"
    return str(label)
