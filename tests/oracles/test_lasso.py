"""The Lasso's solvers against scikit-learn's coordinate descent and statistics of the conditions of optimality."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import Lasso

from lemmata.solvers import accelerated_proximal_gradient, lasso_objective, proximal_gradient


def problem(seed, rows=40, columns=12):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(rows, columns))
    return features, features[:, :3] @ np.array([1.0, -2.0, 0.5]) + 0.3 * rng.normal(size=rows)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("penalty", [1e-3, 0.1, 1.0])
def test_both_methods_reach_the_same_minimum(seed, penalty):
    features, y = problem(seed)
    peer = Lasso(penalty / 2, fit_intercept=False, tol=1e-14, max_iter=10**5).fit(features, y).coef_
    step = 1 / (2 * np.linalg.eigvalsh(features.T @ features / len(y))[-1])
    with jax.enable_x64(True):
        known = (jnp.asarray(features), jnp.asarray(y), penalty)
        best = lasso_objective(*known, jnp.asarray(peer))
        for method, count in ((proximal_gradient, 4000), (accelerated_proximal_gradient, 2000)):
            path = method(*known, step, count)
            assert path.shape == (count + 1, 12)
            assert np.abs(np.asarray(path[-1]) - peer).max() < 1e-7
            assert abs(float(lasso_objective(*known, path[-1]) - best)) < 1e-12


def test_a_penalty_above_the_largest_correlation_leaves_nothing():
    features, y = problem(0)
    largest = 2 * np.abs(features.T @ y).max() / len(y)
    with jax.enable_x64(True):
        known = (jnp.asarray(features), jnp.asarray(y))
        assert not np.any(proximal_gradient(*known, 1.001 * largest, 0.1, 50))
        assert np.any(proximal_gradient(*known, 0.99 * largest, 0.1, 50)[-1])


def test_errors_are_added_after_the_threshold():
    features, y = problem(1)
    errors = np.full((3, 12), 0.25)
    with jax.enable_x64(True):
        known = (jnp.asarray(features), jnp.asarray(y), 1e3, 0.01)  # a penalty that leaves 0 of every exact step
        assert np.allclose(proximal_gradient(*known, 3, jnp.asarray(errors))[1:], 0.25)
