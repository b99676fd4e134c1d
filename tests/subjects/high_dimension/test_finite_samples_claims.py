"""Exact means of ridgeless risks against inverse Wishart matrices, scikit-learn and a minimiser."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import invwishart
from sklearn.linear_model import LinearRegression, Ridge

from lemmata.subjects.high_dimension import finite_samples as finite
from lemmata.subjects.high_dimension._normal_designs import least_norm, noise_fits


def _model(n, p, signal=1.5, noise=0.7):
    return finite.IsotropicModel(jnp.asarray(signal), jnp.asarray(noise), n, p)


@pytest.mark.parametrize(("n", "p"), [(20, 8), (8, 20), (30, 24)])
def test_variances_are_traces_of_mean_inverse_wishart_matrices(n, p):
    smaller, larger = min(n, p), max(n, p)
    trace = np.trace(invwishart.mean(larger, np.eye(smaller)))
    bias = 1.5**2 * max(0.0, 1 - n / p)
    assert float(finite.FiniteSampleRidgeless().predict(_model(n, p))) == pytest.approx(bias + 0.49 * trace)


def test_the_limit_is_the_control_and_is_lower():
    for n, p in ((20, 14), (20, 26)):
        problem = _model(n, p, signal=0.0)
        exact = float(finite.FiniteSampleRidgeless().predict(problem))
        limit = float(finite.FiniteSampleRidgeless().control.predict(jnp.asarray(exact), problem))
        assert exact / limit == pytest.approx(6 / 5)


def test_fits_of_smallest_norm_are_scikit_learns():
    rng = np.random.default_rng(0)
    for n, p in ((9, 4), (4, 9)):
        x, y = rng.normal(size=(n, p)), rng.normal(size=(n, 3))
        fit = LinearRegression(fit_intercept=False).fit(x, y).coef_.T
        assert np.allclose(least_norm(x, y), fit)
        assert np.allclose(Ridge(1e-9, fit_intercept=False).fit(x, y).coef_.T, fit, atol=1e-6)


def test_the_conditional_risk_by_its_projection():
    claim = finite.ConditionalRisk()
    for n, p in ((30, 12), (12, 30)):
        problem = claim.population.sample({**claim.population.settings().default, "n": n, "p": p}, jax.random.key(n))
        x = np.asarray(problem.x) * np.sqrt(np.asarray(problem.variances))
        covariance, beta = np.diag(problem.variances), np.asarray(problem.coefficients)
        gram = x @ x.T if n < p else x.T @ x
        inverse = x.T @ np.linalg.inv(gram) if n < p else np.linalg.inv(gram) @ x.T
        project = np.eye(p) - inverse @ x
        exact = beta @ project @ covariance @ project @ beta
        exact += float(problem.noise) ** 2 * np.trace(inverse.T @ covariance @ inverse)
        assert float(claim.predict(problem)) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize("ratio", [2.0, 5.0, 12.0])
def test_the_best_ratio_is_that_of_a_minimiser(ratio):
    risk = lambda g: ratio * (1 - 1 / g) + 1 / (g - 1)
    found = minimize_scalar(risk, bounds=(1.01, 50), method="bounded", options={"xatol": 1e-9})
    best = finite.BestOverparameterisation().predict(finite.SignalToNoise(jnp.asarray(ratio), 80))
    assert np.allclose(best[:2], [found.x, found.fun], rtol=1e-6)
    assert found.fun < ratio


def test_without_enough_signal_no_ratio_is_best():
    grid = np.geomspace(1.01, 1000, 2000)
    for ratio in (0.5, 1.0):
        risk = ratio * (1 - 1 / grid) + 1 / (grid - 1)
        assert (np.diff(risk) < 0).all()
        assert (risk > ratio).all()


def test_noise_on_equal_variances_is_exact_in_mean():
    draws = noise_fits(np.full(40, 3.0), 20, 400, 8, np.random.default_rng(1))
    assert abs(draws.mean() - 20 / 19) <= 4 * draws.std(ddof=1) / 20
