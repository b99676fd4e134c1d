"""Spectral algorithms against the solvers that they are, and against regression on principal components."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError, ShapeError
from lemmata.kernels import RBF, gram
from lemmata.solvers import (
    flow_filter,
    gradient_flow,
    kernel_ridge,
    ridge_filter,
    spectral_algorithm,
    truncation_filter,
)
from lemmata.spectra import spectrum

RNG = np.random.default_rng(2)
X, Z, Y = (jnp.asarray(RNG.normal(size=shape)) for shape in ((20, 2), (5, 2), (20, 2)))
K, CROSS = gram(RBF(0.7), X), gram(RBF(0.7), Z, X)
SYSTEM = spectrum(K)


def test_ridge_and_flow_are_their_solvers():
    ridge = spectral_algorithm(SYSTEM, Y, ridge_filter(SYSTEM.eigenvalues, 0.3), CROSS)
    np.testing.assert_allclose(ridge, CROSS @ kernel_ridge(K, Y, 0.3).coefficients, rtol=1e-10)
    flow = spectral_algorithm(SYSTEM, Y[:, 0], flow_filter(SYSTEM.eigenvalues, 4.0), CROSS)
    np.testing.assert_allclose(flow, gradient_flow(SYSTEM, Y[:, 0], [4.0], CROSS).test[0], rtol=1e-12)
    assert float(flow_filter(jnp.zeros(1), 3.0)[0]) == 3.0


def test_truncation_is_least_squares_on_the_leading_features():
    least = float(SYSTEM.eigenvalues[6])
    values, vectors = np.linalg.eigh(np.asarray(K))
    features = vectors[:, -7:]
    fitted = np.linalg.lstsq(features * np.sqrt(values[-7:]), Y, rcond=None)[0]
    expected = (CROSS @ features / np.sqrt(values[-7:])) @ fitted
    found = spectral_algorithm(SYSTEM, Y, truncation_filter(SYSTEM.eigenvalues, least), CROSS)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_bad_input_is_refused():
    with pytest.raises(ShapeError, match="cross matrix"):
        spectral_algorithm(SYSTEM, Y, jnp.ones(20), CROSS[:, :4])
    with pytest.raises(ShapeError, match="filter"):
        spectral_algorithm(SYSTEM, Y, jnp.ones(4), CROSS)
    with pytest.raises(SettingError, match="filter"):
        spectral_algorithm(SYSTEM, Y, -jnp.ones(20), CROSS)
