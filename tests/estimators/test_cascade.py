"""Cascades as estimators: scikit-learn's contract, digits, two columns, copies and files, bad settings."""

import pickle

import jax
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from lemmata.errors import LemmataError
from lemmata.estimators import CascadeClassifier, CascadeRegressor
from lemmata.storage import load, save

SMALL = {"widths": (3,), "epochs": 12, "random_state": 0}


@parametrize_with_checks([CascadeRegressor(**SMALL), CascadeClassifier(**SMALL)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_digits_in_a_few_epochs():
    x, y = load_digits(return_X_y=True)
    model = CascadeClassifier((20, 10), epochs=3, random_state=0).fit(x[:1200], y[:1200])
    assert model.decision_function(x[1200:]).shape == (597, 10)
    assert model.score(x[1200:], y[1200:]) > 0.92


def test_columns_are_fitted_side_by_side():
    rng = np.random.default_rng(0)
    x = rng.uniform(-1, 1, (400, 4))
    y = np.column_stack([np.sin(3 * x[:, 1]), x[:, 0] - x[:, 3]])
    model = CascadeRegressor((4, 4), epochs=20, random_state=0).fit(x[:200], y[:200])
    found = ((model.predict(x[200:]) - y[200:]) ** 2).mean(axis=0) / y[200:].var(axis=0)
    assert found.max() < 0.1
    assert model.predict(x[:7]).shape == (7, 2)


def test_copies_files_and_units():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    model = CascadeRegressor(**SMALL).fit(x, y)
    expected = model.predict(x)
    with jax.enable_x64(False):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(x), expected)
    scaled = CascadeRegressor(**SMALL).fit(8 * x, 4 * y + 16).predict(8 * x)
    np.testing.assert_allclose(scaled, 4 * expected + 16, rtol=1e-9)


def test_stored(tmp_path):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 2)), rng.normal(size=30) > 0
    model = CascadeClassifier(**SMALL).fit(x, y)
    save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").decision_function(x), model.decision_function(x))


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"widths": 3}, "widths"),
        ({"widths": (0,)}, "widths"),
        ({"widths": (2.5,)}, "widths"),
        ({"damping": 0.0}, "damping; found 0.0; rule: a finite number above 0$"),
        ({"damping": np.nan}, "damping; found nan; rule: a finite number above 0$"),
        ({"damping": None}, "damping; found None; rule: a finite number above 0$"),
        ({"damping": "a"}, "damping"),
        ({"batch": 0}, "batch"),
        ({"epochs": -1}, "epochs"),
        ({"slope": -5.0}, "slope"),
        ({"level": 10.0}, "level c"),
    ],
)
def test_bad_settings_are_named(settings, word):
    with pytest.raises(LemmataError, match=word):
        CascadeRegressor(**settings).fit(np.eye(4), np.arange(4.0))


def test_one_class_is_refused():
    with pytest.raises(LemmataError, match="at least two classes"):
        CascadeClassifier().fit(np.eye(4), np.zeros(4))
