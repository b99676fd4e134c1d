"""Kernel ridge regression against scikit-learn."""

import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge

from lemmata.solvers import kernel_ridge, predict

EPS = np.finfo(float).eps


@pytest.mark.parametrize("ridge", [1e-4, 0.1, 10.0])
@pytest.mark.parametrize("outputs", [None, 3])
def test_predictions_are_those_of_scikit_learn(ridge, outputs):
    rng = np.random.default_rng(7)
    x, x_test = rng.normal(size=(40, 5)), rng.normal(size=(9, 5))
    y = rng.normal(size=(40,) if outputs is None else (40, outputs))
    kernel = lambda a, b: np.exp(-0.2 * ((a[:, None] - b[None]) ** 2).sum(-1))
    K, K_test = kernel(x, x), kernel(x_test, x)
    peer = KernelRidge(kernel="rbf", gamma=0.2, alpha=ridge).fit(x, y).predict(x_test)
    ours = predict(kernel_ridge(jnp.asarray(K), jnp.asarray(y), ridge), jnp.asarray(K_test))
    bound = 40 * EPS * np.linalg.cond(K + ridge * np.eye(40)) * np.abs(y).max()
    np.testing.assert_allclose(ours, peer, rtol=0, atol=bound)
