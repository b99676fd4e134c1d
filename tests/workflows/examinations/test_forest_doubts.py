"""A forest of the rows sees wrong labels where the model that is examined cannot, and none where there are none."""

import re

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_classification, make_moons
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

import lemmata
from lemmata.subjects.trained_models import fresh_rows, held_outputs, read_trained
from lemmata.subjects.trained_models.leaving_out import HeldOutErrorFromTrainingRows
from lemmata.workflows.examinations import _forest_doubts, _wrong_labels
from lemmata.workflows.examinations._confidence import excludes
from lemmata.workflows.examinations._forest_doubts import forest_doubts
from lemmata.workflows.examinations._gauges import gauge
from lemmata.workflows.examinations._wrong_labels import of_held_rows, of_training_rows, suspicion, wrong_labels

BOOSTED, MARGINS = GradientBoostingClassifier(max_depth=5, random_state=0), SVC()
SETS = {
    "iris": lambda seed: load_iris(return_X_y=True),
    "wine": lambda seed: load_wine(return_X_y=True),
    "cancer": lambda seed: load_breast_cancer(return_X_y=True),
    "moons": lambda seed: make_moons(600, noise=0.25, random_state=seed),
    "classes": lambda seed: make_classification(
        600, 8, n_informative=5, n_classes=3, n_clusters_per_class=1, flip_y=0, random_state=seed
    ),
}


def rows(name, seed, share=0.0):
    """Shuffled rows of a set, of which a share has another class, and which these are."""
    rng = np.random.default_rng([seed, 3])
    x, y = SETS[name](seed)
    order = rng.permutation(len(x))
    x, y, hit = x[order], y[order], rng.permutation(len(x)) < round(share * len(x))
    classes = y.max() + 1
    return x, np.where(hit, (y + rng.integers(1, classes, len(y))) % classes, y), hit


def posed(model, name, seed, share=0.0):
    x, y, hit = rows(name, seed, share)
    n = len(x) // 2
    return read_trained(model.fit(x[:n], y[:n]), x[:n], y[:n], held=(x[n:], y[n:])), hit[:n]


@pytest.mark.parametrize("name", ["cancer", "moons", "classes"])
@pytest.mark.parametrize("model", [BOOSTED, MARGINS], ids=["boosted trees", "margins"])
def test_a_fifth_of_wrong_labels_is_seen_of_models_that_hide_them(model, name):
    """The share that was planted lies between the ends, and most of the rows that are named were planted."""
    trained, hit = posed(model, name, 117 if name == "cancer" else 5, 0.2)
    found = wrong_labels(trained, None)
    assert found is not None
    share, low, high = map(float, re.findall(r"([\d.]+) ?(?:%|to)", found.text)[:3])
    assert low <= 20 <= high
    assert abs(share - 20) < 7
    if "forest" in found.text:
        shown = found.text.split("Look at training rows ")[1].split(" (")[0].split(" and others")[0]
        assert hit[[int(own) for own in shown.split(", ")]].mean() > 0.7


def test_the_model_itself_says_nothing_there():
    """Boosted trees learn wrong labels by heart; margins are no probabilities."""
    trained, _ = posed(BOOSTED, "cancer", 117, 0.2)
    own = of_held_rows(trained)
    assert own is None or own.evidence < 5 or own.low < 0.01
    assert "random forest" in wrong_labels(trained, None).text
    assert of_held_rows(posed(MARGINS, "cancer", 117, 0.2)[0]) is None


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", SETS)
def test_right_labels_are_let_be(name, seed):
    trained, _ = posed(MARGINS, name, seed)
    assert wrong_labels(trained, None) is None
    assert forest_doubts(trained).doubts.low < 0.02


@pytest.mark.parametrize("seed", range(4))
def test_neighbours_that_exclude_a_class_do_not_doubt_it(seed):
    """All seven neighbours of a row between two moons may be of the other moon, and its label is right."""
    trained, _ = posed(KNeighborsClassifier(7), "moons", seed)
    assert excludes(held_outputs(trained), trained.held[1])
    assert of_held_rows(trained) is None
    assert wrong_labels(trained, None) is None


def test_a_rare_class_that_nothing_tells_apart_is_not_accused():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(800, 5)), (rng.random(800) < 0.06).astype(int)
    x[:, 0] += 1.5 * y
    trained = read_trained(MARGINS.fit(x[:400], y[:400]), x[:400], y[:400], held=(x[400:], y[400:]))
    assert wrong_labels(trained, None) is None


def test_classes_that_overlap_are_not_wrong_labels(monkeypatch):
    """The model is the law that drew the labels. Its log loss is below the forest's, whose evidence is 3.3."""
    rng = np.random.default_rng(10)
    x = rng.normal(size=(400, 2))
    law = lambda rows: np.stack([1 / (1 + np.exp(rows.sum(1))), 1 / (1 + np.exp(-rows.sum(1)))], axis=1)
    y = (rng.random(400) < law(x)[:, 1]).astype(int)
    trained = read_trained(law, x[:200], y[:200], held=(x[200:], y[200:]))
    assert forest_doubts(trained).doubts.low > 0.03
    assert wrong_labels(trained, None) is None
    monkeypatch.setattr(_wrong_labels, "_OF_FOREST", (3.0, 0.03))
    assert wrong_labels(trained, None) is None
    monkeypatch.setattr(_wrong_labels, "of_held_rows", lambda trained: None)
    said = wrong_labels(trained, None).text
    assert "This share is estimated from the votes of a random forest" in said


def test_few_rows_values_and_copies_are_not_judged(monkeypatch):
    x, y, _ = rows("classes", 0)
    model = SVC().fit(x, y)
    assert forest_doubts(read_trained(model, x[:90], y[:90])) is None
    assert forest_doubts(read_trained(model.decision_function, x, x[:, :3] + 0.5)) is None
    assert len(forest_doubts(read_trained(model, x, y)).places) == len(x)
    twice = np.concatenate([x, x[:50]]), np.concatenate([y, y[:50]])
    assert sorted(forest_doubts(read_trained(model, *twice)).places) == list(range(50, 600))
    monkeypatch.setattr(_forest_doubts, "_MOST_ROWS", 150)
    found = forest_doubts(read_trained(model, x[:300], y[:300], held=(x[300:] * 1e35, y[300:])))
    assert len(found.places) == 150
    assert found.places.min() < 300 < found.places.max()


def test_the_page_says_it_of_a_function():
    x, y, _ = rows("classes", 7, 0.2)
    model = BOOSTED.fit(x[:300], y[:300])
    found = lemmata.study_model(model.predict_proba, x[:300], y[:300], held=(x[300:], y[300:]))
    assert any("labels look wrong" in own.text for own in found.record.findings)


def test_a_forest_that_knows_less_than_the_model_is_not_asked():
    """Which slope made a series: a rule knows it nearly always, a forest of twenty places errs and is sure."""
    rng, slopes = np.random.default_rng(4), np.array([-0.8, 0.0, 0.8])
    y = rng.integers(0, 3, 700)
    x = rng.normal(size=(700, 20))
    for t in range(1, 20):
        x[:, t] += slopes[y] * x[:, t - 1]
    wrong = (y + 1) % 3
    hit = np.arange(700) % 5 == 0
    products = (x[:, 1:] * x[:, :-1]).sum(1) / (x[:, :-1] ** 2).sum(1)
    rule = dict(zip(map(bytes, x), np.abs(products[:, None] - slopes).argmin(1), strict=True))
    for labels, told in ((y, False), (np.where(hit, wrong, y), True)):
        model = lambda rows: np.eye(3)[[rule[bytes(row)] for row in rows]]
        trained = read_trained(model, x[:300], labels[:300], held=(x[300:], labels[300:]), labels=(0, 1, 2))
        errors = (model(x[300:]).argmax(1) != labels[300:]).mean()
        found = forest_doubts(trained)
        assert found.errors[found.places >= 300].mean() > errors + 0.02
        assert wrong_labels(trained, None) is None, told


def left_out_of(trained):
    return gauge(HeldOutErrorFromTrainingRows(), trained, 0)


def test_suspicion_is_the_mean_of_what_two_models_say_of_a_row():
    trained, _ = posed(LogisticRegression(max_iter=1000), "classes", 0, 0.1)
    left_out, n = left_out_of(trained), len(trained.x)
    own, held = suspicion(trained, left_out)
    forest, model = forest_doubts(trained), of_training_rows(trained, left_out)
    by_forest = dict(zip(forest.places.tolist(), forest.doubts.own, strict=True))
    for i in (0, 17, n - 1):
        assert own[i] == pytest.approx(1 - (model.own[i] + by_forest[i]) / 2)
    new = np.flatnonzero(fresh_rows(trained))
    unseen = dict(zip(new.tolist(), of_held_rows(trained).own, strict=True))
    for i in new[[0, 5, -1]].tolist():
        assert held[i] == pytest.approx(1 - (unseen[i] + by_forest[n + i]) / 2)


def test_suspicion_is_what_the_one_says_that_has_judged_a_row():
    trained, _ = posed(KNeighborsClassifier(), "classes", 0)
    own, held = suspicion(trained, None)  # leaving out says nothing of neighbours
    forest = forest_doubts(trained)
    seen = forest.places < len(trained.x)
    np.testing.assert_allclose(own[forest.places[seen]], 1 - forest.doubts.own[seen])
    x, y = np.random.default_rng(0).normal(size=(2, 120, 3))
    values = read_trained(Ridge().fit(x, y[:, 0]), x, y[:, 0])
    assert all(np.isnan(part).all() for part in suspicion(values, left_out_of(values)))
    assert np.isfinite(held).any()


@pytest.mark.parametrize("seed", [100, 101])
def test_suspicion_ranks_wrong_labels_better_than_a_model_that_knows_them_by_heart(seed):
    """On tables of two packages the average precision rose from 0.55 to 0.71, where cleanlab's has 0.57."""
    by_heart = MLPClassifier((32,), activation="tanh", solver="lbfgs", alpha=0.01, max_iter=3000, random_state=0)
    trained, hit = posed(by_heart, "classes", seed, 0.2)
    left_out = left_out_of(trained)
    precision = lambda doubted: average_precision_score(hit, doubted)
    assert precision(suspicion(trained, left_out)[0]) > precision(-of_training_rows(trained, left_out).own) + 0.1
