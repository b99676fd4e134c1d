"""The weights of degrees in the ReLU kernel by quadrature; orthogonality on the sphere by moments."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.tangent import spectra_in_high_dimension as section


def test_weights_of_the_degrees_are_squares_of_hermite_coefficients():
    z = np.linspace(0, 12, 400_001)
    density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
    mean = lambda values: float(np.trapezoid(values * density, z))
    weights = [mean(z) ** 2, mean(z * z) ** 2, mean(z * (z**2 - 1)) ** 2 / 2]
    np.testing.assert_allclose(weights, [1 / (2 * math.pi), 1 / 4, 1 / (4 * math.pi)], rtol=1e-6)
    assert mean(z**2) - sum(weights) == pytest.approx(1 / 4 - 3 / (4 * math.pi), rel=1e-6)


def test_few_rows_give_the_bare_limit():
    claim = section.LeastEigenvalue()
    bare = 1 / 4 - 1 / (2 * math.pi)
    found = np.asarray(claim.predict(section.RowsPerDimension(jnp.asarray(1.0), jnp.asarray(2.0)))) / 4
    np.testing.assert_allclose(found, bare, rtol=1e-9)


def test_least_eigenvalue_with_the_kernel_by_hand():
    rng, d = np.random.default_rng(0), 60
    x = section.sphere(rng, 3 * d, d, 1.0)
    cosine = np.clip(x @ x.T, -1, 1)
    kernel = (np.sqrt(1 - cosine**2) + (np.pi - np.arccos(cosine)) * cosine) / (2 * np.pi)
    quadratic = (1 - math.sqrt(2 * d / ((d + 2) * (d - 1) / 2))) ** 2 / (4 * math.pi)
    expected = quadratic + 1 / 4 - 3 / (4 * math.pi)
    assert np.linalg.eigvalsh(kernel)[0] == pytest.approx(expected, rel=0.05)


def test_cubic_is_orthogonal_to_the_linear_part_on_the_sphere():
    d = 10
    x = section.sphere(np.random.default_rng(1), 400_000, d, math.sqrt(d))[:, 0]
    np.testing.assert_allclose(np.linalg.norm(section.sphere(np.random.default_rng(1), 5, d, 3.0), axis=1), 3.0)
    assert np.mean(x**4) == pytest.approx(3 * d / (d + 2), rel=0.02)
    assert np.mean(x * (x**3 - 3 * d / (d + 2) * x)) == pytest.approx(0.0, abs=0.03)


def test_a_linear_target_is_learned(key):
    problem = section.Cubic(jax.random.normal(key, (48,)), 48)
    found = np.asarray(section.PolynomialStaircase().measure(problem, key))
    assert found[2] < 0.03
    assert abs(found[1]) < 0.15
