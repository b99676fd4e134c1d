"""The Lasso in context: steps and errors by hand, deviations by counting, the theorem's formulas, risks on a grid."""

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import Lasso

from lemmata.engine.claims import examine
from lemmata.engine.problems.prompts import sampled_prompt
from lemmata.errors import SettingError
from lemmata.functions import GaussianBumps, barron_parameter
from lemmata.solvers import lasso_objective, soft_threshold
from lemmata.subjects.generalisation import lasso_on_features as estimation
from lemmata.subjects.generalisation import lasso_penalty as penalty
from lemmata.subjects.generalisation import maxima_of_noise as maxima
from lemmata.subjects.generalisation import uniform_deviation as deviation
from lemmata.subjects.generalisation._finite_populations import sampled_population
from lemmata.subjects.generalisation.lasso_penalty import Scales
from lemmata.subjects.in_context import risk_bound as risk
from lemmata.subjects.in_context import risk_scaling as scaling
from lemmata.subjects.optimisation import inexact_proximal_gradient as inexact
from lemmata.subjects.optimisation import proximal_gradient as proximal
from lemmata.subjects.optimisation._proximal_runs import Step, prompt_with_errors, run_of, sampled_step, saturated

POPULATION = {"family": "bumps", "n": 6, "N": 40, "sigma": 0.3}


def ones(n, beta, penalty=0.0):
    """All features 1, mean residual 1 at rho_t = 0 and beta at rho*."""
    return Step(
        jnp.ones((3, n + 1)), jnp.ones(3), jnp.asarray(penalty), jnp.zeros(n + 1), jnp.full(n + 1, (1 - beta) / (n + 1))
    )


@pytest.mark.parametrize("n", [1, 2, 5, 20, 300])
@pytest.mark.parametrize("side", [-1, 1])
def test_where_all_features_are_1_the_number_without_the_constant_is_too_small_near_rho_star(n, side, key):
    """With mean residuals 1 and beta the constant n asks for (1 - beta)² >= 1/n + 1/n²; n + 1 asks for nothing."""
    step = ones(n, 1 - math.sqrt(1 / n + 1 / n**2) * (1 + side * 1e-3))
    assert bool(proximal.above(step, n) <= proximal.nearer(step, n)) is (side > 0)
    assert examine(proximal.Contraction(), step, key).agrees is True


@pytest.mark.parametrize("n", [2, 7, 50])
def test_the_decrease_of_a_step_is_n_minus_1_where_all_features_are_1(n, key):
    claim, step = proximal.Descent(), ones(n, 0.5)
    assert float(claim.measure(step, key)) == pytest.approx(1 / n**2 - 1, rel=1e-12)
    assert float(claim.predict(step)) == pytest.approx(-(n - 1) * (n + 1) / n**2, rel=1e-12)


def test_features_of_a_saturated_prompt_are_1_at_the_worst_points(key):
    prompt = saturated(sampled_prompt(key, n=50, examples=4))
    features = prompt.model.features
    assert float(features(-features.directions)[:, :-1].min()) == 1.0
    assert float(features.thresholds.min()) >= -2


def test_a_step_from_rho_star_with_features_beyond_1_is_outside_the_hypotheses(key):
    step = sampled_step(key, family="bumps", n=4, examples=6)
    large = dataclasses.replace(step, features=3 * step.features)
    assert not examine(proximal.Descent(), large, key).applies


def test_runs_with_errors_step_by_step(key):
    prompt, errors = prompt_with_errors(key, family="cosines", n=5, examples=9, iterations=4)
    features, y = np.asarray(prompt.prompt), np.asarray(prompt.y)
    np.testing.assert_allclose(np.abs(errors).sum(axis=2), 1.0, rtol=1e-12)
    run = run_of(prompt.prompt, prompt.y, 0.05, jnp.zeros(6), 0.3 * errors)
    for path, each in zip(np.asarray(run.path), 0.3 * np.asarray(errors), strict=True):
        rho = np.zeros(6)
        for t, error in enumerate(each):
            moved = rho + 2 / (12 * 9) * features.T @ (y - features @ rho)
            rho = np.sign(moved) * np.maximum(np.abs(moved) - 0.05 / 12, 0) + error
            np.testing.assert_allclose(path[t + 1], rho, atol=1e-14)
    sizes, lengths = 0.3, np.abs(np.asarray(run.path[:, 1:])).sum(axis=2)
    np.testing.assert_allclose(inexact.contraction_errors(run), sizes * (2 * lengths + 3 * sizes), rtol=1e-12)
    np.testing.assert_allclose(
        inexact.objective_errors(run), sizes * (2 * np.abs(y).mean() + 2 * lengths + 0.05), rtol=1e-12
    )


def test_an_error_raises_the_objective_by_nearly_the_bound(key):
    """All features 1, targets 1, and an error that goes on downwards from coefficients that are negative."""
    features, size = jnp.ones((2, 3)), 1e-6
    errors = jnp.zeros((1, 2, 3)).at[0, 0, 0].set(-50.0).at[0, 1, 0].set(-size)
    run = run_of(features, jnp.ones(2), 0.1, jnp.zeros(3), errors)
    claim = inexact.ErrorOfAStep()
    measured, bound = float(claim.measure(run, key)[0, 1]), float(claim.predict(run)[0, 1])
    kept = float(jnp.sum(run.path[0, 2]))
    assert measured == pytest.approx(size * (2 * (1 - kept) + 0.1), rel=1e-4)
    assert measured <= bound


def test_the_population_is_drawn_uniformly_and_its_risks_are_means(key):
    problems = jax.vmap(lambda key: sampled_population(POPULATION, key, inputs=8))(jax.random.split(key, 200))
    counts = np.bincount(np.asarray(problems.chosen).ravel(), minlength=8)
    assert np.abs(counts - 1000).max() < 5 * math.sqrt(1000)
    one = jax.tree.map(lambda leaf: leaf[3], problems)
    for rho, found, fit in zip(one.estimates, one.risks(), one.fits(), strict=True):
        predicted = np.asarray(one.features @ rho)
        assert float(found) == pytest.approx(np.mean((predicted - np.asarray(one.values)) ** 2), rel=1e-9)
        residual = np.asarray(one.y) - predicted[np.asarray(one.chosen)]
        assert float(fit) == pytest.approx(np.mean(residual**2), rel=1e-9)


def test_the_first_estimate_is_the_lasso(key):
    problem = sampled_population(POPULATION, key)
    model = Lasso(float(problem.penalty) / 2, fit_intercept=False, tol=1e-12, max_iter=10**5)
    coefficients = jnp.asarray(model.fit(np.asarray(problem.prompt), np.asarray(problem.y)).coef_)
    objective = lambda rho: float(lasso_objective(problem.prompt, problem.y, problem.penalty, rho))
    # 100 accelerated steps: 2 |rho|²/(step (t+1)²) = 4 (n+1) |rho|²/101²
    above = objective(problem.estimates[0]) - objective(coefficients)
    assert -1e-12 <= above <= 28 * float(jnp.sum(coefficients**2)) / 101**2


def test_the_deviation_counts_every_tail():
    n, number = 6, 0
    number += 2 * (n + 1)  # phi_j r
    number += 2 * len([(i, j) for i in range(n + 1) for j in range(i, n + 1)])  # phi_i phi_j
    number += 2 + 2  # r², z r
    number += 2 * (n + 1)  # z phi_j
    assert deviation.deviation(n, 50, 0.1) == pytest.approx(math.sqrt(math.log(number / 0.1) / 50), rel=1e-15)
    scale = deviation.deviation(n, 50, 0.1)
    bound = deviation.deviation_bound(jnp.asarray(3.0), jnp.asarray(0.5), 0.2, n, 50, 0.1)
    first, second, squares = scale * math.sqrt(2) * 0.5, scale / math.sqrt(2), scale * 0.25 / math.sqrt(2)
    noise = 2 * scale * math.sqrt(2) * 0.2 * (0.5 + 3)
    assert float(bound) == pytest.approx(2 * 3 * first + 9 * second + squares + noise, rel=1e-14)


def test_lengths_and_penalties_by_hand():
    assert float(estimation.length_bound(2.0, 3.0, 0.5, 0.25)) == 13.0
    assert float(estimation.least_penalty(0.5, 0.25, 4.0)) == 4.5


def test_a_penalty_below_the_noise_is_outside_the_hypotheses(key):
    problem = estimation.LengthOfEstimates.population.sample(POPULATION, key)
    assert examine(estimation.LengthOfEstimates(), problem, key).applies
    halved = dataclasses.replace(problem, penalty=problem.penalty / 2)
    assert not examine(estimation.LengthOfEstimates(), halved, key).applies


def test_the_largest_of_more_features_is_no_smaller(key):
    problem = maxima.MaximumOverFeatures.population.sample({"N": 16, "d": 4}, key)
    scale = np.sqrt(np.log(2 * (np.array([64, 256, 1024, 4096]) + 1)))
    found = np.asarray(maxima.MaximumOverFeatures().measure(problem, key)) * scale
    assert (np.diff(found) >= 0).all()
    sums = np.abs(np.asarray(problem.noise[0]) @ np.asarray(problem.features)[:, :64])
    assert found[0] == pytest.approx(sums.max() / 16, rel=1e-12)


def test_the_bound_of_the_theorem_and_the_penalty_by_hand():
    sizes = {"examples": 100, "layers": 801, "number": 20}
    order = math.sqrt(math.log(100) / 100)
    bound = risk.theorem_risk(2.0, 0.5, 7.0, **sizes, constant=3.0)
    assert float(bound) == pytest.approx(3 * ((order + 20 / 801) * 5 + 4 * 7 / 20), rel=1e-14)
    accuracy = order * 5 + 0.09 + 20 * 4 / 801
    first = (math.log(100) / 100) ** (1 / 6) * 2 ** (-1 / 3) * accuracy ** (2 / 3)
    found = risk.penalty_of_theory(2.0, 0.5, 0.3, **sizes, constant=0.1)
    assert float(found) == pytest.approx(0.1 * (first + order * 2.5 + 0.09 / 2), rel=1e-14)


@pytest.mark.parametrize("error", [0.3, 0.05, 0.01])
@pytest.mark.parametrize(("barron", "noise"), [(1.0, 0.0), (3.0, 2.0)])
def test_the_choices_make_each_term_of_the_bound_a_multiple_of_the_target(error, barron, noise):
    chosen = risk.parameter_choices(error, barron, noise, 6.0)
    assert chosen.layers % 2 == 1
    product = barron * (barron + noise)
    assert product / math.sqrt(chosen.examples) <= error
    assert chosen.number / chosen.layers * product <= error / 2
    assert barron**2 * 6.0 / chosen.number <= 2 * error * (1 + 3.5 / chosen.number)
    assert (chosen.examples - 1) ** -0.5 * product >= error or chosen.examples == 2


@pytest.mark.parametrize(
    "wrong", [{"error": 0.0}, {"error": math.nan}, {"barron": -1.0}, {"log_cover": math.inf}, {"noise": -0.1}]
)
def test_choices_refuse_what_has_no_sizes(wrong):
    with pytest.raises(SettingError):
        risk.parameter_choices(**{"error": 0.1, "barron": 2.0, "noise": 0.1, "log_cover": 5.0, **wrong})


def test_predictions_from_all_features_are_those_of_the_transformer(key):
    prompt = sampled_prompt(key, n=7, examples=12, queries=3, layers=21)
    found = scaling.predictions(prompt, 12, 7)[-1]
    np.testing.assert_allclose(found, prompt.model(prompt.x, prompt.y, prompt.queries), rtol=1e-12, atol=1e-14)


def test_predictions_from_fewer_features_are_those_of_the_smaller_lasso(key):
    prompt = sampled_prompt(key, n=7, examples=12, queries=3, layers=2001, penalty=0.05)
    features, asked = prompt.prompt[:10, [0, 1, 2, 7]], prompt.model.features(prompt.queries)[:, [0, 1, 2, 7]]
    rho = jnp.zeros(4)
    for _ in range(1000):
        rho = soft_threshold(rho + features.T @ (prompt.y[:10] - features @ rho) / 40, 0.05 / 8)
    np.testing.assert_allclose(scaling.predictions(prompt, 10, 3)[-1], asked @ rho, atol=1e-8)


def test_risks_on_a_grid(key):
    sizes = {"examples": (8, 64), "numbers": (4, 24), "layers": (3, 41, 1601)}
    found = risk.measured_risks(GaussianBumps(2), key, **sizes, repeats=32, sigma=0.2)
    assert found.transformer.shape == found.theorem.shape == (2, 2, 3)
    np.testing.assert_allclose(found.transformer[:, :, -1], found.lasso, rtol=0.05)
    assert (np.diff(found.transformer[1], axis=1) < 0).all()
    assert found.lasso[1, 1] < found.lasso[1, 0] < found.zero
    assert found.lasso[1, 1] < found.lasso[0, 1]
    assert (found.theorem > found.transformer).all()
    cost = float(barron_parameter(GaussianBumps(2)))
    order = math.sqrt(math.log(64) / 64) + 24 / 41
    cover = 2 * math.log(1 + 4 / order) + math.log(1 + 2 / order)
    assert found.theorem[1, 1, 1] == pytest.approx(order * cost * (cost + 0.2) + cost**2 * cover / 24, rel=1e-12)


def test_the_penalty_is_attained_by_young_where_the_accuracy_is_that_of_the_examples(key):
    """e = h C_F² where sigma and epsilon_dis are 0 and layers are many."""
    exact = Scales(jnp.asarray(3.0), jnp.asarray(0.0), jnp.asarray(0.0), 50, 10**9, 1)
    claim = penalty.PenaltyIsAffordable()
    assert float(claim.measure(exact, key)) == pytest.approx(float(claim.predict(exact)), rel=1e-8)
    assert float(claim.predict(exact)) == pytest.approx(2 * math.sqrt(math.log(50) / 50) * 9, rel=1e-6)
