"""Products of tangent kernels with vectors, and gradients of weighted outputs, against matrices written out."""

import jax.numpy as jnp
import numpy as np
import pytest

import lemmata.architectures._tangent as tangent
from lemmata.architectures import combined_gradient, tangent_product

X, Y = (np.random.default_rng(seed).normal(size=(n, 6)) for seed, n in ((1, 5), (2, 7)))
V = np.random.default_rng(3).normal(size=(7, 2))


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 8])
def test_products_and_gradients_are_the_same_in_batches_that_do_not_divide_the_points(batch, monkeypatch):
    """Of outputs w x, the kernel is the Gram matrix of the points for each output, and the gradient v^T x."""
    monkeypatch.setattr(tangent, "_batch", lambda *_: batch)
    x, y, v, weights, linear = jnp.asarray(X), jnp.asarray(Y), jnp.asarray(V), jnp.ones((2, 6)), lambda w, a: w @ a
    np.testing.assert_allclose(tangent_product(linear, weights, v, x, y), X @ Y.T @ V, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(tangent_product(linear, weights, v, y), Y @ Y.T @ V, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(combined_gradient(linear, weights, v, y), V.T @ Y, rtol=1e-12, atol=1e-12)
