"""Whole examinations of small models: what is computed how often, what time and memory allow, what stays silent."""

import collections
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

import lemmata
from lemmata.engine.claims import registry
from lemmata.errors import ShapeError
from lemmata.interfaces.report._model import model_page, model_sentences
from lemmata.interfaces.report._text import number
from lemmata.subjects.trained_models import (
    Objective,
    held_outputs,
    held_rows,
    polish,
    read_model,
    read_task,
    read_trained,
)
from lemmata.workflows.examinations import ExaminationRecord, _gauges, _run, gauges_of, signs
from tests.subjects.trained_models import test_faces as faces

from .small_models import HELD, LEFT_OUT, SPOKE, STEP, TRAIN, linear_model, statuses

# PyTorch itself compiles a rule at the first forward derivative with what it calls deprecated.
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script:DeprecationWarning")
UNSAID = (
    "checkpoints = 0", "not true here: a differential privacy of the training is claimed", "not true here: the program",
    "not true here: deployment rows are given", "not true here: the rows are documents",
    "smaller models of different sizes = 0",
)  # fmt: skip


@pytest.fixture
def network(request):
    """A network of one layer, by the names of `faces`, with its rows of five columns, after so many steps."""
    seed, apart, steps = request.param
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 180)
    x = apart * rng.normal(size=(3, faces.D))[y] + rng.normal(size=(180, faces.D))
    f, start = faces.own_function()
    model = read_model((f, start))
    task = read_task(model, x[:80], y[:80])
    found = polish(Objective(model, x[:80], task.encode(y[:80]), task, 0.02), steps=steps, tolerance=1e-7).model
    return found.split(found.theta), (x[:80], y[:80]), (x[80:], y[80:])


@pytest.fixture(scope="module")
def linear():
    return linear_model()


def numbers(record):
    """Every number that was predicted or measured, by gauge."""
    three = lambda ends: (np.nan,) * 3 if ends is None else (ends.lower, ends.value, ends.upper)
    found = {"held": three(record.held_error), "train": three(record.train_error)}
    for own in record.gauges:
        for name in ("predicted", "measured"):
            found[f"{own.name}.{name}"] = three(getattr(own, name))
    return found


def in_float32(model):
    if isinstance(model, tuple):
        return model[0], jax.tree.map(lambda leaf: leaf.astype(jnp.float32), model[1])
    if hasattr(model, "float"):
        return model.float()
    return jax.tree.map(lambda leaf: leaf.astype(jnp.float32) if hasattr(leaf, "astype") else leaf, model)


# Each of the two networks in one of the two precisions, whatever wrote it.
@pytest.mark.parametrize(
    ("network", "double", "within"),
    [
        pytest.param((3, 1.5, 3000), True, 1e-6, id="stationary-float64"),
        pytest.param((7, 0.8, 30), False, 1e-3, id="stopped early-float32"),
    ],
    indirect=["network"],
)
def test_the_same_network_gives_the_same_record_whatever_wrote_it(network, monkeypatch, double, within):
    pytest.importorskip("torch")
    weights, train, held = network
    monkeypatch.setattr(faces, "WEIGHTS", weights)
    records = {}
    for name, make in (("function", faces.own_function), ("equinox", faces.own_equinox), ("linen", faces.own_linen),
                       ("torch", faces.own_torch)):  # fmt: skip
        model = make() if double else in_float32(make())
        found = lemmata.study_model(model, *train, held=held, decay=0.02, time_limit=None).record
        assert found.model.dtype == ("float64" if double else "float32")
        records[name] = found
    first = numbers(records["function"])
    assert len(first) > 10
    for name, record in records.items():
        assert statuses(record) == statuses(records["function"]), name
        for key, values in numbers(record).items():
            np.testing.assert_allclose(values, first[key], rtol=within, atol=within, err_msg=f"{name} {key}")


def test_each_gauge_predicts_and_measures_once(linear, monkeypatch):
    trained = read_trained(linear, *TRAIN, held=HELD, decay=0.02)
    counts, spoke = collections.Counter(), 0
    for claim in gauges_of(trained):
        for method in ("predict", "measure", "trivial"):
            own = getattr(type(claim), method)
            if not callable(own):  # a reason why nothing is trivial
                continue

            def counted(self, *args, own=own, name=(claim.name, method)):
                counts[name] += 1
                return own(self, *args)

            monkeypatch.setattr(type(claim), method, counted)
        before = dict(counts)
        found = _gauges.gauge(claim, trained, 0)
        if found.status == "inapplicable":  # no start, no fit, or too few classes
            continue
        spoke += 1
        assert found.status in SPOKE or (found.label == "upper" and found.status == "vacuous"), (
            claim.name,
            found.reason,
        )
        assert {name: count for name, count in counts.items() if name not in before} == {
            (claim.name, method): 1 for method in ("predict", "measure", "trivial") if callable(getattr(claim, method))
        }
    assert spoke >= 7


def test_no_held_rows_and_few_of_them(linear):
    for count, status, unseen in (
        (0, "unscored", "no held-out rows"),
        (1, "unscored", "1 held-out row, and a measurement needs 100"),
        (50, "unscored", "50 held-out rows"),
    ):
        held = (HELD[0][:count], HELD[1][:count]) if count else None
        found = lemmata.study_model(linear, *TRAIN, held=held, decay=0.02)
        record = found.record
        by_name = statuses(record)
        assert by_name[LEFT_OUT] == status
        assert unseen in record.gauge(LEFT_OUT).reason
        assert record.gauge(LEFT_OUT).predicted is not None
        assert by_name[STEP] in SPOKE, "it needs no held-out rows"
        assert "failed" not in by_name.values()
        assert by_name["conformal_coverage"] not in SPOKE
        assert ("was not measured" in found.answer) == (count == 0)
        assert ExaminationRecord.from_json(record.to_json()) == record


def test_held_rows_that_are_training_rows_are_found(linear):
    some = tuple(np.concatenate([a[:40], b]) for a, b in zip(TRAIN, HELD, strict=True))
    findings = lemmata.study_model(linear, *TRAIN, held=some, decay=0.02).record.findings
    assert findings[0].text.startswith("40 of 160 held-out rows are duplicates of training rows (40 of them exact)")
    findings = lemmata.study_model(linear, *TRAIN, held=TRAIN, decay=0.02).record.findings
    assert findings[0].text.endswith("Without these duplicates, no row is left.")


def test_without_derivatives_only_what_needs_none_speaks():
    found = lemmata.study_model(GaussianNB().fit(*TRAIN), *TRAIN, held=HELD).record
    spoke = {name for name, status in statuses(found).items() if status in SPOKE}
    assert spoke == {"conformal_coverage", "calibration_after_temperature", "held_out_bound"}
    rest = [own for own in found.gauges if own.name.split(".")[-1] not in spoke]
    assert {own.status for own in rest} == {"inapplicable"}
    asked = ("not true here: the model has derivatives", *UNSAID)
    assert all(own.reason.startswith(asked) for own in rest)
    assert found.model.decay_from == "unknown"
    assert found.preflight[-2].holds is None
    tree = lemmata.study_model(DecisionTreeClassifier(max_depth=3).fit(*TRAIN), *TRAIN, held=HELD).record
    assert statuses(tree)["conformal_coverage"] == "inapplicable"  # its leaves tie


@pytest.fixture(scope="module")
def values():
    x, y = load_diabetes(return_X_y=True)
    x, y = (x - x.mean(0)) / x.std(0), (y - y.mean()) / y.std()
    return (x[:300], y[:300]), (x[300:], y[300:])


def test_a_model_that_only_names_classes_has_no_confidence():
    """The same estimator with its probabilities, and with its classes alone."""
    from sklearn.neighbors import NearestCentroid

    euclidean, other = (NearestCentroid(metric=metric).fit(*TRAIN) for metric in ("euclidean", "manhattan"))
    assert hasattr(euclidean, "predict_proba")
    assert not hasattr(other, "predict_proba")
    scored, named = (lemmata.study_model(model, *TRAIN, held=HELD).record for model in (euclidean, other))
    assert (scored.model.outputs, named.model.outputs) == ("probabilities", "classes")
    for name in ("calibration_after_temperature", "conformal_coverage"):
        assert scored.gauge(name).status in (*SPOKE, "inapplicable")
        assert "not true here: the model gives a score for each class" not in scored.gauge(name).reason
        assert named.gauge(name).status == "inapplicable"
        assert named.gauge(name).reason == "not true here: the model gives a score for each class, not only one class"
    assert not any("onfidence" in own.text or "loss" in own.text for own in named.findings)
    assert any("without scores" in note for note in named.notes)
    assert not any("without scores" in note for note in scored.notes)
    assert named.held_error.value == pytest.approx(np.mean(other.predict(HELD[0]) != HELD[1]))


def test_every_interval_says_its_level(linear):
    """As its claim types it, or its relation; and the statement of a claim with a level of its own has it in words."""
    record = lemmata.study_model(linear, *TRAIN, held=HELD, decay=0.02).record
    assert record.held_error.at == record.train_error.at == "95 %"
    seen = set()
    for own in record.gauges:
        claim = registry()[own.name]
        if own.predicted is None or own.label != "estimate":
            continue
        typed = not math.isnan(claim.level)
        level = claim.level if typed else 1 - claim.relation.delta
        assert own.predicted.level == pytest.approx(level)
        assert own.predicted.at == f"{100 * level:g} %"
        seen.add(own.predicted.at)
        if typed:
            assert own.predicted.at in " ".join(claim.statement.split())
    assert {"90 %", "95 %", "97 %", "98 %"} <= seen
    text = model_page(record)
    for own in record.gauges:
        if own.predicted is not None and own.predicted.lower < own.predicted.upper:
            assert f"({own.predicted.at}: {number(own.predicted.lower)} to {number(own.predicted.upper)})" in text
    assert any("From training rows alone" in line and "97 % interval" in line for line in model_sentences(record))


def test_a_decay_that_the_weights_contradict_is_said(linear):
    told = lambda decay: lemmata.study_model(linear, *TRAIN, held=HELD, decay=decay).record.notes
    assert not any("imply a decay" in note for note in told(0.02))
    assert any("The weights imply a decay of 0.02, but 0.05 is stated" in note for note in told(0.05))


def test_leaving_out_is_exact_for_ridge_regression(values):
    (x, y), held = values
    found = lemmata.study_model(Ridge(10.0).fit(x, y), x, y, held=held).record
    assert found.model.decay == pytest.approx(10.0 / 300, rel=1e-6)
    own = found.gauge(LEFT_OUT)
    rest = [np.arange(300) != i for i in range(300)]
    ridge = lambda rows: Ridge(10.0).fit(x[rows], y[rows])
    refits = [(ridge(rows).predict(x[~rows])[0] - y[~rows][0]) ** 2 for rows in rest]
    assert own.predicted.value == pytest.approx(np.mean(refits), rel=2e-4)  # polishing ends at a residual of 1e-4
    assert own.status in SPOKE
    assert own.trivial == pytest.approx(y.var())
    said = {name for name, status in statuses(found).items() if status == "inapplicable"}
    of_classes = {"conformal_coverage", "calibration_after_temperature", "smallest_attack"}
    assert of_classes < said
    assert all("classes" in found.gauge(name).reason for name in of_classes)
    assert "initial parameters" in found.gauge("linear_from_the_start").reason


def test_a_network_of_values_and_a_regression_without_decay(values):
    (x, y), held = values
    rng = np.random.default_rng(0)
    f = lambda own, rows: jnp.tanh(rows @ own["a"]) @ own["b"]
    start = f, {"a": jnp.asarray(rng.normal(size=(10, 4)) / 4), "b": jnp.asarray(rng.normal(size=(4, 1)))}
    task = read_task(read_model(start), x, y)
    model = polish(Objective(read_model(start), x, task.encode(y), task, 0.02), 1500).model
    params = {name: jnp.asarray(part) for name, part in model.split(model.theta).items()}
    found = statuses(lemmata.study_model((f, params), x, y, held=held, decay=0.02, time_limit=None).record)
    spoke = {LEFT_OUT, STEP, "membership_from_training_rows", "members_found_at_one_percent", "effect_of_one_row",
             "order_of_row_effects", "median_ratio_of_row_effects", "dimension_from_products",
             "error_of_the_end_kernel", "decay_outweighs_negative_curvature"}  # fmt: skip
    assert {name for name, status in found.items() if status in SPOKE} == spoke
    model = LinearRegression().fit(x, y)
    plain = lemmata.study_model(model, x, y, held=held).record.gauge(LEFT_OUT)
    q = np.linalg.qr(np.column_stack([np.ones(len(x)), x]))[0]
    errors = (np.ravel(y) - np.ravel(model.predict(x))) / (1 - (q**2).sum(1))
    assert plain.status in ("agrees", "disagrees")
    assert plain.predicted.value == pytest.approx(float((errors**2).mean()), rel=1e-6)


def test_the_longest_step_is_told_of_weights_that_are_nowhere_near_a_minimum():
    """There the loss falls at rates at which small moves grow: what is measured are the moves."""
    x, y = TRAIN
    weights = jnp.asarray(np.random.default_rng(0).normal(size=(4, 3)))
    record = lemmata.study_model((lambda own, rows: rows @ own, weights), x, y, decay=0.02).record
    assert record.gauge(STEP).status == "vacuous", "one step is longer than the weights"
    assert record.gauge(STEP).measured.value == pytest.approx(record.gauge(STEP).predicted.value, rel=0.05)


def test_an_own_call_of_another_shape_is_refused(linear):
    with pytest.raises(ShapeError, match=r"outputs of your own call; found shape \(32, 2\)"):
        lemmata.study_model(linear, *TRAIN, user=lambda rows: rows[:, :2])


def test_every_gauge_says_how_much_it_costs_or_is_priced(linear):
    trained = read_trained(linear, *TRAIN, held=HELD, decay=0.02)
    own = gauges_of(trained)
    assert len(own) >= 6
    assert all(claim.name in registry() for claim in own)
    free = [claim for claim in own if not _gauges.price(claim, trained, 1.0) > 0]
    assert len(free) < len(own) / 4
    assert {_gauges.gauge(claim, trained, 0).status for claim in free} <= {"inapplicable"}, "it lacks what it asks for"


def test_good_and_bad_models_of_values_are_told_apart(values):
    """Whatever the mean of the targets is."""
    (x, y), (new, aim) = values
    found = [
        lemmata.study_model(model, x, y + shift, held=(new, aim + shift)).record.findings
        for model, shift in ((Ridge(1.0).fit(x, y + 50), 50.0), (Ridge(1.0).fit(x, y), 50.0))
    ]
    said = [[own.text for own in own if "guesses" in own.text or "another unit" in own.text] for own in found]
    assert said[0] == []
    assert "On training rows, the mean squared error is 2.5e+03" in said[1][0]


def test_rows_of_one_class_show_no_guessing(linear):
    x, y = HELD
    trained = read_trained(linear, *TRAIN, held=(x[y == 1], y[y == 1]))
    error = _run.error_interval(trained, held_outputs(trained), held_rows(trained)[1])
    assert 0 < error.value < 0.4
    assert not any(own.name == "guessing" for own in signs(trained, [], error))
    moved = read_trained(linear, *TRAIN, held=(x, (y + 1) % 3))
    worse = signs(moved, [], _run.error_interval(moved, held_outputs(moved), held_rows(moved)[1]))
    assert any(own.name == "guessing" for own in worse)


def test_a_layer_that_undoes_the_size_of_its_weights_leaves_no_row_out(monkeypatch):
    """Its training rows accuse no labels: what leaving out says of them is not believed."""
    own = lambda trained: [claim for claim in gauges_of(trained) if claim.name.endswith(LEFT_OUT)]
    monkeypatch.setattr(_run, "gauges_of", own)
    rng = np.random.default_rng(5)
    x, w = rng.normal(size=(160, 8)), rng.normal(size=(8, 3))
    y = (2 * x @ w + rng.normal(size=(160, 3))).argmax(1)

    def normalised(own, rows):
        hidden = rows @ own["w"]
        hidden = (hidden - hidden.mean(1, keepdims=True)) / jnp.sqrt(hidden.var(1, keepdims=True) + 1e-5)
        return jnp.tanh(hidden) @ own["v"]

    start = {"w": jnp.asarray(rng.normal(size=(8, 20)) / 3), "v": jnp.asarray(rng.normal(size=(20, 3)) / 5)}
    model = read_model((normalised, start))
    task = read_task(model, x[:60], y[:60])
    trained = polish(Objective(model, x[:60], task.encode(y[:60]), task, 0.01)).model
    params = {name: jnp.asarray(leaf) for name, leaf in trained.split(trained.theta).items()}
    record = lemmata.study_model((normalised, params), x[:60], y[:60], held=(x[60:], y[60:]), decay=0.01).record
    assert record.gauge(LEFT_OUT).status == "inapplicable"
    assert "deviation of Newton steps without a row from their linearisation" in record.gauge(LEFT_OUT).reason
    assert not any("labels look wrong" in finding.text for finding in record.findings)
