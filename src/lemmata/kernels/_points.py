"""What every Gram matrix asks of its points, before any work."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from lemmata.errors import DataError, ShapeError


def checked_points(x: Array, y: Array | None) -> tuple[Array, bool]:
    """The other points, and whether all values are known: under a transformation of JAX nothing can be said of them.

    Args:
        x: points, one a row.
        y: other points; `None` means `x` itself.

    Raises:
        ShapeError: where points are no rows of one shape, of at least one number.
        DataError: for numbers of 16 bits, and for one that is not finite; names its row.
    """
    for name, points in (("x", x), ("y", x if y is None else y)):
        if jnp.ndim(points) < 2 or 0 in jnp.shape(points)[1:]:
            raise ShapeError(
                f"points {name}", found=f"shape {jnp.shape(points)}", rule="one point a row: (n, d) or (n, *shape)",
                remedy="reshape a single point with x[None]",
            )
        if jnp.issubdtype(points.dtype, jnp.floating) and points.dtype.itemsize < 4:
            raise DataError(
                f"points {name}", found=f"{points.dtype}, which keeps 3 digits", rule="float64 or float32",
                remedy="x.astype(float)",
            )
    other = x if y is None else y
    if x.shape[1:] != other.shape[1:]:
        rule = "the same number of columns" if x.ndim == other.ndim == 2 else "points of one shape"
        raise ShapeError("points x and y", found=f"{x.shape} and {other.shape}", rule=rule)
    return other, all(_finite(name, points) for name, points in (("x", x), ("y", y)) if points is not None)


def _finite(name: str, points: Array) -> bool:
    """Whether the points are known, refused where they are and one is not finite."""
    try:
        # A sum of finite numbers may overflow, so it only says that all are finite, never that one is not.
        if bool(jnp.isfinite(jnp.sum(points))):
            return True
        finite = np.isfinite(np.asarray(points)).reshape(len(points), -1).all(axis=1)
    except jax.errors.ConcretizationTypeError:
        return False
    if not finite.all():
        row = int(np.argmin(finite))
        bad = np.asarray(points[row])
        raise DataError(
            f"points {name}", found=f"{bad[~np.isfinite(bad)][0]} in row {row} (counted from 0)",
            rule="numbers that are finite", remedy="remove or impute the row",
        )
    return True
