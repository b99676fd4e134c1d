"""Which inputs of a model matter: held against closed forms, scikit-learn, all pairs of rows, and mere noise."""

import math
import time

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from sklearn.ensemble import RandomForestRegressor
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import lemmata
from lemmata.subjects.trained_models import read_trained
from lemmata.workflows.examinations import ExaminationRecord, _inputs
from lemmata.workflows.examinations._inputs import MOST, PERMUTATIONS, growth_of, input_table

W = np.array([2.0, -1.0, 0.0, 0.5])
SPREAD = np.array([1.0, 2.0, 3.0, 1.0])


@pytest.fixture(autouse=True)
def as_long_as_it_takes(monkeypatch):
    monkeypatch.setattr(_inputs, "_SECONDS", math.inf)


def dot(w, rows):
    return rows @ w


def linear(rows=80, new=600, noise=0.5, seed=0, fitted=W):
    """A linear model of values, W itself, and new rows with independent columns of unlike spread."""
    rng = np.random.default_rng(seed)
    x, held = (SPREAD * rng.normal(size=(count, 4)) for count in (rows, new))
    y, targets = (own @ W + noise * rng.normal(size=len(own)) for own in (x, held))
    model = dot, jnp.asarray(fitted)
    return read_trained(model, x, y, held=(held, targets), decay=0.01)


def by_name(table):
    return {own.name: own for own in table.columns}


def test_growth_and_gradient_are_those_of_closed_forms():
    """With independent columns the squared distance grows by 2 w beta spread^2, and the gradient is |w|."""
    trained = linear()
    table = input_table(trained, tuple("abcd"))
    own, x = by_name(table), trained.held[0]
    for place, name in enumerate("abcd"):
        assert own[name].slope == pytest.approx(abs(W[place]) * x[:, place].std(), rel=1e-6, abs=1e-12)
        growth, truth = own[name].growth, 2 * W[place] ** 2 * SPREAD[place] ** 2
        assert growth.lower <= truth <= growth.upper
    assert own["c"].growth.value == 0
    assert [own[name].told for name in "abcd"] == [True, True, False, True]
    assert (table.part, table.rows, table.permutations) == ("held out", 600, PERMUTATIONS)
    assert table.loss == pytest.approx(((x @ W - trained.held[1][:, 0]) ** 2).mean())


def test_growth_is_the_mean_over_all_pairs_of_rows():
    rng = np.random.default_rng(3)
    pairs = rng.normal(size=(40, 40)) + 2 * rng.normal(size=(40, 1)) + rng.normal(size=40)
    np.fill_diagonal(pairs, 0.0)
    orders = np.stack([rng.permutation(40) for _ in range(4000)])
    found = growth_of(pairs[np.arange(40), orders], orders)
    assert found.growth.value == pytest.approx(pairs.sum() / (40 * 39), abs=4 * found.null / 1.96 / 4000**0.5)
    jackknife = [np.delete(np.delete(pairs, i, 0), i, 1).sum() / (39 * 38) for i in range(40)]
    error = np.sqrt(39 / 40 * ((jackknife - np.mean(jackknife)) ** 2).sum())
    reach = (found.growth.upper - found.growth.lower) / 2
    assert reach / stats.t.ppf(0.975, 39) == pytest.approx(error, rel=0.05)


def test_growths_are_the_same_if_the_permutations_do_not_fit_into_memory_together(monkeypatch):
    whole = input_table(linear(rows=40, new=50), tuple("abcd"))
    monkeypatch.setattr(_inputs, "_BYTES", 3 * 50 * 4 * 8)  # three permutations at once
    parts = input_table(linear(rows=40, new=50), tuple("abcd"))
    for own, other in zip(whole.columns, parts.columns, strict=True):
        found, told = ((each.growth.value, each.growth.lower, each.growth.upper) for each in (other, own))
        np.testing.assert_allclose(found, told, rtol=1e-12, atol=1e-12)


def test_scikit_learn_finds_the_same_growth():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(900, 5))
    y = (x[:, 0] + x[:, 1] * x[:, 2] + 0.3 * rng.normal(size=900)) + 1.0
    forest = RandomForestRegressor(20, random_state=0).fit(x[:300], y[:300])
    trained = read_trained(forest, x[:300], y[:300], held=(x[300:], y[300:]))
    own = by_name(input_table(trained))
    theirs = permutation_importance(
        forest, x[300:], y[300:], scoring="neg_mean_squared_error", n_repeats=20, random_state=0
    )
    for place in range(5):
        shown = own[f"column {place}"]
        error = theirs.importances_std[place] * (2 / 20) ** 0.5
        assert shown.growth.value == pytest.approx(theirs.importances_mean[place], abs=4 * error)
        assert shown.null == pytest.approx(2.093 * theirs.importances_std[place], rel=0.7)
        assert shown.slope is None
        assert shown.told == (place < 3)


def test_inputs_that_say_nothing_are_seldom_told_and_intervals_hold_their_growth():
    """A model fitted to noise: each growth is 0 on new rows, and with five inputs one model in twenty tells any."""
    told, inside, beyond = [], [], []
    for seed in range(150):
        rng = np.random.default_rng(seed)
        x, y, held, targets = (rng.normal(size=shape) for shape in ((30, 5), 30, (120, 5), 120))
        w = np.linalg.lstsq(x, y, rcond=None)[0]
        trained = read_trained((dot, jnp.asarray(w)), x, y, held=(held, targets), seed=seed)
        shown = input_table(trained).columns
        told.append(any(own.told for own in shown))
        inside += [own.growth.lower <= 0 <= own.growth.upper for own in shown]
        beyond += [abs(own.growth.value) > own.null for own in shown]
    assert sum(told) <= stats.binom.ppf(0.999, 150, 0.05)
    assert np.mean(inside) > 0.92
    assert np.mean(beyond) < 0.08


def test_classes_columns_and_steps_have_their_names():
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    x = pandas.DataFrame(rng.normal(size=(400, 3)) * [1, 10, 100], columns=["age", "height", "<b>"])
    y = (x["height"].to_numpy() / 10 + 0.5 * rng.normal(size=400) > 0).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(x[:200], y[:200])
    found = lemmata.study_model(model, x[:200], y[:200], held=(x[200:], y[200:]))
    frame = found.inputs
    assert frame["input"][0] == "height"
    assert set(frame["input"]) == {"age", "height", "<b>"}
    assert frame.filter(input="height")["told"].all()
    z, w = model[0].transform(x[200:]), model[1].coef_[0]
    p = model.predict_proba(x[200:])[np.arange(200), y[200:]]
    truth = (1 - p).mean() * np.abs(w) * z.std(0)  # d log p / dx = (1 - p) w
    np.testing.assert_allclose([frame.filter(input=name)["gradient"][0] for name in x.columns], truth, rtol=1e-6)
    assert found.record.inputs.unit == "log loss"
    assert ExaminationRecord.from_json(found.record.to_json()) == found.record
    bare = lemmata.study_model(model[1], model[0].transform(x[:200]), y[:200])
    assert bare.record.inputs.part == "training"
    assert set(bare.inputs["input"]) == {f"column {i}" for i in range(3)}


def test_the_same_seed_gives_the_same_table_and_constant_inputs_say_nothing():
    trained = linear(new=100)
    trained.held[0][:, 1] = 7.0
    trained.x[:, 1] = 7.0
    table = input_table(trained)
    assert table == input_table(trained)
    own = by_name(table)["column 1"]
    assert (own.growth.value, own.null, own.told) == (0.0, 0.0, False)


def test_images_have_places_and_only_those_of_the_largest_gradients_are_permuted():
    rng = np.random.default_rng(0)
    x, held = rng.normal(size=(60, 20, 20)), rng.normal(size=(60, 20, 20))
    w = np.zeros((20, 20))
    w[3, 4], w[0, 1] = 3.0, 1.0
    model = (lambda w, rows: (rows * w).sum((1, 2))), jnp.asarray(w)
    y, targets = ((own * w).sum((1, 2)) + 0.1 * rng.normal(size=60) for own in (x, held))
    table = input_table(read_trained(model, x, y, held=(held, targets)))
    assert [own.name for own in table.columns[:2]] == ["[3, 4]", "[0, 1]"]
    assert [own.told for own in table.columns[:3]] == [True, True, False]
    assert len(table.columns) == MOST
    assert table.notes == ["Only 256 of 400 inputs were permuted: the inputs with the largest gradients."]


def test_what_is_not_asked():
    tokens = np.random.default_rng(0).integers(0, 5, (30, 6))
    documents = read_trained(((lambda w, x: jnp.broadcast_to(w, (*x.shape, 5))), jnp.zeros(5)), tokens, None)
    assert input_table(documents) is None
    assert input_table(linear(rows=19, new=10)) is None
    assert input_table(linear(), deadline=time.monotonic() - 1).rows == 250
    late = input_table(linear(), deadline=time.monotonic() - 1)
    assert late.notes == ["Because of the time limit, only 0 of 4 inputs were permuted."]
    assert all(own.growth is None and own.slope is not None for own in late.columns[:4])


def test_tokens_are_permuted_by_their_place_without_gradients():
    rng = np.random.default_rng(0)
    tokens = rng.integers(0, 5, (200, 3))
    y = np.array([1.0, -2.0, 0.5, 3.0, 0.1])[tokens[:, 1]] + 0.1 * rng.normal(size=200)
    table = jnp.asarray([1.0, -2.0, 0.5, 3.0, 0.1])
    trained = read_trained(((lambda w, x: w[x[:, 1]]), table), tokens[:100], y[:100], held=(tokens[100:], y[100:]))
    own = by_name(input_table(trained))
    assert own["column 1"].told
    assert own["column 1"].slope is None
    assert not own["column 0"].told
