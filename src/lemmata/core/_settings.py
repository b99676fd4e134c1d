"""Checks of settings, which several subpackages use."""

import operator
from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np

from lemmata.errors import SettingError, ShapeError

from ._arrays import known


def check_whole(name: str, found: Any, least: int, unit: str = "bytes") -> None:
    """Refuse a setting that is not a whole number, or that is below the smallest allowed value.

    Args:
        name: the name of the setting.
        found: the value of the setting.
        least: the smallest allowed value.
        unit: what the setting counts, for the error message.

    Raises:
        SettingError: if the setting is refused.
    """
    if isinstance(found, bool) or not isinstance(found, int | np.integer) or found < least:
        raise SettingError(name, found=repr(found), rule=f"a whole number of {unit} that is at least {least}")


def check_real(
    name: str, value: Any, rule: str, holds: Callable[[np.ndarray], Any], *, several: bool = False, remedy: str = ""
) -> None:
    """Raise an error unless the value is a finite real number that satisfies the rule.

    If JAX traces the number, only its shape is checked.

    Args:
        name: the name of the setting.
        value: the value of the setting.
        rule: the rule in words.
        holds: a function from an array to a mask of the numbers that satisfy the rule.
        several: whether the setting may also be an array of numbers.
        remedy: the advice to the user; empty if the rule says enough.

    Raises:
        SettingError: if the value is not a finite number, or breaks the rule.
        ShapeError: if the value is empty, or if it is an array where one number is expected.
    """
    shape = np.shape(value)
    if 0 in shape or (shape and not several):
        raise ShapeError(name, found=f"shape {shape}", rule="at least one number" if several else "one number")
    numbers = known(value)
    if numbers is None:
        return
    if not (jnp.issubdtype(numbers.dtype, jnp.floating) or jnp.issubdtype(numbers.dtype, jnp.integer)):
        raise SettingError(name, found=repr(value), rule=f"a number, {rule}")
    with np.errstate(invalid="ignore"):
        fine = np.isfinite(numbers) & holds(numbers)
    if not np.all(fine):
        raise SettingError(name, found=numbers[~fine].flat[0] if shape else value, rule=rule, remedy=remedy or None)


def whole(name: str, value: Any) -> int:
    """Return the value as a whole number.

    Args:
        name: the name of the setting, for the error message.
        value: the value of the setting.

    Raises:
        SettingError: if the value is not a whole number, or is a boolean.
    """
    try:
        number = operator.index(value)
    except TypeError as error:
        raise SettingError(name, found=repr(value), rule="a whole number") from error
    if isinstance(value, bool | np.bool_):
        raise SettingError(name, found=repr(value), rule="a whole number")
    return number
