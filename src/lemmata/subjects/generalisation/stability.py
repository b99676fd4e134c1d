"""Stability: a learner that hardly changes when one row is removed cannot have memorised this row.

This theory bounds how much the loss at any point changes when one training row is removed. It assumes a ridge and
bounded residuals. It does not explain learners without a ridge, and the bound is large if the ridge is small.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import AtMost, Claim, Control, Hypothesis, Integer, Population, Real, Source, Space
from lemmata.engine.problems.conditions import positive_ridge
from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.sampled import KERNEL, sampled_regression

ABOUT = {"tool": "convex optimisation", "architecture": "kernel method", "object": "generalisation"}

REMOVED = 16
"""The largest number of rows that are removed. If there are more rows, the first rows are taken."""


class Removal(eqx.Module):
    """Kernel ridge regression from which one training row at a time is removed.

    Args:
        matrix: the Gram matrix of the training points.
        cross: the kernel between held-out and training points.
        held_out_diagonal: K(x, x) at the held-out points.
        y: training targets.
        y_test: held-out targets.
        ridge: the ridge on the diagonal. For m rows, it is lambda m in the notation of Bousquet and Elisseeff.
        bound: M, the largest Euclidean norm that a residual may have.
    """

    matrix: Float[Array, "n n"]
    cross: Float[Array, "t n"]
    held_out_diagonal: Float[Array, " t"]
    y: Float[Array, "n k"]
    y_test: Float[Array, "t k"]
    ridge: Float[Array, ""]
    bound: Float[Array, ""]


def fit_without(problem: Removal, row: Array | int) -> tuple[Float[Array, "n k"], Float[Array, "t k"]]:
    """Return the predictions of a fit without one row, at all training points and at the held-out points."""
    others = jnp.arange(len(problem.y) - 1)
    others = others + (others >= row)
    matrix = problem.matrix[others][:, others] + problem.ridge * jnp.eye(len(others))
    coefficients = solve(matrix, problem.y[others], assume_a="pos")
    return problem.matrix[:, others] @ coefficients, problem.cross[:, others] @ coefficients


def fit(problem: Removal) -> tuple[Float[Array, "n k"], Float[Array, "t k"]]:
    """Return the predictions of the fit to all rows, at the training points and at the held-out points."""
    coefficients = solve(problem.matrix + problem.ridge * jnp.eye(len(problem.y)), problem.y, assume_a="pos")
    return problem.matrix @ coefficients, problem.cross @ coefficients


def _removal(problem: Regression) -> Removal:
    diagonal = problem.kernel.diagonal(problem.x_test)
    y = jnp.concatenate([problem.y, problem.y_test])
    bound = jnp.linalg.norm(y.max(axis=0) - y.min(axis=0))
    return Removal(problem.gram, problem.cross, diagonal, problem.y, problem.y_test, problem.ridge, bound)


def _largest_residual(problem: Removal) -> Float[Array, ""]:
    """Return the largest norm of a residual at any row, in the fit to all rows and in the fits without one row."""

    def largest(predictions):
        train, test = predictions
        residuals = jnp.concatenate([train - problem.y, test - problem.y_test])
        return jnp.linalg.norm(residuals, axis=1).max()

    without = jax.lax.map(lambda row: largest(fit_without(problem, row)), jnp.arange(min(len(problem.y), REMOVED)))
    return jnp.maximum(largest(fit(problem)), without.max())


class Removals(Population[Removal]):
    """Random rows with a kernel and a ridge."""

    free = ("y", "y_test")
    settings = Space(
        n=Integer(40, 20, 200, "training rows"),
        ridge=Real(4.0, 1e-3, 1e4, "ridge on the diagonal"),
        kernel=KERNEL,
    )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Removal:
        return _removal(sampled_regression(key, t=40, d=5, **setting))

    def pose(self, problem: object) -> Removal | None:
        """Use the user's training and held-out rows without change."""
        return _removal(problem) if isinstance(problem, Regression) else None

    def hypotheses(self, problem: Removal) -> list[Hypothesis]:
        largest, why = _largest_residual(problem), "squared loss is Lipschitz only on a bounded range"
        return [
            positive_ridge(problem.ridge, "the fit is strongly convex"),
            Hypothesis("residuals are at most M in every fit", largest, "<=", problem.bound, why),
        ]


def stability_bound(
    largest: Float[Array, ""], residual: Float[Array, ""] | float, ridge: Float[Array, ""] | float
) -> Float[Array, ""]:
    """Return 2 M² kappa² / ridge, where kappa² = max K(x, x) and residuals are at most M.

    In the notation of Bousquet and Elisseeff, this bound is sigma² kappa² / (2 lambda m), where sigma = 2M is the
    Lipschitz constant of squared loss on residuals up to M, and lambda m = ridge. The reason is that (1/m) sum |f(x_i)
    - y_i|² + lambda |f|² equals (sum |f(x_i) - y_i|² + ridge |f|²) / m.
    """
    return 2 * residual**2 * largest / ridge


class UniformStability(Claim[Removal]):
    """Let f minimise sum_i |f(x_i) - y_i|² + ridge |f|² over m rows, in the Hilbert space of a kernel K. Let all
    residuals be at most M in norm. Removing one row changes the squared loss at any point by at most

        2 M² kappa² / ridge,   kappa² = max K(x, x).

    In the notation of the source, this is sigma² kappa² / (2 lambda m) with sigma = 2M and ridge = lambda m. The test
    sets M to the length of the vector whose entries are the ranges of the coordinates of the targets. On large
    problems, it removes only the first 16 rows, one at a time.
    """

    title = "A bound on the uniform stability of kernel ridge regression"
    source = Source("bousquet2002", "Theorem 22", "Example 3")
    population = Removals()
    relation = AtMost()
    control = Control(
        "the change is at most 2 M² kappa² / (ridge m)",
        lambda bound, problem: bound / len(problem.y),
        loose="M is the range of the targets, which is several times a residual and enters squared, so the bound is "
        "15 to 50 times too large",
    )
    controls = "the change of the loss at any point when one training row is removed"
    unexplained = "learners without a ridge, and rows that agree with each other, whose removal changes far less"

    def predict(self, problem: Removal) -> Array:
        largest = jnp.maximum(jnp.diagonal(problem.matrix).max(), problem.held_out_diagonal.max())
        return stability_bound(largest, problem.bound, problem.ridge)

    def measure(self, problem: Removal, key: Key[Array, ""]) -> Array:
        """Return the largest change of the loss at a held-out point when one row is removed, by refitting."""
        _, all_rows = fit(problem)
        loss = lambda prediction: jnp.sum((prediction - problem.y_test) ** 2, axis=1)
        change = lambda row: jnp.abs(loss(fit_without(problem, row)[1]) - loss(all_rows)).max()
        return jax.lax.map(change, jnp.arange(min(len(problem.y), REMOVED))).max()

    def trivial(self, problem: Removal) -> Array:
        """Return M², because losses lie between 0 and M²."""
        return problem.bound**2
