"""False statements about eigenvalues and eigenvectors."""

from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtLeast, AtMost, Choice, Hypothesis, Integer, Population, Real, Space, Status

from ._linear_algebra import eigenvalues, spectral_norm
from ._matrix_pairs import AbstractMatrixPair, MatrixPair, MatrixPairs, pair_of
from ._textbook import DOUBLED, HALVED, AbstractTextbook, Case, book


class AbstractInterlacing(AbstractTextbook[MatrixPair]):
    """The eigenvalues of F F' without its first row and column, F the first matrix."""

    population = MatrixPairs(least=2)
    relation = AtLeast(block=1)
    control = DOUBLED

    def measure(self, problem: MatrixPair, key: Key[Array, ""]) -> Array:
        left = problem.first[1:]
        return eigenvalues(left @ left.T)

    def condition(self, problem: MatrixPair) -> Array:
        return jnp.asarray(1e3)


class InterlacingOffByOne(AbstractInterlacing):
    """If a row and the same column of a positive semidefinite matrix M are struck out, the k-th largest eigenvalue of
    what is left is at least the k-th largest of M.
    """

    title = "Cauchy's interlacing, off by one"
    source = book("bhatia1997", "Cauchy's interlacing theorem, off by one")
    expected = Status.REFUTED

    def predict(self, problem: MatrixPair) -> Array:
        return jnp.linalg.eigvalsh(problem.first @ problem.first.T)[:0:-1]


class Interlacing(AbstractInterlacing):
    """If a row and the same column of a positive semidefinite matrix M are struck out, the k-th largest eigenvalue of
    what is left is at least the (k + 1)-th largest of M.
    """

    title = "Cauchy's interlacing"
    source = book("bhatia1997", "Cauchy's interlacing theorem")

    def predict(self, problem: MatrixPair) -> Array:
        return jnp.maximum(jnp.linalg.eigvalsh(problem.first @ problem.first.T)[-2::-1], 0.0)


class AbstractWeyl(AbstractMatrixPair):
    """By how much the k-th largest eigenvalue moves, for the k for which it moves most."""

    def measure(self, problem: MatrixPair, key: Key[Array, ""]) -> Array:
        a, b = problem.symmetric
        return jnp.abs(eigenvalues(a + b) - eigenvalues(a)).max()

    def condition(self, problem: MatrixPair) -> Array:
        """Differences of eigenvalues are rounded at the size of the larger matrix."""
        a, b = problem.symmetric
        return 1e3 * (jnp.abs(a).max() + jnp.abs(b).max()) / jnp.abs(b).max()


class WeylByTheLargestEntry(AbstractWeyl):
    """A symmetric perturbation B moves no eigenvalue (in order) of a symmetric matrix by more than the largest entry of
    B.
    """

    title = "Weyl's inequality by the largest entry"
    source = book("bhatia1997", "Weyl's perturbation theorem, without a norm of operators")
    expected = Status.REFUTED

    def predict(self, problem: MatrixPair) -> Array:
        return jnp.abs(problem.symmetric[1]).max()


class WeylPerturbation(AbstractWeyl):
    """A symmetric perturbation B moves no eigenvalue (in order) of a symmetric matrix by more than the spectral norm of
    B.
    """

    title = "Weyl's perturbation theorem"
    source = book("bhatia1997", "Weyl's perturbation theorem")

    def predict(self, problem: MatrixPair) -> Array:
        return jnp.abs(jnp.linalg.eigvalsh(problem.symmetric[1])).max()


class AbstractGershgorin(AbstractMatrixPair):
    """Of all eigenvalues the largest distance to the nearest centre, in radii."""

    def hypotheses(self, problem: MatrixPair) -> list[Hypothesis]:
        return [Hypothesis("no radius vanishes", _radii(problem.symmetric[0]).min(initial=1.0), ">=", 1e-3)]

    def measure(self, problem: MatrixPair, key: Key[Array, ""]) -> Array:
        matrix = problem.symmetric[0]
        distances = jnp.abs(eigenvalues(matrix)[:, None] - jnp.diagonal(matrix))
        return (distances / _radii(matrix)).min(axis=1).max()

    def condition(self, problem: MatrixPair) -> Array:
        """Distances are rounded at the size of the matrix, and counted in radii."""
        matrix = problem.symmetric[0]
        return 1e3 * (1 + jnp.abs(matrix).max() / _radii(matrix).min())


def _radii(matrix: Float[Array, "n n"]) -> Float[Array, " n"]:
    return jnp.abs(matrix - jnp.diag(jnp.diagonal(matrix))).sum(axis=1)


class GershgorinHalfRadius(AbstractGershgorin):
    """Every eigenvalue of a symmetric matrix is within half of the sum of the other entries of some row of the
    diagonal entry of that row.
    """

    title = "Gershgorin's discs with half the radius"
    source = book("horn2013", "Gershgorin's theorem, with half of the radius")
    expected = Status.REFUTED

    def predict(self, problem: MatrixPair) -> Array:
        return jnp.asarray(0.5)


class GershgorinDiscs(AbstractGershgorin):
    """Every eigenvalue of a symmetric matrix is within the sum of the absolute values of the other entries of some row
    of the diagonal entry of that row.
    """

    title = "Gershgorin's discs"
    source = book("horn2013", "Gershgorin's theorem")

    def predict(self, problem: MatrixPair) -> Array:
        return jnp.asarray(1.0)


class ShapedPair(eqx.Module):
    """Two 2 x 2 matrices, of which a shape takes the symmetric part, the upper triangle or all."""

    first: Float[Array, "2 2"]
    second: Float[Array, "2 2"]
    shape: str = eqx.field(static=True)

    @property
    def both(self) -> tuple[Float[Array, "2 2"], Float[Array, "2 2"]]:
        """The shaped matrices."""
        shapes = {"symmetric": lambda m: (m + m.T) / 2, "triangular": jnp.triu, "general": lambda m: m}
        return shapes[self.shape](self.first), shapes[self.shape](self.second)


def _radius(matrix: Float[Array, "2 2"]) -> Float[Array, ""]:
    """The spectral radius, from trace and determinant."""
    half, determinant = jnp.trace(matrix) / 2, matrix[0, 0] * matrix[1, 1] - matrix[0, 1] * matrix[1, 0]
    under = half**2 - determinant
    real, complex_ = under >= 0, under < 0
    at_real = jnp.abs(half) + jnp.sqrt(jnp.where(real, under, 1.0))
    return jnp.where(real, at_real, jnp.sqrt(jnp.where(complex_, determinant, 1.0)))


class ShapedPairs(Population[ShapedPair]):
    """Normal entries, three shapes."""

    free: ClassVar[tuple[str, ...]] = ("first", "second")

    def settings(self) -> Space:
        return Space(shape=Choice("symmetric", ("symmetric", "triangular", "general")))

    def sample(self, setting: dict, key: Key[Array, ""]) -> ShapedPair:
        return ShapedPair(*jax.random.normal(key, (2, 2, 2)), setting["shape"])

    def hypotheses(self, problem: ShapedPair) -> list[Hypothesis]:
        sizes = jnp.stack([jnp.abs(problem.first).max(), jnp.abs(problem.second).max()])
        radii = jnp.stack([_radius(matrix) for matrix in problem.both])
        return [
            Hypothesis("entries are moderate", sizes.max(), "<=", 100.0),
            Hypothesis("the spectral radii are not 0", radii.min(), ">=", 0.01),
        ]


class AbstractRadius(AbstractTextbook[ShapedPair]):
    """The spectral radius of the product."""

    population = ShapedPairs()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: ShapedPair, key: Key[Array, ""]) -> Array:
        first, second = problem.both
        return _radius(first @ second)

    def condition(self, problem: ShapedPair) -> Array:
        """Eigenvalues that meet are known to the root of the rounding."""
        return jnp.asarray(1e8)


class RadiusIsSubmultiplicative(AbstractRadius):
    """The spectral radius of a product of two matrices is at most the product of their spectral radii."""

    title = "The spectral radius is submultiplicative"
    source = book("horn2013", "the spectral radius of a product, as if it were a norm")
    expected = Status.REFUTED

    def predict(self, problem: ShapedPair) -> Array:
        first, second = problem.both
        return _radius(first) * _radius(second)


class RadiusBelowNorms(AbstractRadius):
    """The spectral radius of a product of two matrices is at most the product of their spectral norms."""

    title = "The spectral radius of a product is at most the product of norms"
    source = book("horn2013", "the spectral radius is below every norm of operators")

    def predict(self, problem: ShapedPair) -> Array:
        return jnp.prod(jnp.linalg.svd(jnp.stack(problem.both), compute_uv=False)[:, 0])


class DiagonalPerturbed(eqx.Module):
    """A diagonal matrix and a symmetric perturbation, the symmetric part of what is given."""

    diagonal: Float[Array, " n"]
    perturbation: Float[Array, "n n"]

    @property
    def symmetric(self) -> Float[Array, "n n"]:
        """The perturbation."""
        return (self.perturbation + self.perturbation.T) / 2

    @property
    def gap(self) -> Float[Array, ""]:
        """The largest eigenvalue less the second."""
        ordered = -jnp.sort(-self.diagonal)
        return ordered[0] - ordered[1]


class DiagonalsPerturbed(Population[DiagonalPerturbed]):
    """Normal entries, those of the perturbation times a scale."""

    free: ClassVar[tuple[str, ...]] = ("diagonal", "perturbation")

    def settings(self) -> Space:
        return Space(n=Integer(4, 2, 8), scale=Real(0.05, 0.01, 1.0, "size of the perturbation"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> DiagonalPerturbed:
        n = setting["n"]
        normal = jax.random.normal(key, (n + 1, n))
        # the first eigenvalue stands above the others
        diagonal = normal[0].at[0].set(jnp.abs(normal[0]).max() + 1)
        return DiagonalPerturbed(diagonal, setting["scale"] * normal[1:])

    def hypotheses(self, problem: DiagonalPerturbed) -> list[Hypothesis]:
        size = jnp.abs(problem.diagonal).max()
        return [
            Hypothesis("there is a gap", problem.gap, ">=", 0.01),
            Hypothesis("eigenvalues are moderate", size, "<=", 100.0),
            Hypothesis("there is a perturbation", jnp.abs(problem.symmetric).max(), ">=", 1e-3),
            Hypothesis("the perturbation is moderate", jnp.abs(problem.symmetric).max(), "<=", 100.0),
        ]


class AbstractEigenvectorTurns(AbstractTextbook[DiagonalPerturbed]):
    """The sine of the angle by which the leading eigenvector turns."""

    population = DiagonalsPerturbed()
    relation = AtMost()
    control = HALVED

    def measure(self, problem: DiagonalPerturbed, key: Key[Array, ""]) -> Array:
        leading = jnp.linalg.eigh(jnp.diag(problem.diagonal) + problem.symmetric)[1][:, -1]
        first = jnp.arange(len(leading)) == jnp.argmax(problem.diagonal)
        return jnp.linalg.norm(jnp.where(first, 0.0, leading))

    def condition(self, problem: DiagonalPerturbed) -> Array:
        """The eigenvector found is that of a matrix off by rounding, beside a perturbation that may be small."""
        sizes = jnp.abs(problem.diagonal).max(), jnp.abs(problem.symmetric).max()
        return 100 * (sizes[0] + sizes[1]) * (1 / sizes[1] + 1 / problem.gap)


class EigenvectorTurnsByTheGap(AbstractEigenvectorTurns):
    """A symmetric perturbation E turns the leading eigenvector of a symmetric matrix, whose gap to the second
    eigenvalue is g, by an angle of sine at most |E| / g, |E| the spectral norm.
    """

    title = "Davis and Kahan with the constant 1 and the gap before the perturbation"
    source = book("bhatia1997", "the sine theorem of Davis and Kahan, with the wrong gap")
    expected = Status.REFUTED

    def predict(self, problem: DiagonalPerturbed) -> Array:
        return spectral_norm(problem.symmetric) / problem.gap


class EigenvectorTurnsByTwiceTheGap(AbstractEigenvectorTurns):
    """A symmetric perturbation E turns the leading eigenvector of a symmetric matrix, whose gap to the second
    eigenvalue is g, by an angle of sine at most 2 |E| / g, |E| the spectral norm.
    """

    title = "Davis and Kahan with the constant 2"
    source = book("bhatia1997", "the sine theorem of Davis and Kahan, by the gap before the perturbation")

    def predict(self, problem: DiagonalPerturbed) -> Array:
        return 2 * spectral_norm(problem.symmetric) / problem.gap


_ONES, _UNIT = [[1.0, 1.0], [1.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]]

CASES = (
    Case(
        InterlacingOffByOne(),
        Interlacing(),
        "for every matrix whose struck row has other entries than the diagonal one and matters",
        {"n": 2},
        2.0,
        pair_of([[1.0, 0.0], [1.0, 0.0]], _UNIT),
    ),
    Case(
        WeylByTheLargestEntry(),
        WeylPerturbation(),
        "for n >= 2 where B has a vector of signs as eigenvector; off by up to n",
        {"n": 2},
        2.0,
        pair_of(_UNIT, _ONES),
    ),
    Case(
        GershgorinHalfRadius(),
        GershgorinDiscs(),
        "for n = 2 with near equal diagonal entries, and for larger n with rows of the same sign; off by up to 2",
        {"n": 2},
        2.0,
        pair_of(_ONES, _UNIT),
    ),
    Case(
        RadiusIsSubmultiplicative(),
        RadiusBelowNorms(),
        "only for general matrices, not for symmetric or triangular ones; off by any factor",
        {"shape": "general"},
        3 + 8**0.5,
        lambda: ShapedPair(jnp.array([[1.0, 2.0], [0.0, 1.0]]), jnp.array([[1.0, 0.0], [2.0, 1.0]]), "general"),
    ),
    Case(
        EigenvectorTurnsByTheGap(),
        EigenvectorTurnsByTwiceTheGap(),
        "only where eigenvalues nearly cross, |E| just above half of the gap along both eigenvectors; off by up to 2",
        {"n": 2},
        1 / 0.6,
        lambda: DiagonalPerturbed(jnp.array([1.0, 0.0]), jnp.diag(jnp.array([-0.6, 0.6]))),
    ),
)
