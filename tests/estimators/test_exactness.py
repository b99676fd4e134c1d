"""Fits that interpolate in all but name are announced like fits that interpolate, if rounding makes them miss rows."""

import warnings

import numpy as np
import pytest

from lemmata.errors import InterpolationWarning
from lemmata.estimators import KernelRegressor, NNGPRegressor
from lemmata.kernels import RBF

X = np.random.default_rng(2).normal(size=(40, 3))
Y = np.stack([np.sin(X[:, 0]) + 0.3 * X[:, 1], 1e3 * X[:, 2] ** 2], axis=1)


def announced(model, x=X):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        model.fit(x, Y, sample_weight=np.arange(1.0, 41.0))
    messages = [str(each.message) for each in seen if each.category is InterpolationWarning]
    missed = np.abs(model.predict(x) - Y) / np.std(Y, axis=0)
    return messages, missed.max()


@pytest.mark.parametrize(
    "setting", [{"ridge": 0}, {"ridge": 1e-300}, {"time": np.inf}, {"time": 1e300}, {"time": 1e18}], ids=str
)
def test_a_setting_that_is_lost_to_rounding_is_announced_if_rows_are_missed(setting):
    messages, missed = announced(KernelRegressor(RBF(100.0), **setting))
    assert missed > 0.01
    ((name, value),) = setting.items()
    assert [message.split(" the fit")[0] for message in messages] == [f"with {name} = {value:g}"]
    assert announced(KernelRegressor(RBF(0.3), **setting))[0] == []  # a regular matrix
    messages, _ = announced(KernelRegressor(RBF(1.0), centres=10, **setting))
    assert len(messages) == 1
    assert "10 centres" in messages[0]


@pytest.mark.parametrize("setting", [{"ridge": 1e-3}, {"ridge": None}, {"time": 100.0}, {"time": 0.0}], ids=str)
@pytest.mark.parametrize("centres", ["auto", 10])
def test_a_setting_that_explains_missed_rows_is_not_announced(setting, centres):
    messages, missed = announced(KernelRegressor(RBF(100.0), centres=centres, **setting))
    assert missed > 0.01
    assert messages == []


def test_the_same_holds_for_noise():
    for noise in (0.0, 1e-300):
        messages, missed = announced(NNGPRegressor(noise=noise), X / 1e5)
        assert missed > 0.01
        assert [message.split(" the fit")[0] for message in messages] == [f"with noise = {noise:g}"]
        assert announced(NNGPRegressor(noise=noise))[0] == []
        assert "8 centres" in announced(NNGPRegressor(noise=noise, centres=8))[0][0]
    assert announced(NNGPRegressor(noise=0.01), X / 1e5)[0] == []
