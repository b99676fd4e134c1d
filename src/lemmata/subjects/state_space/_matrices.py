"""State matrices with three structures: dense, diagonal, and diagonal plus low rank."""

import abc
from collections.abc import Callable
from typing import SupportsComplex

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Inexact

from lemmata.core import known

from ._checks import check_entries, check_fits, extent, one_point

Point = ArrayLike | SupportsComplex
"""One number, real or complex."""


class AbstractStateMatrix(eqx.Module):
    """The N x N matrix A of a linear system. In the methods, h are states, X is a matrix of N rows and z a number."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """The number N of states."""

    @abc.abstractmethod
    def dense(self) -> Inexact[Array, "n n"]:
        """Return the matrix with all its entries."""

    @abc.abstractmethod
    def times(self, states: Inexact[Array, "n *k"]) -> Inexact[Array, "n *k"]:
        """Return A h."""

    @abc.abstractmethod
    def resolvent(self, point: Point, right: Inexact[Array, "n k"]) -> Inexact[Array, "n k"]:
        """Return (z I - A)^-1 X at one point z."""

    @abc.abstractmethod
    def cayley(self, point: Point) -> "AbstractStateMatrix":
        """Return the Cayley transform (z I - A)^-1 (z I + A), which has the same structure as A."""

    @abc.abstractmethod
    def transpose(self) -> "AbstractStateMatrix":
        """Return A^T, without conjugation."""

    @abc.abstractmethod
    def powers(self, right: Inexact[Array, "n k"], count: int) -> Inexact[Array, "count n k"]:
        """Return X, A X, ..., A^(count - 1) X."""

    @abc.abstractmethod
    def eigenvalues(self) -> Complex[Array, " n"]:
        """Return the eigenvalues. If A is not diagonal, they are computed on the host (the CPU)."""


class DenseMatrix(AbstractStateMatrix):
    """A matrix without structure. The matrix has N² entries, and a step costs N² operations.

    Args:
        entries: the matrix A, (N, N).

    Raises:
        ShapeError: if the matrix is empty or not square.
        DataError: if an entry is not finite.
    """

    entries: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)

    def __check_init__(self):
        check_entries("state matrix", self.entries)
        check_fits("state matrix", self.entries, (len(self.entries),) * 2, "a square matrix")

    @property
    def size(self) -> int:
        """The number N of states."""
        return len(self.entries)

    def dense(self) -> Inexact[Array, "n n"]:
        """Return the matrix with all its entries."""
        return self.entries

    def times(self, states: Inexact[Array, "n *k"]) -> Inexact[Array, "n *k"]:
        """Return A h."""
        return self.entries @ states

    def resolvent(self, point: Point, right: Inexact[Array, "n k"]) -> Inexact[Array, "n k"]:
        """Return (z I - A)^-1 X by an LU decomposition."""
        return jnp.linalg.solve(one_point(point, self.entries) * jnp.eye(self.size) - self.entries, right)

    def cayley(self, point: Point) -> "DenseMatrix":
        """Return the Cayley transform as 2z (z I - A)^-1 - I."""
        point = one_point(point, self.entries)
        return DenseMatrix(2 * point * self.resolvent(point, jnp.eye(self.size)) - jnp.eye(self.size))

    def transpose(self) -> "DenseMatrix":
        """Return A^T."""
        return DenseMatrix(self.entries.T)

    def powers(self, right: Inexact[Array, "n k"], count: int) -> Inexact[Array, "count n k"]:
        """Return X, A X, ... by doubling, with log(count) products of matrices."""
        step = lambda power, block: jnp.einsum("ij,tjk->tik", power, block)
        return _doubled(right, count, self.entries, step, lambda power: power @ power)

    def eigenvalues(self) -> Complex[Array, " n"]:
        """Return the eigenvalues by the QR algorithm."""
        return jnp.linalg.eigvals(self.entries)


class DiagonalMatrix(AbstractStateMatrix):
    """A diagonal matrix, for which a step costs N operations.

    Args:
        poles: the diagonal, real or complex.

    Raises:
        ShapeError: if the poles are not a vector, or if the vector is empty.
        DataError: if a pole is not finite.
    """

    poles: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)

    def __check_init__(self):
        check_entries("poles", self.poles)
        check_fits("poles", self.poles, (self.poles.size,), "a vector")

    @property
    def size(self) -> int:
        """The number N of states."""
        return len(self.poles)

    def dense(self) -> Inexact[Array, "n n"]:
        """Return the matrix with all its entries."""
        return jnp.diag(self.poles)

    def times(self, states: Inexact[Array, "n *k"]) -> Inexact[Array, "n *k"]:
        """Return A h."""
        return self.poles.reshape(-1, *(1,) * (states.ndim - 1)) * states

    def resolvent(self, point: Point, right: Inexact[Array, "n k"]) -> Inexact[Array, "n k"]:
        """Return x_n / (z - l_n) for each row x_n of X, where l_n are the poles."""
        return right / (one_point(point, self.poles) - self.poles)[:, None]

    def cayley(self, point: Point) -> "DiagonalMatrix":
        """Return the diagonal matrix with entries (z + l_n) / (z - l_n), where l_n are the poles."""
        point = one_point(point, self.poles)
        return DiagonalMatrix((point + self.poles) / (point - self.poles))

    def transpose(self) -> "DiagonalMatrix":
        """Return the matrix itself, because a diagonal matrix is symmetric."""
        return self

    def powers(self, right: Inexact[Array, "n k"], count: int) -> Inexact[Array, "count n k"]:
        """Return X, A X, ..., A^(count - 1) X. The powers of the poles are computed by doubling."""
        start = jnp.ones((self.size, 1), self.poles.dtype)
        step = lambda power, block: power[:, None] * block
        return _doubled(start, count, self.poles, step, lambda power: power * power) * right

    def eigenvalues(self) -> Complex[Array, " n"]:
        """Return the diagonal."""
        return jax.lax.complex(self.poles.real, jnp.imag(self.poles))


class DiagonalPlusLowRank(AbstractStateMatrix):
    """The matrix A = diag(l) - P Q*, where P and Q have r columns (Gu, Goel and Ré, 2022). A step costs N r operations.

    The Cayley transform of A has the same structure. With R = (z - diag(l))^-1, Woodbury's identity gives

        (z I - A)^-1 = R - R P (I + Q* R P)^-1 Q* R.

    Args:
        poles: the diagonal l.
        left: the factor P, (N, r).
        right: the factor Q, (N, r).

    Raises:
        ShapeError: if the shapes do not fit.
        DataError: if an entry is not finite.
    """

    poles: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)
    left: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)
    right: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)

    def __check_init__(self):
        for name, part in (("poles", self.poles), ("left factor", self.left), ("right factor", self.right)):
            check_entries(name, part)
        check_fits("poles", self.poles, (self.poles.size,), "a vector")
        check_fits(
            "left factor", self.left, (len(self.poles), extent(self.left, 1)), "shape (N, r), one row for each pole"
        )
        check_fits("right factor", self.right, self.left.shape, "the shape of the left factor")

    @property
    def size(self) -> int:
        """The number N of states."""
        return len(self.poles)

    def dense(self) -> Inexact[Array, "n n"]:
        """Return the matrix with all its entries."""
        return jnp.diag(self.poles) - self.left @ self.right.conj().T

    def times(self, states: Inexact[Array, "n *k"]) -> Inexact[Array, "n *k"]:
        """Return l h - P (Q* h)."""
        return DiagonalMatrix(self.poles).times(states) - self.left @ (self.right.conj().T @ states)

    def resolvent(self, point: Point, right: Inexact[Array, "n k"]) -> Inexact[Array, "n k"]:
        """Return (z I - A)^-1 X by Woodbury's identity."""
        inverse = 1 / (one_point(point, self.poles) - self.poles)
        scaled = lambda x: inverse[:, None] * x
        small = jnp.asarray(jnp.eye(self.left.shape[1]) + self.right.conj().T @ scaled(self.left))
        return scaled(right) - scaled(self.left) @ solved(small, jnp.asarray(self.right.conj().T @ scaled(right)))

    def cayley(self, point: Point) -> "DiagonalPlusLowRank":
        """Return the Cayley transform as 2z (z I - A)^-1 - I, whose low-rank part is 2z times that of (z I - A)^-1."""
        point = one_point(point, self.poles)
        inverse = jnp.asarray(1 / (point - self.poles))
        left = jnp.asarray(inverse[:, None] * self.left)
        small = jnp.eye(self.left.shape[1]) + self.right.conj().T @ left
        factor = solved(small.T, left.T).T
        # (Q* R)* = R* Q
        return DiagonalPlusLowRank(
            (point + self.poles) * inverse, 2 * point * factor, inverse.conj()[:, None] * self.right
        )

    def transpose(self) -> "DiagonalPlusLowRank":
        """Return A^T, from (P Q*)^T = conj(Q) conj(P)*."""
        return DiagonalPlusLowRank(self.poles, self.right.conj(), self.left.conj())

    def powers(self, right: Inexact[Array, "n k"], count: int) -> Inexact[Array, "count n k"]:
        """Return X, A X, ..., A^(count - 1) X, computed step by step."""
        start = right.astype(jnp.result_type(right, self.poles, self.left, self.right))
        return jax.lax.scan(lambda state, _: (self.times(state), state), start, None, count)[1]

    def eigenvalues(self) -> Complex[Array, " n"]:
        """Return the eigenvalues of the dense matrix."""
        return jnp.linalg.eigvals(self.dense())


def solved(matrix: Inexact[Array, "r r"], right: Inexact[Array, "r k"]) -> Inexact[Array, "r k"]:
    """Return matrix^-1 right for the r x r matrix of Woodbury's identity; for r = 1, divide by its only entry."""
    return right / matrix if len(matrix) == 1 else jnp.linalg.solve(matrix, right)


def known_eigenvalues(matrix: AbstractStateMatrix) -> np.ndarray | None:
    """Return the eigenvalues, or None if JAX traces the matrix."""
    if any(known(leaf) is None for leaf in jax.tree.leaves(matrix)):
        return None
    return np.asarray(matrix.eigenvalues())


def _doubled(
    start: Array,
    count: int,
    power: Array,
    step: Callable[[Array, Array], Array],
    squared: Callable[[Array], Array],
) -> Array:
    """Return X, A X, ..., A^(count - 1) X. Each product with one of A^1, A^2, A^4, ... doubles the number of results.

    `power` is A in some form, `step` applies such a power to X, and `squared` squares it.
    """
    block = start[None].astype(jnp.result_type(start, power))
    while len(block) < count:
        block = jnp.concatenate([block, step(power, block)])
        power = squared(power)
    return block[:count]
