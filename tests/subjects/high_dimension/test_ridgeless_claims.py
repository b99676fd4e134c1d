"""Ridgeless least squares: exact finite-size means, hypotheses that fail, double descent on data."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression

from lemmata.engine.claims import examine
from lemmata.engine.problems.regression import Regression
from lemmata.kernels import Linear
from lemmata.subjects.high_dimension import double_descent, ridgeless
from lemmata.subjects.high_dimension._linear_designs import draw_design, pose_design
from lemmata.subjects.high_dimension._random_matrices import isotropy

CLAIMS = [
    ridgeless.UnderparameterisedVariance(),
    ridgeless.OverparameterisedVariance(),
    ridgeless.OverparameterisedBias(),
]


def diabetes():
    x, y = load_diabetes(return_X_y=True)
    x, y = (x - x.mean(0)) / x.std(0), ((y - y.mean()) / y.std())[:, None]
    x, y = jnp.asarray(x), jnp.asarray(y)
    return Regression(x[:200], y[:200], x[200:], y[200:], Linear(), jnp.asarray(0.0), jnp.asarray(jnp.nan))


def linear_problem(key, rows=200, columns=40, noise=1.0, bend=0.0):
    drawn = draw_design(2 * rows, columns, 1, 0.5, noise, key)
    y = (drawn.y + bend * (drawn.x[:, 0] ** 2 - 1))[:, None]
    return Regression(
        drawn.x[:rows], y[:rows], drawn.x[rows:], y[rows:], Linear(), jnp.asarray(0.0), jnp.asarray(noise)
    )


def broken(found):
    return {finding.name for finding in found.hypotheses if finding.holds is False}


@pytest.mark.parametrize(("n", "d"), [(100, 50), (90, 30), (40, 80), (50, 150)])
def test_margin_covers_the_exact_mean_at_finite_size(n, d):
    exact = d / (n - d - 1) if n > d else n / (d - n - 1)  # trace of an inverse Wishart matrix
    ratio = exact / float(ridgeless.ridgeless_variance(d / n, 1.0))
    assert ratio == pytest.approx(1 + 1 / (abs(n - d) - 1), rel=1e-12)
    assert ratio - 1 <= ridgeless.UnderparameterisedVariance.relation.margin


def test_limits_at_the_ends():
    assert float(ridgeless.ridgeless_variance(1.0, 1.0)) == np.inf
    assert float(ridgeless.ridgeless_bias(0.5, 3.0)) == 0.0
    assert float(ridgeless.ridgeless_bias(1e9, 3.0)) == pytest.approx(9.0)


def test_measured_variance_is_the_conditional_trace(key):
    problem = draw_design(60, 20, 50, 1.0, 0.7, key)
    hat = np.asarray(problem.x_test) @ np.linalg.inv(np.asarray(problem.x).T @ problem.x) @ np.asarray(problem.x).T
    exact = 0.49 * np.mean(np.sum(hat**2, axis=1))
    claim = ridgeless.UnderparameterisedVariance()
    draws = np.asarray(jax.lax.map(lambda k: claim.measure(problem, k), jax.random.split(key, 200)))
    assert abs(draws.mean() - exact) <= 4 * draws.std(ddof=1) / np.sqrt(len(draws))


def test_measured_bias_is_that_of_a_projection(key):
    problem = draw_design(20, 50, 30, 2.0, 0.7, key)
    rows = np.linalg.qr(np.asarray(problem.x).T)[0]
    lost = np.asarray(problem.coefficients) - rows @ (rows.T @ np.asarray(problem.coefficients))
    measured = float(ridgeless.OverparameterisedBias().measure(problem, key))
    assert measured == pytest.approx(np.mean((np.asarray(problem.x_test) @ lost) ** 2), rel=1e-10)


def test_posed_coefficients_and_noise_are_least_squares():
    problem = diabetes()
    posed = pose_design(problem)
    x, y = np.concatenate([problem.x, problem.x_test]), np.concatenate([problem.y, problem.y_test])[:, 0]
    fit = LinearRegression(fit_intercept=False).fit(x, y)
    assert np.allclose(posed.coefficients, fit.coef_, rtol=0, atol=1e-10)
    residual = np.sum((y - fit.predict(x)) ** 2) / (len(x) - x.shape[1])
    assert float(posed.noise) ** 2 == pytest.approx(residual, rel=1e-10)
    assert not posed.known


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_real_data_are_not_isotropic_and_the_numbers_are_there(claim, key):
    found = examine(claim, diabetes(), key)
    assert not found.applies
    assert np.isfinite([found.predicted, found.measured]).all()
    assert claim.population.pose("a string") is None


def test_isotropic_data_pass_and_what_is_bent_is_found(key):
    claim = ridgeless.UnderparameterisedVariance()
    assert examine(claim, linear_problem(key), key).applies
    assert broken(examine(claim, linear_problem(key, bend=2.0), key)) == {"the target is linear up to the noise"}


def test_too_few_rows_apart_and_the_wrong_side_are_found(key):
    claim = ridgeless.UnderparameterisedVariance()
    assert "n and d are far enough apart for the limit" in broken(examine(claim, linear_problem(key, 45, 40), key))
    assert "fewer columns than rows" in broken(examine(claim, linear_problem(key, 30, 60), key))


def test_unequal_variances_are_found_at_both_ends(key):
    x = jax.random.normal(key, (200, 40))
    low = isotropy(x.at[:, 0].multiply(0.01))
    high = isotropy(x.at[:, 0].multiply(3.0))
    assert [bool(h.holds) for h in isotropy(x)] == [True, True, True, True]
    assert [bool(h.holds) for h in low][1:3] == [True, False]
    assert [bool(h.holds) for h in high][1:3] == [False, True]
    assert not isotropy(x[:2])[0].holds, "80 entries look like anything"


def test_held_out_risk_of_all_rows_is_sklearns(key):
    problem = diabetes()
    fit = LinearRegression(fit_intercept=False).fit(problem.x, problem.y[:, 0])
    error = np.mean((fit.predict(problem.x_test) - np.asarray(problem.y_test)[:, 0]) ** 2)
    assert float(double_descent.held_out_risk(problem, 200, 2, key)) == pytest.approx(error, rel=1e-10)


def test_signal_to_noise_is_that_of_the_problem(key):
    ratios = jax.jit(jax.vmap(lambda k: double_descent.signal_to_noise(*_rows(k))))(jax.random.split(key, 64))
    assert abs(ratios.mean() - 0.25) <= 4 * ratios.std(ddof=1) / 8


def _rows(key):
    drawn = draw_design(200, 30, 1, 0.5, 1.0, key)
    return drawn.x, drawn.y


def test_double_descent_falls_on_data_with_few_features(key):
    problem = diabetes()
    peak, far = (float(double_descent.held_out_risk(problem, rows, 64, key)) for rows in (12, 40))
    assert peak > far
    found = examine(double_descent.MoreDataHurt(), problem, key)
    assert "no direction has too much variance" in broken(found)


@pytest.mark.parametrize("claim", [double_descent.MoreDataHurt(), double_descent.DescentBeyondThreshold()])
@pytest.mark.parametrize("d", [1, 4, 20, 24, 40, 60])
def test_a_ladder_needs_columns(claim, d, key):
    sizes = [round(rung * d) for rung in claim.relation.rungs]
    hypothesis = claim.population.hypotheses(linear_problem(key, 5 * d, d))[0]
    assert hypothesis.name.startswith("d is large enough")
    assert bool(hypothesis.holds) == (d >= 24)
    if d >= 24:
        assert len(set(sizes)) == 4
        assert all(abs(d - n) > 3 for n in sizes)  # d/(n-d-1) and n/(d-n-1) are finite, and so is their variance


@pytest.mark.parametrize(("rows", "columns", "enough"), [(200, 4, False), (2, 60, False), (200, 60, True)])
def test_the_bias_needs_rows_and_columns(rows, columns, enough, key):
    found = examine(ridgeless.OverparameterisedBias(), linear_problem(key, rows, columns), key)
    assert ("n and d are large enough (relative spread of the kept share of |beta|²)" not in broken(found)) == enough
    assert found.applies == enough


def test_the_spread_of_a_share_is_that_of_a_random_projection(key):
    n, d = 10, 25
    claim = ridgeless.OverparameterisedBias()

    def lost(k):
        rows = jnp.linalg.qr(jax.random.normal(k, (d, n)))[0]
        return 1 - jnp.sum(rows[0] ** 2)

    shares = np.asarray(jax.vmap(lost)(jax.random.split(key, 4000)))
    hypothesis = claim.hypotheses(draw_design(n, d, 3, 1.0, 1.0, key))[0]
    # the kept share 0.4 is the smaller one; a standard deviation over 4000 draws is known to about 1/sqrt(8000)
    assert float(hypothesis.value) == pytest.approx(shares.std() / 0.4, rel=4 / np.sqrt(8000))


def test_double_descent_finishes_at_the_largest_setting():
    """Batched decompositions in one compiled call can wait for each other: these claims run outside one."""
    from lemmata.engine.claims import verify
    from lemmata.subjects.high_dimension.double_descent import MoreDataHurt

    verdict = verify(MoreDataHurt(), {"d": 100}, budget=4, progress=False)
    assert verdict.judged == 4
