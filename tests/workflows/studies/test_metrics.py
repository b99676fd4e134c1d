"""Units of errors: their values, and what `--error` understands."""

import numpy as np
import pytest
from sklearn.metrics import log_loss, roc_auc_score

from lemmata.errors import SettingError
from lemmata.workflows.studies._metrics import METRICS, asked, metric, tell


@pytest.fixture
def scores():
    rng = np.random.default_rng(0)
    label = rng.integers(0, 3, 200)
    y = np.eye(3)[label]
    output = np.exp(y + rng.normal(size=y.shape))
    return y, output / output.sum(axis=1, keepdims=True)


def test_losses_are_those_of_scikit_learn(scores):
    y, output = scores
    label = y.argmax(axis=1)
    value = lambda name: metric(name, "classification").rows(y, output, 1.0).mean()
    assert value("accuracy") == pytest.approx(np.mean(output.argmax(axis=1) != label))
    assert value("log-loss") == pytest.approx(log_loss(label, output))
    assert 1 - value("auc") == pytest.approx(roc_auc_score(label, output, multi_class="ovr"))
    assert value("squared") == pytest.approx(((y - output) ** 2).sum(axis=1).mean())


def test_the_variance_over_rows_is_that_of_an_auc():
    """Over 600 tables of 60 rows, the variance of the AUC is the mean of the variances that rows give."""
    found, told = [], []
    for seed in range(600):
        random = np.random.default_rng(seed)
        label = random.permutation(np.repeat([0, 1], [42, 18]))
        score = random.normal(size=60) + label
        rows = metric("auc", "classification").rows(np.eye(2)[label], np.stack([-score, score], axis=1), 1.0)
        found.append(rows.mean())
        told.append(rows.var() / 60)
    assert np.mean(told) == pytest.approx(np.var(found), rel=0.2)  # the variance of 600 values: 6 % at one deviation


def test_auc_counts_ties_by_half():
    y, output = np.eye(2)[[0, 1, 1, 0]], np.array([[0.5, 0.5]] * 4)
    assert metric("auc", "classification").rows(y, output, 1.0).mean() == pytest.approx(0.5)


@pytest.mark.parametrize("unit", METRICS, ids=lambda unit: f"{unit.task} {unit.name}")
def test_told_and_understood_are_inverse(unit):
    for loss in (0.01, 0.3, 0.9):
        assert unit.understood(unit.told(loss, 7.0), 7.0) == pytest.approx(loss)
    assert (unit.told(0.1, 7.0) > unit.told(0.2, 7.0)) == unit.rises


@pytest.mark.parametrize(
    ("text", "task", "name", "loss"),
    [
        ("accuracy 0.95", "classification", "accuracy", 0.05),
        ("accuracy 95%", "classification", "accuracy", 0.05),
        ("accuracy=95 %", "classification", "accuracy", 0.05),
        ("LOG-LOSS 0.3", "classification", "log-loss", 0.3),
        ("auc: 0.9", "classification", "auc", 0.1),
        ("rmse 2", "regression", "rmse", 0.25),
        ("r2 .8", "regression", "r2", 0.2),
        ("0.2", "regression", "unexplained", 0.2),
        (0.2, "classification", "wrong", 0.2),
        ("squared 0.4", "classification", "squared", 0.4),
    ],
)
def test_what_is_asked(text, task, name, loss):
    unit, found = asked(text, task, 16.0)
    assert (unit.name, found) == (name, pytest.approx(loss))


@pytest.mark.parametrize(
    ("text", "task", "words"),
    [
        ("rmse 2", "classification", "no metric 'rmse'"),
        ("acuracy 0.9", "classification", "did you mean 'accuracy'"),
        ("accuracy 1.2", "classification", "out of bounds"),
        ("accuracy 1", "classification", "worse than the perfect value 1"),
        ("rmse -2", "regression", "rmse -2"),
        ("r2 1", "regression", "out of bounds"),
        ("nan", "regression", "not a metric and a number"),
        ("", "regression", "not a metric and a number"),
        ("accuracy 1e400", "classification", "out of bounds"),
    ],
)
def test_what_cannot_be_asked_is_refused(text, task, words):
    with pytest.raises(SettingError, match=words):
        asked(text, task, 16.0)


def test_values_are_told_in_one_way():
    assert tell(metric("accuracy", "classification"), 0.0123, 1.0) == "98.8 %"
    assert tell(metric("rmse", "regression"), 0.25, 16.0) == "2.00"


@pytest.mark.parametrize(
    ("name", "task", "remedy"),
    [
        ("precison", "classification", "did you mean 'precision' or 'precision_micro'?"),
        ("recal", "classification", "did you mean 'recall'?"),
        ("mean_error", "regression", "did you mean 'median_absolute_error' or 'mae'?"),
        ("nothing of the kind", "regression", None),
    ],
)
def test_at_most_two_metrics_of_a_similar_name_are_offered(name, task, remedy):
    with pytest.raises(SettingError) as refused:
        metric(name, task)
    assert refused.value.remedy == remedy
