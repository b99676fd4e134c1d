"""Estimators on centres: beside the exact fit where both fit, what is said, prices, bad settings, old files."""

import pickle
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.base import clone

from lemmata.architectures import NNGPKernel, erf_network
from lemmata.errors import ApproximationWarning, InterpolationWarning, SettingError
from lemmata.estimators import KernelRegressor, NNGPRegressor, TangentKernelClassifier, TangentKernelRegressor
from lemmata.estimators import _centres as module
from lemmata.estimators._centres import centres_for
from lemmata.kernels import RBF, gram
from lemmata.solvers import subset_of_regressors
from lemmata.spectra import leave_one_out, spectrum
from lemmata.storage import load, save

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(600, 2)), RNG.normal(size=(50, 2))
F = lambda x: np.stack([np.sin(2 * x[:, 0]), x[:, 0] * x[:, 1]], axis=1)
Y = F(X) + 0.1 * RNG.normal(size=(600, 2))
WEIGHTS = RNG.uniform(0.5, 3.0, size=600)
NETWORK = erf_network(depth=1, bias_std=0.3)
# On 400 of 600 rows in two dimensions kernels miss little of what these ridges leave.
REGRESSORS = [
    KernelRegressor(RBF(2.0), ridge=0.1),
    KernelRegressor(RBF(2.0), ridge=None),
    KernelRegressor(RBF(2.0), time=3.0),
    TangentKernelRegressor(NETWORK, ridge=0.1),
    TangentKernelRegressor(NETWORK),
    NNGPRegressor(NETWORK, noise=0.1),
]
by_regressor = pytest.mark.parametrize("model", REGRESSORS, ids=repr)


@by_regressor
def test_many_centres_are_the_exact_fit(model):
    found = clone(model).set_params(centres=400).fit(X, Y, WEIGHTS)
    exact = clone(model).set_params(centres=None)
    if "ridge" in exact.get_params() and exact.time is None:
        exact.set_params(ridge=found.ridge_)
    exact.fit(X, Y, WEIGHTS)
    assert (exact.centres_, exact.price_, found.centres_) == (None, (0.0, 0.0), 400)
    atol = 3e-3 if getattr(model, "ridge", 0.1) or model.time else 0.02  # chosen ridges are small here
    np.testing.assert_allclose(found.predict(NEW), exact.predict(NEW), atol=atol)


def test_the_ridge_chosen_on_centres_has_nearly_the_least_leave_one_out_error():
    found = KernelRegressor(RBF(2.0), ridge=None, centres=200).fit(X, Y)
    with jax.enable_x64(True):
        system, centred = spectrum(gram(RBF(2.0), jnp.asarray(X))), jnp.asarray(Y - Y.mean(axis=0))
        errors = [
            float(leave_one_out(system, centred, float(ridge))) for ridge in [found.ridge_, *np.logspace(-8, 2, 21)]
        ]
    assert errors[0] < 1.05 * min(errors)
    assert errors[0] < 0.7 * max(errors)


def test_centres_are_those_of_the_solver_on_the_same_points():
    found = KernelRegressor(RBF(1.0), ridge=0.01, centres=60).fit(X, Y)
    with jax.enable_x64(True):
        centred = jnp.asarray(Y - Y.mean(axis=0))
        direct = subset_of_regressors(RBF(1.0), jnp.asarray(X), centred, jnp.asarray(found._points), 0.01)
        expected = np.asarray(direct(jnp.asarray(NEW))) + Y.mean(axis=0)
    np.testing.assert_allclose(found.predict(NEW), expected, atol=1e-7)


def test_deviations_are_those_of_the_variational_posterior():
    found = NNGPRegressor(NETWORK, noise=0.1, centres=20).fit(X, Y[:, 0], WEIGHTS)
    mean, deviation = found.predict(NEW, return_std=True)
    kernel, z = matrices_of(found.network_), found._points
    scaled = (Y[:, 0] - found.offset_) / found.target_scale_
    noise = np.diag(0.1 / WEIGHTS)
    prior, own, cross = kernel(NEW, NEW), kernel(z, z) + found.jitter_ * np.eye(20), kernel(NEW, z)
    rows = kernel(z, X)
    # Titsias (2009): the optimal distribution of values at z, and the prior given these values
    inside = np.linalg.inv(own + rows @ np.linalg.inv(noise) @ rows.T)
    expected = cross @ inside @ rows @ np.linalg.inv(noise) @ scaled
    variance = np.diagonal(prior - cross @ np.linalg.inv(own) @ cross.T + cross @ inside @ cross.T)
    np.testing.assert_allclose(mean, found.offset_ + found.target_scale_ * expected, atol=1e-5)
    np.testing.assert_allclose((deviation / found.target_scale_) ** 2, variance, atol=1e-5)
    # Its bound of the evidence, and the evidence above it
    approximate = rows.T @ np.linalg.inv(own) @ rows
    log_density = lambda matrix: (
        -0.5 * (scaled @ np.linalg.solve(matrix + noise, scaled) + np.linalg.slogdet(2 * np.pi * (matrix + noise))[1])
    )
    lost = 0.5 * np.sum(np.diagonal(kernel(X, X) - approximate) * WEIGHTS / 0.1)
    assert found.log_evidence_ is None
    assert found.log_evidence_bound_ == pytest.approx(log_density(approximate) - lost, rel=1e-6)
    exact = NNGPRegressor(NETWORK, noise=0.1, centres=None).fit(X, Y[:, 0], WEIGHTS)
    assert found.log_evidence_bound_ < exact.log_evidence_ == exact.log_evidence_bound_


def matrices_of(network):
    def matrix(x, y):
        with jax.enable_x64(True):
            return np.asarray(gram(NNGPKernel(network), jnp.asarray(x), jnp.asarray(y)))

    return matrix


def test_a_classifier_on_centres_has_classes_and_probabilities():
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0] + 0.3 * RNG.normal(size=600), [-0.5, 0.5])]
    exact, found = (TangentKernelClassifier(NETWORK, centres=centres).fit(X, labels) for centres in (None, 200))
    assert found.regressor_.centres_ == 200
    assert np.mean(exact.predict(NEW) == found.predict(NEW)) > 0.9
    assert np.abs(exact.predict_proba(NEW) - found.predict_proba(NEW)).max() < 0.1


@pytest.fixture
def few(monkeypatch):
    """Beyond 300 rows "auto" takes 100 centres."""
    monkeypatch.setattr(module, "_EXACT", 300)
    monkeypatch.setattr(module, "_MOST", 100)


@pytest.mark.usefixtures("few")
@pytest.mark.parametrize(
    "model",
    [KernelRegressor(), TangentKernelRegressor(NETWORK), NNGPRegressor(NETWORK), TangentKernelClassifier(NETWORK)],
    ids=repr,
)
def test_auto_says_what_it_does(model):
    targets = (X[:, 0] > 0).astype(int)
    with pytest.warns(ApproximationWarning, match=r"600 rows .* 100 of the rows .*% to .*% smaller.*centres"):
        model.fit(X, targets)
    assert getattr(model, "regressor_", model).centres_ == 100
    with warnings.catch_warnings():
        warnings.simplefilter("error", ApproximationWarning)
        model.fit(X[:300], targets[:300])  # few rows are exact
        model.set_params(centres=100).fit(X, targets)  # and a number that was asked for is no surprise
    assert model.set_params(centres="auto").get_params()["centres"] == "auto"


@pytest.mark.parametrize("setting", [{"ridge": 0}, {"time": np.inf}], ids=str)
def test_interpolation_on_centres_is_said_to_be_least_squares(setting):
    with pytest.warns(InterpolationWarning, match="least squares.*centres=None"):
        found = KernelRegressor(RBF(1.0), centres=30, **setting).fit(X, Y)
    features, new = (np.exp(-0.5 * np.sum((x[:, None] - found._points) ** 2, axis=2)) for x in (X, NEW))
    expected = new @ np.linalg.lstsq(features, Y - Y.mean(axis=0), rcond=1e-9)[0] + Y.mean(axis=0)
    np.testing.assert_allclose(found.predict(NEW), expected, atol=1e-3)


@pytest.mark.parametrize("centres", ["many", 0, -3, 2.5, True, np.nan, [3]], ids=repr)
@pytest.mark.parametrize("kind", [KernelRegressor, NNGPRegressor, TangentKernelClassifier])
def test_other_centres_are_refused(kind, centres):
    with pytest.raises(SettingError, match="centres"):
        kind(centres=centres).fit(X[:20], X[:20, 0] > 0)


def test_how_many_centres():
    assert centres_for("auto", 10_000) is None
    assert centres_for("auto", 20_000) == 3000
    assert centres_for("auto", 1_000_000) == 2000
    assert centres_for(50, 50) is None
    assert centres_for(np.int64(50), 51) == 50


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_price_holds_what_the_exact_fit_saves(noise):
    rng = np.random.default_rng(1)
    x, new = rng.normal(size=(1500, 8)), rng.normal(size=(1000, 8))
    f = lambda x: np.sin(x[:, 0] + x[:, 1]) + np.abs(x[:, 2])
    y, wanted = f(x) + noise * rng.normal(size=1500), f(new) + noise * rng.normal(size=1000)
    error = {}
    for centres in (None, 150):
        model = KernelRegressor(ridge=0.1, centres=centres).fit(x, y)
        error[centres] = np.mean((model.predict(new) - wanted) ** 2)
    saved, (least, most) = 1 - error[None] / error[150], model.price_
    assert 0 < least < most <= 1
    assert least / 2 < saved < 1.2 * most


@by_regressor
def test_what_was_stored_predicts_the_same_and_older_files_load(model, tmp_path):
    found = model.set_params(centres=50).fit(X, Y)
    expected = found.predict(NEW)
    save(found, tmp_path / "model.safetensors")
    with jax.enable_x64(False):
        np.testing.assert_array_equal(load(tmp_path / "model.safetensors").predict(NEW), expected)
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(found)).predict(NEW), expected)
    old = model.set_params(centres="auto").fit(X[:40], Y[:40])
    expected = old.predict(NEW)
    for name in ("centres", "centres_", "price_"):  # what an estimator had not
        vars(old).pop(name, None)
    assert np.array_equal(old.predict(NEW), expected)
    assert old.get_params()["centres"] == "auto"
    save(old, tmp_path / "old.safetensors")
    loaded = load(tmp_path / "old.safetensors")
    assert np.array_equal(loaded.predict(NEW), expected)
    assert loaded.centres == "auto"


def test_equal_rows_are_one_centre():
    x = np.tile(X[:40], (15, 1))
    found = KernelRegressor(RBF(1.0), ridge=0.1, centres=100).fit(x, Y[:, 0])
    exact = KernelRegressor(RBF(1.0), ridge=0.1, centres=None).fit(x, Y[:, 0])
    assert found.centres_ <= 40
    np.testing.assert_allclose(found.predict(NEW), exact.predict(NEW), atol=0.02)
