"""Units that people plan in, through a whole study: values, intervals, rows, sentences, and what is refused."""

import contextlib
import math
import pickle
import warnings

import numpy as np
import polars as pl
import pytest
from sklearn import metrics
from sklearn.svm import LinearSVC

import lemmata
from lemmata.errors import SettingError
from lemmata.interfaces.report import bounds_of
from lemmata.options import StudyOptions
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._asking import question
from lemmata.workflows.studies._metrics import METRICS, metric
from lemmata.workflows.studies._units import rarer, unit_of

CLASSES = ("f1", "balanced_accuracy", "average_precision", "brier_score", "recall", "matthews_corrcoef")
NUMBERS = ("mae", "median_absolute_error", "neg_mean_absolute_percentage_error")
QUICK = {"models": "linear,neighbours", "quick": True}


def fraud(rows=400, share=0.06, seed=0):
    """A table of two classes, of which the first by the alphabet is rare."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 4))
    score = 2 * x[:, 0] + x[:, 1] + random.normal(size=rows)
    kind = np.where(score > np.quantile(score, 1 - share), "fraud", "usual")
    return pl.DataFrame({**{f"x{j}": x[:, j] for j in range(4)}, "kind": kind})


def numbers(rows=300, seed=0):
    random = np.random.default_rng(seed)
    x = random.normal(size=(rows, 3))
    return pl.DataFrame({**{f"x{j}": x[:, j] for j in range(3)}, "y": 10 + 3 * x[:, 0] + random.normal(size=rows)})


def profit(truth, said):
    return float(np.mean(np.where(said == "fraud", np.where(truth == "fraud", 50.0, -5.0), 0.0)))


def two_sided(truth, said):
    """Falls for a better model, and twice as dear above as below."""
    return float(np.mean(np.where(said > truth, 2 * (said - truth), truth - said)))


@pytest.mark.parametrize("name", CLASSES)
def test_scores_of_classes_are_those_of_scikit_learn(name):
    dataset = load_dataset(fraud(), "kind")
    unit, _ = unit_of(dataset, name, None)
    random = np.random.default_rng(1)
    chance = np.clip(0.7 * dataset.targets[:, 0] + 0.5 * random.random(400), 0.01, 0.99)
    output, truth = np.stack([chance, 1 - chance], axis=1), dataset.targets[:, 0].astype(int)
    said = (chance > 0.5).astype(int)
    expected = {
        "f1": metrics.f1_score(truth, said), "balanced_accuracy": metrics.balanced_accuracy_score(truth, said),
        "average_precision": metrics.average_precision_score(truth, chance),
        "brier_score": metrics.brier_score_loss(truth, chance), "recall": metrics.recall_score(truth, said),
        "matthews_corrcoef": metrics.matthews_corrcoef(truth, said),
    }[name]  # fmt: skip
    assert rarer(dataset) == 0
    assert unit.told(float(unit.rows(dataset.targets, output, 1.0).mean()), 1.0) == pytest.approx(expected)


@pytest.mark.parametrize("name", NUMBERS)
def test_scores_of_numbers_are_those_of_scikit_learn(name):
    dataset = load_dataset(numbers(), "y")
    unit, _ = unit_of(dataset, name, None)
    said = dataset.targets + np.random.default_rng(1).normal(size=dataset.targets.shape)
    known = {"mae": metrics.mean_absolute_error, "median_absolute_error": metrics.median_absolute_error}
    expected = known.get(name, metrics.mean_absolute_percentage_error)(dataset.targets, said)
    assert unit.told(float(unit.rows(dataset.targets, said, 1.0).mean()), 1.0) == pytest.approx(expected)
    assert not unit.rises


@pytest.mark.parametrize("name", ["f1", "average_precision", "recall"])
def test_the_variance_over_rows_is_that_of_a_score(name):
    """Over 200 tables of 150 rows, the variance of the score is the mean of the variances that rows give."""
    found, told = [], []
    for seed in range(200):
        random = np.random.default_rng(seed)
        label = (random.random(150) < 0.2).astype(int)
        score = random.normal(size=150) + 1.5 * label
        rows = metric(name, "classification").rows(np.eye(2)[label], np.stack([1 - score, score], axis=1), 1.0)
        found.append(rows.mean())
        told.append(rows.var() / 150)
    assert np.mean(told) == pytest.approx(np.var(found), rel=0.35)  # 200 values: 10 % at one deviation, and few rows


@pytest.mark.parametrize("name", CLASSES[:4])
def test_a_study_of_classes_speaks_in_the_unit(name):
    found = lemmata.study(fraud(), "kind", metric=name, **QUICK)
    unit = found.record.unit
    assert unit.name == name.replace("_", " ")
    assert f"{unit.name} " in found.answer
    inside(found)


@pytest.mark.parametrize("name", NUMBERS[:2])
def test_a_study_of_numbers_speaks_in_the_unit(name):
    found = lemmata.study(numbers(), "y", metric=name, **QUICK)
    assert found.record.unit.best == 0.0
    assert found.record.answers.best == "linear"
    noise = {"mae": math.sqrt(2 / math.pi), "median_absolute_error": 0.6745}[name]  # of the normal noise
    now = found.record.answers.now
    assert now is not None
    assert now.lower < 1.1 * noise
    assert noise < now.upper
    inside(found)


def inside(found):
    """Every interval lies inside the range of the unit."""
    least, most = bounds_of(found.record.unit)
    for model in found.record.models:
        for item in [model.now, *model.band]:
            assert least - 1e-9 <= item.lower <= item.value <= item.upper <= most + 1e-9
    assert found.curves["lower"].min() >= least - 1e-9  # pyright: ignore
    assert found.curves["upper"].max() <= most + 1e-9  # pyright: ignore


def test_a_value_is_asked_in_the_unit():
    dataset = load_dataset(fraud(), "kind")
    assert unit_of(dataset, "f1", "0.8")[1] == pytest.approx(0.2)
    assert unit_of(dataset, None, "balanced accuracy 80 %")[1] == pytest.approx(0.2)
    assert unit_of(dataset, profit, "profit 2")[1] == pytest.approx(50 * 24 / 400 - 2)
    found = lemmata.study(fraud(), "kind", metric="balanced_accuracy", error="0.7", models="logistic", quick=True)
    assert "balanced accuracy 70.0 %" in found.answer
    assert found.record.answers.asked == pytest.approx(0.7)


def test_guessing_is_the_best_constant_of_the_unit():
    dataset = load_dataset(numbers(), "y")
    assert unit_of(dataset, "mae", None)[0].guess == "median"
    dataset = load_dataset(fraud(), "kind")
    assert unit_of(dataset, "f1", None)[0].guess == "class 0", "always answering the rare class has an F1 above 0"
    assert unit_of(dataset, "recall", None)[0].guess == "mean", "always answering it is perfect, and no guess"
    found = lemmata.study(fraud(), "kind", metric="recall", **QUICK)
    assert any("--metric f1 to count false positives" in item.text for item in found.findings if item.kind == "unit")


@pytest.mark.parametrize(
    ("score", "rises", "best"),
    [(profit, True, 50 * 24 / 400), (metrics.make_scorer(metrics.fbeta_score, beta=2, pos_label="fraud"), True, 1.0),
     (metrics.make_scorer(metrics.log_loss, greater_is_better=False, response_method="predict_proba"), False, 0.0),
     (metrics.hamming_loss, False, 0.0)],
)  # fmt: skip
def test_a_score_of_the_users_own(score, rises, best):
    unit, _ = unit_of(load_dataset(fraud(), "kind"), score, None)
    assert unit.rises == rises
    assert unit.told(0.0, 1.0) == pytest.approx(best)
    assert unit.told(0.1, 1.0) == pytest.approx(best - 0.1 if rises else best + 0.1)


def test_a_study_in_the_users_own_score():
    found = lemmata.study(numbers(), "y", metric=two_sided, **QUICK)
    assert found.record.unit.name == "two sided"
    assert not found.record.unit.rises
    assert "two sided " in found.answer
    inside(found)


def test_whole_numbers_reach_a_score_as_they_are():
    table = fraud().with_columns(pl.when(pl.col("kind") == "fraud").then(7).otherwise(12).alias("kind"))
    seen = []

    def score(truth, said):
        seen.extend([*truth[:3], *said[:3]])
        return float(np.mean(truth == said))

    unit_of(load_dataset(table, "kind", task="classification"), score, None)
    assert set(seen) <= {7, 12}


@pytest.mark.parametrize(
    ("asked", "table", "words"),
    [
        ("f1", "numbers", r"no metric 'f1' for regression.*a target of numbers, but a score for classes.*one of rmse"),
        ("mae", "classes", "a target of classes, but a score for numbers.*balanced_accuracy"),
        ("balanced_acuracy", "classes", "did you mean 'balanced_accuracy'"),
        ("rand_score", "classes", "no metric 'rand_score'"),
        ("f1_samples", "classes", "no metric 'f1_samples'"),
        (3, "classes", "neither a name nor a scoring function"),
        (lambda truth, said: float(np.sum(truth != said)), "classes", "depends on the number of rows.*mean over rows"),
        (lambda truth, said: 1.0, "classes", "does not distinguish perfect predictions from guessing"),
        (lambda truth: 1.0, "classes", "cannot be computed"),
        (lambda truth, said: np.mean(said) - np.mean(truth), "numbers", "does not distinguish.*remedy.*only for right"),
        (lambda truth, said: 1.0 if np.ptp(said) else np.nan, "numbers", "nan for guessing.*remedy.*0 instead of nan"),
    ],
)
def test_bad_input_is_refused_with_what_is_possible(asked, table, words):
    dataset = load_dataset(numbers(), "y") if table == "numbers" else load_dataset(fraud(), "kind")
    with pytest.raises(SettingError, match=words):
        unit_of(dataset, asked, None)


def test_two_metrics_are_refused():
    with pytest.raises(SettingError, match=r"two different metrics.*'auc' and 'f1'"):
        unit_of(load_dataset(fraud(), "kind"), "f1", "auc 0.9")


def test_a_model_without_probabilities_is_not_measured_by_them():
    found = lemmata.study(fraud(), "kind", metric="brier_score", model=LinearSVC(), **QUICK)
    text = next(item.text for item in found.findings if item.kind == "model")
    assert text == (
        "LinearSVC was left out: the model predicts classes without probabilities, which brier score needs."
    )
    found = lemmata.study(fraud(), "kind", metric="f1", model=LinearSVC(), **QUICK)
    assert "LinearSVC" in [model.title for model in found.record.models]


def test_splits_of_one_class_are_left_out_and_said():
    table = fraud(rows=120, share=0.08).with_columns(day=pl.arange(120))
    found = lemmata.study(table, "kind", metric="balanced_accuracy", time="day", **QUICK)
    said = [item.text for item in found.findings if "a single class, so balanced accuracy has no value" in item.text]
    assert len(said) == 1


@pytest.mark.parametrize("unit", METRICS, ids=lambda unit: unit.name)
def test_metrics_reach_other_processes(unit):
    assert pickle.loads(pickle.dumps(unit)).name == unit.name


def test_a_rare_class_is_told_with_the_unit_for_it():
    found = lemmata.study(fraud(), "kind", **QUICK)
    (text,) = [item.text for item in found.findings if item.kind == "imbalance"]
    assert "'fraud' of 'kind' has 6 % of the rows (24 of 400)" in text
    assert "'usual', is right in 94.0 % of the rows" in text
    assert "--metric average_precision" in text
    assert "--metric balanced_accuracy" in text
    other = lemmata.study(fraud(), "kind", metric="average_precision", **QUICK)
    (text,) = [item.text for item in other.findings if item.kind == "imbalance"]
    assert "--metric" not in text, "the unit is right already"


def test_classes_of_fair_shares_are_not_rare():
    for name in ("digits", "iris", "breast_cancer", "wine"):
        from lemmata.workflows.studies._imbalance import imbalance

        assert imbalance(load_dataset(name), metric("accuracy", "classification")) == []


def test_every_warning_of_the_page_is_among_the_findings(tmp_path):
    table = pl.concat([fraud(), fraud().head(60)]).with_columns(number=pl.int_range(460) * 3, same=pl.lit(1))
    found = lemmata.study(table, "kind", metric="f1", **QUICK)
    page = found.report(tmp_path).read_text()
    start = page.index("Before you rely on it")
    shown = page[start : page.index("</aside>", start)].count("<li>")
    texts = [item.text for item in found.findings]
    assert len(texts) == len(set(texts))
    assert shown == sum(text not in found.answer for text in texts) > 2
    assert {"unit", "imbalance", "copies", "repeats", "constant"} <= {item.kind for item in found.findings}
    assert next(item for item in found.findings if item.kind == "constant").columns == ("same",)


@pytest.mark.parametrize("far", [0.5, 1e3 / 7, 1e6 / 7])
def test_round_off_is_no_dependence_on_the_number_of_rows(far):
    """The mean error of guessing was 1.1e-16, and 5.6e-17 if every row was repeated."""
    dataset = load_dataset(numbers().with_columns(y=pl.col("y") + far), "y")
    with pytest.raises(SettingError, match="does not distinguish perfect predictions from guessing"):
        unit_of(dataset, lambda truth, said: np.mean(said) - np.mean(truth), None)
    with pytest.raises(SettingError, match="depends on the number of rows"):
        unit_of(dataset, lambda truth, said: 1e-9 * np.sum(np.abs(said - truth)), None)


@pytest.mark.parametrize("name", ["neg_negative_likelihood_ratio", "top_k_accuracy"])
def test_a_question_shows_no_warnings_of_scikit_learn(name):
    dataset = load_dataset("breast_cancer")
    with warnings.catch_warnings(record=True) as shown, contextlib.suppress(SettingError):
        warnings.simplefilter("always")
        question(dataset, StudyOptions(metric=name))
    assert not shown


def test_a_score_that_is_perfect_for_wrong_predictions_is_refused():
    dataset = load_dataset(fraud(), "kind")
    with pytest.raises(SettingError, match=r"'top_k_accuracy' is perfect for every prediction.*2 classes.*accuracy"):
        unit_of(dataset, "top_k_accuracy", None)


@pytest.mark.parametrize("name", ["top_k_accuracy", "d2_log_loss_score", "d2_brier_score"])
def test_a_score_of_three_classes_is_computed_for_rows_without_one_of_them(name):
    random = np.random.default_rng(0)
    labels = np.arange(90) % 3
    table = pl.DataFrame({"x": labels + random.normal(size=90), "kind": np.array(["a", "b", "c"])[labels]})
    unit, _ = unit_of(load_dataset(table, "kind"), name, None)
    y, said = np.eye(3)[labels], random.dirichlet(np.ones(3), 90)
    kept = labels > 0
    score = {"top_k_accuracy": metrics.top_k_accuracy_score, "d2_log_loss_score": metrics.d2_log_loss_score}.get(name)
    expected = (score or metrics.d2_brier_score)(labels[kept], said[kept], labels=[0, 1, 2])
    assert unit.rows(y[kept], said[kept], 1.0).mean() == pytest.approx(1 - expected)


@pytest.mark.parametrize("name", ["roc_auc_ovo", "roc_auc_ovr_weighted"])
def test_a_ranking_of_pairs_of_classes_is_unknown_if_a_class_has_no_row(name):
    labels = np.arange(90) % 3
    table = pl.DataFrame({"x": labels * 1.5, "z": np.arange(90) % 7, "kind": np.array(["a", "b", "c"])[labels]})
    unit, _ = unit_of(load_dataset(table, "kind"), name, None)
    y = np.eye(3)[labels]
    assert np.isnan(unit.rows(y[labels > 0], y[labels > 0], 1.0)).all()
    assert unit.rows(y, y, 1.0).mean() == 0
