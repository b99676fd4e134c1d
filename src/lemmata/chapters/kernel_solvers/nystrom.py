"""Approximations of a Gram matrix of low rank: their error against the effective dimension.

This theory controls what a few columns, random products or random features miss of a Gram matrix, and what the missing
does to kernel ridge regression. It assumes a positive semidefinite matrix and a ridge; it leaves unexplained how small
the effective dimension of a given kernel on given data is.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.claims import AtMost, Claim, Control, EqualInMean, Hypothesis, Integer, Real, Source, Space
from lemmata.kernels import RBF, Linear, gram
from lemmata.solvers import nystrom_approximation

_DELTA = 0.1


class GramMatrix(eqx.Module):
    """A Gram matrix.

    Args:
        matrix: K.
    """

    matrix: Float[Array, "n n"]


class RegularisedPoints(eqx.Module):
    """Points with a Gaussian kernel and a ridge, and the size of an approximation.

    Args:
        x: points.
        lengthscale: of the kernel.
        ridge: on the diagonal.
        size: the rank of an approximation, or its number of features.
    """

    x: Float[Array, "n d"]
    lengthscale: Float[Array, ""]
    ridge: Float[Array, ""]
    size: int = eqx.field(static=True)

    @property
    def gram(self) -> Float[Array, "n n"]:
        """The Gram matrix."""
        return gram(RBF(self.lengthscale), self.x)


def regularised_dimension(matrix: Float[Array, "n n"], ridge: Float[Array, ""] | float) -> Float[Array, ""]:
    """The effective dimension tr K (K + ridge I)^-1, by a linear solve."""
    return jnp.trace(jnp.linalg.solve(matrix + ridge * jnp.eye(len(matrix)), matrix))


def _points(setting: dict, key: Key[Array, ""]) -> RegularisedPoints:
    x = jax.random.normal(key, (setting["n"], setting["d"]))
    ridge, lengthscale = (jnp.asarray(setting[name], float) for name in ("ridge", "lengthscale"))
    return RegularisedPoints(x, lengthscale, ridge, setting["size"])


def _space(n: int, d: int, lengthscale: float, ridge: float, size: int, what: str) -> Space:
    return Space(
        n=Integer(n, 4, 300, "points"),
        d=Integer(d, 1, 64, "dimension"),
        lengthscale=Real(lengthscale, 0.1, 10.0, "of the kernel; the points are standard normal"),
        ridge=Real(ridge, 1e-6, 1e3, "on the diagonal"),
        size=Integer(size, 1, 100_000, what),
    )


class PivotedCholeskyStep(Claim[GramMatrix]):
    """A column of K drawn with probability K_ii / tr K leaves, in expectation, the trace

        E tr(K - F F^T) = tr K - tr K² / tr K

    missing. (Its later steps obey the same law on what is missing then.)
    """

    title = "One step of randomly pivoted Cholesky"
    source = Source("chen2025rpcholesky", "proof of the main theorem", note="the expected residual function")
    relation = EqualInMean(resolution=0.02)
    label = "identity"
    controls = "the trace norm of what a partial Cholesky factorisation misses"
    unexplained = "the law after several steps, which is only bounded"
    problem = GramMatrix
    trials = 256

    def settings(self) -> Space:
        """Points and dimension."""
        return Space(n=Integer(24, 2, 200, "points"), d=Integer(4, 1, 64, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> GramMatrix:
        """Inner products of normal points, whose coordinate j has the scale 1/j."""
        x = jax.random.normal(key, (setting["n"], setting["d"])) / jnp.arange(1, setting["d"] + 1)
        return GramMatrix(gram(Linear(), x))

    def hypotheses(self, problem: GramMatrix) -> list[Hypothesis]:
        """A positive semidefinite matrix that is not 0."""
        values = jnp.linalg.eigvalsh(problem.matrix)
        floor = 16 * len(values) * jnp.finfo(float).eps * values[-1]
        return [
            Hypothesis("K is positive semidefinite (smallest eigenvalue)", values[0], ">=", -floor, "to rounding"),
            Hypothesis("the trace of K is positive", values.sum(), ">", 0.0, "or there is nothing to draw"),
        ]

    def predict(self, problem: GramMatrix) -> Array:
        """The expectation."""
        trace = jnp.trace(problem.matrix)
        return trace - jnp.sum(problem.matrix**2) / trace

    def measure(self, problem: GramMatrix, key: Key[Array, ""]) -> Array:
        """The mean over 64 random pivots of what each leaves."""
        diagonal = jnp.diagonal(problem.matrix)
        pivots = jax.random.categorical(key, jnp.log(diagonal), shape=(64,))
        columns = problem.matrix[:, pivots] / jnp.sqrt(diagonal[pivots])
        return jnp.mean(jnp.sum(diagonal[:, None] - columns**2, axis=0))

    def control(self) -> Control:
        """The expectation over uniform pivots."""

        def uniform(missing, problem):
            diagonal = jnp.diagonal(problem.matrix)
            return jnp.sum(diagonal) - jnp.mean(jnp.sum(problem.matrix**2, axis=0) / diagonal)

        return Control("every column is as good as another", uniform)


class NystromCondition(Claim[RegularisedPoints]):
    """Let U diag(a) U^T be the Nyström approximation of K from l random normal products, with

        l >= 2 ceil(1.5 tr K (K + ridge I)^-1) + 1.

    The preconditioner P = U diag(a + ridge) U^T / (a_l + ridge) + I - U U^T then has E cond(P^-1 (K + ridge I)) < 28,
    so that the condition number is at most 280 with probability at least 0.9 (Markov).
    """

    title = "A Nyström preconditioner of twice the effective dimension"
    source = Source("frangella2023", "Theorem 1.1")
    relation = AtMost(delta=_DELTA)
    label = "upper"
    controls = "the iterations of conjugate gradients with a Nyström preconditioner"
    unexplained = "the constant, which is far from sharp"
    problem = RegularisedPoints
    trials = 128
    traced = False

    def settings(self) -> Space:
        """Points, kernel, ridge, rank."""
        return _space(40, 2, 1.5, 1.0, 25, "random products")

    def sample(self, setting: dict, key: Key[Array, ""]) -> RegularisedPoints:
        """Standard normal points."""
        return _points(setting, key)

    def hypotheses(self, problem: RegularisedPoints) -> list[Hypothesis]:
        """A rank that is large enough, and a ridge."""
        needed = 2 * math.ceil(1.5 * float(regularised_dimension(problem.gram, problem.ridge))) + 1
        return [
            Hypothesis("the rank", problem.size, ">=", needed, "twice 1.5 effective dimensions, and one"),
            Hypothesis("the ridge is positive", problem.ridge, ">", 0.0, "so that P is invertible"),
        ]

    def predict(self, problem: RegularisedPoints) -> Array:
        """The bound, whatever the problem."""
        return jnp.asarray(28 / _DELTA)

    def measure(self, problem: RegularisedPoints, key: Key[Array, ""]) -> Array:
        """The condition number of P^-1/2 (K + ridge I) P^-1/2."""
        found = nystrom_approximation(problem.gram, min(problem.size, len(problem.x)), key)
        vectors, values, ridge = np.asarray(found.eigenvectors), np.asarray(found.eigenvalues), float(problem.ridge)
        half = np.eye(len(vectors)) + (vectors * (np.sqrt((values[-1] + ridge) / (values + ridge)) - 1)) @ vectors.T
        spread = np.linalg.eigvalsh(half @ (np.asarray(problem.gram) + ridge * np.eye(len(half))) @ half)
        return jnp.asarray(spread[-1] / spread[0])

    def trivial(self, problem: RegularisedPoints) -> Array:
        """The condition number without a preconditioner."""
        values = np.linalg.eigvalsh(problem.gram) + float(problem.ridge)
        return jnp.asarray(values[-1] / values[0])

    def control(self) -> Control:
        """What the best approximation of that rank attains."""

        def best(bound, problem):
            values = np.sort(np.linalg.eigvalsh(problem.gram))[::-1] + float(problem.ridge)
            return jnp.asarray(values[min(problem.size, len(values)) - 1] / values[-1])

        return Control("random products are as good as the leading eigenvectors", best)


class FeaturesSpectralBound(Claim[RegularisedPoints]):
    """Let Z hold m random Fourier features exp(i <w, x>)/sqrt(m) of a Gaussian kernel with |K| >= ridge. Where

        D = sqrt( (8/3) (n / ridge) ln(16 s / delta) / m ) <= 1/2,    s = tr K (K + ridge I)^-1,

    with probability at least 1 - delta, (1 - D)(K + ridge I) <= Z Z* + ridge I <= (1 + D)(K + ridge I), so that kernel
    ridge regression with features has at most a constant times the risk of the kernel's. Here delta = 0.1.
    """

    title = "Random features against the effective dimension"
    source = Source("avron2017", "Theorem 7")
    relation = AtMost(delta=_DELTA)
    label = "upper"
    controls = "how many features make a prediction like the kernel's"
    unexplained = "why fewer often do: n / ridge bounds every leverage, most are smaller"
    problem = RegularisedPoints
    trials = 128
    traced = False

    def settings(self) -> Space:
        """Points, kernel, ridge, features."""
        return _space(32, 2, 1.5, 8.0, 512, "random features")

    def sample(self, setting: dict, key: Key[Array, ""]) -> RegularisedPoints:
        """Standard normal points."""
        return _points(setting, key)

    def hypotheses(self, problem: RegularisedPoints) -> list[Hypothesis]:
        """Enough features for a radius of 1/2, and a ridge below the largest eigenvalue."""
        largest = np.linalg.eigvalsh(problem.gram)[-1]
        return [
            Hypothesis("the radius D", self.predict(problem), "<=", 0.5, "the theorem's range"),
            Hypothesis("the largest eigenvalue of K", largest, ">=", problem.ridge, "the theorem's range"),
        ]

    def predict(self, problem: RegularisedPoints) -> Array:
        """D."""
        dimension = regularised_dimension(problem.gram, problem.ridge)
        scale = 8 / 3 * len(problem.x) / problem.ridge
        return jnp.sqrt(scale * jnp.log(16 * dimension / _DELTA) / problem.size)

    def measure(self, problem: RegularisedPoints, key: Key[Array, ""]) -> Array:
        """The largest |eigenvalue| of (K + ridge I)^-1/2 (Z Z* - K) (K + ridge I)^-1/2."""
        frequencies = jax.random.normal(key, (problem.x.shape[1], problem.size)) / problem.lengthscale
        features = np.exp(1j * np.asarray(problem.x @ frequencies)) / math.sqrt(problem.size)
        values, vectors = np.linalg.eigh(problem.gram)
        half = vectors / np.sqrt(values + float(problem.ridge))
        return jnp.asarray(
            np.abs(np.linalg.eigvalsh(half.T @ (features @ features.conj().T - np.asarray(problem.gram)) @ half)).max()
        )

    def control(self) -> Control:
        """Every leverage at its mean, without the logarithm."""

        def averaged(radius, problem):
            return jnp.sqrt(regularised_dimension(problem.gram, problem.ridge) / problem.size) / 2

        return Control("half of sqrt(s / m) suffices", averaged)
