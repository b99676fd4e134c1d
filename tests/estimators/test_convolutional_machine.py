"""Convolutional machines as estimators: scikit-learn's contract, digits, shapes, files, bad settings."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

from lemmata.errors import LemmataError
from lemmata.estimators import ConvolutionalDeepKernelMachineClassifier
from lemmata.storage import load, save

SMALL = {"inducing": (6, 6), "steps": 12, "learning_rate": 0.1, "random_state": 0}


@parametrize_with_checks([ConvolutionalDeepKernelMachineClassifier(**SMALL)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def test_training_tells_three_digits_apart(tmp_path):
    x, y = load_digits(n_class=3, return_X_y=True)
    seen, new = x[::5], x[1::5]
    model = ConvolutionalDeepKernelMachineClassifier(inducing=(8, 12), steps=100, random_state=0).fit(seen, y[::5])
    found = model.decision_function(new)
    assert found.shape == (len(new), 3)
    assert np.mean(found.argmax(axis=1) == y[1::5]) > 0.93
    save(model, tmp_path / "model.safetensors")
    np.testing.assert_array_equal(load(tmp_path / "model.safetensors").decision_function(new), found)


def test_shapes_of_images():
    x = np.random.default_rng(0).normal(size=(20, 24))
    y = x[:, 0] > 0
    for shape, channels in {(2, 3, 4): 4, None: 1}.items():
        model = ConvolutionalDeepKernelMachineClassifier(shape, stiffness=math.inf, **SMALL | {"steps": 0}).fit(x, y)
        assert model.machine_.patches.shape == (6, 3, 3, channels)


@pytest.mark.parametrize(
    ("settings", "word"),
    [
        ({"inducing": 3}, "inducing"),
        ({"strides": (0,)}, "strides"),
        ({"strides": (1, 1)}, "one count more"),
        ({"stiffness": -1.0}, "stiffness"),
        ({"stiffness": "much"}, "stiffness"),
        ({"learning_rate": 0.0}, "learning_rate"),
        ({"steps": 1.5}, "steps"),
        ({"shape": (3, 5)}, "shape"),
        ({"shape": 5}, "shape"),
        ({"shape": "ab"}, "shape"),
        ({"shape": ("2", "2")}, "shape"),
        ({"shape": (-2, -2)}, "shape"),
        ({"shape": (0.5, 8)}, "shape"),
    ],
)
def test_bad_settings_are_named(settings, word):
    with pytest.raises(LemmataError, match=word):
        ConvolutionalDeepKernelMachineClassifier(**settings).fit(np.eye(4), np.arange(4) > 1)


@pytest.mark.parametrize("unit", [2.0**660, 2.0**-660])
def test_units_in_which_squares_overflow_or_vanish(unit):
    x = np.random.default_rng(0).normal(size=(12, 16))
    outputs = lambda rows: (
        ConvolutionalDeepKernelMachineClassifier(**SMALL).fit(rows, x[:, 0] > 0).decision_function(rows)
    )
    found = outputs(unit * x)
    assert found.any()
    np.testing.assert_allclose(found, outputs(x), rtol=1e-6)


def test_one_class_is_refused():
    with pytest.raises(LemmataError, match="at least two classes"):
        ConvolutionalDeepKernelMachineClassifier().fit(np.eye(4), np.zeros(4))
