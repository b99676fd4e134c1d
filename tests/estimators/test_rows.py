"""Rows of a fit: weights, copies, contradictions, strings, sizes of targets, numbers of float32."""

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from sklearn.kernel_ridge import KernelRidge

from lemmata.architectures import Dense, Erf, Serial
from lemmata.errors import CalibrationWarning, ContradictionWarning, DataError
from lemmata.estimators import (
    KernelRegressor,
    NNGPRegressor,
    SklearnKernel,
    TangentKernelClassifier,
    TangentKernelRegressor,
)
from lemmata.estimators._rows import Rows
from lemmata.kernels import RBF

EPS = np.finfo(float).eps
RNG = np.random.default_rng(0)
X, Y, NEW = RNG.normal(size=(20, 3)), RNG.normal(size=(20, 2)), RNG.normal(size=(5, 3))
WEIGHTS = RNG.integers(0, 4, 20).astype(float)
NETWORK = Serial([Dense(8, 1.1, 0.3), Erf(), Dense(1)])
REGRESSORS = [
    KernelRegressor(RBF(1.5), ridge=0.1),
    KernelRegressor(RBF(1.5), time=3.0),
    KernelRegressor(RBF(1.5), time=np.inf),
    TangentKernelRegressor(NETWORK, ridge=0.1),
    NNGPRegressor(NETWORK, noise=0.1),
]
by_regressor = pytest.mark.parametrize("model", REGRESSORS, ids=repr)


@pytest.mark.filterwarnings("ignore::lemmata.errors.ContradictionWarning")
@by_regressor
def test_a_weight_is_a_number_of_rows(model):
    if getattr(model, "time", None) == np.inf:
        pytest.skip("the interpolant weighs nothing")
    times = WEIGHTS.astype(int)
    found = model.fit(X, Y, sample_weight=WEIGHTS).predict(NEW)
    offset = model.offset_
    repeated = model.fit(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    np.testing.assert_allclose(offset, repeated.offset_, rtol=1e-12)
    np.testing.assert_allclose(found, repeated.predict(NEW), atol=1e5 * EPS)


def test_weights_agree_with_scikit_learn():
    peer = KernelRidge(alpha=0.1, kernel="rbf", gamma=1 / (2 * 1.5**2))
    mean = np.average(Y, axis=0, weights=WEIGHTS)
    kept = WEIGHTS > 0
    peer.fit(X[kept], Y[kept] - mean, sample_weight=WEIGHTS[kept])
    found = KernelRegressor(RBF(1.5), ridge=0.1).fit(X, Y, WEIGHTS).predict(NEW)
    np.testing.assert_allclose(found, peer.predict(NEW) + mean, atol=1e5 * EPS)


def test_the_evidence_of_weighted_rows_is_that_of_their_noise():
    # sample weights w are noise variances noise / w: the density by SciPy
    from scipy.stats import multivariate_normal

    from lemmata.architectures import NNGPKernel
    from lemmata.kernels import gram

    weights = WEIGHTS + 0.5
    model = NNGPRegressor(NETWORK, noise=0.1).fit(X, Y[:, 0], weights)
    with jax.enable_x64(True):
        matrix = np.asarray(gram(NNGPKernel(NETWORK), jnp.asarray(X))) + np.diag(0.1 / weights)
    scaled = (Y[:, 0] - model.offset_) / model.target_scale_
    np.testing.assert_allclose(model.log_evidence_, multivariate_normal(cov=matrix).logpdf(scaled), rtol=1e-10)


def test_weights_of_a_classifier():
    labels = (X[:, 0] > 0).astype(int)
    times = WEIGHTS.astype(int)
    weighted = TangentKernelClassifier(NETWORK, ridge=0.1).fit(X, labels, WEIGHTS)
    repeated = TangentKernelClassifier(NETWORK, ridge=0.1).fit(np.repeat(X, times, axis=0), np.repeat(labels, times))
    np.testing.assert_allclose(weighted.decision_function(NEW), repeated.decision_function(NEW), atol=1e5 * EPS)
    assert np.allclose(weighted.predict_proba(NEW).sum(axis=1), 1.0)


@pytest.mark.parametrize("weights", [[1.0], -WEIGHTS, 0 * WEIGHTS, WEIGHTS + np.nan, ["a"] * 20], ids=range(5))
def test_other_weights_are_refused(weights):
    with pytest.raises(DataError, match="sample_weight"):
        KernelRegressor().fit(X, Y, sample_weight=weights)


@by_regressor
def test_a_fit_keeps_no_reference_to_its_rows(model):
    x, y = X.copy(), Y.copy()
    expected = model.fit(x, y).predict(NEW)
    x *= 0
    y *= 0
    np.testing.assert_array_equal(model.predict(NEW), expected)


@pytest.mark.parametrize("size", [1e-200, 1e200])
@pytest.mark.parametrize("model", [*REGRESSORS, TangentKernelRegressor(NETWORK)], ids=repr)
def test_targets_of_any_size(model, size):
    expected = model.fit(X, Y).predict(NEW)
    np.testing.assert_allclose(model.fit(X, size * Y).predict(NEW) / size, expected, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    "model",
    [KernelRegressor(ridge=0), KernelRegressor(time=np.inf), NNGPRegressor(NETWORK, noise=0)],
    ids=["ridge", "time", "noise"],
)
def test_contradictions_are_named_where_the_fit_interpolates(model):
    x = np.concatenate([X, X[3:4]])
    with pytest.warns(ContradictionWarning, match=r"1 rows have the same inputs .*row 20"):
        model.fit(x, np.concatenate([Y, Y[:1]]))
    model.fit(x, np.concatenate([Y, Y[3:4]]))  # equal targets contradict nothing


@pytest.mark.parametrize(
    "x", [X.astype(str), X.astype(str).tolist(), np.array([[1.0, "2"]] * 20, object)], ids=["array", "list", "mixed"]
)
@pytest.mark.parametrize("model", [KernelRegressor(), NNGPRegressor(), TangentKernelClassifier()], ids=repr)
def test_strings_are_refused(model, x):
    with pytest.raises(DataError, match=r"string.*row 0"):
        model.fit(x, X[:, 0] > 0)
    with pytest.raises(DataError, match=r"string.*row 0"):
        model.fit(X[:, : np.shape(x)[1]], X[:, 0] > 0).predict(x)


def test_numbers_given_without_float64_are_what_was_written():
    with jax.enable_x64(False):
        kernel = 0.3 * RBF(1.3)
        found = KernelRegressor(kernel).fit(X, Y).predict(NEW)
        matrix = SklearnKernel(kernel)(X)
    with jax.enable_x64(True):
        kernel = 0.3 * RBF(1.3)
        np.testing.assert_array_equal(KernelRegressor(kernel).fit(X, Y).predict(NEW), found)
        np.testing.assert_array_equal(SklearnKernel(kernel)(X), matrix)


def test_one_row_a_class_is_said_to_calibrate_nothing():
    with pytest.warns(CalibrationWarning, match="each class has only one row"):
        TangentKernelClassifier().fit(X[:2], [0, 1])


def test_equal_rows_are_left_out_together():
    x = np.array([[1.0], [2.0], [1.0], [1.0]])
    merged = Rows(x, np.array([3.0, 4.0, 3.0, 5.0]), np.array([1.0, 2.0, 0.5, 1.0])).merged()
    assert merged.points.tolist() == [[1.0], [2.0], [1.0]]
    assert merged.targets.tolist() == [3.0, 4.0, 5.0]
    assert merged.weights.tolist() == [1.5, 2.0, 1.0]
    labels = Rows(x, np.array(["b", "a", "b", "b"]), np.ones(4)).merged()
    assert labels.targets.tolist() == ["b", "a"]
    assert labels.weights.tolist() == [3.0, 1.0]


def test_the_ridge_chosen_does_not_depend_on_copies_of_rows():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20, 3))
    y = x[:, 0] + 0.5 * rng.normal(size=20)
    alone, copied = (
        TangentKernelRegressor(NETWORK).fit(x, y),
        TangentKernelRegressor(NETWORK).fit(np.tile(x, (3, 1)), np.tile(y, 3)),
    )
    weighted = TangentKernelRegressor(NETWORK).fit(x, y, sample_weight=np.full(20, 3.0))
    np.testing.assert_allclose(copied.predict(x), weighted.predict(x), rtol=1e-9)
    assert copied.ridge_ / alone.ridge_ > 1e-3  # copies left in training would choose a ridge next to none


MASK = np.arange(20) == 3
DAYS = np.arange(20).astype("datetime64[D]")


@pytest.mark.parametrize(
    ("x", "y", "weights", "words"),
    [
        (X, np.ma.masked_array(Y[:, 0], MASK), None, "targets y; found 1 masked"),
        (np.ma.masked_array(X, np.repeat(MASK[:, None], 3, axis=1)), Y, None, "inputs X; found 3 masked"),
        (X, Y, np.ma.masked_array(np.ones(20), MASK), "sample_weight; found 1 masked"),
        (X, DAYS, None, "targets y; found entries of type datetime64"),
        (DAYS[:, None], Y, None, "inputs X; found entries of type datetime64"),
        (pd.DataFrame({"day": DAYS, "size": X[:, 0]}), Y, None, "inputs X; found entries of type datetime64"),
        (X, Y, DAYS, "sample_weight; found entries of type datetime64"),
        (X, ["1"] * 20, None, "targets y; found the entry '1'"),
        (X, ["a"] * 20, None, "targets y; found the entry 'a'"),
        (X, np.array([None, *Y[1:, 0]], object), None, "targets y; found the entry None"),
        (X, pd.Series([1] * 19 + [None], dtype="Int64"), None, "targets y; found the entry <NA>|y contains NaN"),
    ],
)
@pytest.mark.parametrize("model", [KernelRegressor(RBF(1.5), ridge=0.1), NNGPRegressor(NETWORK)], ids=repr)
def test_what_is_no_number_is_refused(model, x, y, weights, words):
    with pytest.raises(DataError, match=words) as caught:
        model.fit(x, y, weights)
    assert "\n" not in str(caught.value)


def test_a_prediction_refuses_what_the_fit_refuses():
    model = KernelRegressor(RBF(1.5), ridge=0.1).fit(X, Y)
    with pytest.raises(DataError, match="inputs X; found 3 masked"):
        model.predict(np.ma.masked_array(X, np.repeat(MASK[:, None], 3, axis=1)))


@pytest.mark.parametrize("others", [[None], [float("nan")], [pd.NA], [1]], ids=str)
def test_labels_without_a_common_type_are_refused(others):
    with pytest.raises(DataError, match="labels y; found"):
        TangentKernelClassifier(NETWORK).fit(X, np.array([*others, "a"] * 10, object))
