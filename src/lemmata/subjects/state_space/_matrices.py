"""State matrices by their structure: dense, diagonal, diagonal plus low rank."""

import abc
from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from jaxtyping import Array, Complex, Inexact

from lemmata.core import known

from ._checks import check_entries, check_fits, extent


class AbstractStateMatrix(eqx.Module):
    """The N x N matrix A of a linear system, by the operations that its structure makes cheap."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """N."""

    @abc.abstractmethod
    def dense(self) -> Inexact[Array, "n n"]:
        """All entries."""

    @abc.abstractmethod
    def times(self, states: Inexact[Array, "n *k"]) -> Inexact[Array, "n *k"]:
        """A h."""

    @abc.abstractmethod
    def resolvent(self, point: ArrayLike, right: Inexact[Array, "n k"]) -> Inexact[Array, "n k"]:
        """(z I - A)^-1 X at one point z."""

    @abc.abstractmethod
    def cayley(self, point: ArrayLike) -> "AbstractStateMatrix":
        """(z I - A)^-1 (z I + A), of the same structure."""

    @abc.abstractmethod
    def transpose(self) -> "AbstractStateMatrix":
        """A^T (not its conjugate)."""

    @abc.abstractmethod
    def powers(self, right: Inexact[Array, "n k"], count: int) -> Inexact[Array, "count n k"]:
        """X, A X, ..., A^(count - 1) X."""

    @abc.abstractmethod
    def eigenvalues(self) -> Complex[Array, " n"]:
        """The eigenvalues, on the host if there is no structure to read them from."""


class DenseMatrix(AbstractStateMatrix):
    """A matrix without structure: N² numbers, a step costs N² operations.

    Args:
        entries: A.

    Raises:
        ShapeError: if the matrix is empty or not square.
        DataError: for an entry that is not finite.
    """

    entries: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)

    def __check_init__(self):
        check_entries("state matrix", self.entries)
        check_fits("state matrix", self.entries, (len(self.entries),) * 2, "a square matrix")

    @property
    def size(self) -> int:
        """N."""
        return len(self.entries)

    def dense(self) -> Inexact[Array, "n n"]:
        """All entries."""
        return self.entries

    def times(self, states: Inexact[Array, "n *k"]) -> Inexact[Array, "n *k"]:
        """A h."""
        return self.entries @ states

    def resolvent(self, point: ArrayLike, right: Inexact[Array, "n k"]) -> Inexact[Array, "n k"]:
        """By an LU decomposition."""
        return jnp.linalg.solve(point * jnp.eye(self.size) - self.entries, right)

    def cayley(self, point: ArrayLike) -> "DenseMatrix":
        """2z (z I - A)^-1 - I."""
        return DenseMatrix(2 * point * self.resolvent(point, jnp.eye(self.size)) - jnp.eye(self.size))

    def transpose(self) -> "DenseMatrix":
        """A^T."""
        return DenseMatrix(self.entries.T)

    def powers(self, right: Inexact[Array, "n k"], count: int) -> Inexact[Array, "count n k"]:
        """By doubling: log(count) products of matrices."""
        step = lambda power, block: jnp.einsum("ij,tjk->tik", power, block)
        return _doubled(right, count, self.entries, step, lambda power: power @ power)

    def eigenvalues(self) -> Complex[Array, " n"]:
        """By the QR algorithm."""
        return jnp.linalg.eigvals(self.entries)


class DiagonalMatrix(AbstractStateMatrix):
    """A diagonal matrix: a step costs N operations.

    Args:
        poles: the diagonal, real or complex.

    Raises:
        ShapeError: if the poles are not a vector, or if the vector is empty.
        DataError: for a pole that is not finite.
    """

    poles: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)

    def __check_init__(self):
        check_entries("poles", self.poles)
        check_fits("poles", self.poles, (self.poles.size,), "a vector")

    @property
    def size(self) -> int:
        """N."""
        return len(self.poles)

    def dense(self) -> Inexact[Array, "n n"]:
        """All entries."""
        return jnp.diag(self.poles)

    def times(self, states: Inexact[Array, "n *k"]) -> Inexact[Array, "n *k"]:
        """A h."""
        return self.poles.reshape(-1, *(1,) * (states.ndim - 1)) * states

    def resolvent(self, point: ArrayLike, right: Inexact[Array, "n k"]) -> Inexact[Array, "n k"]:
        """x_n / (z - l_n)."""
        return right / (point - self.poles)[:, None]

    def cayley(self, point: ArrayLike) -> "DiagonalMatrix":
        """(z + l_n) / (z - l_n)."""
        return DiagonalMatrix((point + self.poles) / (point - self.poles))

    def transpose(self) -> "DiagonalMatrix":
        """Itself."""
        return self

    def powers(self, right: Inexact[Array, "n k"], count: int) -> Inexact[Array, "count n k"]:
        """By doubling: count N numbers, then one product each."""
        start = jnp.ones((self.size, 1), self.poles.dtype)
        step = lambda power, block: power[:, None] * block
        return _doubled(start, count, self.poles, step, lambda power: power * power) * right

    def eigenvalues(self) -> Complex[Array, " n"]:
        """The diagonal."""
        return jax.lax.complex(self.poles.real, jnp.imag(self.poles))


class DiagonalPlusLowRank(AbstractStateMatrix):
    """diag(l) - P Q*, with P and Q of r columns: a step costs N r operations (Gu, Goel and Ré, 2022).

    Its Cayley transform has the same structure: with R = (z - diag(l))^-1, by Woodbury's identity,

        (z I - A)^-1 = R - R P (I + Q* R P)^-1 Q* R.

    Args:
        poles: l.
        left: P.
        right: Q.

    Raises:
        ShapeError: if the shapes do not fit.
        DataError: for an entry that is not finite.
    """

    poles: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)
    left: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)
    right: Inexact[Array, "..."] = eqx.field(converter=jnp.asarray)

    def __check_init__(self):
        for name, part in (("poles", self.poles), ("left factor", self.left), ("right factor", self.right)):
            check_entries(name, part)
        check_fits("poles", self.poles, (self.poles.size,), "a vector")
        check_fits("left factor", self.left, (len(self.poles), extent(self.left, 1)), "a row a pole, (N, r)")
        check_fits("right factor", self.right, self.left.shape, "the shape of the left factor")

    @property
    def size(self) -> int:
        """N."""
        return len(self.poles)

    def dense(self) -> Inexact[Array, "n n"]:
        """All entries."""
        return jnp.diag(self.poles) - self.left @ self.right.conj().T

    def times(self, states: Inexact[Array, "n *k"]) -> Inexact[Array, "n *k"]:
        """L h - P (Q* h)."""
        return DiagonalMatrix(self.poles).times(states) - self.left @ (self.right.conj().T @ states)

    def resolvent(self, point: ArrayLike, right: Inexact[Array, "n k"]) -> Inexact[Array, "n k"]:
        """By Woodbury's identity."""
        inverse = 1 / (jnp.asarray(point) - self.poles)
        scaled = lambda x: inverse[:, None] * x
        small = jnp.asarray(jnp.eye(self.left.shape[1]) + self.right.conj().T @ scaled(self.left))
        return scaled(right) - scaled(self.left) @ solved(small, jnp.asarray(self.right.conj().T @ scaled(right)))

    def cayley(self, point: ArrayLike) -> "DiagonalPlusLowRank":
        """2z (z I - A)^-1 - I. Its low-rank part is the low-rank part of the resolvent."""
        inverse = jnp.asarray(1 / (point - self.poles))
        left = jnp.asarray(inverse[:, None] * self.left)
        small = jnp.eye(self.left.shape[1]) + self.right.conj().T @ left
        factor = solved(small.T, left.T).T
        # (Q* R)* = R* Q
        return DiagonalPlusLowRank(
            (point + self.poles) * inverse, 2 * point * factor, inverse.conj()[:, None] * self.right
        )

    def transpose(self) -> "DiagonalPlusLowRank":
        """(P Q*)^T = conj(Q) conj(P)*."""
        return DiagonalPlusLowRank(self.poles, self.right.conj(), self.left.conj())

    def powers(self, right: Inexact[Array, "n k"], count: int) -> Inexact[Array, "count n k"]:
        """Step by step."""
        start = right.astype(jnp.result_type(right, self.poles, self.left, self.right))
        return jax.lax.scan(lambda state, _: (self.times(state), state), start, None, count)[1]

    def eigenvalues(self) -> Complex[Array, " n"]:
        """Of the dense matrix."""
        return jnp.linalg.eigvals(self.dense())


def solved(matrix: Inexact[Array, "r r"], right: Inexact[Array, "r k"]) -> Inexact[Array, "r k"]:
    """matrix^-1 right for the small matrix of Woodbury's identity: most often one number, which needs no factors."""
    return right / matrix if len(matrix) == 1 else jnp.linalg.solve(matrix, right)


def known_eigenvalues(matrix: AbstractStateMatrix) -> np.ndarray | None:
    """The eigenvalues, or None if the matrix is traced."""
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
    """X, A X, ..., A^(count - 1) X from log(count) doublings of the known columns, together with A^1, A^2, A^4, ..."""
    block = start[None].astype(jnp.result_type(start, power))
    while len(block) < count:
        block = jnp.concatenate([block, step(power, block)])
        power = squared(power)
    return block[:count]
