"""More rows and single rows: which rows train, laws by hand, and when nothing is said."""

import dataclasses

import jax
import numpy as np
import pytest
from scipy import stats

from lemmata.subjects.forecasts import forecast
from lemmata.subjects.trained_models import refits_of, rows_left_out
from lemmata.subjects.trained_models._trained_networks import TrainedNetworks
from lemmata.subjects.trained_models.more_rows import (
    Curve,
    ErrorWithMoreRows,
    added_rows,
    curve_of,
    forecast_share,
)
from lemmata.subjects.trained_models.per_row import (
    MedianRatioOfRowEffects,
    OrderOfRowEffects,
    by_losses,
    newton_effects,
    rank_correlations,
    ratio_draws,
)
from lemmata.subjects.trained_models.refits import shown_rows, warm_effects
from lemmata.workflows.examinations._gauges import gauge, price


@pytest.fixture(scope="module")
def problem():
    population = TrainedNetworks(rows=100, decay=0.05, hidden=3)
    return population.sample(population.settings().resolve(None), jax.random.key(2))


def noted(problem, seen):
    def fit(x, y, seed):
        seen.append((x, y))
        return problem.fit(x, y, seed)

    return dataclasses.replace(problem, fit=fit)


def test_refits_on_folds_and_on_half_of_the_held_rows(problem):
    seen = []
    other = noted(problem, seen)
    found = gauge(ErrorWithMoreRows(), other, 0)
    assert found.status == "agrees"
    assert [len(x) for x, _ in seen] == [25] * 4 + [50] * 2 + [75] * 4 + [200] * 2
    rows = lambda x: {tuple(row) for row in x}
    quarters, halves = [rows(x) for x, _ in seen[:4]], [rows(x) for x, _ in seen[4:6]]
    assert set.union(*quarters) == set.union(*halves) == rows(problem.x)
    assert len(set.intersection(*halves)) == 0
    held, own = rows(problem.held[0]), rows(problem.x)
    first, second = (rows(x) for x, _ in seen[-2:])
    assert own < first
    assert own < second
    assert len(first & held) == len(second & held) == 100  # twice the rows there are
    assert not (first & second & held)
    labels = {tuple(row): label for row, label in zip(problem.held[0], problem.held[1].argmax(1), strict=True)}
    for x, y in seen[-2:]:
        assert all(labels[tuple(row)] == label for row, label in zip(x, y, strict=True) if tuple(row) in held)


def test_the_prediction_uses_no_held_out_targets(problem):
    before = np.asarray(ErrorWithMoreRows().predict(problem))
    x, y = problem.held
    other = dataclasses.replace(problem, held=(x, np.roll(y, 1, axis=1)))
    assert np.asarray(ErrorWithMoreRows().predict(other)) == pytest.approx(before)


def test_each_row_is_scored_by_models_that_have_not_seen_it(problem):
    curve = curve_of(problem)
    assert curve.sizes.tolist() == [25, 50, 75]
    folds = np.array_split(np.random.default_rng([problem.seed, 16]).permutation(100), 4)
    rows = np.sort(np.concatenate([folds[2], folds[3]]))
    own = [refits_of(problem)(part, seed) for part, seed in ((np.setdiff1d(np.arange(100), rows), 0), (rows, 2))]
    wrong = lambda model, part: np.mean(model.outputs(problem.x[part]).argmax(1) != problem.y[part].argmax(1))
    shares = [wrong(own[0], rows), wrong(own[1], np.setdiff1d(np.arange(100), rows))]
    error = (np.mean(shares) * 100 + 0.5) / 101
    assert curve.errors[1] == pytest.approx(error)
    assert curve.se[1] == pytest.approx(np.sqrt(error * (1 - error) / 100 + np.var(shares, ddof=1) / 2))


def test_the_share_mixes_the_forecast_with_the_rows_that_score():
    curve = Curve(np.array([25, 50, 75]), np.array([0.4, 0.3, 0.25]), np.array([0.04, 0.03, 0.03]))
    low, value, high = forecast_share(curve, 200, 5000, 0.67)
    shared = np.sqrt(0.75 / 0.25 / 100)
    found = forecast(curve.sizes, curve.errors, curve.se, baseline=0.67, shared=shared)
    expected = found.quantiles([200], [0.05, 0.5, 0.95])[0]
    assert (low, value, high) == pytest.approx(tuple(expected), abs=0.01)
    few = forecast_share(curve, 200, 20, 0.67)
    assert few[0] < low
    assert few[2] > high
    assert value < 0.25
    draws = np.random.default_rng(0).binomial(
        20, np.clip(found.quantiles([200], np.linspace(0.001, 0.999, 4000))[0], 0, 1)
    )
    assert few == pytest.approx(np.quantile(draws, [0.05, 0.5, 0.95]) / 20, abs=0.051)


def test_how_many_rows_join(problem):
    assert added_rows(problem) == 100
    few = dataclasses.replace(problem, held=(problem.held[0][:80], problem.held[1][:80]))
    assert added_rows(few) == 40
    assert added_rows(dataclasses.replace(problem, held=None)) == 100


def test_when_more_rows_say_nothing(problem):
    claim = ErrorWithMoreRows()
    assert "a function that trains the model again" in gauge(claim, dataclasses.replace(problem, fit=None), 0).reason
    alone = gauge(claim, dataclasses.replace(problem, held=None), 0)
    assert alone.status in ("unscored", "vacuous")
    assert alone.predicted is not None
    assert alone.measured is None
    many = dataclasses.replace(
        problem, x=np.tile(problem.x, (10, 1)) + np.arange(1000)[:, None], y=np.tile(problem.y, (10, 1))
    )
    assert "relative to training rows = 1.1, required >= 1.25" in gauge(claim, many, 0).reason
    broken = gauge(claim, dataclasses.replace(problem, fit=lambda x, y, seed: None), 0)
    assert broken.status == "failed"
    assert "fit(x, y, seed)" in broken.reason
    assert price(claim, dataclasses.replace(problem), 1e-3) == pytest.approx(0.6 * (1 + 1 + 3 + 4))
    assert price(claim, dataclasses.replace(problem, fit=None), 1e-3) == 0


def test_rank_correlations_are_those_of_spearman():
    rng = np.random.default_rng(1)
    values, draws = rng.normal(size=16), rng.normal(size=(300, 16)).round(1)
    each = [stats.spearmanr(values, row)[0] for row in draws]
    assert rank_correlations(values, draws) == pytest.approx(np.quantile(each, [0.005, 0.5, 0.975]))
    assert rank_correlations(values, np.exp(values)[None].repeat(3, 0)) == pytest.approx([1, 1, 1])


def test_errors_of_a_step_are_of_the_size_of_the_leverage(problem):
    logs, leverage = np.log(ratio_draws(problem)), rows_left_out(problem).leverage[shown_rows(problem)]
    assert logs.std(0) == pytest.approx(leverage, rel=0.08)
    shared = np.corrcoef(logs.T)[np.triu_indices(16, 1)]
    assert shared.mean() == pytest.approx(0.5, abs=0.05)


def test_order_and_size_of_the_effects(problem, key):
    newton, warm = newton_effects(problem), warm_effects(problem)
    order, ratio = (gauge(claim, problem, 0) for claim in (OrderOfRowEffects(), MedianRatioOfRowEffects()))
    assert order.status == "agrees"
    assert order.measured.value == pytest.approx(stats.spearmanr(newton, warm)[0])
    assert ratio.measured.value == pytest.approx(np.median(newton / warm))
    assert order.predicted.upper == 1.0
    assert 0.7 < order.predicted.lower < order.predicted.value < 1.0
    assert ratio.predicted.lower * ratio.predicted.upper == pytest.approx(1.0, rel=0.05)
    losses = np.asarray(by_losses(problem))
    assert losses[2] < order.measured.value  # the losses alone rank worse
    free = gauge(OrderOfRowEffects(), dataclasses.replace(problem, decay=0.0), 0)
    assert free.status == "inapplicable"
    few = dataclasses.replace(problem, x=problem.x[:15], y=problem.y[:15])
    assert gauge(OrderOfRowEffects(), few, 0).status == "inapplicable"
