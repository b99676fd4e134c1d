"""Privacy: the measurements against other routes, the constants that statements name, and distances of false ones."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.privacy import gaussian_delta, gaussian_eps, gaussian_sigma, privacy_spent, threshold_attack
from lemmata.subjects.stability import accountants, audits, privacy
from lemmata.subjects.stability._gaussian_releases import GaussianRelease, SampledSteps
from lemmata.subjects.stability._neighbouring_laws import PrivateAlgorithms, PrivateChannels
from lemmata.subjects.stability.audits import AuditedSums, AuditedTrainings


def release(eps: float, delta: float) -> GaussianRelease:
    return GaussianRelease(jnp.asarray(eps), jnp.asarray(delta), jnp.asarray(1.0), jnp.asarray(1.0))


def steps_of(noise: float, rate: float, delta: float, steps: int) -> SampledSteps:
    return SampledSteps(jnp.asarray(noise), jnp.asarray(rate), jnp.asarray(delta), steps)


@pytest.mark.parametrize(("eps", "ratio"), [(0.1, 0.3), (1.0, 1.0), (8.0, 2.0), (0.5, 6.0), (30.0, 5.0)])
def test_formula_quadrature_and_the_tool_agree_on_delta(eps, ratio):
    formula = float(privacy.gaussian_delta(jnp.asarray(eps), jnp.asarray(ratio)))
    integral = float(privacy.integrated_delta(jnp.asarray(eps), jnp.asarray(ratio)))
    assert formula == pytest.approx(gaussian_delta(eps, ratio, 1.0), rel=1e-10)
    assert integral == pytest.approx(gaussian_delta(eps, ratio, 1.0), rel=1e-10)


def test_the_least_noise_by_bisection_is_that_of_the_tool():
    for eps, delta in ((0.1, 1e-5), (1.0, 1e-3), (20.0, 1e-7)):
        assert float(privacy.least_noise(release(eps, delta))) == pytest.approx(gaussian_sigma(eps, delta), rel=1e-8)


def test_the_classical_formula_is_off_where_its_claims_say():
    classical = lambda eps: math.sqrt(2 * math.log(1.25 / 1e-5)) / eps
    assert classical(8.4) > gaussian_sigma(8.4, 1e-5)
    assert classical(8.6) < gaussian_sigma(8.6, 1e-5)
    assert classical(1.0) / gaussian_sigma(1.0, 1e-5) == pytest.approx(1.3, abs=0.01)
    assert 1.5 < classical(0.1) / gaussian_sigma(0.1, 1e-5) < 1.7
    closed = lambda eps: float(privacy.GaussianNoiseForEveryEps().predict(release(eps, 1e-5)))
    assert closed(0.1) / gaussian_sigma(0.1, 1e-5) == pytest.approx(1.4, abs=0.03)
    assert closed(1e4) / gaussian_sigma(1e4, 1e-5) == pytest.approx(1.0, abs=1e-3)


@pytest.mark.parametrize("leaks", [False, True])
def test_half_of_the_algorithms_attain_the_bound(leaks, key):
    claim = privacy.ApproximatePrivacyIsStability() if leaks else privacy.PrivacyIsStability()
    population = PrivateAlgorithms(leaks=leaks)
    problems = jax.vmap(lambda own: population.sample({"outputs": 5}, own))(jax.random.split(key, 200))
    assert all(
        np.all(own) for own in jax.vmap(lambda problem: [h.holds for h in population.hypotheses(problem)])(problems)
    )
    ratio = np.asarray(jax.vmap(lambda own: claim.measure(own, key) / claim.predict(own))(problems))
    assert ratio.max() < 1 + 1e-12
    assert 0.35 < np.mean(ratio > 1 - 1e-9) < 0.65
    assert np.allclose(np.asarray(problems.before.sum(axis=1)), 1.0)
    assert np.allclose(np.asarray(problems.after.sum(axis=1)), 1.0)


def test_the_gap_of_a_private_algorithm_is_that_of_draws(key):
    channel = PrivateChannels().sample({"values": 6, "held": 2}, key)
    draw = np.random.default_rng(0)
    prior, answers, loss = (np.asarray(part, float) for part in (channel.prior, channel.answers, channel.loss))
    rows, fresh = draw.choice(6, 200_000, p=prior), draw.choice(6, 200_000, p=prior)
    places = (draw.random(200_000)[:, None] > answers.cumsum(axis=1)[rows]).sum(axis=1)
    gaps = loss[fresh, places] - loss[rows, places]
    found = float(privacy.PrivateGap().measure(channel, key))
    assert abs(abs(gaps.mean()) - found) < 4 * gaps.std() / math.sqrt(len(gaps))


def test_nothing_private_has_a_larger_gap_than_the_sharp_one():
    """Two-valued rows: the best pair of laws on a grid stays below tanh(eps/4), and comes near it."""
    eps, best = 1.2, 0.0
    for share in np.linspace(0.05, 0.95, 181):
        low, high = 1.0, math.exp(eps)
        mean = share * high + (1 - share) * low
        best = max(best, share * (high - mean) / mean)
    assert best <= math.tanh(eps / 4) + 1e-12
    assert best == pytest.approx(math.tanh(eps / 4), rel=1e-4)


@pytest.mark.parametrize(
    ("noise", "rate", "delta", "steps"), [(1.0, 0.05, 1e-5, 200), (0.8, 0.1, 1e-6, 50), (2.5, 0.02, 1e-3, 400)]
)
def test_budgets_are_those_of_dp_accounting(noise, rate, delta, steps):
    pytest.importorskip("dp_accounting", reason="the extra `privacy` is not installed")
    problem, other = steps_of(noise, rate, delta, steps), privacy_spent(noise, rate, steps, delta)
    assert float(accountants.loss_budget(problem, float(steps))) == pytest.approx(other.pld, rel=5e-4)
    assert float(
        accountants.normal_budget(problem.delta, accountants.central_ratio(problem, float(steps)))
    ) == pytest.approx(other.central_limit, rel=1e-9)
    # theirs has orders between whole ones, too
    assert other.rdp * (1 - 1e-9) <= float(accountants.renyi_budget(problem)) < 1.1 * other.rdp


def test_losses_at_rate_1_are_those_of_one_release():
    problem = steps_of(3.0, 1.0, 1e-5, 9)
    assert float(accountants.loss_budget(problem, 9.0)) == pytest.approx(gaussian_eps(1e-5, 1.0, 1.0), rel=1e-3)


def test_masses_of_losses_are_laws_that_are_tilted_into_each_other():
    losses, masses = accountants.loss_masses(steps_of(1.5, 0.1, 1e-5, 30), 30.0)
    assert np.allclose(np.asarray(masses.sum(axis=1)), 1.0)
    assert float(jnp.sum(masses[0] * jnp.exp(-losses))) == pytest.approx(1.0, abs=1e-3)
    assert float(jnp.sum(masses[1] * jnp.exp(-losses))) == pytest.approx(1.0, abs=1e-3)


def test_an_audited_sum_moves_by_the_canary(key):
    problem = AuditedSums().sample({"n": 5, "d": 3, "runs": 20_000, "delta": 0.01}, key)
    present, absent = audits.sum_scores(problem, key)
    assert present.mean() - absent.mean() == pytest.approx(1.0, abs=0.02)
    assert present.std() == pytest.approx(float(problem.sigma), rel=0.03)


def test_an_audited_training_without_noise_separates_and_never_takes_an_absent_canary(key):
    setting = {"n": 4, "d": 3, "steps": 3, "rate": 0.9, "runs": 300, "delta": 0.05}
    problem = AuditedTrainings().sample(setting, key)
    quiet = type(problem)(problem.rows, problem.canary, jnp.asarray(1e-6), problem.rate, problem.delta, 3, 300)
    present, absent = np.asarray(audits.training_scores(quiet, key))
    assert threshold_attack(present, absent, 0.05).eps > 2.5
    alone = type(problem)(0 * problem.rows, problem.canary, jnp.asarray(0.0), jnp.asarray(0.5), problem.delta, 3, 300)
    present, absent = np.asarray(audits.training_scores(alone, key))
    assert np.all(absent == 0)
    taken = np.round(present / (0.02 * 10)).astype(int)
    assert np.bincount(taken, minlength=4) / 300 == pytest.approx(np.array([1, 3, 3, 1]) / 8, abs=0.09)


def test_the_budget_of_a_training_falls_with_its_noise(key):
    problem = AuditedTrainings().sample(AuditedTrainings().settings().resolve(None), key)
    half, whole, twice = (float(audits.training_budget(problem, share)) for share in (0.75, 1.0, 2.0))
    assert half > whole > twice > 0
