"""Convert and check the parameters of kernels: arrays for learnable numbers, and integers for fixed numbers."""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from lemmata.errors import SettingError


def learnable(value: ArrayLike | Sequence[float]) -> Array:
    """Convert a number to a floating-point array with respect to which gradients can be taken.

    A Python number becomes a weakly typed array, so that a kernel computes in the precision of its points.
    """
    if isinstance(value, bool | int | float):
        return jnp.asarray(float(value))
    array = jnp.asarray(value)  # pyright: ignore[reportArgumentType]  # a list of numbers, too
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


def counting(name: str, *, least: int = 1) -> Callable[[Any], int]:
    """Return a converter to integers that refuses values below `least`.

    Raises:
        SettingError: from the converter, if the value is not an integer or is below `least`.
    """

    def convert(value: Any) -> int:
        try:
            number = None if isinstance(value, bool) else operator.index(value)
        except TypeError:
            number = None
        if number is None or number < least:
            raise SettingError(
                name, found=repr(value), rule=f"an integer that is at least {least}", remedy="pass a Python int"
            )
        return number

    return convert


def check_number(
    name: str, value: Array | np.ndarray, *, zero_allowed: bool = False, each_column: bool = False
) -> None:
    """Raise an error unless a number is finite and positive (or 0, if `zero_allowed`).

    A number that is traced (inside jit, vmap or grad) has no value yet and passes.

    Args:
        name: the name of the parameter, for the message.
        value: the value of the parameter.
        zero_allowed: whether the number may be 0.
        each_column: whether an array with one number for each column is allowed.

    Raises:
        SettingError: if the value is known and breaks the rule.
    """
    try:
        known = np.asarray(value)
    except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError):
        return
    rule = "finite and non-negative" if zero_allowed else "finite and positive"
    if known.shape != () and not (each_column and known.ndim == 1 and known.size):
        many = ", or an array with one number for each column" if each_column else ""
        raise SettingError(name, found=f"shape {known.shape}", rule=f"one number, {rule}{many}")
    for number in np.atleast_1d(known):
        if not (math.isfinite(number) and (number > 0 or (zero_allowed and number == 0))):
            raise SettingError(
                name,
                found=float(number),
                rule=f"a number that is {rule}; otherwise the kernel is not positive semidefinite",
                remedy="use a value in this range",
            )


def for_columns(name: str, value: Any, x: Array | np.ndarray) -> Any:
    """Return one number unchanged, or an array with one number for each column in the precision of the points.

    Raises:
        SettingError: if the array does not have one number for each column.
    """
    if value.ndim and value.shape != x.shape[-1:]:
        raise SettingError(
            name,
            found=f"{value.shape[0]} numbers for points with {x.shape[-1]} columns",
            rule="one number, or one for each column",
        )
    return value.astype(x.dtype) if value.ndim else value
