"""R² and root mean squared errors of each output: held against scikit-learn, and against fresh held-out rows."""

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression, PoissonRegressor
from sklearn.metrics import r2_score, root_mean_squared_error

import lemmata
from lemmata.interfaces.report._model import model_page, model_sentences
from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations import ExaminationRecord
from lemmata.workflows.examinations._baseline import held_baseline
from lemmata.workflows.examinations._output_scores import TOGETHER, output_scores


def values(rows, seed, outputs=2):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 3))
    return x, (x @ [[1.0, 0.0], [0.5, 0.0], [0.0, 0.1]] + [0.3, 1.0] * rng.normal(size=(rows, 2)))[:, :outputs]


def test_scores_are_those_of_scikit_learn():
    pandas = pytest.importorskip("pandas")
    (x, y), (held, targets) = values(100, 0), values(200, 1)
    model = LinearRegression().fit(x, y)
    frames = [pandas.DataFrame(own, columns=["left", "right"]) for own in (y, targets)]
    found = lemmata.study_model(model, x, frames[0], held=(held, frames[1]))
    scores, f = found.record.outputs, model.predict(held)
    assert [own.name for own in scores] == ["left", "right", TOGETHER]
    for k, own in enumerate(scores[:2]):
        assert own.rmse.value == pytest.approx(root_mean_squared_error(targets[:, k], f[:, k]))
        # scikit-learn compares with the mean of the rows that are scored, not with that of the training rows
        shift = len(targets) * (targets[:, k].mean() - y[:, k].mean()) ** 2
        total = ((targets[:, k] - targets[:, k].mean()) ** 2).sum()
        residual = (1 - r2_score(targets[:, k], f[:, k])) * total
        assert own.explained.value == pytest.approx(1 - residual / (total + shift))
    assert scores[2].rmse.value ** 2 == pytest.approx(found.record.held_error.value)
    for end in ("value", "lower", "upper"):
        assert getattr(scores[2].explained, end) == pytest.approx(getattr(found.record.baseline.explained, end))
    assert "2 outputs" in model_page(found.record)
    said = [line for line in model_sentences(found.record) if "RMSE is" in line]
    assert len(said) == 1
    assert "The R² of the 2 outputs is between" in said[0]
    assert ExaminationRecord.from_json(found.record.to_json()) == found.record


def test_counts_are_scored_as_counts_and_not_by_their_logarithms():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 3))
    y = rng.poisson(np.exp(1 + 0.5 * x[:, 0])).astype(float)
    model = PoissonRegressor(alpha=1e-3).fit(x[:200], y[:200])
    trained = read_trained(model, x[:200], y[:200], held=(x[200:], y[200:]))
    assert trained.task.is_counted
    (own,) = output_scores(trained)
    assert own.rmse.value == pytest.approx(root_mean_squared_error(y[200:], model.predict(x[200:])))
    assert own.explained.value == pytest.approx(held_baseline(trained).explained.value)


def test_intervals_hold_what_many_rows_say():
    x, y = values(60, 0)
    model = LinearRegression().fit(x, y)
    score = lambda seed, rows: output_scores(read_trained(model, x, y, held=values(rows, seed)))
    truth = score(99, 200_000)
    inside = [
        [own.rmse.lower <= true.rmse.value <= own.rmse.upper,
         own.explained.lower <= true.explained.value <= own.explained.upper]
        for seed in range(200) for own, true in zip(score(seed, 150), truth, strict=True)
    ]  # fmt: skip
    assert (np.abs(np.mean(inside, axis=0) - 0.95) < 4 * (0.95 * 0.05 / 200) ** 0.5).all()


def test_one_output_is_alone_and_classes_have_none():
    (x, y), (held, targets) = values(60, 0, 1), values(60, 1, 1)
    trained = read_trained(LinearRegression().fit(x, y), x, y, held=(held, targets))
    assert [own.name for own in output_scores(trained)] == ["output 0"]
    assert [own.name for own in output_scores(trained, ("price",))] == ["price"]
    labels = (y[:, 0] > 0).astype(int)
    assert output_scores(read_trained(LogisticRegression().fit(x, labels), x, labels, held=(held, labels))) == []
    assert output_scores(read_trained(LinearRegression().fit(x, y), x, y)) == []
    same = read_trained(LinearRegression().fit(x, y), x, y, held=(held, np.full((60, 1), y.mean())))
    assert output_scores(same)[0].explained is None
