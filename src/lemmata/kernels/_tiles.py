"""The tiles of a Gram matrix: the compiled functions that compute one tile, and the start of each tile."""

import math
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from lemmata.errors import SettingError

from ._base import AbstractKernel
from ._points import UNKNOWN, entries, has_finite_sum


def tile_of(kernel: AbstractKernel, x: Array, y: Array | None, block: int) -> Callable[[int, int], Float[Array, "a b"]]:
    """Return a compiled function that computes the tile in tile row i and tile column j.

    Args:
        kernel: the kernel.
        x: points.
        y: other points; `None` means `x` itself, with exactly symmetric tiles on the diagonal.
        block: rows of a tile.

    Raises:
        SettingError: from the function, if a tile on the diagonal is not symmetric.
    """
    refused_points(kernel, x, y)
    other = x if y is None else y
    if y is None and block == 1:  # a tile of one entry is always symmetric, so the first two points are checked
        checked_symmetric(x, *diagonal_tile(kernel, x[:2]))

    def rows(points: Array, i: int) -> tuple[Array, int]:
        # The last tile is shifted back so that it ends with the last point, and the repeated part is cut off. So all
        # tiles have the same shape, and one compilation is enough.
        first = min(i * block, max(len(points) - block, 0))
        return points[first : first + block], i * block - first

    def tile(i: int, j: int) -> Array:
        (left, down), (right, across) = rows(x, i), rows(other, j)
        own = y is None and i == j
        values = (
            checked_symmetric(left, *diagonal_tile(kernel, left), i * block - down)
            if own
            else checked_finite(cross_tile(kernel, left, right), (i * block - down, j * block - across))
        )
        return values[down:, across:] if down or across else values

    return tile


def refused_points(kernel: AbstractKernel, x: Array, y: Array | None) -> Float[Array, " n"]:
    """Return K(x_i, x_i), computed without compilation, so that the kernel can raise an error for points it refuses.

    Args:
        kernel: the kernel.
        x: points.
        y: other points, which the kernel may also refuse.
    """
    diagonal = kernel.diagonal(x)
    if y is not None:
        kernel.diagonal(y)
    return diagonal


@eqx.filter_jit
def cross_tile(kernel: AbstractKernel, x: Array, y: Array) -> Array:
    """K(x_i, y_j) for two sets of points, computed by one compiled function."""
    return entries(kernel.cross, x, y)


@eqx.filter_jit
def diagonal_tile(kernel: AbstractKernel, x: Array) -> tuple[Array, Array, Array]:
    """The exactly symmetric K(x_i, x_j) and the arguments of `checked_symmetric`, computed by one compiled function."""
    return symmetrised(entries(kernel.cross, x, x))


@jax.jit
def symmetrised(matrix: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, ""], Float[Array, ""]]:
    """The mean of a matrix and its transpose, the largest difference between the two, and the largest entry."""
    mean = (matrix + matrix.T) / 2
    given, half = jax.lax.stop_gradient((matrix, mean))
    return mean, 2 * jnp.max(jnp.abs(given - half)), jnp.max(jnp.abs(half))


def checked_symmetric(
    x: Float[Array, "_ *shape"],
    mean: Float[Array, "n n"],
    gap: Float[Array, ""],
    largest: Float[Array, ""],
    first: int = 0,
) -> Float[Array, "n n"]:
    """Return `mean`, the first result of `symmetrised`; refuse it if it is not finite or not symmetric up to rounding.

    An inner product of d numbers has a rounding error of at most d eps times the product of the norms. The kernel may
    be the root of an inner product, for example a distance or an angle that is zero up to rounding. So K(x, y) and K(y,
    x) may differ by 2 sqrt(d eps) times the largest entry.

    Args:
        x: points, of d numbers each.
        mean: the mean of the kernel's matrix on the points and its transpose.
        gap: the largest |K(x, y) - K(y, x)|.
        largest: the largest |K(x, y)|.
        first: the row number of the first of these points among all points, for the error message.

    Raises:
        SettingError: if the numbers are known and not finite, or the kernel is not symmetric.
    """
    share = 2 * (math.prod(x.shape[1:]) * float(jnp.finfo(mean.dtype).eps)) ** 0.5
    try:
        apart, most = float(gap), float(largest)
    except jax.errors.ConcretizationTypeError:
        return mean
    if not math.isfinite(most):  # the maximum of numbers is NaN if one of them is NaN
        checked_finite(mean, (first, first))
    if apart > share * most:
        raise SettingError(
            "kernel",
            found=f"differences between K(x, y) and K(y, x) of up to {apart:.3g}, with entries of up to {most:.3g}",
            rule=f"a symmetric function: K(x, y) and K(y, x) may differ by at most {share:.1e} of the largest entry",
            remedy="use a symmetric function, such as (k(x, y) + k(y, x)) / 2",
        )
    return mean


def checked_finite(matrix: Float[Array, "n m"], first: tuple[int, int] = (0, 0)) -> Float[Array, "n m"]:
    """Return the matrix, or refuse it if an entry is known not to be finite.

    An entry can be infinite for finite points, because inner products can overflow.

    Args:
        matrix: entries of a kernel at pairs of points.
        first: the numbers of the first row and column among all points, for the error message.

    Raises:
        SettingError: if an entry is not finite; the message names one such entry.
    """
    try:
        if has_finite_sum(matrix) or bool(jnp.all(jnp.isfinite(matrix))):
            return matrix
    except UNKNOWN:
        return matrix
    row, column = divmod(int(jnp.argmin(jnp.isfinite(matrix))), matrix.shape[1])
    raise SettingError(
        "kernel",
        found=f"K(x, y) = {float(matrix[row, column])} at row {first[0] + row} of x and row {first[1] + column} of y "
        "(counted from 0)",
        rule="finite values",
        remedy=("" if matrix.dtype.itemsize >= 8 else "use float64, or ")
        + "use points of smaller norm (divide all columns by the same number)",
    )
