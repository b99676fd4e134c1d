"""Moments by quadrature and by hand; the alignment in closed form for linear targets."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.tangent import first_step as section


@pytest.mark.parametrize("name", section._MOMENTS)
def test_moments_of_the_links(name):
    z, weights = np.polynomial.hermite_e.hermegauss(150)
    g, mean = section.link(name, z), lambda values: np.sum(weights * values) / weights.sum()
    slope = mean(g * z)  # Stein's identity
    np.testing.assert_allclose(section._MOMENTS[name], (slope, mean(g**2 * z**2), mean(g**2)), atol=2e-3, rtol=1e-6)


def test_kurtosis_of_the_relu_is_15_and_3():
    problem = section.Width(jnp.asarray(1.0), "relu", 10)
    np.testing.assert_allclose(section.OutputKurtosis().predict(problem), [1.5, 0.3], rtol=1e-10)
    twice = section.Width(jnp.asarray(2.0), "relu", 10)
    np.testing.assert_allclose(section.OutputKurtosis().predict(twice), [1.5, 0.3], rtol=1e-10)


def test_kurtosis_of_one_unit_with_signs():
    """With m = 1 the output is a sign times the unit: its fourth moment is that of the unit."""
    found = section.OutputKurtosis().predict(section.Width(jnp.asarray(1.0), "relu", 1))
    np.testing.assert_allclose(found, [3 * 6 - 3, 6 - 3], rtol=1e-10)


def test_alignment_with_one_dimension_is_complete():
    problem = section.SingleIndex(jnp.ones(1), jnp.asarray(0.5), "mixed", 1, 50)
    assert float(section.FirstGradientAligns().predict(problem)[0]) == pytest.approx(1.0)


def test_alignment_without_a_mean_slope_is_noise(monkeypatch):
    monkeypatch.setitem(section._MOMENTS, "mixed", (0.0, 1.0, 1.0))
    problem = section.SingleIndex(jnp.ones(8), jnp.asarray(0.0), "mixed", 8, 50)
    np.testing.assert_allclose(section.FirstGradientAligns().predict(problem), 1 / 8, rtol=1e-12)


def test_the_gradient_of_one_unit_that_is_always_active(key):
    """Of a unit with slope 1 at all rows, the first gradient is q itself."""
    problem = section.SingleIndex(jnp.ones(6), jnp.asarray(0.1), "tanh", 6, 40)
    x, y = problem.rows(np.random.default_rng(0))
    gradient = np.outer(np.ones(3), y @ x / 40)
    assert abs(np.linalg.svd(gradient)[2][0] @ (y @ x)) == pytest.approx(np.linalg.norm(y @ x))
    assert section.FirstGradientIsRankOne().measure_at(problem, key, 192.0) > 0.98
