"""Checks of the arguments of this subpackage: arrays of systems, sequences, time steps and lengths."""

from typing import Any

import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Inexact

from lemmata.core import known
from lemmata.errors import DataError, PrecisionError, SettingError, ShapeError


def check_entries(name: str, array: Any) -> None:
    """Raise an error for an array that is empty or has an entry that is not finite. The array may be complex.

    Entries of an array that JAX traces are not checked.

    Args:
        name: the name of the array, for the message.
        array: the numbers.

    Raises:
        ShapeError: if an axis has length 0.
        PrecisionError: for numbers with 16 bits.
        DataError: for entries that are not numbers or not finite.
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
    """Raise ShapeError unless the array has the given shape.

    Args:
        name: the name of the array, for the message.
        array: the numbers.
        shape: the shape that it must have.
        rule: the required shape in words, for the message.
    """
    if array.shape != shape:
        raise ShapeError(name, found=f"shape {array.shape}", rule=f"{rule}, here {shape}")


def extent(array: Any, axis: int) -> int:
    """Return the length of this axis of a matrix, or 1 for other arrays, whose wrong shape a later check reports."""
    return array.shape[axis] if array.ndim == 2 else 1


def one_point(point: Any, system: Inexact[Array, "..."]) -> Inexact[Array, ""]:
    """Return one real or complex number as an array without axes, in the precision of a system.

    Args:
        point: the number at which a system is to be evaluated.
        system: an array of the system, whose precision is used.

    Raises:
        SettingError: if the point is not one finite number.
    """
    kind = np.result_type(system.dtype, np.complex64 if np.iscomplexobj(point) else np.float32)
    try:
        number = jnp.asarray(point, kind)
    except (TypeError, ValueError):
        number = None
    values = None if number is None else known(number)
    if number is None or number.ndim or not (values is None or np.isfinite(values)):
        raise SettingError(
            "point", found=" ".join(repr(point).split())[:40], rule="one finite number, real or complex",
            remedy="pass one point at a time",
        )  # fmt: skip
    return number


def check_step(step: ArrayLike) -> None:
    """Raise SettingError if a time step is not a positive finite number. A step that JAX traces is not checked."""
    value = known(step)
    if value is not None and not (value.shape == () and np.isfinite(value) and value > 0):
        raise SettingError(
            "step", found=value.tolist(), rule="one positive and finite number", remedy="pass a time in seconds"
        )


def check_length(length: int) -> None:
    """Raise SettingError for a length that is not a whole number of at least 1."""
    if isinstance(length, bool) or not isinstance(length, int | np.integer) or length < 1:
        raise SettingError("length", found=repr(length), rule="a whole number of steps that is at least 1")


def check_sequence(u: Any, channels: int) -> None:
    """Raise an error unless `u` is a sequence (length, channels) of finite real numbers, one channel per input.

    Args:
        u: the sequence.
        channels: the number of inputs of the system.

    Raises:
        ShapeError: if the shape is wrong or the length is 0.
        DataError: for numbers that are complex or not finite.
    """
    if u.ndim != 2 or u.shape[1] != channels:
        raise ShapeError(
            "sequence", found=f"shape {u.shape}", rule=f"shape (length, {channels}), with one column for each channel"
        )
    check_entries("sequence", u)
    if np.dtype(u.dtype).kind == "c":
        raise DataError("sequence", found=f"entries of type {u.dtype}", rule="real numbers")
