"""Preferences: the measurements against other routes, and what the statements say at their ends."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats
from scipy.optimize import minimize
from scipy.special import lambertw

from lemmata.subjects.preferences import (
    comparisons,
    covered_answers,
    direct,
    fit_rewards,
    frontier,
    goodhart,
    margins,
    selection,
    selection_weights,
)
from lemmata.subjects.preferences._preference_comparisons import Contest, MixedOpinions, Opinions
from lemmata.subjects.preferences._preference_pairs import FeaturePairs, LabelledPair, LabelledPairs
from lemmata.subjects.preferences._tabular_policies import RankedAnswers, TabularPolicies
from lemmata.subjects.preferences.goodhart import HeavyProxy


@pytest.mark.parametrize(
    ("pairs", "fitted"),
    [
        ([(0, 1), (1, 2), (2, 0)], True),
        ([(0, 1), (1, 2), (0, 2)], False),
        ([(0, 1), (1, 0)], False),
        ([(0, 1), (1, 0), (1, 2), (2, 1)], True),
        ([(0, 1), (1, 0), (1, 2)], False),
    ],
)
def test_the_linear_program_finds_what_has_a_fit(pairs, fitted):
    wins = np.zeros((3, 3), int)
    for winner, loser in pairs:
        wins[winner, loser] += 1
    assert comparisons._has_one_fit(wins) == fitted


@pytest.mark.parametrize("graph", ["complete", "path"])
def test_the_compiled_fit_is_that_of_the_tool(graph, key):
    contest = Contest(jnp.array([-1.0, 0.4, 0.1, 0.5]), graph, 40)
    first, second = contest.pairs
    won = np.asarray(jax.random.binomial(key, 40, jax.nn.sigmoid(contest.gaps))).clip(1, 39).astype(int)
    pairs = [pair for i, j, w in zip(first, second, won, strict=True) for pair in [(i, j)] * w + [(j, i)] * (40 - w)]
    found = fit_rewards([(int(i), int(j)) for i, j in pairs])
    assert np.allclose(comparisons._fitted(contest, jnp.asarray(won / 40)), found.reward, atol=1e-9)
    information = np.asarray(jax.nn.sigmoid(found.reward[first] - found.reward[second]))
    at_fit = Contest(jnp.asarray(found.reward), graph, 40)
    risk = comparisons._risk(at_fit, jnp.asarray(information * (1 - information)))
    assert float(risk) == pytest.approx(np.trace(found.covariance), rel=1e-8)


def test_the_gradient_and_the_fall_are_those_of_another_library(key):
    torch = pytest.importorskip("torch")
    for own in jax.random.split(key, 5):
        problem = FeaturePairs().sample({"answers": 7, "features": 4}, own)
        features = torch.tensor(np.array(problem.features))
        weights = torch.tensor(np.array(problem.weights), requires_grad=True)
        logs = torch.log_softmax(features @ weights, 0)
        ref = torch.log_softmax(features @ torch.tensor(np.array(problem.reference)), 0)
        margin = (logs[0] - logs[1]) - (ref[0] - ref[1])
        loss = -torch.nn.functional.logsigmoid(float(problem.beta) * margin)
        (gradient,) = torch.autograd.grad(loss, weights, retain_graph=True)
        assert np.allclose(direct.DpoGradient().predict(problem), gradient.numpy(), rtol=1e-9, atol=1e-13)
        (rise,) = torch.autograd.grad(logs[0], weights)
        assert float(direct.ChosenCanFall().predict(problem)) == pytest.approx(-float(rise @ gradient), rel=1e-8)


def test_similar_pairs_fall_more_often(key):
    """The share of chosen answers that lose probability, for pairs without and with similar features."""

    def falls(own):
        problem = FeaturePairs().sample({"answers": 8, "features": 6}, own)
        a, b = problem.features[0], problem.features[1]
        cosine = a @ b / jnp.linalg.norm(a) / jnp.linalg.norm(b)
        return cosine, direct.ChosenCanFall().predict(problem) < 0

    cosines, fallen = map(np.asarray, jax.vmap(falls)(jax.random.split(key, 2000)))
    near, far = fallen[cosines > 0.8].mean(), fallen[cosines < 0.3].mean()
    print("chosen answers that fall:", near, "of similar pairs,", far, "of others")
    assert near > far + 0.1
    assert 0 < far < 0.2


@pytest.mark.parametrize("q", [0.6, 0.95])
@pytest.mark.parametrize("beta", [0.1, 1.5])
def test_margins_are_those_of_another_optimiser(q, beta):
    problem = LabelledPair(jnp.asarray(q), jnp.asarray(beta), jnp.asarray(1.0))
    logistic = lambda h: q * np.logaddexp(0, -beta * h[0]) + (1 - q) * np.logaddexp(0, beta * h[0])
    squared = lambda h: q * (h[0] - 1 / (2 * beta)) ** 2 + (1 - q) * (h[0] + 1 / (2 * beta)) ** 2
    for claim, loss in ((margins.DpoMargin(), logistic), (margins.IpoMargin(), squared)):
        assert float(claim.predict(problem)) == pytest.approx(minimize(loss, [0.1], tol=1e-12).x[0], rel=1e-4)


def test_the_margin_in_time_is_lamberts(key):
    problem = LabelledPairs().sample({"most": 0.98}, key)
    end = 1 + float(problem.beta**2 * problem.time)
    exact = (end - lambertw(np.exp(end)).real) / float(problem.beta) if end < 500 else None
    assert exact is None or float(margins.MarginWithoutEnd().predict(problem)) == pytest.approx(exact, rel=1e-9)
    late = LabelledPair(jnp.asarray(0.9), jnp.asarray(2.0), jnp.asarray(1e12))
    assert float(margins.MarginWithoutEnd().predict(late)) == pytest.approx(np.log(4e12) / 2, rel=1e-9)


def test_two_answers_have_less_divergence_and_fewer_wins_than_the_bounds(key):
    problem = RankedAnswers(jnp.log(jnp.array([0.5, 0.5])), jnp.asarray(4.0))
    law = np.array([1 / 16, 15 / 16])
    assert float(selection.DivergenceOfBestOfN().measure(problem, key)) == pytest.approx(np.sum(law * np.log(2 * law)))
    assert float(selection.WinRateOfBestOfN().measure(problem, key)) == pytest.approx(law @ [0.25, 0.75])
    assert float(selection.WinRateOfBestOfN().predict(problem)) == 0.8


def test_the_share_of_the_frontier_rises_from_nine_tenths(key):
    claim, shares = frontier.FrontierShareOfBestOfN(), []
    for n in (2, 3, 4, 8, 16, 64, 1000, 10**6):
        problem = RankedAnswers(jnp.zeros(1), jnp.asarray(float(n)))
        shares.append(0.9 * float(claim.measure(problem, key) / claim.predict(problem)))
    print("share of the frontier:", np.round(shares, 4))
    assert shares[0] == pytest.approx(1 / np.sqrt(np.pi) / np.sqrt(2 * (np.log(2) - 0.5)), rel=1e-9)
    assert (np.diff(shares) > 0).all()
    assert shares[-1] < 0.97


def test_gold_in_groups_is_gold_by_order_statistics(key):
    gold, proxy = goodhart._heavy_draws(HeavyProxy(jnp.asarray(3.0), jnp.asarray(1.0)), key)
    order = np.argsort(np.asarray(proxy))
    grouped = np.asarray(goodhart._best_of(proxy, gold, (4, 16)))
    weighted = [selection_weights(len(order), n) @ np.asarray(gold)[order] for n in (4, 16)]
    assert np.allclose(grouped, weighted, atol=0.06)  # four standard deviations of 4096 groups
    assert np.allclose(weighted, [0.612, 0.871], atol=0.05)  # by quadrature


def test_heavy_draws_follow_students_law(key):
    gold, proxy = goodhart._heavy_draws(HeavyProxy(jnp.asarray(3.0), jnp.asarray(2.0)), key)
    assert stats.kstest(np.asarray(gold), "norm").pvalue > 1e-4
    assert stats.kstest(np.asarray((proxy - gold) / 2), stats.t(3).cdf).pvalue > 1e-4


def test_curved_gold_peaks_where_its_gain_does():
    gains = lambda tilt, c: integrate.quad(
        lambda s: (s - c * s**2 / 2) * (stats.norm.pdf(s - tilt) - stats.norm.pdf(s)), -12, 14
    )[0]
    assert gains(1.3, 0.8) == pytest.approx(1.3 - 0.4 * 1.3**2, abs=1e-9)
    best = minimize(lambda tilt: -gains(tilt[0], 0.8), [0.5]).x[0]
    assert best == pytest.approx(1 / 0.8, rel=1e-3)
    assert gains(2 / 0.8, 0.8) == pytest.approx(0.0, abs=1e-9)


def test_borda_is_not_mean_utility(key):
    """One of three has strong feelings: the mean utility follows him, the fitted rewards the two others."""
    opinions = Opinions(jnp.array([[2.0, 0.0], [2.0, 0.0], [-9.0, 0.0]]), jnp.full(3, 1 / 3))
    assert float((opinions.shares @ opinions.utilities)[0]) < 0
    assert float(opinions.preferred[0, 1]) > 0.5
    drawn = MixedOpinions().sample({"answers": 6}, key)
    assert np.allclose(drawn.preferred + drawn.preferred.T, 1.0)


def test_gradients_of_estimates_are_means_of_sampled_ones(key):
    """The exact mean gradient against that of half a million draws."""
    problem = TabularPolicies().sample({"answers": 4, "distance": 0.5}, key)
    drawn = jax.random.choice(key, 4, (500_000,), p=jnp.exp(problem.log_policy))
    for estimate in (lambda logs: -logs, lambda logs: 0.5 * logs**2, lambda logs: jnp.expm1(logs) - logs):
        value = lambda x, f=estimate: jnp.mean(f(problem.log_ref - jax.nn.log_softmax(x))[drawn])
        sampled = jax.grad(value)(problem.log_policy)
        assert np.allclose(covered_answers._mean_gradient(problem, estimate), sampled, atol=0.01)
