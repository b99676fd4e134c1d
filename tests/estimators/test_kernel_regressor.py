import pickle
import unittest

import jax
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.utils.estimator_checks import estimator_checks_generator, parametrize_with_checks

from lemmata.architectures import TangentKernel, relu_network
from lemmata.errors import DataError, SettingError
from lemmata.estimators import KernelRegressor
from lemmata.kernels import RBF

ESTIMATORS = [KernelRegressor(), KernelRegressor(time=50.0)]


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_contract(estimator, check):
    try:
        check(estimator)
    except unittest.SkipTest as reason:
        if "pandas" not in str(reason) and "array_api" not in str(reason):
            pytest.fail(f"skipped: {reason}")
        raise


def test_the_contract_has_many_parts():
    assert all(len(list(estimator_checks_generator(estimator))) > 40 for estimator in ESTIMATORS)


def test_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), rng.normal(size=(40, 2))
    mine = KernelRegressor(RBF(1.5), ridge=0.1).fit(x, y)
    peer = KernelRidge(alpha=0.1, kernel="rbf", gamma=1 / (2 * 1.5**2)).fit(x, y - y.mean(axis=0))
    condition = 40 / 0.1
    np.testing.assert_allclose(
        mine.predict(x[:5]), peer.predict(x[:5]) + y.mean(axis=0), atol=32 * np.finfo(float).eps * condition * 4
    )


def test_infinite_time_interpolates_and_zero_time_predicts_the_mean():
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(15, 4)), rng.normal(size=15)
    kernel = TangentKernel(relu_network(depth=1))
    with jax.enable_x64(True):
        np.testing.assert_allclose(KernelRegressor(kernel, time=np.inf).fit(x, y).predict(x), y, atol=1e-10)
        np.testing.assert_allclose(KernelRegressor(kernel, time=0.0).fit(x, y).predict(x), y.mean(), rtol=1e-14)


def test_a_negative_ridge_is_refused():
    with pytest.raises(SettingError, match="ridge"):
        KernelRegressor(ridge=-1.0).fit(np.eye(3), np.arange(3.0))


@pytest.mark.parametrize(
    "estimator",
    [
        KernelRegressor(RBF(0.3), ridge=1e-6),
        KernelRegressor(ridge=1e-6),
        KernelRegressor(time=5.0),
        KernelRegressor(TangentKernel(relu_network(depth=1)), time=np.inf),
    ],
    ids=["ridge", "default", "flow", "interpolation"],
)
def test_a_copy_made_without_x64_is_the_same_to_the_last_bit(estimator):
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
    expected = estimator.fit(x, y).predict(x)
    with jax.enable_x64(False):
        loaded = pickle.loads(pickle.dumps(estimator))
        np.testing.assert_array_equal(loaded.predict(x), expected)


def test_targets_that_are_text():
    for y in (["a", "b", "c"], ["1", "2", "4"]):
        with pytest.raises(DataError, match=f"targets y; found .*{y[0]}.*encode texts"):
            KernelRegressor().fit(np.eye(3), y)
