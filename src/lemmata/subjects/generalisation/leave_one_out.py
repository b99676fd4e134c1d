"""Leave-one-out: the errors of n refits at the cost of one fit.

This theory gives the exact error of kernel ridge regression on a row that was left out. It assumes squared loss and the
same ridge in every refit. It does not explain how far the leave-one-out error is from the error on new data.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.engine.claims import Claim, Control, Equal, Hypothesis, Integer, Real, Source
from lemmata.engine.problems.conditions import rounding_floor
from lemmata.engine.problems.kernel_regressions import KernelRegressions
from lemmata.engine.problems.regression import Regression
from lemmata.solvers import leave_one_out_residuals

ABOUT = {"tool": "linear algebra", "architecture": "kernel method", "object": "generalisation"}

REFITS = 20
"""The largest number of rows that are left out. If there are more rows, the first rows are taken."""


def naive_leave_one_out_residuals(problem: Regression, refits: int) -> np.ndarray:
    """Return y_i minus the prediction at x_i of a fit to the other rows, for each of the first `refits` rows."""
    matrix, y = np.asarray(problem.gram), np.asarray(problem.y)
    residuals = []
    for row in range(min(refits, len(y))):
        others = np.delete(np.arange(len(y)), row)
        regularised = matrix[np.ix_(others, others)] + float(problem.ridge) * np.eye(len(others))
        residuals.append(y[row] - matrix[row, others] @ np.linalg.solve(regularised, y[others]))
    return np.stack(residuals)


def _averaged(residuals: Array, problem: Regression) -> Array:
    # generalised cross-validation replaces every leverage by their mean
    weights = jnp.diagonal(jnp.linalg.inv(problem.gram + problem.ridge * jnp.eye(len(problem.y))))
    return residuals * (weights[: len(residuals)] / weights.mean())[:, None]


class LeaveOneOutIdentity(Claim[Regression]):
    """Let K be the n x n Gram matrix of the training rows x_i, and let y be their targets. Let f_(-i) be the kernel
    ridge regression on the other n - 1 rows. The residual of f_(-i) at row i is exactly

        y_i - f_(-i)(x_i) = [(K + ridge I)^-1 y]_i / [(K + ridge I)^-1]_ii

    if every fit has the same ridge on the diagonal. On large problems, the test leaves out only the first 20 rows, one
    at a time.
    """

    title = "The leave-one-out residuals of kernel ridge regression have a closed form"
    source = Source("wahba1990", "Theorem 4.2.1", note="the leaving-out-one lemma")
    population = KernelRegressions(
        Integer(20, 3, 300, "training rows"), noise=Real(0.5, 0.0, 100.0, "standard deviation of the noise")
    )
    # a residual is a sum over all rows that cancels; a residual that is small by accident has the error of the largest
    # one
    relation = Equal(block=2)
    control = Control("each entry of the diagonal can be replaced by the mean of the diagonal", _averaged)
    controls = "the error on each row when it is left out of the fit"
    unexplained = "how far leave-one-out is from the error on new data"
    traced = False

    def hypotheses(self, problem: Regression) -> list[Hypothesis]:
        values = jnp.linalg.eigvalsh(problem.gram) + problem.ridge
        name, why = "K + ridge I is positive definite (smallest eigenvalue)", "the ridge makes every refit unique"
        return [Hypothesis(name, values[0], ">", rounding_floor(values), why)]

    def predict(self, problem: Regression) -> Array:
        """Return the right side for the first rows, from one factorisation of K + ridge I."""
        return leave_one_out_residuals(problem.gram, problem.y, problem.ridge)[:REFITS]

    def measure(self, problem: Regression, key: Key[Array, ""]) -> Array:
        return jnp.asarray(naive_leave_one_out_residuals(problem, REFITS))

    def condition(self, problem: Regression) -> Array:
        """Return the condition number of K + ridge I, times the largest |coefficients| / [(K + ridge I)^-1]_ii, divided
        by the largest residual.
        """
        regularised = problem.gram + problem.ridge * jnp.eye(len(problem.y))
        values, inverse = jnp.linalg.eigvalsh(regularised), jnp.linalg.inv(regularised)
        coefficients, weights = inverse @ problem.y, jnp.diagonal(inverse)
        largest = jnp.abs(coefficients / weights[:, None]).max()
        return values[-1] / values[0] * jnp.linalg.norm(coefficients) / weights.min() / largest
