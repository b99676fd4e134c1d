import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from lemmata.errors import SettingError, ShapeError
from lemmata.spectra import (
    deterministic_equivalent,
    effective_regularisation,
    gcv,
    leave_one_out,
    omniscient_curve,
    population_regularisation,
    spectrum,
)

EPS = np.finfo(float).eps


def problem(seed, n, d, k=2):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -0.7
    y = z @ rng.normal(size=(d, k)) + 0.3 * rng.normal(size=(n, k))
    return jnp.asarray(z @ z.T), jnp.asarray(y)


def naive_error(A, y, n, ridge):
    """The formula of docs/design.md as it is printed, with dense inverses and a general root finder."""
    A, y, N = np.asarray(A), np.asarray(y), len(A)
    values = np.linalg.eigvalsh(A)
    equation = lambda s: ridge * np.sum(1 / (values + np.exp(s))) + np.sum(values / (values + np.exp(s))) - n
    mu = np.exp(brentq(equation, np.log(ridge) - 1, np.log(N * ridge + values.sum()) + 1, xtol=1e-14))
    B = np.linalg.inv(A + mu * np.eye(N))
    return n * np.sum((B @ y) ** 2) / (np.trace(B) ** 2 - (1 - n / N) * N * np.trace(B @ B)), mu


def test_the_curve_is_the_printed_formula():
    A, y = problem(0, 60, 90)
    sizes = [2, 7, 20, 45, 59]
    curve = deterministic_equivalent(spectrum(A), y, sizes, 0.05)
    for i, n in enumerate(sizes):
        error, mu = naive_error(A, y, n, 0.05)
        condition = float(jnp.linalg.cond(A + mu * jnp.eye(60)))
        # brentq stops at 1e-14 in log mu; the printed denominator cancels by at most N/n; the root has slope at most N
        bound = 60 * 60 * (EPS * condition + 1e-14)
        np.testing.assert_allclose(curve.mu[i], mu, rtol=bound)
        np.testing.assert_allclose(curve.error[i], error, rtol=bound)


def test_at_the_whole_set_it_is_generalised_cross_validation():
    A, y = problem(1, 50, 70)
    for ridge in (1e-6, 0.3, 20.0):
        curve = deterministic_equivalent(spectrum(A), y, [50], ridge)
        assert float(curve.mu[0]) == ridge
        np.testing.assert_allclose(curve.error[0], gcv(spectrum(A), y, ridge), rtol=200 * EPS)


def test_it_tends_to_the_omniscient_estimate_as_the_set_grows():
    # A set made of m copies of the same rows has the population of those rows: its eigenvalues are m times theirs, its
    # other modes are null. The gap to the population formula must fall like n/N, i.e. like 1/m.
    A, y = problem(2, 30, 40)
    base = spectrum(A)
    eigenvalues, coefficients = base.eigenvalues / 30, base.eigenvectors.T @ y / np.sqrt(30)
    sizes, ridge = [5, 12, 25], 0.2
    limit = omniscient_curve(eigenvalues, coefficients, 0.0, sizes, ridge).error
    gaps = []
    for copies in (4, 8):
        full = spectrum(jnp.tile(A, (copies, copies)))
        gaps.append(
            np.abs(np.log(deterministic_equivalent(full, jnp.tile(y, (copies, 1)), sizes, ridge).error / limit))
        )
    ratio = np.log2(np.array(gaps[:-1]) / np.array(gaps[1:]))
    assert np.all(np.array(gaps[-1]) < 2 * 25 / (30 * 8))
    assert np.all(np.abs(ratio[-1] - 1) < 0.35), ratio


def test_without_ridge_it_is_the_limit_of_small_ridges_on_both_sides_of_the_rank():
    A, y = problem(3, 40, 15)
    sizes = [5, 10, 14, 16, 25, 40]
    zero, small = (deterministic_equivalent(spectrum(A), y, sizes, ridge) for ridge in (0.0, 1e-11))
    np.testing.assert_array_equal(np.asarray(zero.mu)[3:], 0)
    # the error moves by about ridge / a_15 times the condition of the equation near the rank
    np.testing.assert_allclose(zero.error, small.error, rtol=1e-6)
    assert np.isinf(deterministic_equivalent(spectrum(A), y, [15], 0.0).error[0])


def test_without_ridge_beyond_the_rank_it_is_the_risk_of_least_squares():
    # y pure noise: the residual power is spread over N - r null modes, and the risk is sigma² n / (n - r)
    A, _ = problem(4, 60, 10)
    found = spectrum(A)
    noise = found.eigenvectors[:, 10:] @ jnp.ones(50)
    error = deterministic_equivalent(found, noise, [20, 40], 0.0).error
    np.testing.assert_allclose(error, [20 / 10, 40 / 30], rtol=1e-10)


def test_the_roots_solve_their_equations_over_many_scales():
    values = jnp.asarray(10.0 ** np.linspace(3, -12, 80))
    for ridge in (0.0, 1e-14, 1e-3, 1e4):
        for n in (1, 3, 40, 79):
            mu = effective_regularisation(values, n, ridge)
            np.testing.assert_allclose(jnp.sum((values + ridge) / (values + mu)), n, rtol=300 * EPS)
            kappa = population_regularisation(values, n, ridge)
            np.testing.assert_allclose(jnp.sum(values / (values + kappa)) + ridge / kappa, n, rtol=300 * EPS)


def test_the_root_carries_its_derivative():
    values = jnp.asarray(10.0 ** np.linspace(2, -3, 50))
    slope = jax.grad(lambda ridge: effective_regularisation(values, 20.0, ridge))(0.01)
    step = 1e-6
    ends = [effective_regularisation(values, 20.0, 0.01 + s) for s in (-step, step)]
    np.testing.assert_allclose(slope, (ends[1] - ends[0]) / (2 * step), rtol=1e-6)
    assert jax.vmap(lambda n: effective_regularisation(values, n, 0.01))(jnp.arange(1.0, 4)).shape == (3,)


def test_the_omniscient_estimate_is_least_squares_for_white_features():
    # d white features, no ridge: noise n / (n - d) beyond d; before it the bias (1 - n/d) and the noise d / (d - n)
    curve = omniscient_curve(jnp.ones(10), jnp.ones(10) / np.sqrt(10), 0.5, [4, 25], 0.0)
    expected = [(1 - 4 / 10) + 0.5 * 10 / 6, 0.5 * 25 / 15]
    np.testing.assert_allclose(curve.error, expected, rtol=100 * EPS)


def test_the_drift_leads_from_cross_validation_to_leave_one_out():
    A, y = problem(8, 40, 60)
    curve = deterministic_equivalent(spectrum(A), y, [10, 40], 0.1)
    expected = leave_one_out(spectrum(A), y, 0.1)
    np.testing.assert_allclose(curve.error[1] * jnp.exp(curve.drift[1]), expected, rtol=1000 * EPS)
    np.testing.assert_allclose(curve.drift[0], curve.drift[1] / 16, rtol=1000 * EPS)
    assert np.all(deterministic_equivalent(spectrum(A), 0 * y, [10], 0.1).drift == 0)


def test_sizes_and_targets_that_do_not_fit_are_refused():
    A, y = problem(6, 20, 30)
    for sizes in ([0], [21], []):
        with pytest.raises(SettingError, match="sizes"):
            deterministic_equivalent(spectrum(A), y, sizes, 0.1)
    with pytest.raises(SettingError, match="ridge"):
        deterministic_equivalent(spectrum(A), y, [3], -0.1)
    with pytest.raises(ShapeError, match="targets"):
        deterministic_equivalent(spectrum(A), y[:-1], [3], 0.1)
