"""The contract of a kernel: two single points in, one number out; everything else follows."""

import abc
from typing import ClassVar

import equinox as eqx
import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Real


class AbstractKernel(eqx.Module):
    """A symmetric positive semidefinite function K(x, x') of two points.

    An author writes `__call__` for two single points. Under `vmap` an inner product becomes a matrix product, so
    the pointwise form is also the fast one; where it is not, override `cross` or `diagonal`, and the laws in
    `tests/laws` compare the override with the pointwise form.

    Kernels form an algebra: `k1 + k2`, `k1 * k2`, `2.0 * k` and `k ** 2` are kernels again.

    Attributes:
        exactly_symmetric: whether `cross(x, x)`, given one array twice, is symmetric to the bit already.
    """

    exactly_symmetric: ClassVar[bool] = False

    # A NumPy number on the left then leaves `number * kernel` to the kernel.
    __array_ufunc__ = None

    @abc.abstractmethod
    def __call__(self, x: Float[Array, "*point"], y: Float[Array, "*point"]) -> Float[Array, ""]:
        """K(x, y) for two single points."""

    def cross(self, x: Float[Array, "n *point"], y: Float[Array, "m *point"]) -> Float[Array, "n m"]:
        """The matrix K(x_i, y_j)."""
        return jax.vmap(lambda a: jax.vmap(lambda b: self(a, b))(y))(x)

    def diagonal(self, x: Float[Array, "n *point"]) -> Float[Array, " n"]:
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
