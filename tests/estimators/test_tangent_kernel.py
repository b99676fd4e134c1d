"""Infinitely wide networks as scikit-learn estimators: the contract, the flow, probabilities, bad settings."""

import io

import jax
import jax.numpy as jnp
import joblib
import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import parametrize_with_checks

from lemmata.architectures import TangentKernel, erf_network, relu_network
from lemmata.errors import LemmataError, NotPositiveDefiniteError
from lemmata.estimators import KernelRegressor, TangentKernelClassifier, TangentKernelRegressor
from lemmata.kernels import AbstractKernel, gram


@parametrize_with_checks(
    [
        TangentKernelRegressor(relu_network(depth=1)),
        TangentKernelClassifier(relu_network(depth=1)),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def data(rows=24):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, 3))
    return x, np.stack([np.sin(x[:, 0]), x[:, 1] * x[:, 2]], axis=1) + 0.3 * rng.normal(size=(rows, 2))


def test_the_flow_is_that_of_the_network_s_kernel():
    x, y = data()
    network = erf_network(depth=2, bias_std=0.3)
    with jax.enable_x64(True):
        matrix = np.asarray(gram(TangentKernel(network), jnp.asarray(x)))
    values, vectors = np.linalg.eigh(matrix)
    centred = y - y.mean(axis=0)
    expected = y.mean(axis=0) + vectors @ ((1 - np.exp(-3.0 * values))[:, None] * (vectors.T @ centred))
    assert np.allclose(TangentKernelRegressor(network, time=3.0).fit(x, y).predict(x), expected, atol=1e-10)
    assert np.allclose(TangentKernelRegressor(network, time=np.inf).fit(x, y).predict(x), y, atol=1e-8)


def test_the_ridge_is_the_one_of_least_leave_one_out_error():
    x, y = data()
    y = y * [1.0, 1000.0]
    model = TangentKernelRegressor(erf_network(depth=1)).fit(x, y)
    with jax.enable_x64(True):
        matrix = np.asarray(gram(model.kernel_, jnp.asarray(x)))
    centred, unit = (y - y.mean(axis=0)) / y.std(axis=0), np.mean(np.diagonal(matrix))

    def error(ridge):
        total = 0.0
        for row in range(len(x)):
            others = np.arange(len(x)) != row
            fit = KernelRidge(alpha=ridge, kernel="precomputed").fit(matrix[np.ix_(others, others)], centred[others])
            total += np.sum((fit.predict(matrix[row : row + 1, others]) - centred[row]) ** 2)
        return total

    errors = {ridge: error(ridge) for ridge in unit * np.logspace(-8, 2, 21)[10:]}
    assert model.ridge_ == pytest.approx(min(errors, key=errors.get), rel=1e-12)
    assert model.ridge_ < max(errors)


def test_classes_and_probabilities():
    x, y = make_blobs(120, centers=3, cluster_std=4.0, random_state=3)
    labels = np.array(["one", "two", "three"])[y]
    model = TangentKernelClassifier().fit(x[:80], labels[:80])
    outputs, likely = model.decision_function(x[80:]), model.predict_proba(x[80:])
    assert outputs.shape == (40, 3)
    assert np.array_equal(model.predict(x[80:]), model.classes_[np.argmax(outputs, axis=1)])
    assert np.allclose(outputs.sum(axis=1), 1.0, atol=1e-9)  # indicators add up to 1, and so does the linear fit
    index = np.searchsorted(model.classes_, labels[80:])
    surprise = lambda p: -np.mean(np.log(p[np.arange(40), index]))
    # Held-out log loss below that of the class frequencies, and of the same outputs ten times sharper or duller.
    assert surprise(likely) < np.log(3)
    for factor in (0.1, 10.0):
        other = np.exp(factor * model.sharpness_ * outputs)
        assert surprise(likely) < surprise(other / other.sum(axis=1, keepdims=True))
    assert not hasattr(TangentKernelClassifier(time=1.0).fit(x, labels), "predict_proba")


def test_outputs_worse_than_chance_have_no_sharpness():
    rng = np.random.default_rng(1)
    x = np.repeat(rng.normal(size=(12, 2)), 2, axis=0)
    model = TangentKernelClassifier(ridge=1e-9).fit(x, np.tile([0, 1], 12))  # every point carries both labels
    assert model.sharpness_ == 0.0
    assert np.allclose(model.predict_proba(x), 0.5)


@pytest.mark.parametrize("estimator", [TangentKernelRegressor(), TangentKernelRegressor(time=2.0)])
def test_a_copy_made_without_x64_is_the_same_to_the_last_bit(estimator):
    x, y = data()
    expected = estimator.fit(x, y).predict(x)
    stored = io.BytesIO()
    with jax.enable_x64(False):
        joblib.dump(estimator, stored)
        stored.seek(0)
        assert np.array_equal(joblib.load(stored).predict(x), expected)


@pytest.mark.parametrize(
    ("settings", "word"),
    [({"ridge": -1.0}, "ridge"), ({"ridge": "a"}, "ridge"), ({"ridge": np.inf}, "ridge"), ({"time": -1}, "time"),
     ({"time": np.nan}, "time"), ({"network": "relu"}, "network"), ({"network": relu_network}, "network")],
)  # fmt: skip
def test_bad_settings_are_refused(settings, word):
    with pytest.raises(LemmataError, match=word):
        TangentKernelRegressor(**settings).fit(*data())


def test_a_single_class_is_refused():
    with pytest.raises(LemmataError, match="one class"):
        TangentKernelClassifier().fit(np.eye(3), [1, 1, 1])


class Difference(AbstractKernel):
    """-|x - y|², which is not positive semidefinite."""

    def __call__(self, x, y):
        return -jnp.sum((x - y) ** 2)


@pytest.mark.parametrize("settings", [{"ridge": None}, {"ridge": 1e4}, {"ridge": 0.1}, {"time": 1.0}])
def test_an_indefinite_kernel_is_refused_whatever_the_ridge(settings):
    x, y = data()
    smallest = np.linalg.eigvalsh(-np.sum((x[:, None] - x) ** 2, axis=2))[0]
    with pytest.raises(NotPositiveDefiniteError, match=f"smallest eigenvalue {smallest:.6g}"):
        KernelRegressor(Difference(), **settings).fit(x, y)
