"""Check the kernel and the points before a Gram matrix is computed."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.errors import DataError, LemmataError, SettingError, ShapeError

from ._base import AbstractKernel

_FEW = 2**20


def has_finite_sum(values: Float[Array, "..."]) -> bool:
    """Whether the sum of the values is finite. If so, all values are finite. If not, the sum may have overflowed."""
    if values.size > _FEW:
        return bool(jnp.isfinite(jnp.sum(values)))
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.sum(np.asarray(values))))  # without a compilation


# The errors that JAX raises if code needs the value of a traced array (under `jit` or `vmap`).
UNKNOWN = (jax.errors.ConcretizationTypeError, jax.errors.TracerArrayConversionError)


def checked_problem(kernel: object, x: object, y: object) -> tuple[Any, Any, bool]:
    """Return the points as floating-point arrays, and whether their values are known (not traced by `jit` or `vmap`).

    Args:
        kernel: the object that must be a kernel.
        x: points, one in each row, as an array or lists of numbers.
        y: other points; `None` is kept and means `x` itself.

    Raises:
        SettingError: if the kernel is not a kernel of lemmata.
        ShapeError: if the points are not rows of the same shape with at least one number.
        DataError: for entries that are not real, have 16 bits, or are not finite; the message names the row.
    """
    if not isinstance(kernel, AbstractKernel):
        found = f"the class {kernel.__name__}" if isinstance(kernel, type) else f"a {type(kernel).__name__}"
        raise SettingError(
            "kernel",
            found=found,
            rule="a kernel (an instance of AbstractKernel)",
            remedy="use NNGPKernel(network) or TangentKernel(network) for a network, or write a subclass of "
            "AbstractKernel for a function of two points",
        )
    left, right = _array("x", x), None if y is None else _array("y", y)
    if right is not None and left.shape[1:] != right.shape[1:]:
        rule = "the same number of columns" if left.ndim == right.ndim == 2 else "points of one shape"
        raise ShapeError("points x and y", found=f"{left.shape} and {right.shape}", rule=rule)
    return left, right, all(_finite(name, p) for name, p in (("x", left), ("y", right)) if p is not None)


def entries(cross: Callable[..., Any], x: Any, y: Any) -> Any:
    """Return cross(x, y), after a check of its shape. The result is a matrix, or only its shape and type.

    Args:
        cross: the function that computes the matrix of all pairs, or (under `jax.eval_shape`) its shape and type.
        x: points.
        y: other points.

    Raises:
        ShapeError: if the kernel does not return one number for each pair, or if it does not accept fields (points with
            several axes).
    """
    fields, remedy = x.ndim > 2, "reshape the fields to vectors with x.reshape(len(x), -1)"
    try:
        found = cross(x, y)
    except (TypeError, ValueError) as error:
        if not fields or isinstance(error, LemmataError):
            raise
        raise ShapeError(
            "points",
            found=f"fields of shape {x.shape[1:]}, for which the kernel fails",
            rule="points that the kernel accepts",
            remedy=remedy,
        ) from error
    if found.shape != (len(x), len(y)):
        raise ShapeError(
            "kernel",
            found=f"values of shape {found.shape} for {len(x)} x {len(y)} points of shape {x.shape[1:]}",
            rule="one number for each pair of points",
            remedy=remedy if fields else "write a kernel that returns one number for two points",
        )
    return found


def _array(name: str, given: Any) -> Any:
    what, points = f"points {name}", given
    if not isinstance(points, jax.Array | np.ndarray):
        try:
            points = jnp.asarray(points)
        except (TypeError, ValueError) as error:
            raise DataError(
                what,
                found=f"a {type(given).__name__} that cannot become an array ({str(error).splitlines()[0]})",
                rule="an array of real numbers with one point in each row",
                remedy="convert it with jnp.asarray(x, float)",
            ) from error
    if points.ndim < 2:
        raise ShapeError(
            what,
            found=f"shape {points.shape}",
            rule="one point in each row: shape (n, d) or (n, *shape)",
            remedy="turn a single point into a row with x[None]",
        )
    if 0 in points.shape[1:]:
        raise ShapeError(
            what,
            found=f"shape {points.shape}, and axis {points.shape.index(0, 1)} has length 0",
            rule="points with at least one number each",
        )
    if not jnp.issubdtype(points.dtype, jnp.floating):
        if not (jnp.issubdtype(points.dtype, jnp.integer) or points.dtype == bool):
            raise DataError(
                what,
                found=f"entries of type {points.dtype}",
                rule="real numbers",
                remedy="use jnp.real(x), or other columns",
            )
        points = jnp.asarray(points, float)
    if points.dtype.itemsize < 4:
        raise DataError(
            what,
            found=f"entries of type {points.dtype}, which has only about 3 significant digits",
            rule="float64 or float32",
            remedy="convert them with x.astype(float)",
        )
    return points


def _finite(name: str, points: Array) -> bool:
    """Whether the values of the points are known (not traced). Known points with a non-finite entry are refused."""
    try:
        # A finite sum shows that all entries are finite. An infinite sum does not show that an entry is infinite,
        # because a sum of finite numbers may overflow.
        if has_finite_sum(points):
            return True
        finite = np.isfinite(np.asarray(points)).reshape(len(points), -1).all(axis=1)
    except UNKNOWN:
        return False
    if not finite.all():
        row = int(np.argmin(finite))
        bad = np.asarray(points[row])
        raise DataError(
            f"points {name}",
            found=f"{bad[~np.isfinite(bad)][0]} in row {row} (counted from 0)",
            rule="finite numbers only",
            remedy="remove the row, or impute its missing values",
        )
    return True
