"""The tiles of a Gram matrix: the compiled functions that compute one, and where each begins."""

from collections.abc import Callable

import equinox as eqx
import jax
from jaxtyping import Array, Float

from ._base import AbstractKernel


def tile_of(
    kernel: AbstractKernel, x: Array, y: Array | None, block: int
) -> Callable[[int, int], Float[Array, "a b"]]:
    """The function that computes the tile in tile row i and tile column j, compiled.

    Args:
        kernel: the kernel.
        x: points.
        y: other points; `None` means `x` itself, with exactly symmetric tiles on the diagonal.
        block: rows of a tile.
    """
    # A kernel that refuses points refuses them here; compiled, it can refuse nothing.
    for points in (x,) if y is None else (x, y):
        kernel.diagonal(points)
    other = x if y is None else y

    def rows(points: Array, i: int) -> tuple[Array, int]:
        # The last tile is moved back to end with the points, so that one shape is compiled; what it repeats is cut off.
        first = min(i * block, max(len(points) - block, 0))
        return points[first : first + block], i * block - first

    def tile(i: int, j: int) -> Array:
        (left, down), (right, across) = rows(x, i), rows(other, j)
        values = diagonal_tile(kernel, left) if y is None and i == j else cross_tile(kernel, left, right)
        return values[down:, across:] if down or across else values

    return tile


@eqx.filter_jit
def cross_tile(kernel: AbstractKernel, x: Array, y: Array) -> Array:
    """K(x_i, y_j) for two sets of points, compiled as a whole."""
    return kernel.cross(x, y)


@eqx.filter_jit
def diagonal_tile(kernel: AbstractKernel, x: Array) -> Array:
    """K(x_i, x_j), exactly symmetric, compiled as a whole."""
    return symmetrised(kernel.cross(x, x))


@jax.jit
def symmetrised(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    """The mean of a matrix and its transpose."""
    return (matrix + matrix.T) / 2
