"""Kernel ridge regression of which one training row at a time is removed."""

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.scipy.linalg import solve
from jaxtyping import Array, Float, Key

from lemmata.engine.claims import Hypothesis, Integer, Population, Real, Space

from ._conditions import positive_ridge
from ._regression import Regression
from ._sampled import KERNEL, sampled_regression

REMOVED = 16
"""On many rows, only the first ones are removed."""


class Removal(eqx.Module):
    """Kernel ridge regression, of which one training row at a time is removed.

    Args:
        matrix: Gram matrix of the training points.
        cross: K(held-out, training).
        held_out_diagonal: K(x, x) at the held-out points.
        y: training targets.
        y_test: held-out targets.
        ridge: the ridge on the diagonal; lambda m of Bousquet and Elisseeff, for m rows.
        bound: M, the largest Euclidean norm of a residual that is allowed for.
    """

    matrix: Float[Array, "n n"]
    cross: Float[Array, "t n"]
    held_out_diagonal: Float[Array, " t"]
    y: Float[Array, "n k"]
    y_test: Float[Array, "t k"]
    ridge: Float[Array, ""]
    bound: Float[Array, ""]


def fit_without(problem: Removal, row: Array | int) -> tuple[Float[Array, "n k"], Float[Array, "t k"]]:
    """Predictions at all training points and at the held-out points of a fit without that row."""
    others = jnp.arange(len(problem.y) - 1)
    others = others + (others >= row)
    matrix = problem.matrix[others][:, others] + problem.ridge * jnp.eye(len(others))
    coefficients = solve(matrix, problem.y[others], assume_a="pos")
    return problem.matrix[:, others] @ coefficients, problem.cross[:, others] @ coefficients


def fit(problem: Removal) -> tuple[Float[Array, "n k"], Float[Array, "t k"]]:
    """Predictions at the training and at the held-out points of the fit to all rows."""
    coefficients = solve(problem.matrix + problem.ridge * jnp.eye(len(problem.y)), problem.y, assume_a="pos")
    return problem.matrix @ coefficients, problem.cross @ coefficients


def _removal(problem: Regression) -> Removal:
    diagonal = problem.kernel.diagonal(problem.x_test)
    y = jnp.concatenate([problem.y, problem.y_test])
    bound = jnp.linalg.norm(y.max(axis=0) - y.min(axis=0))
    return Removal(problem.gram, problem.cross, diagonal, problem.y, problem.y_test, problem.ridge, bound)


def _largest_residual(problem: Removal) -> Float[Array, ""]:
    """Largest norm of a residual at any row, in the fit to all rows and in those without one of them."""

    def largest(predictions):
        train, test = predictions
        residuals = jnp.concatenate([train - problem.y, test - problem.y_test])
        return jnp.linalg.norm(residuals, axis=1).max()

    without = jax.lax.map(lambda row: largest(fit_without(problem, row)), jnp.arange(min(len(problem.y), REMOVED)))
    return jnp.maximum(largest(fit(problem)), without.max())


class Removals(Population[Removal]):
    """Random rows with a kernel and a ridge."""

    free = ("y", "y_test")

    def settings(self) -> Space:
        """Rows, ridge, kernel."""
        return Space(
            n=Integer(40, 20, 200, "training rows"),
            ridge=Real(4.0, 1e-3, 1e4, "ridge on the diagonal"),
            kernel=KERNEL,
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Removal:
        """Forty rows are held out."""
        return _removal(sampled_regression(key, t=40, d=5, **setting))

    def pose(self, problem: object) -> Removal | None:
        """Training and held-out rows as they are."""
        return _removal(problem) if isinstance(problem, Regression) else None

    def hypotheses(self, problem: Removal) -> list[Hypothesis]:
        """A ridge, and residuals of at most M in all fits."""
        largest, why = _largest_residual(problem), "squared loss is Lipschitz only on a bounded range"
        return [
            positive_ridge(problem.ridge, "the fit is strongly convex"),
            Hypothesis("residuals are at most M, in every fit", largest, "<=", problem.bound, why),
        ]
