"""Tabular policies and order statistics by other routes; the claims that the tools name exist."""

import dataclasses
import importlib
import math
import pkgutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

import lemmata.subjects.preferences as room
from lemmata.engine.claims._registry import claims_in
from lemmata.errors import DataError, SettingError
from lemmata.subjects import preferences as chapter


@pytest.mark.parametrize("n", [1, 2, 7, 300, 10**6])
def test_the_expected_maximum_is_that_of_adaptive_quadrature(n):
    density = lambda z: z * n * stats.norm.pdf(z) * np.exp((n - 1) * stats.norm.logcdf(z))
    centre = stats.norm.ppf(1 - 1 / (n + 1))
    exact = integrate.quad(density, centre - 9, centre + 9, epsabs=1e-13, limit=400, points=[centre])[0]
    assert float(room.expected_normal_maximum(n)) == pytest.approx(exact, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("size", "n"), [(1, 1), (5, 1), (5, 5), (30, 4), (400, 17)])
def test_selection_weights_are_quotients_of_binomials(size, n):
    exact = [math.comb(i, n - 1) / math.comb(size, n) if i >= n - 1 else 0.0 for i in range(size)]
    assert np.allclose(room.selection_weights(size, n), exact, rtol=1e-11, atol=0)
    assert room.selection_weights(size, n).sum() == pytest.approx(1.0, rel=1e-12)


def test_the_law_of_the_best_keeps_digits_of_rare_answers():
    p = jnp.array([0.5, 1e-14, 0.5])
    law = jnp.exp(room.best_of_n_law(jnp.log(p), 3))
    # the derivative of F³ at 1/2, times the mass
    assert float(law[1]) == pytest.approx(3 * 0.25 * 1e-14, rel=1e-10)
    assert float(law.sum()) == pytest.approx(1.0, rel=1e-12)


def test_divergences_are_sums_and_may_be_differentiated():
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(6)), rng.dirichlet(np.ones(6))
    assert float(room.divergence(jnp.log(p), jnp.log(q))) == pytest.approx(stats.entropy(p, q), rel=1e-12)
    assert float(room.chi_squared(jnp.log(p), jnp.log(q))) == pytest.approx(np.sum(p**2 / q) - 1, rel=1e-12)
    with_zero = jnp.log(jnp.array([0.0, 1.0]))
    assert float(room.divergence(with_zero, jnp.log(jnp.array([0.5, 0.5])))) == pytest.approx(np.log(2))
    slope = jax.grad(lambda x: room.divergence(jax.nn.log_softmax(x), jnp.log(q)))(jnp.log(p))
    assert np.isfinite(slope).all()


def test_the_tilted_policy_is_the_best_of_many():
    rng = np.random.default_rng(1)
    ref, reward, beta = rng.dirichlet(np.ones(5)), rng.normal(size=5), 0.7
    value = lambda p: p @ reward - beta * stats.entropy(p, ref)
    best = np.exp(room.tilted(jnp.log(ref), jnp.asarray(reward), beta))
    assert all(value(p) < value(best) for p in rng.dirichlet(np.ones(5), 2000))


def test_the_tools_name_claims_that_exist():
    sections = [
        importlib.import_module(found.name) for found in pkgutil.iter_modules(chapter.__path__, f"{chapter.__name__}.")
    ]
    known = {claim.name for section in sections for claim in claims_in(section)}
    records = (room.BestOfN, room.Rewards, room.Coverage, room.DpoReport)
    fields = [field for record in records for field in dataclasses.fields(record) if field.name == "claims"]
    named = {name for field in fields for name in field.default}
    assert len(named) >= 12
    assert named <= known


def logs(*probabilities):
    return jnp.log(jnp.array(probabilities))


def test_answers_of_probability_0_have_their_limits():
    assert np.exp(room.best_of_n_law(logs(0.0, 0.0, 0.5, 0.0, 0.5), 2)).tolist() == pytest.approx([0, 0, 0.25, 0, 0.75])
    assert float(room.chi_squared(logs(0.5, 0.5), logs(1.0, 0.0))) == math.inf
    assert float(room.chi_squared(logs(1.0, 0.0), logs(1.0, 0.0))) == 0.0
    assert float(room.chi_squared(jnp.array([-1e-9, -20.0]), jnp.array([-400.0, -1e-9]))) == pytest.approx(math.e**400)
    slope = jax.grad(room.chi_squared)(logs(0.5, 0.5), logs(0.3, 0.7))
    assert slope.tolist() == pytest.approx([2 * 0.25 / 0.3 - 1, 2 * 0.25 / 0.7 - 1], abs=1.0)
    assert bool(jnp.isfinite(slope).all())


@pytest.mark.parametrize(
    "call",
    [
        lambda: room.selection_weights(5, 6),
        lambda: room.selection_weights(5, 0),
        lambda: room.expected_normal_maximum(0.5),
        lambda: room.expected_normal_maximum(10**12),
        lambda: room.divergence_bound(0.5),
        lambda: room.tilted(logs(0.5, 0.5), jnp.array([1.0, 2.0]), 0.0),
        lambda: room.tilted(logs(0.5, 0.5), jnp.array([1.0, 2.0]), 1e-310),
        lambda: room.best_of_n_law(logs(0.5, 0.5), 0),
        lambda: room.best_of_n_law(jnp.array([jnp.nan, 0.0]), 2),
        lambda: room.divergence(jnp.array([jnp.nan, 0.0]), logs(0.5, 0.5)),
        lambda: room.chi_squared(logs(0.0, 0.0), logs(0.5, 0.5)),
    ],
)
def test_numbers_out_of_range_are_refused(call):
    with pytest.raises((SettingError, DataError), match="found"):
        call()


@pytest.mark.parametrize("power", [-1000, -300, 1010])
def test_the_unit_of_rewards_is_that_of_their_intervals(power):
    rewards = np.arange(10.0)
    found, scaled = room.best_of_n(rewards, 3), room.best_of_n(np.ldexp(rewards, power), 3)
    assert np.array_equal(scaled.reward_interval, np.ldexp(found.reward_interval, power))
    assert np.isfinite(scaled.reward_interval).all()


def test_a_list_may_have_answers_whose_probability_underflows():
    found = room.best_of_n([0.0, 1.0, 1.0], 3, logp=[0.0, -800.0, -800.0])
    assert found.reward.tolist() == [0.0, 0.0, 0.0]
    assert found.divergence.tolist() == [0.0, 0.0, 0.0]
