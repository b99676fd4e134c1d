"""Check the arguments of functions that certify networks."""

from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike

from lemmata.answers import positive
from lemmata.core import array_of, check_numbers, real_numbers, single_of
from lemmata.errors import SettingError, ShapeError


def as_point(x: ArrayLike) -> Float[np.ndarray, "*shape"]:
    """Return one input as float64. Raise ShapeError if there is no input, and DataError if a number is not finite.

    Args:
        x: the numbers of one input, in any shape.
    """
    point = np.asarray(x)
    if point.ndim < 1 or not point.size:
        raise ShapeError("x", found=f"shape {point.shape}", rule="one input, shape (d,)")
    check_numbers("x", point)
    return point.astype(float)


def as_weights(name: str, values: Any) -> Float[np.ndarray, "*shape"]:
    """Return weights or biases as float64.

    Args:
        name: the name of the weights or biases, for messages.
        values: the weights or biases that the caller passed.

    Raises:
        SettingError: if entries are complex or otherwise not real numbers.
        DataError, PrecisionError: if the object is not an array of numbers.
    """
    array = real_numbers(name, single_of(name, values))
    if array.dtype.kind not in "biuf":
        remedy = "convert the weights with astype(float)"
        if array.dtype.kind == "c":
            remedy = "write a complex layer as a real layer of the real and imaginary parts"
        raise SettingError(name, found=f"weights of type {array.dtype}", rule="real numbers", remedy=remedy)
    return array.astype(float)


def as_radius(name: str, radius: Any, point: Float[np.ndarray, "*shape"], norm: str) -> float | Float[np.ndarray, " d"]:
    """Return the radius as one positive number, or as a number of at least 0 for each coordinate of a flattened input.

    Args:
        name: the name of the argument, for messages.
        radius: the radius that was passed.
        point: the input around which the ball lies.
        norm: the norm in which the radius is measured.

    Raises:
        SettingError: if the numbers are not valid, or an array is passed with another norm than "linf".
        ShapeError: if an array has another shape than the input.
        DataError: if the object is not an array.
    """
    radii = array_of(name, radius)
    if radii.ndim == 0:
        return positive(name, radii.item())
    rule = "one number, or one for each coordinate"
    if radii.shape != point.shape:
        raise ShapeError(name, found=f"shape {radii.shape}", rule=f"{rule} in the shape of x, {point.shape}")
    if radii.dtype.kind not in "iuf":
        raise SettingError(name, found=f"entries of type {radii.dtype}", rule="real numbers")
    if not (np.isfinite(radii).all() and (radii >= 0).all() and (radii > 0).any()):
        wrong = radii[~(np.isfinite(radii) & (radii >= 0))]
        found = f"the entry {wrong[0]:g}" if wrong.size else "the entry 0 for every coordinate"
        raise SettingError(name, found=found, rule="finite numbers of at least 0, and at least one above 0")
    if norm != "linf":
        raise SettingError(
            name,
            found=f"a number for each coordinate with the norm {norm!r}",
            rule="one number, because an array of radii needs the norm 'linf'",
            remedy="use norm='linf', or pass one number",
        )
    return radii.astype(float).ravel()


def check_vector(x: np.ndarray) -> None:
    """Raise ShapeError if the input is not one vector.

    Args:
        x: the input.
    """
    if x.ndim != 1:
        remedy = "pass one row at a time: [certify(network, row, radius) for row in x]"
        raise ShapeError("x", found=f"shape {x.shape}", rule="one input, shape (d,)", remedy=remedy)
