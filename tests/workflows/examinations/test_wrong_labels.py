"""Wrong labels are seen in rows that are left out, and in held-out rows where leaving out hides them."""

import dataclasses
import re

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_classification
from sklearn.neural_network import MLPClassifier

from lemmata.subjects.trained_models import (
    LeftOut,
    Trained,
    held_outputs,
    held_rows,
    keep,
    label_doubts,
    read_model,
    read_task,
    read_trained,
    rows_left_out,
)
from lemmata.subjects.trained_models.leaving_out import HeldOutErrorFromTrainingRows, predicted_share
from lemmata.workflows.examinations._gauges import gauge
from lemmata.workflows.examinations._wrong_labels import of_held_rows, of_training_rows, wrong_labels
from lemmata.workflows.records.examinations import Gauge

CLASSES, N = 5, 300


def logits(rng, labels, sure):
    """Outputs that know the class of a row, some surely and some less, but for normal noise.

    Were all as sure, a temperature would explain wrong labels as well.
    """
    return sure * rng.uniform(0.3, 2.0, (len(labels), 1)) * np.eye(CLASSES)[labels] + rng.normal(
        size=(len(labels), CLASSES)
    )


def posed(train, held, *, copies=0, known=True, seed=0):
    """What the finding reads of a model: outputs at rows of which the shares `train` and `held` have a wrong label.

    With `known` the outputs at training rows left out are those of a model that knows the classes; else it has learned
    the labels by heart, wrong ones too.
    """
    rng = np.random.default_rng(seed)
    right, new = rng.integers(0, CLASSES, N), rng.integers(0, CLASSES, N)
    right[:copies] = new[:copies]
    mixed = []
    for labels, share in ((right, train), (new, held)):
        hit = np.arange(N) < round(share * N)
        mixed.append(np.where(hit, (labels + rng.integers(1, CLASSES, N)) % CLASSES, labels))
    # a model that returns its rows, so that they are its outputs
    model = read_model((lambda w, x: x @ w, jnp.eye(CLASSES)))
    x, rows = logits(rng, right, 7.0), logits(rng, new, 7.0)
    x[:copies] = rows[:copies]
    task = read_task(model, x, mixed[0])
    found = Trained(model, task, x, task.encode(mixed[0]), (rows, task.encode(mixed[1])))
    outputs = logits(rng, right if known else mixed[0], 7.0)
    keep(rows_left_out, found, LeftOut(outputs, np.zeros(N), 0.0, 0.0))
    return found


def named(text, words):
    """The rows that a sentence names after some words."""
    return [int(row) for row in text.split(f"{words} ")[1].split(" (")[0].removesuffix(" and others").split(", ")]


def spoke(status="agrees"):
    """The gauge of the error from training rows alone."""
    said = dict.fromkeys(("title", "theory", "controls", "source", "reason", "route", "control", "unexplained"), "")
    return Gauge("held_out_error_from_training_rows", **said, status=status, hypotheses=[], predicted=None,
                 measured=None, trivial=None, label="estimate", seconds=0.0)  # fmt: skip


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_training_rows_tell_where_the_model_knows_better(seed):
    found = wrong_labels(posed(0.15, 0.15, seed=seed), spoke())
    assert found is not None
    share, low, high = map(float, re.findall(r"([\d.]+) ?(?:%|to)", found.text)[:3])
    assert low <= 15 <= high
    assert abs(share - 15) < 6
    assert "training labels look wrong" in found.text
    assert "Of the held-out labels, about" in found.text
    rows = named(found.text, "Look at training rows")
    assert max(rows) < 45  # the first 45 rows have wrong labels, and all that are named are among them


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_held_out_rows_tell_where_wrong_labels_are_learned_by_heart(seed):
    model = posed(0.15, 0.15, known=False, seed=seed)
    own = of_training_rows(model, spoke())
    assert own is not None
    assert own.share < 0.02
    found = wrong_labels(model, spoke())
    assert found is not None
    assert "of the held-out labels look wrong" in found.text
    assert "Here lemmata cannot count wrong training labels by leaving rows out" in found.text
    rows = named(found.text, "held-out rows")
    assert 0 <= min(rows) <= max(rows) < 45
    silent = spoke("inapplicable")
    again = wrong_labels(model, silent)
    assert again is not None
    assert "Look first at" not in again.text
    assert of_training_rows(model, silent) is None


def test_right_labels_are_not_accused():
    assert sum(wrong_labels(posed(0.0, 0.0, seed=seed), spoke()) is not None for seed in range(10)) == 0


def test_rows_that_are_copies_and_few_rows_do_not_count():
    assert wrong_labels(posed(0.0, 0.15), spoke()) is not None
    assert wrong_labels(posed(0.0, 0.15, copies=45), spoke()) is None  # the wrong ones
    some = wrong_labels(posed(0.0, 0.15, copies=10), spoke())
    assert some is not None
    rows = named(some.text, "held-out rows")
    assert 10 <= min(rows) <= max(rows) < 45
    assert of_held_rows(posed(0.0, 0.15, copies=N - 99)) is None
    assert of_held_rows(posed(0.0, 0.15, copies=N - 100)) is not None
    assert of_held_rows(dataclasses.replace(posed(0.0, 0.15), held=None)) is None


@pytest.mark.parametrize(
    ("count", "n", "m", "share"), [(90.0, 300.0, 400, 0.1), (3.0, 50.0, 30, 0.4), (0.0, 40.0, 9, 0.2)]
)
def test_what_is_unsettled_widens_the_law_by_a_uniform_number(count, n, m, share):
    """Against the convolution of the two laws, entry by entry."""
    most, level = round(share * m), 0.9
    pmf = np.convolve(stats.betabinom.pmf(np.arange(m + 1), m, count + 0.5, n - count + 0.5), np.ones(2 * most + 1))
    reached = np.cumsum(pmf) / (2 * most + 1)
    low, high = (np.flatnonzero(reached >= q)[0] - most for q in (0.05, 0.95))
    np.testing.assert_allclose(
        predicted_share(count, n, m, level, share), [max(low, 0) / m, count / n, min(high, m) / m]
    )


def test_without_it_the_law_is_the_beta_binomial_one():
    law = stats.betabinom(200, 20.5, 80.5)
    np.testing.assert_allclose(predicted_share(20.0, 100.0, 200), [law.ppf(0.025) / 200, 0.2, law.ppf(0.975) / 200])
    counted = predicted_share(20.0, 100.0, 2_000_000)  # a sum anew for every count would not end
    np.testing.assert_allclose(
        counted, [stats.beta.ppf(0.025, 20.5, 80.5), 0.2, stats.beta.ppf(0.975, 20.5, 80.5)], rtol=1e-4
    )


def test_a_class_that_the_model_does_not_know_is_not_blamed_on_labels_alone():
    """All labels are right; held-out rows of one class are called another one with confidence."""
    model = posed(0.0, 0.0, known=False)
    f, y = held_outputs(model).copy(), held_rows(model)[1]
    f[y.argmax(1) == 3, 3] = -8.0
    f[y.argmax(1) == 3, 4] = 12.0
    keep(held_outputs, model, f)
    found = wrong_labels(model, spoke("inapplicable"))
    assert found is not None
    assert "Nearly all of these rows have class 3" in found.text
    assert "or the model has not learned this class" in found.text
    assert "Training labels" not in found.text


def test_a_network_that_knows_its_rows_by_heart_accuses_no_right_labels():
    """No wrong label, and 32 units for 300 rows: leaving rows out alone would accuse dozens."""
    x, y = make_classification(600, 30, n_informative=12, n_classes=4, flip_y=0.0, random_state=2)
    model = MLPClassifier((32,), alpha=0.01, activation="tanh", solver="lbfgs", max_iter=2000, random_state=1)
    trained = read_trained(model.fit(x[:300], y[:300]), x[:300], y[:300], held=(x[300:], y[300:]))
    left_out = gauge(HeldOutErrorFromTrainingRows(), trained, 0)
    assert left_out.status in ("agrees", "disagrees")
    doubts = label_doubts(rows_left_out(trained).outputs, trained.y)
    assert doubts.evidence > 5
    assert (doubts.wrong > 0.5).sum() > 30
    assert wrong_labels(trained, left_out) is None


@pytest.mark.parametrize(("lost", "leverage"), [(60.0, 0.0), (16.0, 0.95)])
@pytest.mark.parametrize("share", [0.0, 0.15])
def test_steps_that_go_too_far_do_not_count_as_wrong_labels(share, lost, leverage):
    """Twelve right labels get hardly a chance, as rows of leverage near 1 may; held-out rows tell wrong ones."""
    model = posed(share, share)
    left_out = rows_left_out(model)
    f, right = left_out.outputs.copy(), np.flatnonzero(left_out.outputs.argmax(1) == model.y.argmax(1))[-12:]
    f[right, model.y.argmax(1)[right]] -= lost
    known = np.where(np.isin(np.arange(N), right), leverage, 0.1)
    keep(rows_left_out, model, dataclasses.replace(left_out, outputs=f, leverage=known))
    doubts = of_training_rows(model, spoke())
    assert doubts.low > 0.01
    assert doubts.share > share + 0.02  # they count the twelve, which are 4 % of the rows
    found = wrong_labels(model, spoke())
    assert (found is None) == (share == 0.0)
    if found is not None:
        assert ("training labels look wrong" in found.text) == (leverage > 0)
        _, low, high = map(float, re.findall(r"([\d.]+) ?(?:%|to)", found.text)[:3])
        assert low <= 100 * share + 4 * (leverage > 0) <= high
