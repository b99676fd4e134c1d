"""Low-rank approximations of a Gram matrix: their error compared with the effective dimension.

This theory is about approximations of a Gram matrix by a few columns, random products or random features. It bounds the
part of the matrix that the approximations miss, and the effect of this part on kernel ridge regression. It assumes a
positive semidefinite matrix and a ridge. It does not explain how small the effective dimension of a given kernel on
given data is.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import (
    AtMost,
    Claim,
    Control,
    EqualInMean,
    Hypothesis,
    Integer,
    Population,
    Real,
    Source,
    Space,
)
from lemmata.engine.problems.conditions import semidefinite
from lemmata.engine.problems.drawn import Drawn, normal, positive
from lemmata.engine.problems.variables import dimension, rows
from lemmata.kernels import RBF, Linear, gram
from lemmata.solvers import nystrom_approximation

ABOUT = {"tool": "linear algebra", "architecture": "kernel method", "object": "cost"}


class GramMatrix(eqx.Module):
    """A Gram matrix K."""

    matrix: Float[Array, "n n"]


class RegularisedPoints(eqx.Module):
    """Points with a Gaussian kernel and a ridge, and the size of an approximation.

    Args:
        x: the points, one in each row.
        lengthscale: the length scale of the kernel.
        ridge: the number that is added to the diagonal.
        size: the rank of the approximation, or its number of features.
    """

    x: Float[Array, "n d"]
    lengthscale: Float[Array, ""]
    ridge: Float[Array, ""]
    size: int = eqx.field(static=True)

    @property
    def gram(self) -> Float[Array, "n n"]:
        """The Gram matrix K of the points."""
        return gram(RBF(self.lengthscale), self.x)


class DecayingGramMatrices(Population[GramMatrix]):
    """Gram matrices of inner products of normal points whose coordinate j has the standard deviation 1/j."""

    settings = Space(n=Integer(24, 2, 200, "points"), d=Integer(4, 2, 64, "dimension"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> GramMatrix:
        x = jax.random.normal(key, (setting["n"], setting["d"])) / jnp.arange(1, setting["d"] + 1)
        return GramMatrix(gram(Linear(), x))

    def hypotheses(self, problem: GramMatrix) -> list[Hypothesis]:
        trace = jnp.trace(problem.matrix)
        return [
            semidefinite(problem.matrix),
            Hypothesis("the trace of K is positive", trace, ">", 0.0, "otherwise no column can be drawn"),
        ]


def _approximated(points: Integer, ridge: Real, size: Integer) -> Drawn:
    """Standard normal points with a Gaussian kernel and a ridge, and the size of an approximation."""
    return Drawn(
        RegularisedPoints,
        positive("ridge", "otherwise K + ridge I may not be invertible"),
        n=points,
        d=dimension(2, corners=(1, 2)),
        lengthscale=Real(
            1.5, 0.1, 10.0, "length scale of the kernel; the points are standard normal", corners=(1.5, 3.0)
        ),
        ridge=ridge,
        size=size,
        x=normal("n", "d"),
    )


_DELTA = 0.1


def regularised_dimension(matrix: Float[Array, "n n"], ridge: Float[Array, ""] | float) -> Float[Array, ""]:
    """Return the effective dimension tr K (K + ridge I)^-1, by a linear solve."""
    return jnp.trace(jnp.linalg.solve(matrix + ridge * jnp.eye(len(matrix)), matrix))


def _uniform_pivots(missing: Array, problem: GramMatrix) -> Array:
    diagonal = jnp.diagonal(problem.matrix)
    return jnp.sum(diagonal) - jnp.mean(jnp.sum(problem.matrix**2, axis=0) / diagonal)


class PivotedCholeskyStep(Claim[GramMatrix]):
    """Let K be an n x n Gram matrix. Draw a column i of K with probability K_ii / tr K, and let F = K_:i / sqrt(K_ii).
    The expected trace that the approximation F F^T misses is

        E tr(K - F F^T) = tr K - tr K² / tr K.

    Each later step satisfies this formula with K replaced by the residual K - F F^T of the steps before it.
    """

    title = "One step of randomly pivoted Cholesky leaves a residual whose expected trace is tr K - tr K² / tr K"
    source = Source("chen2025rpcholesky", "proof of the main theorem", note="the expected residual function")
    population = DecayingGramMatrices()
    relation = EqualInMean(resolution=0.02)
    control = Control("all columns are drawn with the same probability", _uniform_pivots)
    controls = "the trace of the part of a matrix that a partial Cholesky factorisation misses"
    unexplained = "the missing trace after several steps, which is only bounded"

    def predict(self, problem: GramMatrix) -> Array:
        trace = jnp.trace(problem.matrix)
        return trace - jnp.sum(problem.matrix**2) / trace

    def measure(self, problem: GramMatrix, key: Key[Array, ""]) -> Array:
        """Return the missing trace after one random pivot, averaged over 64 pivots."""
        diagonal = jnp.diagonal(problem.matrix)
        pivots = jax.random.categorical(key, jnp.log(diagonal), shape=(64,))
        columns = problem.matrix[:, pivots] / jnp.sqrt(diagonal[pivots])
        return jnp.mean(jnp.sum(diagonal[:, None] - columns**2, axis=0))


def _best_of_its_rank(bound: Array, problem: RegularisedPoints) -> Array:
    values = np.sort(np.linalg.eigvalsh(problem.gram))[::-1] + float(problem.ridge)
    return jnp.asarray(values[min(problem.size, len(values)) - 1] / values[-1])


class NystromCondition(Claim[RegularisedPoints]):
    """Let K be an n x n Gram matrix. Let U diag(a) U^T, a_1 >= ... >= a_l, be its Nyström approximation from l products
    of K with random normal vectors. Let l be at least 2 ceil(1.5 s) + 1, where s is the effective dimension:

        l >= 2 ceil(1.5 tr K (K + ridge I)^-1) + 1.

    Consider the preconditioner P = U diag(a + ridge) U^T / (a_l + ridge) + I - U U^T. Then
    E cond(P^-1 (K + ridge I)) < 28. By Markov's inequality, the condition number is therefore at most 280 with
    probability at least 0.9.
    """

    title = "A Nyström preconditioner of sufficient rank keeps the expected condition number below 28"
    source = Source("frangella2023", "Theorem 1.1")
    population = _approximated(
        # without a preconditioner the condition number is above 400
        points=rows(80, 4, 300, corners=(60, 120)),
        ridge=Real(0.1, 1e-6, 1e3, "on the diagonal", corners=(0.07, 0.1)),
        size=Integer(49, 1, 100_000, "random products", corners=(60, 90)),
    )
    relation = AtMost(delta=_DELTA)
    control = Control(
        "random products are as good as the leading eigenvectors",
        _best_of_its_rank,
        loose=(
            "condition numbers near 1 are found, because 28 is far from sharp and Markov's inequality costs a factor "
            "of 10 more"
        ),
    )
    controls = "the number of iterations of conjugate gradients with a Nyström preconditioner"
    unexplained = "the constant, which is far from sharp"
    traced = False
    predict = 28 / _DELTA

    def hypotheses(self, problem: RegularisedPoints) -> list[Hypothesis]:
        needed = 2 * math.ceil(1.5 * float(regularised_dimension(problem.gram, problem.ridge))) + 1
        return [
            Hypothesis(
                "the rank",
                problem.size,
                ">=",
                needed,
                "the theorem requires 2 ceil(1.5 s) + 1, where s is the effective dimension",
            )
        ]

    def measure(self, problem: RegularisedPoints, key: Key[Array, ""]) -> Array:
        """Return the condition number of the preconditioned matrix P^-1/2 (K + ridge I) P^-1/2."""
        found = nystrom_approximation(problem.gram, min(problem.size, len(problem.x)), key)
        vectors, values, ridge = np.asarray(found.eigenvectors), np.asarray(found.eigenvalues), float(problem.ridge)
        half = np.eye(len(vectors)) + (vectors * (np.sqrt((values[-1] + ridge) / (values + ridge)) - 1)) @ vectors.T
        spread = np.linalg.eigvalsh(half @ (np.asarray(problem.gram) + ridge * np.eye(len(half))) @ half)
        return jnp.asarray(spread[-1] / spread[0])

    def trivial(self, problem: RegularisedPoints) -> Array:
        """Return the condition number without a preconditioner."""
        values = np.linalg.eigvalsh(problem.gram) + float(problem.ridge)
        return jnp.asarray(values[-1] / values[0])


def _mean_leverage(radius: Array, problem: RegularisedPoints) -> Array:
    return jnp.sqrt(regularised_dimension(problem.gram, problem.ridge) / problem.size) / 2


class FeaturesSpectralBound(Claim[RegularisedPoints]):
    """Let K be the Gram matrix of a Gaussian kernel on n points, with largest eigenvalue |K| >= ridge. Let Z hold m
    random Fourier features exp(i <w, x>)/sqrt(m) of these points. Let s = tr K (K + ridge I)^-1 be the effective
    dimension, and suppose that

        D = sqrt( (8/3) (n / ridge) ln(16 s / delta) / m ) <= 1/2,    where delta = 0.1.

    With probability at least 1 - delta, (1 - D)(K + ridge I) <= Z Z* + ridge I <= (1 + D)(K + ridge I) in the order of
    semidefinite matrices.
    """

    title = "About n/ridge random Fourier features, up to a logarithm, approximate a Gaussian kernel spectrally"
    source = Source("avron2017", "Theorem 7")
    population = _approximated(
        points=rows(32, 4, 300, corners=(24, 64)),
        ridge=Real(8.0, 1e-6, 1e3, "on the diagonal", corners=(4.0, 8.0)),
        size=Integer(512, 1, 100_000, "random features", corners=(1200, 2048)),
    )
    relation = AtMost(delta=_DELTA)
    control = Control(
        "half of sqrt(s / m) is enough in place of D",
        _mean_leverage,
        loose=(
            "the bound has n/ridge in place of the leverage scores, the factor 8/3 and the logarithm, so it is 4.6 "
            "times the value found even for K = I"
        ),
    )
    controls = "how many features give predictions close to the predictions with the kernel"
    unexplained = "why fewer features are often enough: n / ridge bounds every leverage score, but most are smaller"
    traced = False

    def hypotheses(self, problem: RegularisedPoints) -> list[Hypothesis]:
        largest = np.linalg.eigvalsh(problem.gram)[-1]
        return [
            Hypothesis("the radius D", self.predict(problem), "<=", 0.5, "the theorem requires it"),
            Hypothesis("the largest eigenvalue of K", largest, ">=", problem.ridge, "the theorem requires it"),
        ]

    def predict(self, problem: RegularisedPoints) -> Array:
        dimension = regularised_dimension(problem.gram, problem.ridge)
        scale = 8 / 3 * len(problem.x) / problem.ridge
        return jnp.sqrt(scale * jnp.log(16 * dimension / _DELTA) / problem.size)

    def measure(self, problem: RegularisedPoints, key: Key[Array, ""]) -> Array:
        """Return the largest |eigenvalue| of (K + ridge I)^-1/2 (Z Z* - K) (K + ridge I)^-1/2."""
        frequencies = jax.random.normal(key, (problem.x.shape[1], problem.size)) / problem.lengthscale
        features = np.exp(1j * np.asarray(problem.x @ frequencies)) / math.sqrt(problem.size)
        values, vectors = np.linalg.eigh(problem.gram)
        half = vectors / np.sqrt(values + float(problem.ridge))
        return jnp.asarray(
            np.abs(np.linalg.eigvalsh(half.T @ (features @ features.conj().T - np.asarray(problem.gram)) @ half)).max()
        )

    def trivial(self, problem: RegularisedPoints) -> Array:
        """Return the value for Z = 0, which is e / (e + ridge) for the largest eigenvalue e of K."""
        largest = np.linalg.eigvalsh(problem.gram)[-1]
        return jnp.asarray(largest / (largest + problem.ridge))
