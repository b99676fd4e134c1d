"""Linear systems whose solution is known: spectra at Chebyshev's nodes, and kernels with a ridge."""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space
from lemmata.kernels import RBF, gram
from lemmata.solvers import LowRank, randomly_pivoted_cholesky

from ._conditions import positive_ridge, semidefinite
from ._sampled import draws


class LinearSystem(eqx.Module):
    """A system A x = b whose solution is known.

    Args:
        matrix: A.
        solution: x.
    """

    matrix: Float[Array, "n n"]
    solution: Float[Array, "n 1"]


class RegularisedSystem(eqx.Module):
    """A system (K + ridge I) x = b whose solution is known, and the rank of its preconditioner.

    Args:
        gram: K.
        ridge: on the diagonal.
        solution: x.
        low_rank: the approximation F F^T of K by a partial Cholesky factor.
    """

    gram: Float[Array, "n n"]
    ridge: Float[Array, ""]
    solution: Float[Array, "n 1"]
    low_rank: LowRank

    @property
    def matrix(self) -> Float[Array, "n n"]:
        """K + ridge I."""
        return self.gram + self.ridge * jnp.eye(len(self.gram))


class ChebyshevSystems(Population[LinearSystem]):
    """Systems whose eigenvalues fill [1, c] like Chebyshev's nodes."""

    free = ("solution",)

    def settings(self) -> Space:
        """Size and condition number."""
        return Space(n=Integer(40, 16, 200, "unknowns"), condition=Real(100.0, 2.0, 1e4, "condition number, about"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LinearSystem:
        """Chebyshev's nodes, moved a little, in a basis that a random reflection turns; a normal solution."""
        n, condition = setting["n"], jnp.asarray(setting["condition"], float)
        axis, solution, shift = draws(key, (n,), (n, 1), (n,))
        nodes = jnp.cos(math.pi * (jnp.arange(n) + 0.5 + 0.1 * jnp.tanh(shift)) / n)
        values = (condition + 1) / 2 + (condition - 1) / 2 * nodes
        reflection = jnp.eye(n) - 2 * jnp.outer(axis, axis) / jnp.sum(axis**2)
        # In the energy norm every mode then has a part of the same order: none is a small start for the others.
        turned = reflection @ (solution / jnp.sqrt(values)[:, None])
        return LinearSystem(reflection @ (values[:, None] * reflection), turned)

    def hypotheses(self, problem: LinearSystem) -> list[Hypothesis]:
        """A symmetric positive definite matrix."""
        gap = jnp.max(jnp.abs(problem.matrix - problem.matrix.T))
        floor = 16 * len(problem.matrix) * jnp.finfo(float).eps * jnp.max(jnp.abs(problem.matrix)) * len(problem.matrix)
        smallest = jnp.linalg.eigvalsh(problem.matrix)[0]
        return [
            Hypothesis("A is symmetric", gap, "<=", floor, "to rounding"),
            Hypothesis("A is positive definite (smallest eigenvalue)", smallest, ">", floor, "so that the norm is one"),
        ]


class PreconditionedSystems(Population[RegularisedSystem]):
    """The Gaussian kernel on normal points with a ridge, and a partial Cholesky factor with pivots drawn at random."""

    free = ("solution",)

    def settings(self) -> Space:
        """Points, rank, ridge."""
        return Space(
            n=Integer(60, 8, 300, "points"),
            rank=Integer(8, 1, 100, "rank of the factor"),
            ridge=Real(0.2, 1e-6, 1e3, "on the diagonal"),
        ).where("the rank is below n", lambda setting: setting["rank"] < setting["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> RegularisedSystem:
        """Independent points; the right-hand side is normal."""
        x, y = draws(key, (setting["n"], 3), (setting["n"], 1))
        matrix = gram(RBF(1.5), x)
        solution = jnp.linalg.solve(matrix + setting["ridge"] * jnp.eye(len(x)), y)
        low_rank = randomly_pivoted_cholesky(matrix, setting["rank"], jax.random.fold_in(key, 1))
        return RegularisedSystem(matrix, jnp.asarray(setting["ridge"], float), solution, low_rank)

    def hypotheses(self, problem: RegularisedSystem) -> list[Hypothesis]:
        """A semidefinite K and a ridge."""
        return [semidefinite(problem.gram), positive_ridge(problem.ridge, "so that P is invertible")]
