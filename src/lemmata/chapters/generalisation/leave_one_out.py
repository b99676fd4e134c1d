"""Leave-one-out: n refits for the price of one.

This theory controls the error of kernel ridge regression on a row that was left out, exactly. It assumes squared loss
and the same ridge in every refit; it leaves unexplained how far leave-one-out is from the error on new data.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key

from lemmata.claims import Claim, Control, Equal, Hypothesis, Integer, Real, Source, Space
from lemmata.problems import Regression
from lemmata.problems._sampled import KERNEL, sampled_regression
from lemmata.problems._singular import singular_cause
from lemmata.solvers import leave_one_out_residuals

REFITS = 20
"""On many rows, only the first ones are refitted."""


def naive_leave_one_out_residuals(problem: Regression, refits: int) -> np.ndarray:
    """y_i minus the prediction at x_i of a fit to the other rows, for the first rows, one refit each."""
    matrix, y = np.asarray(problem.gram), np.asarray(problem.y)
    residuals = []
    for row in range(min(refits, len(y))):
        others = np.delete(np.arange(len(y)), row)
        regularised = matrix[np.ix_(others, others)] + float(problem.ridge) * np.eye(len(others))
        residuals.append(y[row] - matrix[row, others] @ np.linalg.solve(regularised, y[others]))
    return np.stack(residuals)


class LeaveOneOutIdentity(Claim[Regression]):
    """The residual at row i of kernel ridge regression on the other rows is

        y_i - f_(-i)(x_i) = [(K + ridge I)^-1 y]_i / [(K + ridge I)^-1]_ii

    exactly, with the same ridge on the diagonal in every fit. On large problems the first 20 rows are refitted.
    """

    title = "Leave-one-out residuals in closed form"
    source = Source("wahba1990", "Theorem 4.2.1", note="the leaving-out-one lemma")
    relation = Equal()
    label = "identity"
    controls = "the error on each row when it is left out of the fit"
    unexplained = "how far leave-one-out is from the error on new data"
    problem = Regression
    trials = 128
    traced = False

    def settings(self) -> Space:
        """Rows, ridge, noise, kernel."""
        return Space(
            n=Integer(20, 3, 300, "training rows"),
            ridge=Real(0.1, 1e-6, 1e6, "ridge on the diagonal"),
            noise=Real(0.5, 0.0, 100.0, "standard deviation of the noise"),
            kernel=KERNEL,
        )

    def sample(self, setting: dict, key: Key[Array, ""]) -> Regression:
        """Random rows with a kernel."""
        return sampled_regression(key, t=1, d=5, **setting)

    def hypotheses(self, problem: Regression) -> list[Hypothesis]:
        """A fit that exists without each row."""
        values = jnp.linalg.eigvalsh(problem.gram) + problem.ridge
        floor = 16 * len(values) * jnp.finfo(values.dtype).eps * values[-1]
        why = "the ridge makes every refit unique"
        return [Hypothesis("K + ridge I is positive definite (smallest eigenvalue)", values[0], ">", floor, why)]

    def culprit(self, problem: Regression) -> str | None:
        """Why K + ridge I is singular, where it is: the ridge is then too small to separate equal rows."""
        return singular_cause(problem.gram + problem.ridge * jnp.eye(len(problem.y)), problem.x)

    def predict(self, problem: Regression) -> Array:
        """The closed form, from one factorisation."""
        return leave_one_out_residuals(problem.gram, problem.y, problem.ridge)[:REFITS]

    def measure(self, problem: Regression, key: Key[Array, ""]) -> Array:
        """One refit for each row."""
        return jnp.asarray(naive_leave_one_out_residuals(problem, REFITS))

    def trivial(self, problem: Regression) -> Array:
        """Predicting the mean of the targets."""
        return jnp.abs(problem.y - problem.y.mean(axis=0)).max()

    def condition(self, problem: Regression) -> Array:
        """kappa of K + ridge I, times how much larger |coefficients| / [(K + ridge I)^-1]_ii is than the residuals."""
        regularised = problem.gram + problem.ridge * jnp.eye(len(problem.y))
        values, inverse = jnp.linalg.eigvalsh(regularised), jnp.linalg.inv(regularised)
        coefficients, weights = inverse @ problem.y, jnp.diagonal(inverse)
        largest = jnp.abs(coefficients / weights[:, None]).max()
        return values[-1] / values[0] * jnp.linalg.norm(coefficients) / weights.min() / largest

    def control(self) -> Control:
        """Generalised cross-validation: every leverage replaced by their mean."""

        def averaged(residuals, problem):
            weights = jnp.diagonal(jnp.linalg.inv(problem.gram + problem.ridge * jnp.eye(len(problem.y))))
            return residuals * (weights[: len(residuals)] / weights.mean())[:, None]

        return Control("the mean of the diagonal may stand for each of its entries", averaged)
