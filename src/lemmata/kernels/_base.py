"""The base class of kernels, and their algebra. A subclass of `AbstractKernel` defines K(x, y) for two single points.

The base class derives the matrices of all pairs of points from K.

A sum of kernels is a kernel, because a sum of positive semidefinite matrices is positive semidefinite. A product is a
kernel, because the entrywise product of two positive semidefinite matrices is positive semidefinite (Schur). A power is
a repeated product. Each operation combines the matrices of its kernels, so it uses their fast `cross` and `diagonal`.
"""

import abc
import math
from collections.abc import Callable
from typing import Any, ClassVar

import equinox as eqx
import jax
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Float, Real

from lemmata.core import known

from ._parameters import check_number, counting, learnable

# The number of rows of a tile of vectors. A tile of float32 and its points fit into the cache of a core.
_TILE_ROWS = 504


class AbstractKernel(eqx.Module):
    """A symmetric positive semidefinite function K(x, x') of two points.

    A subclass defines `__call__` for two single points. The methods `cross` and `diagonal` apply `__call__` under
    `vmap`. These methods are usually fast, because `vmap` replaces inner products by matrix products. If they are slow,
    override `cross` or `diagonal`. The property tests in `tests/laws` compare the override with `__call__`.

    Kernels form an algebra: `k1 + k2`, `k1 * k2`, `2.0 * k` and `k ** 2` are kernels again.

    Attributes:
        exactly_symmetric: whether `cross(x, x)`, called with the same array twice, is a matrix that is symmetric bit
            for bit.
        cheap_points: whether the work for one point alone is known to be small compared with the work for its pairs
            with other points. If it is small, `gram` computes the matrix in tiles that stay in the cache, and each tile
            repeats the work for its points. For `Sum`, `Product`, `Scale` and `Power`, `gram` uses the values of the
            kernels that they combine.
        numpy_entries: the number of matrix entries, added up over all matrices that are needed, up to which
            `numpy_cross` takes less processor time than compiling and evaluating `cross`.
    """

    exactly_symmetric: ClassVar[bool] = False
    cheap_points: ClassVar[bool] = False
    numpy_entries: ClassVar[float] = math.inf

    # Because of this None, `number * kernel` calls `__rmul__` of the kernel if the number is a NumPy number.
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

    def tile_rows(self, shape: tuple[int, ...]) -> int | None:
        """The rows of a tile that stays in the cache, for points of shape (n, *point). None if `gram` uses no tiles."""
        return _TILE_ROWS if self.cheap_points and len(shape) == 2 else None

    def numpy_cross(
        self, x: Float[np.ndarray, "n *point"], y: Float[np.ndarray, "m *point"]
    ) -> Float[np.ndarray, "n m"] | None:
        """The matrix K(x_i, y_j) in float64 and new memory, if the kernel has a form that needs no compilation.

        Solvers on the processor try this method first, because with few points a compilation takes longer than the
        matrix (`takes_numpy`). The result is None if there is no such form, if a parameter is traced, or if the points
        are not float64.
        """
        return None

    # The operations return instances of subclasses of this class, which are defined below.

    def __add__(self, other: "AbstractKernel") -> "AbstractKernel":
        """The sum of two kernels."""
        return Sum(self, other) if isinstance(other, AbstractKernel) else NotImplemented

    def __mul__(self, other: "AbstractKernel | Real[ArrayLike, '']") -> "AbstractKernel":
        """The product of two kernels, or a positive multiple of this kernel."""
        if isinstance(other, AbstractKernel):
            return Product(self, other)
        is_number = isinstance(other, int | float | np.number | np.ndarray | jax.Array)
        return Scale(self, other) if is_number else NotImplemented

    def __rmul__(self, factor: Real[ArrayLike, ""]) -> "AbstractKernel":
        """A positive multiple of the kernel."""
        return self * factor

    def __pow__(self, exponent: int) -> "AbstractKernel":
        """The kernel to a positive integer power."""
        return Power(self, exponent)


class Sum(AbstractKernel):
    """K(x, y) = left(x, y) + right(x, y); written `left + right`."""

    left: AbstractKernel
    right: AbstractKernel

    def __call__(self, x: Float[Array, "*point"], y: Float[Array, "*point"]) -> Float[Array, ""]:
        """The sum of the kernels `left` and `right` at (x, y)."""
        return self.left(x, y) + self.right(x, y)

    def cross(self, x: Float[Array, "n *point"], y: Float[Array, "m *point"]) -> Float[Array, "n m"]:
        """The sum of the matrices that `cross` of `left` and of `right` returns."""
        return self.left.cross(x, y) + self.right.cross(x, y)

    def tile_rows(self, shape: tuple[int, ...]) -> int | None:
        """The smaller of the numbers of rows in a tile of `left` and of `right`; None if either kernel has no tiles."""
        left, right = self.left.tile_rows(shape), self.right.tile_rows(shape)
        return None if left is None or right is None else min(left, right)

    def numpy_cross(
        self, x: Float[np.ndarray, "n *point"], y: Float[np.ndarray, "m *point"]
    ) -> Float[np.ndarray, "n m"] | None:
        """The sum of the matrices that `numpy_cross` of `left` and of `right` returns.

        The result is None if either of the two kernels returns None.
        """
        left, right = self.left.numpy_cross(x, y), self.right.numpy_cross(x, y)
        return None if left is None or right is None else np.add(left, right, out=left)

    def diagonal(self, x: Float[Array, "n *point"]) -> Float[Array, " n"]:
        """The sum of the two diagonals."""
        return self.left.diagonal(x) + self.right.diagonal(x)


class Product(AbstractKernel):
    """K(x, y) = left(x, y) right(x, y); written `left * right`."""

    left: AbstractKernel
    right: AbstractKernel

    def __call__(self, x: Float[Array, "*point"], y: Float[Array, "*point"]) -> Float[Array, ""]:
        """The product of the kernels `left` and `right` at (x, y)."""
        return self.left(x, y) * self.right(x, y)

    def cross(self, x: Float[Array, "n *point"], y: Float[Array, "m *point"]) -> Float[Array, "n m"]:
        """The entrywise product of the matrices that `cross` of `left` and of `right` returns."""
        return self.left.cross(x, y) * self.right.cross(x, y)

    def tile_rows(self, shape: tuple[int, ...]) -> int | None:
        """The smaller of the numbers of rows in a tile of `left` and of `right`; None if either kernel has no tiles."""
        left, right = self.left.tile_rows(shape), self.right.tile_rows(shape)
        return None if left is None or right is None else min(left, right)

    def numpy_cross(
        self, x: Float[np.ndarray, "n *point"], y: Float[np.ndarray, "m *point"]
    ) -> Float[np.ndarray, "n m"] | None:
        """The entrywise product of the matrices that `numpy_cross` of `left` and of `right` returns.

        The result is None if either of the two kernels returns None.
        """
        left, right = self.left.numpy_cross(x, y), self.right.numpy_cross(x, y)
        return None if left is None or right is None else np.multiply(left, right, out=left)

    def diagonal(self, x: Float[Array, "n *point"]) -> Float[Array, " n"]:
        """The entrywise product of the two diagonals."""
        return self.left.diagonal(x) * self.right.diagonal(x)


class Scale(AbstractKernel):
    """K(x, y) = factor kernel(x, y) with a positive factor, written `factor * kernel`.

    Raises:
        SettingError: if the factor is known (not traced by JAX) and not positive.
    """

    kernel: AbstractKernel
    factor: Float[Array, ""] = eqx.field(converter=learnable)

    def __check_init__(self):
        check_number("Scale.factor", self.factor)

    def __call__(self, x: Float[Array, "*point"], y: Float[Array, "*point"]) -> Float[Array, ""]:
        """The factor times the kernel at (x, y)."""
        return self.factor * self.kernel(x, y)

    def cross(self, x: Float[Array, "n *point"], y: Float[Array, "m *point"]) -> Float[Array, "n m"]:
        """The factor times the cross matrix."""
        return self.factor * self.kernel.cross(x, y)

    def tile_rows(self, shape: tuple[int, ...]) -> int | None:
        """The number of rows in a tile of the kernel."""
        return self.kernel.tile_rows(shape)

    def numpy_cross(
        self, x: Float[np.ndarray, "n *point"], y: Float[np.ndarray, "m *point"]
    ) -> Float[np.ndarray, "n m"] | None:
        """The factor times `numpy_cross` of the kernel, or None if the factor is traced or this matrix is None."""
        factor, found = known(self.factor), self.kernel.numpy_cross(x, y)
        return None if factor is None or found is None else np.multiply(found, factor, out=found)

    def diagonal(self, x: Float[Array, "n *point"]) -> Float[Array, " n"]:
        """The factor times the diagonal."""
        return self.factor * self.kernel.diagonal(x)


class Power(AbstractKernel):
    """K(x, y) = kernel(x, y)^exponent for an integer exponent of at least 1, written `kernel ** exponent`.

    Raises:
        SettingError: if the exponent is not an integer or is below 1.
    """

    kernel: AbstractKernel
    exponent: int = eqx.field(static=True, converter=counting("Power.exponent"))

    def __call__(self, x: Float[Array, "*point"], y: Float[Array, "*point"]) -> Float[Array, ""]:
        """The power of the kernel at (x, y)."""
        return self.kernel(x, y) ** self.exponent

    def cross(self, x: Float[Array, "n *point"], y: Float[Array, "m *point"]) -> Float[Array, "n m"]:
        """The entrywise power of the cross matrix."""
        return self.kernel.cross(x, y) ** self.exponent

    def tile_rows(self, shape: tuple[int, ...]) -> int | None:
        """The number of rows in a tile of the kernel."""
        return self.kernel.tile_rows(shape)

    def numpy_cross(
        self, x: Float[np.ndarray, "n *point"], y: Float[np.ndarray, "m *point"]
    ) -> Float[np.ndarray, "n m"] | None:
        """The entrywise power of `numpy_cross` of the kernel, or None if this matrix is None."""
        found = self.kernel.numpy_cross(x, y)
        return None if found is None else np.power(found, self.exponent, out=found)

    def diagonal(self, x: Float[Array, "n *point"]) -> Float[Array, " n"]:
        """The entrywise power of the diagonal."""
        return self.kernel.diagonal(x) ** self.exponent


def _as_pytree(transform: Callable[..., Any]) -> Callable[..., Any]:
    # A plain function is not an array. As a leaf of the pytree, it would prevent passing the kernel to jax.jit. So
    # `Partial` makes the function part of the structure of the pytree.
    callable_module: Any = transform
    return callable_module if isinstance(transform, eqx.Module) else jax.tree_util.Partial(transform)


class Compose(AbstractKernel):
    """K(x, y) = kernel(transform(x), transform(y)): map the inputs, then apply a kernel.

    `transform` maps one point of shape (d,) to one point of shape (e,). This map may be an `equinox.Module` with
    learnable arrays, or any function that JAX can trace.

    >>> import jax.numpy as jnp
    >>> from lemmata.kernels import Compose, Linear
    >>> kernel = Compose(Linear(), lambda point: point**2)
    >>> print(kernel(jnp.array([1.0, 2.0]), jnp.array([3.0, 1.0])))
    13.0
    """

    kernel: AbstractKernel
    transform: Callable[..., Any] = eqx.field(converter=_as_pytree)

    def __call__(self, x: Float[Array, "*point"], y: Float[Array, "*point"]) -> Float[Array, ""]:
        """The kernel at transform(x) and transform(y)."""
        return self.kernel(self.transform(x), self.transform(y))

    def cross(self, x: Float[Array, "n *point"], y: Float[Array, "m *point"]) -> Float[Array, "n m"]:
        """The cross matrix at the transformed points; every point is transformed once."""
        images = jax.vmap(self.transform)
        return self.kernel.cross(images(x), images(y))

    def diagonal(self, x: Float[Array, "n *point"]) -> Float[Array, " n"]:
        """The diagonal at the transformed points."""
        return self.kernel.diagonal(jax.vmap(self.transform)(x))
