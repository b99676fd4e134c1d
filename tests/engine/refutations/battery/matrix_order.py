"""False statements about the order of matrices: roots, squares, exponentials, means of positive semidefinite ones."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Hypothesis, Integer, Population, Real, Space, Status

from ._linear_algebra import eigenvalues, exponential, spectral_norm, square_root
from ._textbook import HALVED, AbstractTextbook, Case, book


class Matrices(eqx.Module):
    """Three square matrices, of which claims take F F' or the symmetric part."""

    factors: Float[Array, "3 n n"]

    @property
    def definite(self) -> Float[Array, "3 n n"]:
        """F F'."""
        return self.factors @ self.factors.mT

    @property
    def symmetric(self) -> Float[Array, "3 n n"]:
        """The symmetric parts."""
        return (self.factors + self.factors.mT) / 2


class MatricesOfFactors(Population[Matrices]):
    """Normal entries times a scale."""

    free: ClassVar[tuple[str, ...]] = ("factors",)

    def settings(self) -> Space:
        return Space(n=Integer(4, 1, 6, "rows and columns"), scale=Real(0.5, 0.1, 1.0, "size of entries"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> Matrices:
        return Matrices(setting["scale"] * jax.random.normal(key, (3, setting["n"], setting["n"])))

    def hypotheses(self, problem: Matrices) -> list[Hypothesis]:
        sizes = jnp.abs(problem.factors).max(axis=(1, 2))
        return [
            Hypothesis("entries are moderate", sizes.max(), "<=", 5.0),
            Hypothesis("no matrix vanishes", sizes.min(), ">=", 0.01),
        ]


class AbstractOrder(AbstractTextbook[Matrices]):
    """Bounds."""

    population = MatricesOfFactors()
    relation = AtMost()
    control = HALVED


def _share(matrix: Array) -> Array:
    """The smallest eigenvalue over the trace."""
    return eigenvalues(matrix)[-1] / jnp.trace(matrix)


class AbstractRootOfSum(AbstractOrder):
    """P and Q, the roots of A and B, are given; A + B is definite enough to take its root."""

    def hypotheses(self, problem: Matrices) -> list[Hypothesis]:
        first, second, _ = problem.definite
        return [Hypothesis("the roots add up to a definite matrix", _share(first + second), ">=", 1e-3)]

    def condition(self, problem: Matrices) -> Array:
        return jnp.asarray(1e8)


class RootIsSubadditive(AbstractRootOfSum):
    """For positive semidefinite A and B, with roots P and Q, the root of A + B is at most P + Q in Loewner's order: the
    largest eigenvalue of (P + Q)^(-1/2) (A + B)^(1/2) (P + Q)^(-1/2) is at most 1.
    """

    title = "The matrix square root is subadditive"
    source = book("bhatia1997", "the square root of a sum, as if matrices were numbers")
    expected = Status.REFUTED

    def predict(self, problem: Matrices) -> Array:
        return jnp.ones(())

    def measure(self, problem: Matrices, key: Key[Array, ""]) -> Array:
        first, second, _ = problem.definite
        root, _ = square_root(first @ first + second @ second)
        _, inverse = square_root(first + second)
        return eigenvalues(inverse @ root @ inverse)[0]


class TraceOfRootIsSubadditive(AbstractRootOfSum):
    """For positive semidefinite A and B, with roots P and Q, the trace of the root of A + B is at most tr P + tr Q."""

    title = "The trace of the matrix square root is subadditive"
    source = book("bhatia1997", "Rotfel'd's inequality for the square root")

    def predict(self, problem: Matrices) -> Array:
        return jnp.sum(problem.factors[:2] ** 2)

    def measure(self, problem: Matrices, key: Key[Array, ""]) -> Array:
        first, second, _ = problem.definite
        squared = jnp.linalg.eigvalsh(first @ first + second @ second)
        return jnp.sqrt(jnp.maximum(squared, 0.0)).sum()


class AbstractMonotone(AbstractOrder):
    """A = P², B = A + Q, of which the second is definite enough to be inverted."""

    def hypotheses(self, problem: Matrices) -> list[Hypothesis]:
        first, second, _ = problem.definite
        return [Hypothesis("the larger matrix is definite", _share(first @ first + second), ">=", 1e-3)]

    def predict(self, problem: Matrices) -> Array:
        return jnp.ones(())

    def condition(self, problem: Matrices) -> Array:
        return jnp.asarray(1e8)


class SquareIsMonotone(AbstractMonotone):
    """If 0 <= A <= B in Loewner's order, B definite, then A² <= B²: the largest eigenvalue of B^-1 A² B^-1 is at most
    1.
    """

    title = "The square is monotone"
    source = book("bhatia1997", "operator monotone functions, with a power above 1")
    expected = Status.REFUTED

    def measure(self, problem: Matrices, key: Key[Array, ""]) -> Array:
        root, larger = problem.definite[0], problem.definite[0] @ problem.definite[0] + problem.definite[1]
        _, inverse = square_root(larger)
        return spectral_norm(root @ root @ inverse @ inverse) ** 2


class RootIsMonotone(AbstractMonotone):
    """If 0 <= A <= B in Loewner's order, B definite, then the root of A is at most that of B: the largest eigenvalue of
    B^(-1/4) A^(1/2) B^(-1/4) is at most 1.
    """

    title = "The square root is monotone"
    source = book("bhatia1997", "the theorem of Loewner and Heinz")

    def measure(self, problem: Matrices, key: Key[Array, ""]) -> Array:
        root, larger = problem.definite[0], problem.definite[0] @ problem.definite[0] + problem.definite[1]
        _, inverse = square_root(square_root(larger)[0])
        return eigenvalues(inverse @ root @ inverse)[0]


class AbstractRootsApart(AbstractOrder):
    """The squared Frobenius norm of P - Q, the roots of A and B."""

    def hypotheses(self, problem: Matrices) -> list[Hypothesis]:
        first, second, _ = problem.definite
        apart = jnp.linalg.norm(first - second) / jnp.linalg.norm(first + second)
        return [Hypothesis("the matrices differ", apart, ">=", 1e-3)]

    def measure(self, problem: Matrices, key: Key[Array, ""]) -> Array:
        return jnp.sum((problem.definite[0] - problem.definite[1]) ** 2)

    def condition(self, problem: Matrices) -> Array:
        return jnp.asarray(1e6)


class RootsApartInFrobeniusNorm(AbstractRootsApart):
    """The roots of positive semidefinite matrices A and B are apart by at most the root of |A - B|, both in the
    Frobenius norm.
    """

    title = "The square root is Hoelder continuous in the Frobenius norm"
    source = book("bhatia1997", "the inequality of Powers and Stormer, with the wrong norm")
    expected = Status.REFUTED

    def predict(self, problem: Matrices) -> Array:
        first, second, _ = problem.definite
        return jnp.linalg.norm(first @ first - second @ second)


class RootsApartInNuclearNorm(AbstractRootsApart):
    """The roots of positive semidefinite matrices A and B are apart, in the Frobenius norm, by at most the root of the
    nuclear norm of A - B, with equality for B = 0.
    """

    title = "The inequality of Powers and Stormer"
    source = book("bhatia1997", "the inequality of Powers and Stormer")

    def predict(self, problem: Matrices) -> Array:
        first, second, _ = problem.definite
        return jnp.abs(jnp.linalg.eigvalsh(first @ first - second @ second)).sum()


class GoldenThompsonForThree(AbstractOrder):
    """For symmetric A, B and C tr exp(A + B + C) <= |tr exp(A) exp(B) exp(C)|."""

    title = "The inequality of Golden and Thompson for three matrices"
    source = book("bhatia1997", "the inequality of Golden and Thompson, with one matrix too many")
    expected = Status.REFUTED

    def predict(self, problem: Matrices) -> Array:
        first, second, third = problem.symmetric
        return jnp.abs(jnp.trace(exponential(first) @ exponential(second) @ exponential(third)))

    def measure(self, problem: Matrices, key: Key[Array, ""]) -> Array:
        return jnp.exp(jnp.linalg.eigvalsh(problem.symmetric.sum(axis=0))).sum()

    def condition(self, problem: Matrices) -> Array:
        sizes = jnp.linalg.norm(problem.symmetric, axis=(1, 2))
        return 1e3 * jnp.exp(sizes.sum()) / self.predict(problem)


class GoldenThompson(AbstractOrder):
    """For symmetric A and B tr exp(A + B) <= tr exp(A) exp(B), with equality where they commute."""

    title = "The inequality of Golden and Thompson"
    source = book("bhatia1997", "the inequality of Golden and Thompson")

    def predict(self, problem: Matrices) -> Array:
        first, second, _ = problem.symmetric
        return jnp.trace(exponential(first) @ exponential(second))

    def measure(self, problem: Matrices, key: Key[Array, ""]) -> Array:
        return jnp.exp(jnp.linalg.eigvalsh(problem.symmetric[:2].sum(axis=0))).sum()

    def condition(self, problem: Matrices) -> Array:
        sizes = jnp.linalg.norm(problem.symmetric[:2], axis=(1, 2))
        return 1e3 * jnp.exp(sizes.sum()) / self.predict(problem)


class GeometricMeanOfThree(AbstractOrder):
    """For positive semidefinite A, B and C |ABC| <= |(A + B + C) / 3|³ in the spectral norm."""

    title = "The inequality of the means for three matrices"
    source = book("bhatia1997", "the arithmetic and the geometric mean, with one matrix too many")
    expected = Status.REFUTED

    def predict(self, problem: Matrices) -> Array:
        return jnp.linalg.eigvalsh(problem.definite.mean(axis=0))[-1] ** 3

    def measure(self, problem: Matrices, key: Key[Array, ""]) -> Array:
        first, second, third = problem.definite
        return spectral_norm(first @ second @ third)

    def condition(self, problem: Matrices) -> Array:
        return jnp.asarray(1e3)


class GeometricMeanOfTwo(AbstractOrder):
    """For positive semidefinite A and B |AB| <= |(A + B) / 2|² in the spectral norm, with equality for A = B."""

    title = "The inequality of the means for two matrices"
    source = book("bhatia1997", "the arithmetic and the geometric mean of Bhatia and Kittaneh")

    def predict(self, problem: Matrices) -> Array:
        return jnp.linalg.eigvalsh(problem.definite[:2].mean(axis=0))[-1] ** 2

    def measure(self, problem: Matrices, key: Key[Array, ""]) -> Array:
        return spectral_norm(problem.definite[0] @ problem.definite[1])

    def condition(self, problem: Matrices) -> Array:
        return jnp.asarray(1e3)


def _of(*matrices: object):
    return lambda: Matrices(jnp.asarray(np.array(matrices, float)))


_FIRST, _UNIT = [[1, 0], [0, 0]], [[1, 0], [0, 1]]
_SLANTED = (np.array([[1, 0], [1, 0]]) / 2**0.5).tolist()


def _planar(size: float, angle: float) -> np.ndarray:
    """A traceless symmetric matrix with eigenvalues ± size; angles of 0 and 180 degrees are a sign apart."""
    c, s = size * np.cos(angle), size * np.sin(angle)
    return np.array([[c, s], [s, -c]])


def _line(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), 0.0], [np.sin(angle), 0.0]])


_THIRDS = [2 * np.pi * turn / 3 for turn in range(3)]

CASES = (
    Case(
        RootIsSubadditive(),
        TraceOfRootIsSubadditive(),
        "for n >= 2 and matrices near projections that do not commute; true in the trace",
        {"n": 2},
        (1 - 0.5**0.5) ** -0.5,
        _of(_FIRST, _SLANTED, _UNIT),
    ),
    Case(
        SquareIsMonotone(),
        RootIsMonotone(),
        "for n >= 2 where B - A does not commute with A; off by up to 2 and more",
        {"n": 2},
        2.0,
        _of(_FIRST, _SLANTED, _UNIT),
    ),
    Case(
        RootsApartInFrobeniusNorm(),
        RootsApartInNuclearNorm(),
        "for n >= 2 where one matrix is much smaller than the other and the other has several equal eigenvalues; "
        "off by up to sqrt(n)",
        {"n": 2},
        2**0.5 * (1 - 1e-4) / (1 + 1e-4),
        _of(_UNIT, 0.01 * np.eye(2), _UNIT),
    ),
    Case(
        GoldenThompsonForThree(),
        GoldenThompson(),
        "for n >= 2 where the three do not commute and nearly cancel; off by any factor",
        {"n": 2},
        2**0.5,
        _of(*(_planar(np.arcsinh(1.0), turn) for turn in _THIRDS)),
    ),
    Case(
        GeometricMeanOfThree(),
        GeometricMeanOfTwo(),
        "for n >= 2 and matrices near rank one, at best three lines 60 degrees apart; off by up to 2 and more",
        {"n": 2},
        2.0,
        _of(*(_line(turn / 2) for turn in _THIRDS)),
    ),
)
