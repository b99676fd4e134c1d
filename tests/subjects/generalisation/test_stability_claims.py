"""Stability: refits against scikit-learn, the bound by hand, and residuals that are too large."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from lemmata.engine.claims import examine
from lemmata.engine.problems.sampled import sampled_regression
from lemmata.subjects.generalisation.stability import UniformStability, fit, fit_without, stability_bound


def test_the_bound_in_the_convention_of_the_source():
    # Example 3: 2 kappa² B² / (lambda m) with kappa² = 1, B = 1, lambda = 0.1, m = 50
    assert float(stability_bound(jnp.asarray(1.0), 1.0, 0.1 * 50)) == 0.4


@pytest.mark.parametrize("row", [0, 4, 11])
def test_refits_are_those_of_sklearn(key, row):
    problem = UniformStability.population.pose(sampled_regression(key, n=12, t=5, d=3, ridge=0.7))
    matrix, cross, y = (np.asarray(array) for array in (problem.matrix, problem.cross, problem.y))
    others = np.delete(np.arange(12), row)
    tolerance = 32 * np.finfo(float).eps * np.linalg.cond(matrix + 0.7 * np.eye(12)) * np.abs(y).sum()
    for kept, (train, test) in ((others, fit_without(problem, row)), (np.arange(12), fit(problem))):
        model = KernelRidge(alpha=0.7, kernel="precomputed").fit(matrix[np.ix_(kept, kept)], y[kept])
        assert np.abs(model.predict(matrix[:, kept]) - train).max() <= tolerance
        assert np.abs(model.predict(cross[:, kept]) - test).max() <= tolerance


def test_a_user_problem_and_residuals_beyond_the_bound(key):
    regression = sampled_regression(key, n=30, t=20, d=3, ridge=4.0)
    found = examine(UniformStability(), regression, key)
    assert found.applies
    assert found.agrees is True
    problem = UniformStability.population.pose(regression)
    small = dataclasses.replace(problem, bound=jnp.asarray(0.1))
    assert "residuals are at most M" in examine(UniformStability(), small, key).culprit
