"""The NNGP regressor: scikit-learn's contract, a peer, deviations, bad settings."""

import io

import jax
import joblib
import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from lemmata.architectures import Dense, Rbf, Serial
from lemmata.errors import SettingError
from lemmata.estimators import NNGPRegressor


@parametrize_with_checks([NNGPRegressor()])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3))
    return x, np.sin(x[:, 0]) + 0.1 * rng.normal(size=30), rng.normal(size=(6, 3))


def test_random_features_of_an_rbf_kernel_are_that_process():
    x, y, new = data()
    # Dense, Rbf(gamma) has the kernel exp(-gamma |x - x'|² / d): a squared lengthscale of d / (2 gamma).
    model = NNGPRegressor(Serial([Dense(64), Rbf(0.75)]), noise=0.1).fit(x, y)
    scale = np.sqrt(np.mean((y - y.mean()) ** 2))
    peer = GaussianProcessRegressor(RBF(2**0.5) + WhiteKernel(0.1), optimizer=None, alpha=0.0)
    peer.fit(x, (y - y.mean()) / scale)
    mean, deviation = peer.predict(new, return_std=True)
    found, wide = model.predict(new, return_std=True)
    assert np.allclose(found, y.mean() + scale * mean, atol=1e-10)
    assert np.allclose(wide**2, scale**2 * (deviation**2 - 0.1), atol=1e-10)
    assert model.log_evidence_ == pytest.approx(peer.log_marginal_likelihood_value_, rel=1e-10)


def test_columns_have_their_own_scale_as_in_the_peer():
    x, y, new = data()
    targets = np.column_stack([y, 1000 * x[:, 1] ** 2, np.full(30, 0.1)])
    model = NNGPRegressor(Serial([Dense(64), Rbf(0.75)]), noise=0.1).fit(x, targets)
    peer = GaussianProcessRegressor(RBF(2**0.5), optimizer=None, alpha=0.1, normalize_y=True).fit(x, targets)
    (mean, deviation), (expected, wide) = (each.predict(new, return_std=True) for each in (model, peer))
    assert deviation.shape == wide.shape == mean.shape == (6, 3)
    assert np.allclose(mean, expected, rtol=1e-10, atol=1e-10)
    assert np.allclose(deviation, wide, rtol=1e-10)
    assert deviation[0, 1] > 100 * deviation[0, 0]
    assert np.array_equal(model.target_scale_[2], 1.0)
    for column in range(3):
        alone = NNGPRegressor(Serial([Dense(64), Rbf(0.75)]), noise=0.1).fit(x, targets[:, column])
        assert np.allclose(alone.predict(new, return_std=True), (mean[:, column], deviation[:, column]), rtol=1e-10)


def test_deviations_cover_functions_of_the_prior():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(40, 2))
    with jax.enable_x64(True):
        network = Serial([Dense(512), Rbf(1.0), Dense(1)])
        inside = []
        for seed in range(20):
            params, _ = network.init(jax.random.key(seed), 2)
            f = np.asarray(jax.vmap(lambda a, params=params: network.apply(params, a))(x))[:, 0]
            mean, deviation = NNGPRegressor(network, noise=1e-4).fit(x[:30], f[:30]).predict(x[30:], return_std=True)
            inside.append(np.mean(np.abs(mean - f[30:]) <= 2 * deviation + 1e-3))
    # 95 % in expectation, were the scale not estimated; 200 correlated values
    assert 0.85 < np.mean(inside) <= 1.0


def test_units_and_storage():
    x, y, new = data()
    model = NNGPRegressor().fit(x, y)
    scaled = NNGPRegressor().fit(x, 8 * y + 16)
    (mean, deviation), (other, wide) = (each.predict(new, return_std=True) for each in (model, scaled))
    assert np.allclose(other, 8 * mean + 16, atol=1e-10)
    assert np.allclose(wide, 8 * deviation, atol=1e-10)
    stored = io.BytesIO()
    joblib.dump(model, stored)
    stored.seek(0)
    assert np.array_equal(joblib.load(stored).predict(new), mean)


NOISES = [-1.0, np.inf, "a", None, [1.0], 1j, np.array([1e-2]), True]


@pytest.mark.parametrize("settings", [{"network": "relu"}, *({"noise": noise} for noise in NOISES)])
def test_bad_settings_are_refused(settings):
    x, y, _ = data()
    with pytest.raises(SettingError, match=next(iter(settings))):
        NNGPRegressor(**settings).fit(x, y)
