"""Coding rates: water levels by another route, tight cases of bounds, curves of pools by hand."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import Ridge

from lemmata.subjects.selection import NOISE, coding_rates, greedy_choice, posterior_gram
from lemmata.subjects.selection._coded_features import CodedFeatures, FeatureClouds
from lemmata.subjects.selection.labelled_pools import RowPool


def even(eps: float) -> CodedFeatures:
    return CodedFeatures(jnp.sqrt(3.0) * jnp.eye(3), jnp.asarray(eps), jnp.zeros(3), 1, 2)


@pytest.mark.parametrize("distortion", [0.1, 0.5, 1.2])
def test_the_water_level_gives_the_least_information_of_normal_channels(distortion):
    """min 1/2 sum log(a / b) over errors b <= a of sum b = distortion, by a general method."""
    values = np.array([1.0, 0.5, 0.05])
    spent = lambda b: 0.5 * np.sum(np.log(values / b))
    best = minimize(
        spent, values * distortion / values.sum(), bounds=[(1e-6, a) for a in values], method="SLSQP",
        constraints={"type": "eq", "fun": lambda b: b.sum() - distortion}, options={"ftol": 1e-12},
    )  # fmt: skip
    assert best.success
    assert float(coding_rates.least_nats(jnp.asarray(values), jnp.asarray(distortion))) == pytest.approx(
        best.fun, abs=1e-5
    )


def test_equal_moments_make_the_coding_rate_the_least_number_at_its_own_error():
    problem, key = even(0.5), jax.random.key(0)
    claim = coding_rates.CodingRateAboveLeastBits()
    assert float(claim.measure(problem, key)) == pytest.approx(float(claim.predict(problem)), rel=1e-9)
    assert float(claim.predict(problem)) == pytest.approx(1.5 * np.log1p(12.0))


def test_the_best_of_all_sets_and_a_trap_for_greed():
    """A vector along the diagonal is longest and shuts out both axes."""
    z = np.array([[0.75, 0.75], [1.0, 0.0], [0.0, 1.0]])
    problem = CodedFeatures(jnp.asarray(z), jnp.asarray(0.1), jnp.zeros(3), 1, 2)
    noise = float(problem.noise)
    rate = lambda s: 0.5 * np.linalg.slogdet(np.eye(2) + z[list(s)].T @ z[list(s)] / noise)[1]
    sets = {s: rate(s) for s in itertools.combinations(range(3), 2)}
    assert max(sets, key=sets.get) == (1, 2)
    best = float(greedy_choice.best_of_subsets(problem.gram, problem.noise, 2))
    assert best == pytest.approx(sets[1, 2])
    claim = greedy_choice.GreedyIsNearBest()
    reached = float(claim.measure(problem, jax.random.key(0)))
    assert reached == pytest.approx(max(sets[0, 1], sets[0, 2]))
    assert float(claim.predict(problem)) < reached < best


def test_half_of_the_feature_clouds_are_even(key):
    population = FeatureClouds()
    setting = population.settings().resolve(None)
    problems = jax.vmap(lambda own: population.sample(setting, own))(jax.random.split(key, 100))
    moments = np.einsum("tni,tnj->tij", problems.features, problems.features) / setting["n"]
    even = np.abs(moments - np.eye(setting["d"])).max(axis=(1, 2)) < 1e-9
    assert 30 <= even.sum() <= 70
    all_even = jax.vmap(lambda own: FeatureClouds(even=True).sample(setting, own))(jax.random.split(key, 100))
    moments = np.einsum("tni,tnj->tij", all_even.features, all_even.features) / setting["n"]
    assert np.abs(moments - np.eye(setting["d"])).max() < 1e-9


def test_curves_of_pools_are_those_of_ridge_regression():
    draw = np.random.default_rng(0)
    x, classes = draw.normal(size=(60, 3)), draw.integers(0, 3, 60)
    labels = np.eye(3)[classes]
    pool = RowPool(x @ x.T, labels, 30, 4, 5, 3)
    order = pool.chosen("random", seed=1)
    assert len(order) == 19
    assert order[:4].tolist() == [0, 1, 2, 3]
    for size, found in zip((9, 14, 19), pool.curve(order), strict=True):
        fit = Ridge(alpha=NOISE, fit_intercept=False).fit(x[order[:size]], labels[order[:size]] - 1 / 3)
        assert found == pytest.approx((fit.predict(x[30:]).argmax(1) == classes[30:]).mean())
    chosen = pool.chosen("coding rate")
    assert len(set(chosen.tolist())) == 19
    assert chosen.max() < 30
    rest = posterior_gram(jnp.asarray(pool.gram[:30, :30]), jnp.arange(4), NOISE * np.diagonal(pool.gram[:30]).mean())
    assert chosen[4] == int(jnp.argmax(jnp.diagonal(rest).at[:4].set(-1)))
