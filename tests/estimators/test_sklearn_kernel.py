"""lemmata's kernels inside scikit-learn's estimators."""

import io

import jax
import jax.numpy as jnp
import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as PeerRBF
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.kernel_ridge import KernelRidge
from sklearn.svm import SVC

from lemmata.architectures import Erf, NNGPKernel, TangentKernel, erf_network, fully_connected, relu_network
from lemmata.errors import SettingError
from lemmata.estimators import SklearnKernel
from lemmata.kernels import RBF, Linear, Matern, gram
from lemmata.solvers import log_evidence

TIED = "network.layers.0.weight_std = network.layers.2.weight_std"


def data():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(25, 2))
    return x, np.sin(2 * x[:, 0]) + 0.1 * rng.normal(size=25), rng.normal(size=(6, 2))


@pytest.mark.parametrize(
    "kernel",
    [
        SklearnKernel(0.7 * RBF(1.3) + Matern(1.5, 0.4), ["left.factor", "right.lengthscale"]),
        SklearnKernel(TangentKernel(erf_network(depth=2, bias_std=0.3)), [TIED, "network.layers.0.bias_std"]),
        SklearnKernel(NNGPKernel(relu_network(depth=2)), TIED),
    ],
    ids=["sum", "erf", "relu"],
)
def test_gradients_are_those_of_finite_differences(kernel):
    x, _, new = data()
    matrix, slopes = kernel(x, eval_gradient=True)
    assert slopes.shape == (25, 25, len(kernel.theta))
    step = 1e-4
    for index in range(len(kernel.theta)):
        unit = np.eye(len(kernel.theta))[index]
        moved = [kernel.clone_with_theta(kernel.theta + sign * step * unit)(x) for sign in (1, -1)]
        # The error of a central difference is step²/6 times a third derivative, of the size of the kernel here.
        assert np.allclose(slopes[:, :, index], (moved[0] - moved[1]) / (2 * step), atol=20 * step**2 * matrix.max())
        assert np.abs(slopes[:, :, index]).max() > 0.01
    assert np.allclose(kernel.diag(x), np.diagonal(matrix), rtol=1e-12)
    assert np.allclose(kernel(np.vstack([x, new]))[:25, 25:], kernel(x, new), rtol=1e-9, atol=1e-12)


def test_a_gaussian_process_finds_the_evidence_of_the_peer():
    x, y, new = data()
    peer = GaussianProcessRegressor(PeerRBF(0.3) + WhiteKernel(0.1), alpha=1e-10).fit(x, y)
    with jax.enable_x64(False):
        kernel = SklearnKernel(RBF(0.3), ["lengthscale"]) + WhiteKernel(0.1)
        mine = GaussianProcessRegressor(kernel, alpha=1e-10).fit(x, y)
        # Both stop where the evidence, near its maximum, is flat to the tolerance of L-BFGS (1e-5 in the slope).
        assert mine.log_marginal_likelihood_value_ == pytest.approx(peer.log_marginal_likelihood_value_, abs=1e-6)
        assert mine.kernel_.k1.values[0] == pytest.approx(peer.kernel_.k1.length_scale, rel=1e-3)
        assert np.allclose(mine.predict(new, return_std=True), peer.predict(new, return_std=True), atol=1e-3)
        assert mine.kernel_.k1.values[0] != pytest.approx(0.3, rel=0.1)


def test_a_network_s_weights_are_learnt():
    x, y, _ = data()
    network = fully_connected(Erf(), 1, weight_std=2.0, bias_std=0.2, readout_std=0.3)
    kernel = SklearnKernel(NNGPKernel(network), ["network.layers.2.weight_std"])
    fitted = GaussianProcessRegressor(kernel, alpha=0.05).fit(x, y)

    def evidence(readout_std):
        network = fully_connected(Erf(), 1, weight_std=2.0, bias_std=0.2, readout_std=readout_std)
        return float(log_evidence(gram(NNGPKernel(network), jnp.asarray(x)), jnp.asarray(y), 0.05))

    found = float(fitted.kernel_.values[0])
    assert fitted.log_marginal_likelihood_value_ == pytest.approx(evidence(found), rel=1e-9)
    assert evidence(found) > max(evidence(0.3), evidence(0.98 * found), evidence(1.02 * found))


def test_support_vectors_and_kernel_ridge_take_the_function_or_the_matrix():
    x, y, new = data()
    kernel = SklearnKernel(TangentKernel(relu_network(depth=2, bias_std=0.1)))
    assert len(kernel.theta) == 0
    by_function = SVC(kernel=kernel).fit(x, y > 0)
    by_matrix = SVC(kernel="precomputed").fit(kernel(x), y > 0)
    assert np.allclose(by_function.decision_function(new), by_matrix.decision_function(kernel(new, x)), atol=1e-9)
    ridge = KernelRidge(alpha=0.1, kernel="precomputed").fit(kernel(x), y)
    direct = kernel(new, x) @ np.linalg.solve(kernel(x) + 0.1 * np.eye(25), y)
    assert np.allclose(ridge.predict(kernel(new, x)), direct, atol=1e-9)
    fitted = GaussianProcessRegressor(kernel, alpha=0.1).fit(x, y)  # nothing to optimise
    assert np.allclose(fitted.predict(new), direct, atol=1e-9)


def test_the_representation_shows_the_kernel_and_its_values():
    kernel = SklearnKernel(RBF(0.3), ["lengthscale"])
    assert repr(kernel) == "SklearnKernel(RBF(lengthscale=0.3), learn=['lengthscale'])"
    assert repr(SklearnKernel(RBF(2.0))) == "SklearnKernel(RBF(lengthscale=2.0))"
    moved = repr(kernel.clone_with_theta([np.log(1.5)]) + WhiteKernel(0.1))
    assert moved == "SklearnKernel(RBF(lengthscale=1.5), learn=['lengthscale']) + WhiteKernel(noise_level=0.1)"
    network = repr(SklearnKernel(NNGPKernel(relu_network(depth=1, weight_std=1.25))))
    assert network.startswith("SklearnKernel(NNGPKernel(")
    assert "weight_std=1.25" in network
    assert repr(SklearnKernel(RBF(), ["width"])).startswith("SklearnKernel(RBF")
    assert repr(SklearnKernel("rbf")) == "SklearnKernel('rbf')"


def test_clones_and_copies_are_equal():
    x, _, _ = data()
    kernel = SklearnKernel(RBF(0.3), ["lengthscale"], value_bounds=(0.1, 10.0))
    assert np.allclose(kernel.bounds, np.log([[0.1, 10.0]]))
    assert clone(kernel) == kernel
    moved = kernel.clone_with_theta([np.log(2.0)])
    assert np.array_equal(moved(x), SklearnKernel(RBF(1.0), ["lengthscale"], values=[np.exp(np.log(2.0))])(x))
    assert float(kernel.kernel.lengthscale) == 0.3
    stored = io.BytesIO()
    joblib.dump(moved, stored)
    stored.seek(0)
    assert np.array_equal(joblib.load(stored)(x), moved(x))


@pytest.mark.parametrize(
    ("kernel", "word"),
    [
        (SklearnKernel("rbf", ["lengthscale"]), "a kernel of lemmata"),
        (SklearnKernel(RBF(), ["scale"]), "hyper-parameter 'scale'"),
        (SklearnKernel(RBF() + Linear(), ["left"]), "hyper-parameter 'left'"),
        (SklearnKernel(Matern(1.5), ["nu"]), "hyper-parameter 'nu'"),
        (SklearnKernel(NNGPKernel(relu_network(1)), ["network.layers.9.weight_std"]), "layers.9"),
        (SklearnKernel(NNGPKernel(relu_network(1)), ["network.layers.0.bias_std"]), "must be positive"),
    ],
)
def test_bad_paths_are_named(kernel, word):
    with pytest.raises(SettingError, match=word):
        kernel(np.eye(2))
