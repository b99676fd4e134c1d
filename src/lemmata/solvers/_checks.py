"""What every solver asks of its points, targets and settings before it starts."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike

from lemmata.errors import DataError, PrecisionError, SettingError, ShapeError


def known(array: ArrayLike) -> np.ndarray | None:
    """The numbers of an array, or None where it is traced."""
    try:
        return np.asarray(array)
    except (jax.errors.TracerArrayConversionError, jax.errors.ConcretizationTypeError):
        return None


def check_numbers(name: str, array: ArrayLike) -> None:
    """Refuse an array that is empty, of less than single precision, or not finite; a traced one by its shape alone.

    Args:
        name: of the array, for the message.
        array: the numbers.

    Raises:
        ShapeError: where a dimension is 0.
        PrecisionError: for float16 and its like.
        DataError: for NaN or infinity.
    """
    if 0 in jnp.shape(array):
        raise ShapeError(name, found=f"shape {jnp.shape(array)}", rule="no dimension is 0")
    dtype = jnp.result_type(array)
    if jnp.issubdtype(dtype, jnp.floating) and jnp.finfo(dtype).bits < 32:
        raise PrecisionError(f"{name} in {dtype}", found=str(dtype), rule="float32 or float64", remedy="use astype")
    values = known(array)
    if values is not None and not np.all(np.isfinite(values)):
        missing = int(np.sum(~np.isfinite(values)))
        raise DataError(name, found=f"{missing} entries that are not finite", rule="finite numbers")


def check_targets(y: ArrayLike, rows: int) -> None:
    """Refuse targets that are not finite, or of another number of rows.

    Args:
        y: targets, one row a point.
        rows: the number of points.
    """
    if jnp.shape(y)[0] != rows:
        raise ShapeError("targets", found=f"{jnp.shape(y)[0]} rows", rule=f"one row for each of the {rows} points")
    check_numbers("targets", y)


def check_at_least(name: str, value: float | ArrayLike, smallest: int | float) -> None:
    """Refuse a number below the smallest that is allowed, or NaN or infinite; a traced one passes."""
    number = known(value)
    if number is not None and not (np.all(number >= smallest) and np.all(np.isfinite(number))):
        raise SettingError(name, found=number.tolist(), rule=f"a finite number, at least {smallest:g}")
