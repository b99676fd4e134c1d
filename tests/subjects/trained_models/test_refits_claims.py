"""Refits: the effect of a row against scikit-learn and where the step is exact, halves, and programs that fail."""

import dataclasses

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression, Ridge

from lemmata.engine.claims import examine
from lemmata.subjects.trained_models import is_known, keep, per_row, polished_copy, read_trained, rows_left_out
from lemmata.subjects.trained_models.leaving_out import HeldOutErrorFromTrainingRows
from lemmata.subjects.trained_models.membership import found_members
from lemmata.subjects.trained_models.per_row import MedianRatioOfRowEffects, OrderOfRowEffects, newton_effects
from lemmata.subjects.trained_models.refits import (
    EffectOfOneRow,
    ErrorAtHalfTheRows,
    random_halves,
    shown_rows,
    warm_effects,
)
from lemmata.workflows.examinations._gauges import gauge, price
from lemmata.workflows.examinations._run import _planned

RNG = np.random.default_rng(12)


def linear(w, x):
    return x @ w


@pytest.fixture(scope="module")
def half():
    population = ErrorAtHalfTheRows.population
    import jax

    return population.sample(population.settings().resolve(None), jax.random.key(4))


def test_the_effect_of_a_row_beside_refits_of_logistic_regression(key):
    n, decay = 40, 0.05
    x = RNG.normal(size=(n, 3))
    y = (x @ RNG.normal(size=(3, 3)) + RNG.normal(size=(n, 3))).argmax(1)
    fit = lambda rows, labels: LogisticRegression(C=1 / (n * decay), fit_intercept=False, tol=1e-10, max_iter=5000).fit(
        rows, labels
    )
    problem = read_trained((linear, jnp.asarray(fit(x, y).coef_.T)), x, y, decay=decay)
    loss = lambda model, i: -model.predict_log_proba(x[i : i + 1])[0, y[i]]
    rows = shown_rows(problem)
    assert len(set(rows)) == 16
    losses = np.array([loss(fit(x, y), i) for i in range(n)])
    assert losses[rows[:8]].min() >= np.delete(losses, rows[:8]).max()
    expected = np.array([loss(fit(np.delete(x, i, 0), np.delete(y, i)), i) - losses[i] for i in rows])
    assert warm_effects(problem) == pytest.approx(expected, abs=1e-5 * expected.mean())
    assert examine(EffectOfOneRow(), problem, key).predicted == pytest.approx(expected.mean(), rel=0.1)


def test_the_step_is_exact_for_ridge_regression(key):
    n, decay = 30, 0.1
    x, y = RNG.normal(size=(n, 4)), RNG.normal(size=n)
    weights = np.asarray(Ridge(n * decay, fit_intercept=False).fit(x, y).coef_)
    problem = read_trained((linear, jnp.asarray(weights)[:, None]), x, y, decay=decay, held=(x[:2] + 9, y[:2]))
    claim = EffectOfOneRow()
    predicted, measured = float(claim.predict(problem)[1]), float(claim.measure(problem, key)[1])
    assert measured == pytest.approx(predicted, rel=0.01)
    i = int(shown_rows(problem)[0])
    refit = Ridge(n * decay, fit_intercept=False).fit(np.delete(x, i, 0), np.delete(y, i))
    lost = ((refit.predict(x[i : i + 1]) - y[i]) ** 2 - (x[i] @ weights - y[i]) ** 2) / 2
    assert warm_effects(problem)[0] == pytest.approx(lost[0], rel=0.01)


@pytest.mark.parametrize("n", [20, 21])
def test_halves_are_complements(n):
    x = RNG.normal(size=(n, 2))
    problem = read_trained((linear, jnp.ones((2, 1))), x, x[:, 0], seed=3)
    halves = random_halves(problem, 6, 9)
    assert len(halves) == 6
    for first, second in zip(halves[::2], halves[1::2], strict=True):
        assert len(first) == len(second) == n // 2
        assert not set(first) & set(second)
    assert len({tuple(rows) for rows in halves}) == 6


def test_the_program_trains_on_halves_and_its_errors_are_averaged(half):
    seen = []

    def noted(x, y, seed):
        seen.append((len(x), seed))
        return half.fit(x, y, seed)

    problem = dataclasses.replace(half, fit=noted)
    found = gauge(ErrorAtHalfTheRows(), problem, 0)
    assert found.status == "agrees"
    assert seen == [(50, k) for k in range(4)]  # once each, although an examination measures twice
    errors = []
    for place, rows in enumerate(random_halves(problem, 4, 10)):
        f, params = half.fit(half.x[rows], half.targets[rows], place)
        errors.append(np.mean(np.asarray(f(params, half.held[0])).argmax(1) != half.held[1].argmax(1)))
    assert found.measured.value == pytest.approx(np.mean(errors))
    assert found.measured.upper == pytest.approx(max(errors))


def test_half_the_rows_predict_more_error_than_all(half):
    predicted = np.asarray(ErrorAtHalfTheRows().predict(half))
    wrong = half.task.errors(rows_left_out(half).outputs, half.y)
    assert predicted[0] < wrong.mean() < predicted[2]
    assert (np.diff(predicted) > 0).all()
    without = ErrorAtHalfTheRows().predict(dataclasses.replace(half, held=None))
    assert np.asarray(without)[1] == pytest.approx(predicted[1])


def test_silent_without_a_fit_or_a_start_and_unscored_without_held_rows(half):
    claim = ErrorAtHalfTheRows()
    missing = gauge(claim, dataclasses.replace(half, fit=None), 0)
    assert missing.status == "inapplicable"
    assert "a function that trains the model again is given" in missing.reason
    assert gauge(claim, dataclasses.replace(half, start=None), 0).status == "inapplicable"
    alone = gauge(claim, dataclasses.replace(half, held=None), 0)
    assert alone.status == "unscored"
    assert alone.measured is None


def test_a_program_that_fails_is_one_line(half):
    def fails(x, y, seed):
        raise RuntimeError("out of disk\nTraceback of many lines")

    found = gauge(ErrorAtHalfTheRows(), dataclasses.replace(half, fit=fails), 0)
    assert found.status == "failed"
    assert "RuntimeError: out of disk" in found.reason
    assert "\n" not in found.reason


def test_prices_count_the_trainings(half):
    problem = dataclasses.replace(half)
    assert price(ErrorAtHalfTheRows(), problem, 1e-3) == pytest.approx(1e-3 * (9 + 2 * 600))
    assert price(ErrorAtHalfTheRows(), dataclasses.replace(half, fit=None), 1e-3) == pytest.approx(9e-3)
    assert price(EffectOfOneRow(), problem, 1e-3) == pytest.approx(1e-3 * ((1.1 + 15) * (1700 + 600) + 2 * 3))


def test_work_that_is_shared_is_planned_once(half):
    problem = dataclasses.replace(half)
    claims: list = [HeldOutErrorFromTrainingRows(), EffectOfOneRow(), OrderOfRowEffects(), MedianRatioOfRowEffects()]
    lines, total = _planned(problem, claims, 1.0)
    ends = [line.rsplit(": ", 1)[1] for line in lines]
    assert total == pytest.approx(16.1 * 600 + 6 + 16.1 * 1700, abs=3.0)
    assert ends == [f"{16.1 * 600 + 6:,.0f} s", f"{16.1 * 1700:,.0f} s", "less than a second", "less than a second"]
    assert not any(is_known(question, problem) for question in EffectOfOneRow.shared)
    for question in EffectOfOneRow.shared:
        keep(question, problem, None)
    assert price(EffectOfOneRow(), problem, 1.0) == 0


def test_rows_whose_effect_is_rounding_are_left_out_of_the_ratio(monkeypatch, key):
    """The losses of rows that a model is sure of are 0 to rounding, and so are their effects: 0/0."""
    problem = sampled_at_rest()
    effects, found = newton_effects(problem), warm_effects(problem)
    for silent, status in ((4, ("agrees", "disagrees", "vacuous")), (9, ("inapplicable",))):
        still = np.arange(len(effects)) < silent
        monkeypatch.setattr(per_row, "newton_effects", lambda _, still=still: np.where(still, 0.0, effects))
        monkeypatch.setattr(per_row, "warm_effects", lambda _, still=still: np.where(still, 0.0, found))
        assert gauge(MedianRatioOfRowEffects(), problem, 0).status in status
        if silent < 8:
            _, value, _ = MedianRatioOfRowEffects().measure(problem, key)
            assert value == pytest.approx(np.median(effects[silent:] / found[silent:]))


def test_effects_that_descent_does_not_find_are_large_ratios(monkeypatch, key):
    problem = sampled_at_rest()
    found = warm_effects(problem).copy()
    found[:3], found[3] = 0.0, -1e-3  # of rows whose effect is above rounding by the step
    monkeypatch.setattr(per_row, "warm_effects", lambda _: found)
    low, value, high = MedianRatioOfRowEffects().measure(problem, key)
    ratios = newton_effects(problem)[4:] / found[4:]
    assert value == pytest.approx(np.median([*ratios, *4 * [np.inf]]))
    assert 0 < low <= value <= high < np.inf


def sampled_at_rest():
    import jax

    population = MedianRatioOfRowEffects.population
    return population.sample(population.settings().resolve(None), jax.random.key(2))


@pytest.mark.parametrize("ties", [0, 3, 40])
def test_losses_that_tie_leave_the_value_in_its_interval(ties):
    """Of rows that a model is sure of many losses are 0 to rounding."""
    rng = np.random.default_rng(ties)
    seen, left_out = rng.exponential(size=(2, 40))
    seen[:ties], left_out[:ties] = 0.0, 0.0
    low, value, high = found_members(seen, left_out, 100)
    assert low <= value <= high
    if ties == 40:
        assert high == 1.0  # nothing parts a threshold of 0 from them


def test_effects_of_rows_ask_for_a_stationary_point():
    """A descent that ended early goes on without the row: what it then finds is not the effect of the row."""
    x = RNG.normal(size=(40, 3))
    y = (x @ RNG.normal(size=(3, 3))).argmax(1)
    fitted = LogisticRegression(C=0.5, fit_intercept=False, tol=1e-10, max_iter=5000).fit(x, y)
    problem = read_trained((linear, jnp.asarray(fitted.coef_.T)), x, y, decay=0.05)
    there = polished_copy(problem)
    assert there.residual < 1e-3
    for residual, status in ((there.residual, "unscored"), (0.3, "inapplicable")):
        keep(polished_copy, problem, dataclasses.replace(there, residual=residual))
        for claim in (EffectOfOneRow(), OrderOfRowEffects(), MedianRatioOfRowEffects()):
            found = gauge(claim, problem, 0)
            assert found.status == status
            assert ("residual of the converged copy" in found.reason) == (residual == 0.3)
