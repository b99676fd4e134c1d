"""The battery's own eigenvalues, roots and exponentials against LAPACK's, and their derivatives."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from tests.engine.refutations.battery import _linear_algebra as own


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_they_are_lapacks(n):
    for seed in range(5):
        factor = np.random.default_rng(seed).normal(size=(n, n))
        matrix = factor + factor.T
        definite = factor @ factor.T + 0.01 * np.eye(n)
        values = np.linalg.eigvalsh(matrix)[::-1]
        np.testing.assert_allclose(own.eigenvalues(jnp.asarray(matrix)), values, atol=1e-12)
        singular = np.linalg.svd(factor, compute_uv=False)
        np.testing.assert_allclose(own.singular_values(jnp.asarray(factor)), singular, atol=1e-12)
        root, inverse = own.square_root(jnp.asarray(definite))
        np.testing.assert_allclose(root @ root, definite, atol=1e-11)
        np.testing.assert_allclose(root @ inverse, np.eye(n), atol=1e-9)
        np.testing.assert_allclose(own.exponential(jnp.asarray(matrix)), scipy.linalg.expm(matrix), rtol=1e-10)


def test_they_bear_repeated_eigenvalues():
    for matrix in (jnp.eye(3), jnp.zeros((3, 3)), jnp.ones((4, 4)), jnp.array([[1.0, 1.0], [1.0, -1.0]])):
        values = np.linalg.eigvalsh(matrix)[::-1]
        np.testing.assert_allclose(own.eigenvalues(matrix), values, atol=1e-13)
        assert np.isfinite(jax.jacobian(own.singular_values)(matrix)).all()


def test_derivatives_are_difference_quotients():
    rng = np.random.default_rng(0)
    matrix, way = rng.normal(size=(2, 4, 4))
    matrix, way = matrix + matrix.T, way + way.T
    for function in (own.eigenvalues, own.singular_values):
        slope = jax.jvp(function, (matrix,), (way,))[1]
        quotient = (function(matrix + 1e-6 * way) - function(matrix - 1e-6 * way)) / 2e-6
        np.testing.assert_allclose(slope, quotient, rtol=1e-6, atol=1e-8)
