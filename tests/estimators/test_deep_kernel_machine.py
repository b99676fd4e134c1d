"""Deep kernel machines as a classifier: scikit-learn's contract, digits, copies and files, bad settings."""

import math
import pickle

import jax
import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from lemmata.errors import LemmataError
from lemmata.estimators import DeepKernelMachineClassifier
from lemmata.storage import load, save

SMALL = {"layers": 1, "inducing": 12, "steps": 60, "random_state": 0}


@parametrize_with_checks([DeepKernelMachineClassifier(**SMALL)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_digits_with_few_inducing_points():
    x, y = load_digits(return_X_y=True)
    model = DeepKernelMachineClassifier(1, math.inf, inducing=32, steps=80, random_state=0).fit(x[:600], y[:600])
    assert model.decision_function(x[1200:]).shape == (597, 10)
    assert model.score(x[1200:], y[1200:]) > 0.9
    assert model.objective_[-1] > model.objective_[0]
    assert np.all(model.machine_.raw == 0)  # at infinite nu layers stay at the prior


def test_copies_files_and_units(tmp_path):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(30, 2)), rng.integers(0, 3, size=30)
    model = DeepKernelMachineClassifier(**SMALL).fit(x, y)
    expected = model.decision_function(x)
    with jax.enable_x64(False):
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(x), expected)
    save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").decision_function(x), expected)
    moved = DeepKernelMachineClassifier(**SMALL).fit(8 * x + 16, y).decision_function(8 * x + 16)
    np.testing.assert_allclose(moved, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"layers": 0}, "layers"),
        ({"inducing": 0}, "inducing"),
        ({"steps": -1}, "steps"),
        ({"nu": -1.0}, "nu; found -1.0; rule: a number of at least 0, or math.inf$"),
        ({"nu": "a"}, "nu"),
        ({"nu": None}, "nu; found None; rule: a number of at least 0, or math.inf$"),
        ({"noise": 0.0}, "noise; found 0.0; rule: a finite number above 0$"),
        ({"learning_rate": 0.0}, "learning_rate"),
    ],
)
def test_bad_settings_are_named(settings, word):
    with pytest.raises(LemmataError, match=word):
        DeepKernelMachineClassifier(**settings).fit(np.eye(4), np.array([0, 1, 0, 1]))


def test_one_class_is_refused():
    with pytest.raises(LemmataError, match="at least two classes"):
        DeepKernelMachineClassifier().fit(np.eye(4), np.zeros(4))
