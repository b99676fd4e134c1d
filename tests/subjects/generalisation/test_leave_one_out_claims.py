"""Naive leave-one-out against scikit-learn, and a user's problem."""

import jax.numpy as jnp
import numpy as np
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from lemmata.engine.claims import examine
from lemmata.engine.problems.sampled import sampled_regression
from lemmata.subjects.generalisation.leave_one_out import LeaveOneOutIdentity, naive_leave_one_out_residuals


def test_refits_are_those_of_sklearn(key):
    problem = sampled_regression(key, n=12, t=1, d=3, ridge=0.3)
    matrix, y = np.asarray(problem.gram), np.asarray(problem.y)
    held = cross_val_predict(KernelRidge(alpha=0.3, kernel="precomputed"), matrix, y, cv=LeaveOneOut())
    tolerance = 32 * np.finfo(float).eps * np.linalg.cond(matrix + 0.3 * np.eye(12)) * np.abs(y).sum()
    assert np.abs(naive_leave_one_out_residuals(problem, 12) - (y - held)).max() <= tolerance
    assert len(naive_leave_one_out_residuals(problem, 5)) == 5


def test_a_user_problem_beyond_the_number_of_refits(key):
    problem = sampled_regression(key, n=40, t=3, d=3)
    found = examine(LeaveOneOutIdentity(), problem, key)
    assert found.applies
    assert found.agrees is True


def test_without_ridge_duplicate_rows_fail(key):
    problem = sampled_regression(key, n=6, t=3, d=3, ridge=0.0)
    doubled = type(problem)(
        jnp.tile(problem.x, (2, 1)),
        jnp.tile(problem.y, (2, 1)),
        problem.x_test,
        problem.y_test,
        problem.kernel,
        problem.ridge,
        problem.noise,
    )
    values = LeaveOneOutIdentity().hypotheses(doubled)
    assert [bool(hypothesis.holds) for hypothesis in values] == [False]
    assert "6 pairs of equal rows" in (LeaveOneOutIdentity.population.culprit(doubled) or "")
    assert LeaveOneOutIdentity.population.culprit(problem) is None
