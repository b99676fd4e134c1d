"""Gradient descent on least squares against plain NumPy loops, and where its hypotheses must fail."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.claims import examine
from lemmata.engine.problems.sampled import sampled_regression
from lemmata.kernels import Linear
from lemmata.subjects.optimisation._descent import gradient_descent, iterations_to_fit, shift_to_condition_number
from lemmata.subjects.optimisation._least_squares import LeastSquares, kernel_features
from lemmata.subjects.optimisation.least_squares import (
    ConditionNumberGrowth,
    ConditionNumberIterations,
    ResidualsFollowGram,
)

EPS = np.finfo(float).eps


def by_loop(matrix, residual, step, accuracy):
    """Count iterations one by one."""
    matrix, residual = np.asarray(matrix), np.asarray(residual)
    goal, count = accuracy * np.linalg.norm(residual), 0
    while np.linalg.norm(residual) > goal:
        residual, count = residual - step * matrix @ residual, count + 1
    return count


@pytest.mark.parametrize("kappa", [2.0, 17.0, 300.0])
def test_iterations_are_those_of_a_plain_loop(key, kappa):
    problem = sampled_regression(key, n=12, t=1, d=3)
    values = jnp.linalg.eigvalsh(problem.gram)
    shift = shift_to_condition_number(values, kappa)
    matrix = problem.gram + shift * jnp.eye(12)
    np.testing.assert_allclose(np.linalg.cond(matrix), kappa, rtol=64 * EPS * kappa)
    step = 1 / (values[-1] + shift)
    for accuracy in (0.5, 1e-3):
        found = float(iterations_to_fit(matrix, problem.y, step, accuracy))
        assert found == by_loop(matrix, problem.y, float(step), accuracy) > 0


def test_a_singular_matrix_is_never_fitted():
    assert iterations_to_fit(jnp.diag(jnp.array([1.0, 0.0])), jnp.ones((2, 1)), jnp.asarray(1.0), 0.1) == jnp.inf


def test_one_dimension_by_hand():
    # residual (1 - 0.5)^t: an eighth after 3 steps
    assert iterations_to_fit(jnp.eye(1), jnp.ones((1, 1)), jnp.asarray(0.5), 0.125) == 3
    weights = gradient_descent(2 * jnp.eye(1), jnp.ones((1, 1)), jnp.zeros((1, 1)), jnp.asarray(0.125), 3)
    assert float(weights[0, 0]) == 0.5 * (1 - 0.5**3)


def test_kernel_features_have_the_gram_matrix(key):
    matrix = sampled_regression(key, n=15, t=1, d=2).gram
    features = kernel_features(matrix)
    assert np.abs(features @ features.T - matrix).max() <= 32 * 15 * EPS * float(jnp.trace(matrix))


def test_residuals_of_a_user_problem_with_several_outputs(key):
    problem = sampled_regression(key, n=20, t=5, d=3)
    problem = type(problem)(
        problem.x,
        jnp.tile(problem.y, (1, 3)),
        problem.x_test,
        jnp.tile(problem.y_test, (1, 3)),
        problem.kernel,
        problem.ridge,
        problem.noise,
    )
    for claim in (ResidualsFollowGram(), ConditionNumberIterations(), ConditionNumberGrowth()):
        assert examine(claim, problem, key).applies
    assert examine(ResidualsFollowGram(), problem, key).agrees is True
    assert examine(ConditionNumberIterations(), problem, key).agrees is True


def test_hypotheses_fail_where_they_must(key):
    problem = sampled_regression(key, n=20, t=5, d=3)
    doubled = type(problem)(
        jnp.tile(problem.x, (2, 1)),
        jnp.tile(problem.y, (2, 1)),
        problem.x_test,
        problem.y_test,
        problem.kernel,
        problem.ridge,
        problem.noise,
    )
    culprit = examine(ConditionNumberIterations(), doubled, key).culprit
    assert culprit.startswith("20 pairs of equal rows (training rows 0 and 20, 1 and 21, 2 and 22, ..., counted")
    linear = dataclasses.replace(problem, kernel=Linear(3.0))
    assert examine(ConditionNumberIterations(), linear, key).culprit == "the kernel matrix of the 20 rows has rank 3"
    both = examine(ConditionNumberIterations(), dataclasses.replace(doubled, kernel=Linear(3.0)), key).culprit
    assert both.endswith(
        "make the smallest eigenvalue of the kernel matrix zero, and the kernel matrix of the 40 rows has rank 3"
    )
    features = jnp.eye(3)
    wild = LeastSquares(features, jnp.ones((3, 1)), jnp.ones((3, 1)), jnp.asarray(2.5), 3)
    failing = [finding.name for finding in examine(ResidualsFollowGram(), wild, key).hypotheses if not finding.holds]
    assert failing == ["the step is at most 2 / lambda_max", "training starts at zero"]
    flat = LeastSquares(features, jnp.ones((3, 1)), jnp.zeros((3, 1)), jnp.asarray(0.5), 3)
    assert not examine(ConditionNumberIterations(), flat, key).applies  # a step of half 1 / lambda_max
    assert jax.tree.leaves(flat)
