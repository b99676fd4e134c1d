"""Checks of the settings and arrays of machines; traced values are not checked."""

import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from lemmata.core import check_numbers, known, whole
from lemmata.errors import DataError, NotPositiveDefiniteError, SettingError

_ROUNDING = 1e-8  # how far below 0 a variance may be, relative to the largest variance


def check_number(name: str, value: Any, *, zero: bool = True, infinite: bool = False) -> None:
    """Raise an error if a setting is not a number above 0 (or at least 0, if 0 is allowed).

    Args:
        name: the name of the setting.
        value: the value that was given.
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
    """Return a whole number after checking it.

    Args:
        name: the name of the setting.
        value: the value that was given.
        least: the smallest value that is allowed.

    Raises:
        SettingError: if the value is not a whole number, or is smaller than `least`.
    """
    number = whole(name, value)
    if number < least:
        raise SettingError(name, found=number, rule=f"a whole number that is at least {least}")
    return number


def counts(name: str, values: Any) -> tuple[int, ...]:
    """Return whole numbers of at least 1 after checking them.

    Args:
        name: the name of the setting.
        values: the values that were given.

    Raises:
        SettingError: if the values are not a sequence of whole numbers of at least 1.
    """
    try:
        given = tuple(values)
    except TypeError as error:
        raise SettingError(name, found=repr(values), rule="whole numbers that are at least 1") from error
    return tuple(count(name, value, 1) for value in given)


def check_array(name: str, value: Any) -> None:
    """Raise an error if a value is not an array.

    Args:
        name: the name of the array.
        value: the value that was given.

    Raises:
        DataError: if the value is not an array; the message names the argument.
    """
    if not isinstance(value, jax.Array | np.ndarray):
        raise DataError(name, found=f"a {type(value).__name__}", rule="an array", remedy="convert it with jnp.asarray")


def check_covariances(cross: Any, left: Any, right: Any) -> None:
    """Raise an error if numbers cannot be covariances of two normal variables with the given variances.

    Args:
        cross: the covariances of the two variables.
        left: the variances of the first variable, of a shape that broadcasts with `cross`.
        right: the variances of the second variable.

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
            "cross", found=f"a size that is {excess:.3g} above sqrt(left right)", rule="|cross| <= sqrt(left right)"
        )


def check_variances(name: str, variances: Any, inducing: Any) -> None:
    """Raise an error if variances are negative by more than rounding.

    Args:
        name: the name of the variances.
        variances: the variances of points.
        inducing: the Gram matrix of inducing points, whose diagonal must not be negative either.

    Raises:
        DataError: for a negative variance; the message names the array that contains it.
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
    """Raise an error if a matrix's Cholesky factor is not finite or has a pivot of the size of rounding errors.

    Args:
        name: the name of the matrix.
        factor: the lower triangular factor; NaN if there is none.

    Raises:
        NotPositiveDefiniteError: if the matrix is not positive definite; the message names the matrix.
    """
    values = known(factor)
    if values is None:
        return
    pivots, sizes = np.diagonal(values) ** 2, np.sum(values**2, axis=1)
    if not pivots.min() > np.finfo(values.dtype).eps * sizes.max():  # also true for NaN
        raise NotPositiveDefiniteError(
            name,
            found="that it has no Cholesky factor, or only a factor made of rounding errors",
            rule="a matrix with all eigenvalues above 0",
            remedy="use other inducing points, or a jitter above 0",
        )


def check_semidefinite(name: str, matrix: Any) -> None:
    """Raise an error if a symmetric matrix has an eigenvalue below 0 by more than rounding.

    Args:
        name: the name of the matrix.
        matrix: the symmetric matrix.

    Raises:
        NotPositiveDefiniteError: if the matrix has such an eigenvalue; the message names the matrix.
    """
    values = known(matrix)
    if values is None:
        return
    eigenvalues = np.linalg.eigvalsh(values)
    if eigenvalues[0] < -_ROUNDING * np.abs(eigenvalues).max():
        raise NotPositiveDefiniteError(
            name, found=f"an eigenvalue of {eigenvalues[0]:.3g}", rule="no negative eigenvalue"
        )
