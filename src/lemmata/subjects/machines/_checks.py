"""Checks of the settings and numbers of machines; traced values pass."""

import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from lemmata.core import check_numbers, known, whole
from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError

_ROUNDING = 1e-8  # what a variance may be below 0, relative to the largest


def check_number(name: str, value: Any, *, zero: bool = True, infinite: bool = False) -> None:
    """Refuse what is not a number above 0.

    Args:
        name: of the setting.
        value: what was given.
        zero: whether 0 is allowed.
        infinite: whether infinity is allowed.

    Raises:
        SettingError: if the value is out of range; the message names the setting.
    """
    number = known(value)
    if number is None:
        return
    if number.ndim == 0 and number.dtype.kind in "iuf":
        found = float(number)
        if (found > 0 or (zero and found == 0)) and (infinite or math.isfinite(found)):
            return
    rule = f"a {'' if infinite else 'finite '}number, {'at least' if zero else 'above'} 0"
    raise SettingError(name, found=repr(value), rule=rule)


def count(name: str, value: Any, least: int) -> int:
    """A whole number.

    Args:
        name: of the setting.
        value: what was given.
        least: the smallest that is allowed.

    Raises:
        SettingError: if the value is not a whole number, or is smaller.
    """
    number = whole(name, value)
    if number < least:
        raise SettingError(name, found=number, rule=f"a whole number that is at least {least}")
    return number


def counts(name: str, values: Any) -> tuple[int, ...]:
    """Whole numbers, at least 1.

    Args:
        name: of the setting.
        values: what was given.

    Raises:
        SettingError: if the value is not a sequence of such numbers.
    """
    try:
        given = tuple(values)
    except TypeError as error:
        raise SettingError(name, found=repr(values), rule="whole numbers that are at least 1") from error
    return tuple(count(name, value, 1) for value in given)


def check_array(name: str, value: Any) -> None:
    """Refuse anything that is not an array.

    Args:
        name: of the array.
        value: what was given.

    Raises:
        DataError: if the value is not valid; the message names it.
    """
    if not isinstance(value, jax.Array | np.ndarray):
        raise DataError(name, found=f"a {type(value).__name__}", rule="an array", remedy="convert it with jnp.asarray")


def check_covariances(cross: Any, left: Any, right: Any) -> None:
    """Refuse what are no covariances of two normal variables with their variances.

    Args:
        cross: covariances.
        left: variances of the one variable, of a shape that broadcasts with them.
        right: variances of the other.

    Raises:
        DataError: for entries that are not finite, negative variances, and |cross| above sqrt(left right) by more than
            rounding.
    """
    for name, given in (("cross", cross), ("left", left), ("right", right)):
        if np.size(given):
            check_numbers(name, given)
    covariances, first, second = known(cross), known(left), known(right)
    if covariances is None or first is None or second is None or 0 in (covariances.size, first.size, second.size):
        return
    rounding = _ROUNDING * max(np.abs(first).max(), np.abs(second).max())
    for name, variances in (("left", first), ("right", second)):
        if variances.min() < -rounding:
            raise DataError(name, found=f"the variance {variances.min():g}", rule="variances that are not negative")
    excess = np.max(np.abs(covariances) - np.sqrt(np.maximum(first, 0.0) * np.maximum(second, 0.0)))
    if excess > rounding:
        raise DataError(
            "cross", found=f"a value that is {excess:.3g} above sqrt(left right)", rule="|cross| <= sqrt(left right)"
        )


def check_variances(name: str, variances: Any, inducing: Any) -> None:
    """Refuse variances that are negative by more than rounding.

    Args:
        name: of the variances.
        variances: of points.
        inducing: the Gram matrix of others, whose diagonal is not to be negative either.

    Raises:
        DataError: for a negative variance; the message names it.
    """
    own, matrix = known(variances), known(inducing)
    if own is None or matrix is None or own.size == 0:
        return
    diagonal = np.diagonal(matrix)
    floor = -_ROUNDING * max(np.abs(own).max(), np.abs(diagonal).max())
    for what, values in ((name, own), ("the diagonal of the Gram matrix", diagonal)):
        if values.min() < floor:
            raise DataError(what, found=f"the variance {values.min():g}", rule="variances that are not negative")


def check_factor(name: str, factor: Array) -> None:
    """Refuse a matrix by its Cholesky factor, if that is not finite or has a pivot of the size of rounding.

    Args:
        name: of the matrix.
        factor: lower triangular, NaN if there is none.

    Raises:
        NotPositiveDefiniteError: if the matrix is not positive definite; the message names it.
    """
    values = known(factor)
    if values is None:
        return
    pivots, sizes = np.diagonal(values) ** 2, np.sum(values**2, axis=1)
    if not pivots.min() > np.finfo(values.dtype).eps * sizes.max():  # NaN, too
        raise NotPositiveDefiniteError(
            name,
            found="that it has no Cholesky factor, or only a factor made of rounding errors",
            rule="a matrix with all eigenvalues above 0",
            remedy="use other inducing points, or a jitter above 0",
        )


def check_semidefinite(name: str, matrix: Any) -> None:
    """Refuse a symmetric matrix with an eigenvalue below 0 by more than rounding.

    Args:
        name: of the matrix.
        matrix: symmetric.

    Raises:
        NotPositiveDefiniteError: if the value is not valid; the message names it.
    """
    values = known(matrix)
    if values is None:
        return
    eigenvalues = np.linalg.eigvalsh(values)
    if eigenvalues[0] < -_ROUNDING * np.abs(eigenvalues).max():
        raise NotPositiveDefiniteError(
            name, found=f"an eigenvalue of {eigenvalues[0]:.3g}", rule="no negative eigenvalue"
        )
