"""What systems and sequences must satisfy before they are computed with."""

from typing import Any

import numpy as np
from jax.typing import ArrayLike

from lemmata.core import known
from lemmata.errors import DataError, PrecisionError, SettingError, ShapeError


def check_entries(name: str, array: Any) -> None:
    """Refuse an array that is empty, or has a known entry that is not finite. Complex numbers are accepted.

    Args:
        name: of the array, for the message.
        array: the numbers.

    Raises:
        ShapeError: if an axis has length 0.
        PrecisionError: for numbers with 16 bits.
        DataError: for entries that are not finite numbers.
    """
    if 0 in array.shape:
        raise ShapeError(name, found=f"shape {array.shape}", rule="no axis of length 0")
    kind = np.dtype(array.dtype)
    if kind.kind not in "fciub":
        raise DataError(
            name, found=f"entries of type {array.dtype}", rule="numbers", remedy="convert it with astype(float)"
        )
    if kind.kind == "f" and kind.itemsize < 4:
        raise PrecisionError(
            name, found=f"entries of type {kind}", rule="float32 or float64", remedy="convert it with astype(float)"
        )
    values = known(array)
    if values is not None and not np.all(np.isfinite(values)):
        missing = int(np.sum(~np.isfinite(values)))
        raise DataError(name, found=f"{missing} entries that are not finite", rule="finite numbers")


def check_fits(name: str, array: Any, shape: tuple[int, ...], rule: str) -> None:
    """Refuse an array of another shape, with a ShapeError.

    Args:
        name: of the array, for the message.
        array: the numbers.
        shape: what its shape must be.
        rule: the rule in words.
    """
    if array.shape != shape:
        raise ShapeError(name, found=f"shape {array.shape}", rule=f"{rule}, here {shape}")


def extent(array: Any, axis: int) -> int:
    """The length of an axis of a matrix. It is 1 for anything else, so that a check of shapes can name it."""
    return array.shape[axis] if array.ndim == 2 else 1


def check_step(step: ArrayLike) -> None:
    """Refuse a time step that is known and not a positive finite number, with a SettingError."""
    value = known(step)
    if value is not None and not (value.shape == () and np.isfinite(value) and value > 0):
        raise SettingError(
            "step", found=value.tolist(), rule="one positive and finite number", remedy="pass a time in seconds"
        )


def check_length(length: int) -> None:
    """Refuse a length below 1; SettingError."""
    if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 1:
        raise SettingError("length", found=repr(length), rule="a whole number of steps that is at least 1")


def check_sequence(u: Any, channels: int) -> None:
    """Refuse anything that is not a sequence (length, channels) of finite real numbers with one channel per input.

    Args:
        u: the sequence.
        channels: inputs of the system.

    Raises:
        ShapeError: for wrong shapes, and for length 0.
        DataError: for numbers that are complex or not finite.
    """
    if u.ndim != 2 or u.shape[1] != channels:
        raise ShapeError(
            "sequence", found=f"shape {u.shape}", rule=f"shape (length, {channels}), with one column for each channel"
        )
    check_entries("sequence", u)
    if np.dtype(u.dtype).kind == "c":
        raise DataError("sequence", found=f"entries of type {u.dtype}", rule="real numbers")
