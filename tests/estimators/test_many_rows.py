"""Exact fits in one matrix: beside the small ones, chosen ridges, indefinite kernels, singular matrices."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import erf_network
from lemmata.errors import InterpolationWarning, MemoryPlanError, NotPositiveDefiniteError
from lemmata.estimators import KernelRegressor, TangentKernelClassifier, TangentKernelRegressor
from lemmata.estimators import _kernel_ridge as module
from lemmata.kernels import RBF, AbstractKernel, _base, gram, writable_gram
from lemmata.kernels import _writable as writable
from lemmata.solvers import SystemInPlace
from lemmata.spectra import leave_one_out, spectrum

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(400, 3)), RNG.normal(size=(30, 3))
Y = np.stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]], axis=1) + 0.2 * RNG.normal(size=(400, 2))
WEIGHTS = RNG.uniform(0.5, 3.0, size=400)
NETWORK = erf_network(depth=1, bias_std=0.3)


@pytest.fixture
def many(monkeypatch):
    """400 rows are many."""
    monkeypatch.setattr(module, "SMALL", 100)


@pytest.mark.parametrize(
    "model", [KernelRegressor(RBF(1.5), ridge=0.1), TangentKernelRegressor(NETWORK, ridge=0.1)], ids=repr
)
def test_the_fit_in_one_matrix_is_the_small_one(model, monkeypatch):
    expected = model.fit(X, Y, WEIGHTS).predict(NEW)
    monkeypatch.setattr(module, "SMALL", 100)
    monkeypatch.setattr(_base, "_TILE_ROWS", 120)  # some tiles, the last of which overlap
    found = model.fit(X, Y, WEIGHTS)
    np.testing.assert_allclose(found.predict(NEW), expected, atol=1e-10)
    assert found.jitter_ == 0.0


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("noise", [0.02, 0.2, 1.0])
def test_few_factors_choose_a_ridge_of_nearly_the_least_error(noise):
    rng = np.random.default_rng(3)
    y = np.sin(X[:, 0]) + noise * rng.normal(size=400)
    found = KernelRegressor(RBF(1.5), ridge=None).fit(X, y)
    with jax.enable_x64(True):
        system = spectrum(gram(RBF(1.5), jnp.asarray(X)))
        errors = {r: float(leave_one_out(system, jnp.asarray(y - y.mean()), r)) for r in np.logspace(-8, 2, 21)}
    chosen = min(errors, key=lambda ridge: abs(np.log(ridge / found.ridge_)))
    assert found.ridge_ == pytest.approx(chosen, rel=1e-12)
    assert errors[chosen] < 1.01 * min(errors.values())
    assert errors[chosen] < 0.8 * max(errors.values())


def test_probabilities_of_a_classifier_are_the_small_one_s(monkeypatch):
    labels = np.digitize(X[:, 0] + 0.3 * RNG.normal(size=400), [-0.5, 0.5])
    expected = TangentKernelClassifier(NETWORK, ridge=0.1).fit(X, labels, WEIGHTS)
    monkeypatch.setattr(module, "SMALL", 100)  # and 1,000 judges are all rows
    found = TangentKernelClassifier(NETWORK, ridge=0.1).fit(X, labels, WEIGHTS)
    assert found.sharpness_ == pytest.approx(expected.sharpness_, rel=1e-8)


class Difference(AbstractKernel):
    """-|x - y|², which is not positive semidefinite."""

    def __call__(self, x, y):
        return -jnp.sum((x - y) ** 2)


@pytest.mark.usefixtures("many")
@pytest.mark.parametrize("settings", [{"ridge": None}, {"ridge": 1e5}, {"ridge": 0.1}, {"ridge": 0.1, "centres": 50}])
def test_an_indefinite_kernel_is_refused(settings):
    with pytest.raises(NotPositiveDefiniteError, match="smallest eigenvalue -"):
        KernelRegressor(Difference(), **settings).fit(X, Y)


@pytest.mark.usefixtures("many")
def test_a_singular_matrix_without_ridge_gets_a_jitter_and_a_warning():
    with pytest.warns(InterpolationWarning, match="misses the target of row"):
        found = KernelRegressor(RBF(5.0), ridge=0).fit(X, Y)
    assert found.jitter_ > 0


def test_a_matrix_that_does_not_fit_names_the_way_out(monkeypatch):
    monkeypatch.setattr(writable, "available_bytes", lambda: 10**5)
    with pytest.raises(MemoryPlanError, match=r"400 x 400.*centres='auto'"):
        writable_gram(RBF(1.0), jnp.asarray(X))


def test_the_factor_takes_the_place_of_the_matrix():
    matrix = RNG.normal(size=(70, 90))
    matrix = matrix @ matrix.T
    system, given = SystemInPlace(matrix), matrix.copy()
    v, rows = RNG.normal(size=(70, 2)), np.array([3, 64])
    for ridge in (1.0, 0.1):
        assert system.factorise(ridge) == 0.0
        whole = given + ridge * np.eye(70)
        np.testing.assert_allclose(system.solved(v), np.linalg.solve(whole, v), atol=1e-10)
        np.testing.assert_allclose(system.product(v), given @ v, atol=1e-10)
        np.testing.assert_allclose(system.inverse_diagonal(rows), np.diagonal(np.linalg.inv(whole))[rows], atol=1e-10)
        assert system.log_determinant() == pytest.approx(np.linalg.slogdet(whole)[1], rel=1e-12)
    np.testing.assert_array_equal(system.columns, given)
    system.factorise(0.1)
    assert np.shares_memory(system.factor(), matrix)
    np.testing.assert_allclose(np.tril(matrix), matrix, atol=0)
    np.testing.assert_allclose(matrix @ matrix.T, whole, atol=1e-10)
