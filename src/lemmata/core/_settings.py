"""Checks of settings that several rooms share."""

import operator
from typing import Any

import numpy as np

from lemmata.errors import SettingError


def check_whole(name: str, found: Any, least: int, unit: str = "bytes") -> None:
    """Refuse a setting that is no whole number, or too small a one.

    Args:
        name: of the setting.
        found: its value.
        least: the smallest that is allowed.
        unit: what it counts.

    Raises:
        SettingError: for either.
    """
    if isinstance(found, bool) or not isinstance(found, int | np.integer) or found < least:
        raise SettingError(name, found=repr(found), rule=f"a whole number of {unit}, at least {least}")


def whole(name: str, value: Any) -> int:
    """A whole number.

    Args:
        name: what it is.
        value: what was given.

    Raises:
        SettingError: anything else, booleans too.
    """
    try:
        number = operator.index(value)
    except TypeError as error:
        raise SettingError(name, found=repr(value), rule="a whole number") from error
    if isinstance(value, bool | np.bool_):
        raise SettingError(name, found=repr(value), rule="a whole number")
    return number
