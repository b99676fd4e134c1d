"""The contract of a kernel: two single points in, one number out; everything else follows."""

import abc
from functools import partial

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Int, Real

from lemmata.errors import ShapeError


class AbstractKernel(eqx.Module):
    """A symmetric positive semidefinite function K(x, x') of two points.

    An author writes `__call__` for two single points. Under `vmap` an inner product becomes a matrix product, so
    the pointwise form is also the fast one; where it is not, override `cross` or `diagonal`, and the laws in
    `tests/laws` compare the override with the pointwise form.

    Kernels form an algebra: `k1 + k2`, `k1 * k2`, `2.0 * k` and `k ** 2` are kernels again.
    """

    # A NumPy number on the left then leaves `number * kernel` to the kernel.
    __array_ufunc__ = None

    @abc.abstractmethod
    def __call__(self, x: Float[Array, "*d"], y: Float[Array, "*d"]) -> Float[Array, ""]:
        """K(x, y) for two single points."""

    def cross(self, x: Float[Array, "n *d"], y: Float[Array, "m *d"]) -> Float[Array, "n m"]:
        """The matrix K(x_i, y_j)."""
        return jax.vmap(lambda a: jax.vmap(lambda b: self(a, b))(y))(x)

    def diagonal(self, x: Float[Array, "n *d"]) -> Float[Array, " n"]:
        """The vector K(x_i, x_i)."""
        return jax.vmap(lambda a: self(a, a))(x)

    # The operations are kernels themselves, so their module needs this class first: it is imported when one is built.

    def __add__(self, other: "AbstractKernel") -> "AbstractKernel":
        """The sum of two kernels."""
        from ._algebra import Sum

        return Sum(self, other) if isinstance(other, AbstractKernel) else NotImplemented

    def __mul__(self, other: "AbstractKernel | Real[ArrayLike, '']") -> "AbstractKernel":
        """The product of two kernels, or a positive multiple of one."""
        from ._algebra import Product, Scale

        if isinstance(other, AbstractKernel):
            return Product(self, other)
        is_number = isinstance(other, int | float | np.number | np.ndarray | jax.Array)
        return Scale(self, other) if is_number else NotImplemented

    def __rmul__(self, factor: Real[ArrayLike, ""]) -> "AbstractKernel":
        """A positive multiple of the kernel."""
        return self * factor

    def __pow__(self, exponent: int) -> "AbstractKernel":
        """The kernel to a positive integer power."""
        from ._algebra import Power

        return Power(self, exponent)


def gram(
    kernel: AbstractKernel,
    x: Float[Array, "n *d"],
    y: Float[Array, "m *d"] | None = None,
    *,
    block: int | None = None,
) -> Float[Array, "n m"]:
    """The Gram matrix K(x_i, x_j), or the cross matrix K(x_i, y_j) where `y` is given.

    The symmetric form is exactly symmetric. With `block` the matrix is computed in square blocks of that many rows,
    so that the working set beside the output is O(block * (block + d)); the symmetric form then computes only the
    blocks on and above the diagonal.

    Args:
        kernel: the kernel K.
        x: points, one a row.
        y: other points; `None` means `x` itself.
        block: rows of a block; `None` computes the matrix at once.

    Raises:
        ShapeError: where the points are not matrices with the same number of columns, or a block is below 1.
    """
    for name, points in (("x", x), ("y", x if y is None else y)):
        if jnp.ndim(points) < 2:
            raise ShapeError(
                f"points {name}", found=f"shape {jnp.shape(points)}", rule="one point a row: (n, d), or (n, *shape)",
                remedy="reshape a single point with x[None, :]",
            )
    if y is not None and x.shape[1:] != y.shape[1:]:
        raise ShapeError("points x and y", found=f"{x.shape} and {y.shape}", rule="the same number of columns")
    if block is not None and block < 1:
        raise ShapeError("block", found=block, rule="at least 1 row")
    if block is None:
        matrix = kernel.cross(x, x if y is None else y)
        return _symmetrised(matrix) if y is None else matrix
    other = x if y is None else y
    matrix = jnp.zeros((len(x), len(other)), jax.eval_shape(kernel.cross, x[:1], other[:1]).dtype)
    for i in range(0, len(x), block):
        for j in range(0 if y is not None else i, len(other), block):
            tile = kernel.cross(x[i : i + block], other[j : j + block])
            if y is None and i == j:
                tile = _symmetrised(tile)
            matrix = _place(matrix, tile, i, j)
            if y is None and i < j:
                matrix = _place(matrix, tile.T, j, i)
    return matrix


@jax.jit
def _symmetrised(matrix: Float[Array, "n n"]) -> Float[Array, "n n"]:
    return (matrix + matrix.T) / 2


@partial(jax.jit, donate_argnums=0)
def _place(
    matrix: Float[Array, "n m"], tile: Float[Array, "a b"], row: Int[ArrayLike, ""], column: Int[ArrayLike, ""]
) -> Float[Array, "n m"]:
    # The matrix is donated, so the tile is written into it: `.at[].set` outside jit would copy the whole each time.
    return jax.lax.dynamic_update_slice(matrix, tile, (row, column))
