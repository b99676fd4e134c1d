"""Support vectors: all other rows can be removed without changing the separating plane.

This theory bounds the expected error of the separator of largest margin by a number that can be counted after training.
It assumes separable rows. It is about the mean over training sets and not about a single training set.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Key
from scipy.optimize import nnls
from sklearn.svm import SVC

from lemmata.engine.claims import AtMost, Claim, Control, Source
from lemmata.engine.problems.generators import generator_of
from lemmata.engine.problems.margin_rows import LinearlySeparableSets, SeparableSets

ABOUT = {"tool": "convex optimisation", "architecture": "linear model", "object": "generalisation"}

_VAPNIK = Source("vapnik1998", note="main result, for the bound by support vectors")
_SETS = 8


def separator(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the shortest w with y_i <w, x_i> >= 1 for all i, by non-negative least squares."""
    signed = y[:, None] * x
    system, target = np.concatenate([signed.T, np.ones((1, len(x)))]), np.zeros(x.shape[1] + 1)
    target[-1] = 1.0
    residual = target - system @ nnls(system, target)[0]
    return -residual[:-1] / residual[-1]


def support_vectors(x: np.ndarray, y: np.ndarray) -> int:
    """Count the rows with a positive multiplier in libsvm. Mirrored rows are added so that the intercept is 0."""
    machine = SVC(kernel="linear", C=1e8, tol=1e-8).fit(np.concatenate([x, -x]), np.concatenate([y, -y]))
    return len(np.unique(machine.support_ % len(x)))


class LeaveOneOutErrorsAreSupportVectors(Claim[SeparableSets]):
    """Consider the separator of largest margin through the origin on n rows: the shortest vector w with y_i <w, x_i> >=
    1 for all rows i. Let S be its number of support vectors. For each row in turn, train the separator on the other n -
    1 rows and test it on this row. The share of rows with a wrong answer is at most

        S / n,

    because leaving out a row that is not a support vector does not change the separator.
    """

    title = "Support vectors bound the leave-one-out error of the separator of largest margin"
    source = _VAPNIK
    population = LinearlySeparableSets()
    relation = AtMost()
    control = Control("the error is at most a third of the bound", lambda value, problem: value / 3)
    controls = "the leave-one-out error of the separator of largest margin"
    unexplained = "soft margins, for which rows inside the margin count as well"
    traced = False  # the quadratic programmes are SciPy's and libsvm's
    trivial = 1.0  # all of them

    def predict(self, problem: SeparableSets) -> Array:
        x, y = np.asarray(problem.x[0]), problem.y[0]
        return jnp.asarray(support_vectors(x, y) / len(x))

    def measure(self, problem: SeparableSets, key: Key[Array, ""]) -> Array:
        """Return the share of wrong answers on left-out rows, by training n times without one row each time."""
        x, y = np.asarray(problem.x[0]), problem.y[0]
        rows = np.arange(len(x))
        wrong = [y[row] * (separator(x[rows != row], y[rows != row]) @ x[row]) <= 0 for row in rows]
        return jnp.asarray(np.mean(wrong))


class ErrorFromSupportVectors(Claim[SeparableSets]):
    """Let S be the number of support vectors of the separator of largest margin through the origin on n rows. If the
    separator is trained on n - 1 rows instead, its expected error on new rows is at most

        E S / n,

    where the expectation is over training sets. The test estimates E S by the mean of S over 8 training sets. It
    estimates the expected error by the mean error over 48 training sets, and subtracts four standard errors.
    """

    title = "The expected number of support vectors bounds the expected error of the separator of largest margin"
    source = _VAPNIK
    population = LinearlySeparableSets(sets=_SETS)
    relation = AtMost()
    control = Control("the error is at most a third of the bound", lambda value, problem: value / 3)
    controls = "the expected error of the separator of largest margin"
    unexplained = "a single training set, and why the error is often far smaller"
    traced = False  # the quadratic programmes are SciPy's and libsvm's
    trivial = 0.5  # guessing

    def predict(self, problem: SeparableSets) -> Array:
        sets = zip(np.asarray(problem.x), problem.y, strict=True)
        return jnp.asarray(np.mean([support_vectors(x, y) / len(x) for x, y in sets]))

    def measure(self, problem: SeparableSets, key: Key[Array, ""]) -> Array:
        """Train on fresh sets of n - 1 rows. Two directions label the share angle/pi of normal rows differently."""
        sets, n, d = problem.x.shape
        fresh = generator_of(key).standard_normal((6 * sets, n - 1, d))
        teacher = np.asarray(problem.teacher)
        weights = np.stack([separator(x, np.sign(x @ teacher)) for x in fresh])
        cosines = weights @ teacher / np.linalg.norm(weights, axis=1)
        errors = np.arccos(np.clip(cosines, -1.0, 1.0)) / np.pi
        return jnp.asarray(errors.mean() - 4 * errors.std(ddof=1) / np.sqrt(len(errors)))
