"""The measured held-out error against scikit-learn, and pools with a dominating row."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.kernel_ridge import KernelRidge

from lemmata.engine.claims import examine
from lemmata.engine.problems.sampled import sampled_regression
from lemmata.kernels import Linear
from lemmata.subjects.generalisation.learning_curves import LearningCurveEstimate, held_out_error, pooled


def test_error_is_that_of_sklearn(key):
    problem = sampled_regression(key, n=15, t=10, d=3, ridge=0.2)
    matrix, y = (np.asarray(array) for array in pooled(problem))
    train, test = np.arange(0, 25, 2), np.arange(1, 25, 2)
    model = KernelRidge(alpha=0.2, kernel="precomputed").fit(matrix[np.ix_(train, train)], y[train])
    wanted = np.mean((model.predict(matrix[np.ix_(test, train)]) - y[test]) ** 2)
    tolerance = 32 * np.finfo(float).eps * np.linalg.cond(matrix[np.ix_(train, train)] + 0.2 * np.eye(13))
    np.testing.assert_allclose(held_out_error(matrix, y, 0.2, train), wanted, rtol=tolerance)


def test_the_pool_holds_all_rows(key):
    problem = sampled_regression(key, n=6, t=4, d=3)
    matrix, y = pooled(problem)
    assert matrix.shape == (10, 10)
    np.testing.assert_array_equal(y, np.concatenate([problem.y, problem.y_test]))
    np.testing.assert_allclose(matrix[6:, :6], problem.cross, rtol=8 * np.finfo(float).eps)


def test_a_user_problem(key):
    found = examine(LearningCurveEstimate(), sampled_regression(key, n=100, t=60, d=4), key)
    assert found.applies
    # four halves of 160 rows: mean squares of 80 residuals each have a standard error of about sqrt(2/80)/2 = 8 %
    assert abs(np.log(found.ratio)) < 4 * np.sqrt(2 / 80)


def test_a_dominating_row_fails(key):
    problem = dataclasses.replace(sampled_regression(key, n=20, t=20, d=3), kernel=Linear(3.0))
    problem = dataclasses.replace(problem, x=problem.x.at[0].set(1e3))
    found = examine(LearningCurveEstimate(), problem, jax.random.key(0))
    assert "no row dominates" in found.culprit
    assert jnp.isfinite(found.measured)
