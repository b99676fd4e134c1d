"""Kernels of networks by name: those of the library, in estimators of scikit-learn, alone and stored."""

import jax.numpy as jnp
import numpy as np
import pytest
import skops.io
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.kernel_approximation import Nystroem

from lemmata.architectures import TangentKernel, erf_network, relu_network
from lemmata.errors import SettingError
from lemmata.estimators import NetworkKernel
from lemmata.kernels import SoftmaxTangent, gram

X = np.random.default_rng(0).normal(size=(12, 3))


@pytest.mark.parametrize(
    ("name", "kernel"),
    [
        ("relu-2", TangentKernel(relu_network(2))),
        ("erf-1", TangentKernel(erf_network(1))),
        ("softmax", SoftmaxTangent(1.5)),
    ],
)
def test_the_name_means_the_kernel(name, kernel):
    own = NetworkKernel(name, radius=2.0)
    np.testing.assert_allclose(own(X), gram(kernel, jnp.asarray(X / 2)), rtol=1e-10)
    np.testing.assert_allclose(own(X, X[:4]), own(X)[:, :4], rtol=1e-10)
    np.testing.assert_allclose(own.diag(X), np.diag(own(X)), rtol=1e-10)
    assert clone(own) == own
    features = Nystroem(kernel=own, n_components=12, random_state=0).fit(X)
    np.testing.assert_allclose(features.transform(X) @ features.transform(X).T, own(X), rtol=1e-6, atol=1e-9)
    GaussianProcessRegressor(own, alpha=1e-3).fit(X, X[:, 0])
    content = skops.io.dumps(features)
    trusted = skops.io.get_untrusted_types(data=content)
    assert "lemmata.estimators.NetworkKernel" in trusted
    np.testing.assert_array_equal(skops.io.loads(content, trusted=trusted).transform(X), features.transform(X))


@pytest.mark.parametrize("name", ["relu", "relu-0", "tanh-1", "", None])
def test_other_names_are_refused(name):
    with pytest.raises(SettingError, match="relu-DEPTH"):
        NetworkKernel(name)(X)
