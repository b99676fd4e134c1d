"""False statements about norms of vectors and matrices, and about determinants."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Choice, Hypothesis, Integer, Population, Space, Status

from ._linear_algebra import singular_values, spectral_norm
from ._matrix_pairs import AbstractNorm, MatrixPair, pair_of
from ._textbook import HALVED, AbstractTextbook, Case, book


class AbstractTrace(AbstractNorm):
    """The trace of a product."""

    def measure(self, problem: MatrixPair, key: Key[Array, ""]) -> Array:
        return jnp.abs(jnp.sum(problem.first * problem.second.T))


def _both_singular_values(problem: MatrixPair) -> Array:
    return jnp.linalg.svd(jnp.stack([problem.first, problem.second]), compute_uv=False)


class TraceInequalityReversed(AbstractTrace):
    """|tr AB| is at most the sum of the products of the singular values of A in descending and of B in ascending
    order.
    """

    title = "Von Neumann's trace inequality with one order reversed"
    source = book("horn2013", "von Neumann's trace inequality, with the wrong order")
    expected = Status.REFUTED

    def predict(self, problem: MatrixPair) -> Array:
        first, second = _both_singular_values(problem)
        return first @ second[::-1]


class TraceInequality(AbstractTrace):
    """|tr AB| is at most the sum of the products of the singular values of A and B, both in descending order."""

    title = "Von Neumann's trace inequality"
    source = book("horn2013", "von Neumann's trace inequality")

    def predict(self, problem: MatrixPair) -> Array:
        first, second = _both_singular_values(problem)
        return first @ second


class SchurProductOfAnyMatrix(AbstractNorm):
    """The entrywise product of two matrices has a spectral norm of at most the largest entry of the first times the
    spectral norm of the second.
    """

    title = "Schur's product with any matrix"
    source = book("horn2013", "Schur's bound for entrywise products, with definiteness dropped")
    expected = Status.REFUTED

    def predict(self, problem: MatrixPair) -> Array:
        return jnp.abs(problem.first).max() * jnp.linalg.norm(problem.second, ord=2)

    def measure(self, problem: MatrixPair, key: Key[Array, ""]) -> Array:
        return spectral_norm(problem.first * problem.second)


class SchurProductOfDefinite(AbstractNorm):
    """The entrywise product of a positive semidefinite matrix F F' and another has a spectral norm of at most the
    largest entry of the first times the spectral norm of the second.
    """

    title = "Schur's product with a positive semidefinite matrix"
    source = book("horn2013", "Schur's bound for entrywise products")

    def predict(self, problem: MatrixPair) -> Array:
        return jnp.sum(problem.first**2, axis=1).max() * jnp.linalg.norm(problem.second, ord=2)

    def measure(self, problem: MatrixPair, key: Key[Array, ""]) -> Array:
        return spectral_norm((problem.first @ problem.first.T) * problem.second)


class AbstractSpectralNorm(AbstractNorm):
    """The spectral norm of the first matrix."""

    def measure(self, problem: MatrixPair, key: Key[Array, ""]) -> Array:
        return spectral_norm(problem.first)


class NormBelowBothSums(AbstractSpectralNorm):
    """The spectral norm of a matrix is at most its largest absolute row sum, and at most its largest column sum."""

    title = "The spectral norm is at most the smaller of two sums"
    source = book("horn2013", "the bound of the spectral norm by row and column sums, with one of them dropped")
    expected = Status.REFUTED

    def predict(self, problem: MatrixPair) -> Array:
        sizes = jnp.abs(problem.first)
        return jnp.minimum(sizes.sum(axis=0).max(), sizes.sum(axis=1).max())


class NormBelowMeanOfSums(AbstractSpectralNorm):
    """The spectral norm of a matrix is at most the geometric mean of its largest absolute row and column sums."""

    title = "The spectral norm is at most the geometric mean of two sums"
    source = book("horn2013", "the bound of the spectral norm by row and column sums")

    def predict(self, problem: MatrixPair) -> Array:
        sizes = jnp.abs(problem.first)
        return jnp.sqrt(sizes.sum(axis=0).max() * sizes.sum(axis=1).max())


class AbstractNuclear(AbstractNorm):
    """The sum of the singular values of the first matrix."""

    def measure(self, problem: MatrixPair, key: Key[Array, ""]) -> Array:
        return singular_values(problem.first).sum()


class NuclearNormWithASmallPower(AbstractNuclear):
    """The nuclear norm of an n x n matrix is at most n^0.45 times its Frobenius norm."""

    title = "The nuclear norm with n^0.45"
    source = book("horn2013", "the nuclear and the Frobenius norm, with a wrong power")
    expected = Status.REFUTED

    def predict(self, problem: MatrixPair) -> Array:
        return len(problem.first) ** 0.45 * jnp.linalg.norm(problem.first)


class NuclearNorm(AbstractNuclear):
    """The nuclear norm of an n x n matrix is at most sqrt(n) times its Frobenius norm, with equality for orthogonal
    matrices.
    """

    title = "The nuclear norm with sqrt(n)"
    source = book("horn2013", "the nuclear and the Frobenius norm")

    def predict(self, problem: MatrixPair) -> Array:
        return len(problem.first) ** 0.5 * jnp.linalg.norm(problem.first)


class SquareMatrix(eqx.Module):
    """A square matrix."""

    entries: Float[Array, "n n"]


class MatricesInACube(Population[SquareMatrix]):
    """Entries between -1 and 1."""

    free: ClassVar[tuple[str, ...]] = ("entries",)

    def settings(self) -> Space:
        return Space(n=Integer(3, 1, 6, "rows and columns"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> SquareMatrix:
        return SquareMatrix(jax.random.uniform(key, (setting["n"], setting["n"]), minval=-1.0))

    def hypotheses(self, problem: SquareMatrix) -> list[Hypothesis]:
        return [Hypothesis("entries are at most 1 in size", jnp.abs(problem.entries).max(), "<=", 1.0)]


class AbstractDeterminant(AbstractTextbook[SquareMatrix]):
    """The size of the determinant."""

    population = MatricesInACube()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: SquareMatrix, key: Key[Array, ""]) -> Array:
        return jnp.abs(jnp.linalg.det(problem.entries))

    def condition(self, problem: SquareMatrix) -> Array:
        return jnp.asarray(1e3)


class DeterminantBelowAPowerOfTwo(AbstractDeterminant):
    """The determinant of an n x n matrix with entries between -1 and 1 is at most 2^(n - 1) in size."""

    title = "Determinants of matrices in a cube are at most 2^(n - 1)"
    source = book("horn2013", "Hadamard's inequality, by the pattern of the first three sizes")
    expected = Status.REFUTED

    def predict(self, problem: SquareMatrix) -> Array:
        return jnp.asarray(2.0 ** (len(problem.entries) - 1))


class DeterminantBelowHadamard(AbstractDeterminant):
    """The determinant of an n x n matrix with entries between -1 and 1 is at most n^(n/2) in size, with equality for
    Hadamard's matrices.
    """

    title = "Hadamard's inequality for matrices in a cube"
    source = book("horn2013", "Hadamard's inequality")

    def predict(self, problem: SquareMatrix) -> Array:
        return jnp.asarray(len(problem.entries) ** (len(problem.entries) / 2))


class VectorPair(eqx.Module):
    """Two vectors and the name of a norm."""

    x: Float[Array, " d"]
    y: Float[Array, " d"]
    norm: str = eqx.field(static=True)

    def length(self, vector: Float[Array, " d"]) -> Float[Array, ""]:
        """The norm of a vector."""
        order = {"sum": 1, "euclidean": 2, "largest": jnp.inf}[self.norm]
        return jnp.linalg.norm(vector, ord=order)


class VectorPairs(Population[VectorPair]):
    """Normal coordinates, three norms."""

    free: ClassVar[tuple[str, ...]] = ("x", "y")

    def settings(self) -> Space:
        return Space(d=Integer(8, 1, 300), norm=Choice("euclidean", ("sum", "euclidean", "largest")))

    def sample(self, setting: dict, key: Key[Array, ""]) -> VectorPair:
        return VectorPair(*jax.random.normal(key, (2, setting["d"])), setting["norm"])

    def hypotheses(self, problem: VectorPair) -> list[Hypothesis]:
        largest, least = _extremes(problem)
        apart = jnp.abs(problem.x - problem.y).max()
        return [
            Hypothesis("neither vector is 0", least, ">=", 0.01),
            Hypothesis("they are moderate", largest, "<=", 1e3),
            Hypothesis("they differ", apart, ">=", 0.01),
        ]


def _extremes(problem: VectorPair) -> tuple[Array, Array]:
    """The largest coordinate of the larger and of the smaller vector."""
    sizes = jnp.abs(problem.x).max(), jnp.abs(problem.y).max()
    return jnp.maximum(*sizes), jnp.minimum(*sizes)


class AbstractVectors(AbstractTextbook[VectorPair]):
    """Bounds on two vectors."""

    population = VectorPairs()
    relation = AtMost()
    control = HALVED

    def condition(self, problem: VectorPair) -> Array:
        """Differences of vectors are rounded at the size of the larger one."""
        return 10 * len(problem.x) * _extremes(problem)[0] / jnp.abs(problem.x - problem.y).max()


class AbstractDirections(AbstractVectors):
    """The distance of the directions x/|x| and y/|y|."""

    def measure(self, problem: VectorPair, key: Key[Array, ""]) -> Array:
        return problem.length(problem.x / problem.length(problem.x) - problem.y / problem.length(problem.y))


class DirectionsInEveryNorm(AbstractDirections):
    """In each of the norms l1, l2 and l-infinity | x/|x| - y/|y| | <= 2 |x - y| / (|x| + |y|)."""

    title = "The inequality of Dunkl and Williams with the constant 2 in every norm"
    source = book("steele2004", "distances of directions, with the constant of Euclidean spaces")
    expected = Status.REFUTED

    def predict(self, problem: VectorPair) -> Array:
        return 2 * problem.length(problem.x - problem.y) / (problem.length(problem.x) + problem.length(problem.y))


class DirectionsWithFour(AbstractDirections):
    """In each of the norms l1, l2 and l-infinity | x/|x| - y/|y| | <= 4 |x - y| / (|x| + |y|)."""

    title = "The inequality of Dunkl and Williams"
    source = book("steele2004", "distances of directions, after Dunkl and Williams")

    def predict(self, problem: VectorPair) -> Array:
        return 4 * problem.length(problem.x - problem.y) / (problem.length(problem.x) + problem.length(problem.y))


class AbstractSumOfSizes(AbstractVectors):
    """The sum of the absolute coordinates of x."""

    def measure(self, problem: VectorPair, key: Key[Array, ""]) -> Array:
        return jnp.abs(problem.x).sum()


class SumNormWithAFourthRoot(AbstractSumOfSizes):
    """The l1 norm of a vector of d coordinates is at most 2 d^(1/4) times its Euclidean norm."""

    title = "The l1 norm with the fourth root of the dimension"
    source = book("steele2004", "the inequality of Cauchy and Schwarz, with a wrong power")
    expected = Status.REFUTED

    def predict(self, problem: VectorPair) -> Array:
        return 2 * len(problem.x) ** 0.25 * jnp.linalg.norm(problem.x)


class SumNorm(AbstractSumOfSizes):
    """The l1 norm of a vector of d coordinates is at most sqrt(d) times its Euclidean norm, with equality where all
    coordinates have the same size.
    """

    title = "The l1 norm with the root of the dimension"
    source = book("steele2004", "the inequality of Cauchy and Schwarz")

    def predict(self, problem: VectorPair) -> Array:
        return len(problem.x) ** 0.5 * jnp.linalg.norm(problem.x)


_SIGNS, _UNIT = [[1.0, 1.0], [1.0, -1.0]], [[1.0, 0.0], [0.0, 1.0]]
_ROW = [[1.0] * 4, [0.0] * 4, [0.0] * 4, [0.0] * 4]

CASES = (
    Case(
        TraceInequalityReversed(),
        TraceInequality(),
        "for n >= 2 where the singular vectors of A and B are aligned",
        {"n": 2},
        1.25,
        pair_of([[2.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, 1.0]]),
    ),
    Case(
        SchurProductOfAnyMatrix(),
        SchurProductOfDefinite(),
        "for n >= 2 where the signs of A undo those of B; off by up to sqrt(n)",
        {"n": 2},
        2**0.5,
        pair_of(_SIGNS, _SIGNS),
    ),
    Case(
        NormBelowBothSums(),
        NormBelowMeanOfSums(),
        "only for lopsided matrices, a row or a column much larger than the rest; off by up to sqrt(n)",
        {"n": 4},
        2.0,
        pair_of(_ROW, _ROW),
    ),
    Case(
        NuclearNormWithASmallPower(),
        NuclearNorm(),
        "only near orthogonal matrices, n >= 2; off by up to n^0.05, 1.035 for n = 2, 1.11 for n = 8",
        {"n": 2},
        2**0.05,
        pair_of(_UNIT, _UNIT),
    ),
    Case(
        DeterminantBelowAPowerOfTwo(),
        DeterminantBelowHadamard(),
        "only for n >= 4 and near matrices of signs; off by 2 for n = 4, 3 for n = 5",
        {"n": 4},
        2.0,
        lambda: SquareMatrix(jnp.kron(jnp.array(_SIGNS), jnp.array(_SIGNS))),
    ),
    Case(
        DirectionsInEveryNorm(),
        DirectionsWithFour(),
        "for d >= 2 in the l1 and l-infinity norms, not in the Euclidean one; off by up to 2",
        {"d": 2, "norm": "largest"},
        5 / 3,
        lambda: VectorPair(jnp.array([1.0, 1.0]), jnp.array([0.5, 1.5]), "largest"),
    ),
    Case(
        SumNormWithAFourthRoot(),
        SumNorm(),
        "only for d >= 17 and coordinates of nearly the same size (normal ones from d = 40 on)",
        {"d": 17},
        17**0.25 / 2,
        lambda: VectorPair(jnp.ones(17), jnp.zeros(17).at[0].set(2.0), "euclidean"),
    ),
)
