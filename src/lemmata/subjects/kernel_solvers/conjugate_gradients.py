"""Conjugate gradients: the number of iterations compared with the condition number.

The energy norm of an error e is sqrt(e^T A e). This theory bounds how fast the energy norm of the error falls, from the
condition number alone. It assumes exact arithmetic up to rounding. It does not explain why convergence is faster than
this bound if eigenvalues cluster.
"""

import math

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.engine.problems.conditions import positive_ridge, semidefinite
from lemmata.engine.problems.sampled import draws
from lemmata.kernels import RBF, gram
from lemmata.solvers import LowRank, MatrixOperator, Preconditioner, conjugate_gradient_path, randomly_pivoted_cholesky

ABOUT = {"tool": "linear algebra", "architecture": "kernel method", "object": "cost"}


class LinearSystem(eqx.Module):
    """A system A x = b with a known solution x."""

    matrix: Float[Array, "n n"]
    solution: Float[Array, "n 1"]


class RegularisedSystem(eqx.Module):
    """A system (K + ridge I) x = b with a known solution, and a preconditioner of low rank.

    Args:
        gram: the Gram matrix K.
        ridge: the number that is added to the diagonal.
        solution: the solution x.
        low_rank: the approximation F F^T of K, where F is a partial Cholesky factor.
    """

    gram: Float[Array, "n n"]
    ridge: Float[Array, ""]
    solution: Float[Array, "n 1"]
    low_rank: LowRank

    @property
    def matrix(self) -> Float[Array, "n n"]:
        """The matrix K + ridge I."""
        return self.gram + self.ridge * jnp.eye(len(self.gram))


class ChebyshevSystems(Population[LinearSystem]):
    """Systems whose eigenvalues fill [1, c] like Chebyshev nodes."""

    free = ("solution",)
    settings = Space(n=Integer(40, 16, 200, "unknowns"), condition=Real(100.0, 2.0, 1e4, "condition number, about"))

    def sample(self, setting: dict, key: Key[Array, ""]) -> LinearSystem:
        """Draw Chebyshev nodes, moved a little, a basis from a random reflection, and a normal solution."""
        n, condition = setting["n"], jnp.asarray(setting["condition"], float)
        axis, solution, shift = draws(key, (n,), (n, 1), (n,))
        nodes = jnp.cos(math.pi * (jnp.arange(n) + 0.5 + 0.1 * jnp.tanh(shift)) / n)
        values = (condition + 1) / 2 + (condition - 1) / 2 * nodes
        reflection = jnp.eye(n) - 2 * jnp.outer(axis, axis) / jnp.sum(axis**2)
        # In the energy norm, every mode then has a part of the same order. So no mode is a small start for the other
        # modes.
        turned = reflection @ (solution / jnp.sqrt(values)[:, None])
        return LinearSystem(reflection @ (values[:, None] * reflection), turned)

    def hypotheses(self, problem: LinearSystem) -> list[Hypothesis]:
        gap = jnp.max(jnp.abs(problem.matrix - problem.matrix.T))
        floor = 16 * len(problem.matrix) * jnp.finfo(float).eps * jnp.max(jnp.abs(problem.matrix)) * len(problem.matrix)
        smallest = jnp.linalg.eigvalsh(problem.matrix)[0]
        return [
            Hypothesis("A is symmetric", gap, "<=", floor, "A must be symmetric up to rounding"),
            Hypothesis(
                "A is positive definite (smallest eigenvalue)", smallest, ">", floor, "otherwise |e|_A is not a norm"
            ),
        ]


class PreconditionedSystems(Population[RegularisedSystem]):
    """Gaussian kernels on normal points, with a ridge and a partial Cholesky factor with random pivots."""

    free = ("solution",)
    settings = Space(
        n=Integer(60, 8, 300, "points"),
        rank=Integer(8, 1, 100, "rank of the factor"),
        ridge=Real(0.2, 1e-6, 1e3, "on the diagonal"),
    ).where("the rank is below n", lambda setting: setting["rank"] < setting["n"])

    def sample(self, setting: dict, key: Key[Array, ""]) -> RegularisedSystem:
        """Draw independent points and a normal right-hand side."""
        x, y = draws(key, (setting["n"], 3), (setting["n"], 1))
        matrix = gram(RBF(1.5), x)
        solution = jnp.linalg.solve(matrix + setting["ridge"] * jnp.eye(len(x)), y)
        low_rank = randomly_pivoted_cholesky(matrix, setting["rank"], jax.random.fold_in(key, 1))
        return RegularisedSystem(matrix, jnp.asarray(setting["ridge"], float), solution, low_rank)

    def hypotheses(self, problem: RegularisedSystem) -> list[Hypothesis]:
        return [semidefinite(problem.gram), positive_ridge(problem.ridge, "otherwise P is not invertible")]


STEPS = 8
"""The errors of this number of iterations are compared."""
_SILENT = 3  # first steps, at which the bound of Chebyshev is above the error at the start
_HALF = Control("the bound holds with 1/2 in place of 2", lambda bound, problem: bound / 4)


def chebyshev_bound(condition: Float[Array, ""] | float, steps: int) -> Float[Array, " s"]:
    """Return the factors 2 ((sqrt(c) - 1)/(sqrt(c) + 1))^k for k = 1, ..., steps.

    Args:
        condition: the condition number c >= 1.
        steps: the number of factors.
    """
    root = jnp.sqrt(condition)
    return 2 * ((root - 1) / (root + 1)) ** jnp.arange(1, steps + 1)


def energy_norms(matrix: Float[Array, "n n"], errors: Float[Array, "s n 1"]) -> Float[Array, " s"]:
    """Return the energy norm sqrt(e^T A e) of each error e."""
    return jnp.sqrt(jnp.sum(errors * (matrix @ errors), axis=(1, 2)))


def _start(problem: LinearSystem | RegularisedSystem) -> Float[Array, " 1"]:
    """Return |x|_A, the error of the start x_0 = 0."""
    return energy_norms(problem.matrix, problem.solution[None])


class ConditionBound(Claim[LinearSystem]):
    """Let A be a symmetric positive definite matrix with condition number c. Let x_k be the iterates of conjugate
    gradients on A x = b from x_0 = 0, and let |e|_A² = e^T A e. The errors satisfy

        |x_k - x|_A <= 2 ((sqrt(c) - 1)/(sqrt(c) + 1))^k |x|_A,    k = 4, ..., 8.

    The bound holds for every k, but for the first iterates it is vacuous, because it exceeds the initial error. The
    spectra of the test fill [1, c] like the Chebyshev nodes, and for these spectra the bound is nearly attained.
    """

    title = "The condition number bounds the error of conjugate gradients"
    source = Source("saad2003", "(6.128)")
    population = ChebyshevSystems()
    relation = AtMost()
    control = _HALF
    controls = "the error after each iteration of conjugate gradients"
    unexplained = "superlinear convergence if eigenvalues cluster; rounding over many iterations"

    def predict(self, problem: LinearSystem) -> Array:
        values = jnp.linalg.eigvalsh(problem.matrix)
        return chebyshev_bound(values[-1] / values[0], STEPS)[_SILENT:] * _start(problem)

    def measure(self, problem: LinearSystem, key: Key[Array, ""]) -> Array:
        path = conjugate_gradient_path(MatrixOperator(problem.matrix), problem.matrix @ problem.solution, STEPS)
        return energy_norms(problem.matrix, path[1 + _SILENT :] - problem.solution)

    def trivial(self, problem: LinearSystem) -> Array:
        """Return the error at the start, which no iterate exceeds."""
        return jnp.broadcast_to(_start(problem), (STEPS - _SILENT,))

    def condition(self, problem: LinearSystem) -> Array:
        """Return trace / smallest eigenvalue, a bound on the condition number."""
        return jnp.trace(problem.matrix) / jnp.linalg.eigvalsh(problem.matrix)[0]


@eqx.filter_jit
def _preconditioned_errors(matrix, solution, preconditioner):
    path = conjugate_gradient_path(MatrixOperator(matrix), matrix @ solution, STEPS, preconditioner)
    return energy_norms(matrix, path[1:] - solution)


class PreconditionedBound(Claim[RegularisedSystem]):
    """Let A = K + ridge I, where K is an n x n Gram matrix and ridge > 0. Let F be a partial Cholesky factor of K with
    any pivots. Run conjugate gradients on A x = b from x_0 = 0 with the preconditioner P = F F^T + ridge I, and let
    |e|_A² = e^T A e. The errors satisfy

        |x_k - x|_A <= 2 ((sqrt(c) - 1)/(sqrt(c) + 1))^k |x|_A,    c = 1 + tr(K - F F^T)/ridge,    k = 3, ..., 8.

    The bound also holds for k = 1 and 2, but for these k it is vacuous. The test draws the pivots at random. The
    probability of a pivot is proportional to its entry on the diagonal of K - F F^T, where F is the factor so far.
    """

    title = "The trace that a partial Cholesky preconditioner misses bounds the error of conjugate gradients"
    source = Source("diaz2023", "Section 2", note="the condition number of the preconditioned matrix")
    population = PreconditionedSystems()
    relation = AtMost()
    control = Control(
        "a thirtieth of the bound is enough",
        lambda bound, problem: bound / 30,
        loose="the missing trace is far above the largest missing eigenvalue, so errors are 8 to 150 times smaller",
    )
    controls = "the error after each iteration, which shows what rank is worth its cost"
    unexplained = "how small the missing trace is at a given rank"
    traced = False

    def predict(self, problem: RegularisedSystem) -> Array:
        """Return the bound; the missing trace is computed from the columns of the pivots."""
        pivots = problem.low_rank.pivots
        columns = problem.gram[:, pivots]
        weights = jnp.linalg.solve(columns[pivots], columns.T)
        missing = jnp.trace(problem.gram) - jnp.sum(columns.T * weights)
        return chebyshev_bound(1 + missing / problem.ridge, STEPS)[2:] * _start(problem)

    def measure(self, problem: RegularisedSystem, key: Key[Array, ""]) -> Array:
        preconditioner = Preconditioner(problem.low_rank, problem.ridge)
        return _preconditioned_errors(problem.matrix, problem.solution, preconditioner)[2:]

    def trivial(self, problem: RegularisedSystem) -> Array:
        """Return the error at the start, which no iterate exceeds."""
        return jnp.broadcast_to(_start(problem), (STEPS - 2,))

    def condition(self, problem: RegularisedSystem) -> Array:
        """Return tr A / ridge, a bound on the condition number."""
        return jnp.trace(problem.gram) / problem.ridge + len(problem.gram)
