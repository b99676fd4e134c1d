"""The numbers that a kernel carries: learnable ones as array leaves, structural ones as static integers."""

import math
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array

from lemmata.errors import SettingError


def learnable(value: ArrayLike) -> Array:
    """A floating-point array that gradients reach.

    A Python number becomes a weakly typed array, so that a kernel follows the precision of the points it is given.
    """
    if isinstance(value, bool | int | float):
        return jnp.asarray(float(value))
    array = jnp.asarray(value)
    return array if jnp.issubdtype(array.dtype, jnp.floating) else array.astype(float)


def counting(name: str, *, least: int = 1) -> Callable[[Any], int]:
    """A converter to an integer that is at least `least`.

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


def check_number(name: str, value: Array | np.ndarray, *, zero_allowed: bool = False) -> None:
    """Reject a number that is not finite and positive (or zero, where that is allowed).

    A number that is being traced (inside jit, vmap or grad) has no value yet and passes.

    Raises:
        SettingError: if the value is known and breaks the rule.
    """
    try:
        known = np.asarray(value)
    except (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError):
        return
    rule = "finite and non-negative" if zero_allowed else "finite and positive"
    if known.shape != ():
        raise SettingError(name, found=f"shape {known.shape}", rule=f"one number, {rule}")
    if not (math.isfinite(known) and (known > 0 or (zero_allowed and known == 0))):
        raise SettingError(
            name,
            found=float(known),
            rule=f"a number that is {rule}, because the function is not positive semidefinite otherwise",
            remedy="use a value in this range",
        )
