"""What to do next: each action against doing it, by the user's own program."""

import time

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from scipy.special import log_softmax
from sklearn.datasets import load_diabetes, load_digits, make_blobs, make_classification
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier

import lemmata
from lemmata.interfaces.report import action_sentences
from lemmata.subjects.trained_models import label_doubts, objective_of, polish, read_trained, rows_left_out
from lemmata.subjects.trained_models.leaving_out import HeldOutErrorFromTrainingRows
from lemmata.workflows.examinations import _next_steps
from lemmata.workflows.examinations._gauges import gauge
from lemmata.workflows.examinations._next_steps import next_steps

DIGITS = load_digits(n_class=5, return_X_y=True)


def digits(wrong=0.0, held=400):
    x, y = DIGITS
    order = np.random.default_rng(0).permutation(len(y))
    x, y = x[order] / 16, y[order]
    random = np.random.default_rng(1)
    said = np.where(random.random(200) < wrong, (y[:200] + random.integers(1, 5, 200)) % 5, y[:200])
    return x[:200], said, (x[200 : 200 + held], y[200 : 200 + held]), said != y[:200]


def actions(model, x, y, held, **rest):
    trained = read_trained(model, x, y, held=held)
    found, tried = next_steps(trained, gauge(HeldOutErrorFromTrainingRows(), trained, 0), **rest)
    return {own.name: own for own in found}, tried, trained


def test_rows_to_look_at_are_wrong_and_their_effect_is_that_of_a_refit():
    x, y, held, wrong = digits(0.15)
    model = LogisticRegression(C=0.5, max_iter=5000, tol=1e-8)
    found, _, trained = actions(model.fit(x, y), x, y, held)
    doubts = label_doubts(rows_left_out(trained).outputs, trained.y)
    accused = doubts.wrong > 0.5
    assert wrong[accused].mean() > 0.9
    (error,) = found["labels"].effects
    again = LogisticRegression(C=0.5, max_iter=5000, tol=1e-8).fit(x[~accused], y[~accused])
    assert error.before == pytest.approx(1 - model.score(*held), abs=1e-12)
    assert error.after == pytest.approx(1 - again.score(*held), abs=1e-12)
    assert error.after < error.before
    gains = (model.predict(held[0]) != held[1]).astype(float) - (again.predict(held[0]) != held[1])
    ends = stats.ttest_1samp(gains, 0.0).confidence_interval(0.95)
    np.testing.assert_allclose([error.gain.lower, error.gain.upper], ends, atol=1e-12)


def test_another_decay_is_chosen_by_training_rows_and_does_what_a_refit_does():
    x, y = load_diabetes(return_X_y=True)
    model = Ridge(alpha=1.0).fit(x[:200], y[:200])
    found, _, _ = actions(model, x[:200], y[:200], (x[200:], y[200:]))
    own = found["decay"]
    assert own.factor < 1
    again = Ridge(alpha=own.factor).fit(x[:200], y[:200])
    (effect,) = own.effects
    np.testing.assert_allclose(effect.before, ((model.predict(x[200:]) - y[200:]) ** 2).mean(), rtol=1e-6)
    np.testing.assert_allclose(effect.after, ((again.predict(x[200:]) - y[200:]) ** 2).mean(), rtol=1e-4)
    assert effect.gain.lower > 0
    unseen = [_left_out(Ridge(alpha=factor), x[:200], y[:200]) for factor in (own.factor, 1.0, 4 * own.factor)]
    assert unseen[0] < min(unseen[1:])


def _left_out(model, x, y):
    """The mean squared error of leaving each row out, by fitting anew."""
    rows = np.arange(len(y))
    return np.mean([(model.fit(x[rows != i], y[rows != i]).predict(x[[i]])[0] - y[i]) ** 2 for i in rows])


def test_the_temperature_is_judged_by_rows_that_it_is_not_fitted_to():
    x, y, held, _ = digits(held=700)
    model = LogisticRegression(C=0.05, max_iter=5000).fit(x, y)
    model.coef_ *= 30.0
    model.intercept_ *= 30.0
    found, _, _ = actions(model, x, y, held)
    own = found["temperature"]
    (effect,) = own.effects
    first = np.random.default_rng(0).permutation(len(held[1])) < len(held[1]) // 2
    f, labels = model.decision_function(held[0])[~first], held[1][~first]
    loss = lambda divided: -log_softmax(f / divided, axis=1)[np.arange(len(f)), labels].mean()
    np.testing.assert_allclose([effect.before, effect.after], [loss(1.0), loss(own.factor)], rtol=1e-6)
    assert effect.gain.lower > 0


def test_neighbours_that_exclude_a_class_get_no_temperature():
    x, y, held, _ = digits(held=700)
    found, _, _ = actions(KNeighborsClassifier(5).fit(x, y), x, y, held)
    assert found == {}


def test_a_model_in_order_is_told_to_do_nothing_and_what_was_tried_is_said():
    x, y, held, _ = digits()
    found, tried, _ = actions(LogisticRegression(C=20.0, max_iter=5000).fit(x, y), x, y, held)
    assert "labels" not in found
    assert "decay" not in found
    assert "but none is significantly better" in " ".join(tried)


def test_without_held_out_rows_rows_are_named_and_no_effect_is():
    x, y, _, _ = digits(0.15)
    found, _, _ = actions(LogisticRegression(C=0.5, max_iter=5000).fit(x, y), x, y, None)
    assert list(found) == ["labels"]
    assert found["labels"].effects == []


def test_the_rows_to_look_at_are_those_that_are_more_likely_wrong_than_right():
    x, y = make_blobs(120, 2, centers=4, cluster_std=0.4, random_state=3)
    y[::12] = (y[::12] + 1) % 4
    trained = read_trained(LogisticRegression(C=1.0, max_iter=5000).fit(x, y), x, y)
    found, _ = next_steps(trained, gauge(HeldOutErrorFromTrainingRows(), trained, 0))
    (own,) = [action for action in found if action.name == "labels"]
    accused = np.flatnonzero(label_doubts(rows_left_out(trained).outputs, trained.y).wrong > 0.5)
    assert len(accused) >= 8
    assert set(accused) <= set(range(0, 120, 12))
    assert f"Look at these {len(accused)} training rows" in own.text


def test_a_descent_to_another_decay_starts_at_the_copy_for_the_last_one(monkeypatch):
    x, y = make_classification(60, 4, random_state=1)
    trained = read_trained(LogisticRegression(C=1.0).fit(x, y), x, y)
    start = trained.model.at(trained.model.theta + 1.0)
    begun = []

    def descent(objective, *rest):
        begun.append(objective)
        return polish(objective, *rest)

    monkeypatch.setattr(_next_steps, "polish", descent)
    _next_steps.with_decay(trained, 4.0, start)
    assert len(begun) == 1
    np.testing.assert_array_equal(begun[0].model.theta, start.theta)
    assert begun[0].decay == 4 * objective_of(trained).decay


def test_few_held_out_rows_measure_nothing():
    x, y, held, _ = digits(0.15, held=30)
    found, _, _ = actions(LogisticRegression(C=0.5, max_iter=5000).fit(x, y), x, y, held)
    assert list(found) == ["labels"]
    assert found["labels"].effects == []


def test_what_takes_too_long_is_not_tried_and_said():
    x, y, held, _ = digits(0.15)
    model = LogisticRegression(C=0.5, max_iter=5000).fit(x, y)
    found, tried, _ = actions(model, x, y, held, second=1.0)
    assert "labels" not in found
    assert "takes about" in tried[0]
    found, _, _ = actions(model, x, y, held, deadline=time.monotonic() - 1)
    assert "labels" not in found


def test_the_answer_the_page_and_the_record_say_it(tmp_path):
    x, y = make_classification(600, 10, n_informative=6, class_sep=2.0, random_state=3)
    y[:200] = np.where(np.random.default_rng(0).random(200) < 0.15, 1 - y[:200], y[:200])
    names = np.array(["<b>one</b>", "two"])
    model = LogisticRegression(C=100.0, max_iter=5000).fit(x[:200], names[y[:200]])
    found = lemmata.study_model(model, x[:200], names[y[:200]], held=(x[200:], names[y[200:]]))
    lines = action_sentences(found.record)
    assert lines
    assert len(lines) <= 3
    assert all(f"Next: {line}" in found.answer for line in lines)
    page = found.report(tmp_path).read_text()
    assert "What to do next" in page
    assert "<b>one</b>" not in page


def test_hardly_an_error_does_not_say_that_confidence_is_too_low():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(320, 2))
    x[:, 0] += 0.5 * np.sign(x[:, 0])
    y = (x[:, 0] > 0).astype(int)
    faint = (lambda own, rows: rows @ own, jnp.asarray([[-0.1, 0.1], [0.0, 0.0]]))
    found, _, trained = actions(faint, x[:120], y[:120], (x[120:], y[120:]))
    assert trained.task.errors(trained.model.outputs(x[120:]), trained.task.encode(y[120:])).sum() < 5
    assert "temperature" not in found
    doubtful = np.where(rng.random(320) < 0.1, 1 - y, y)
    found, _, _ = actions(faint, x[:120], doubtful[:120], (x[120:], doubtful[120:]))
    assert found["temperature"].factor < 1
