"""The covariance of random functions and its limit, each by a second route."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

from lemmata.kernels import PolyharmonicCovariance, gram
from lemmata.subjects.regression._scattered_values import (
    DiscPoints,
    ScatteredSamples,
    complement,
    logarithmic,
    power,
    squared_gaps,
)
from lemmata.subjects.regression.random_functions import gaussian_mixture, saddle_prediction, spline_at
from lemmata.subjects.regression.spline_limit import PositiveOnDiscs, energy_matrix, process_minus_spline

SETTING = {"n": 14, "d": 2, "noise": 0.03}
PROBLEM = ScatteredSamples().sample(SETTING, jax.random.key(3))


def test_the_mixture_is_scipys_integral():
    basis = complement(PROBLEM.x)
    w, squares = basis @ (basis.T @ PROBLEM.y), squared_gaps(PROBLEM.x, PROBLEM.x)
    integrand = lambda u: np.exp(-u) / 2 * (w @ (np.expm1(-np.exp(u) * squares) + np.exp(u) * squares) @ w)
    expected = quad(integrand, -14, 25, limit=400)[0]
    np.testing.assert_allclose(gaussian_mixture(squares, w), expected, rtol=1e-5)
    np.testing.assert_allclose(gaussian_mixture(squares, w), w @ logarithmic(PROBLEM.x, PROBLEM.x) @ w, rtol=1e-12)


def test_energy_is_least_at_the_spline():
    """Among values at further points the energy of all is least at the spline's, found by a general minimiser."""
    x, z = PROBLEM.x, PROBLEM.z
    matrix = energy_matrix(np.concatenate([x, z]))
    energy = lambda u: np.concatenate([PROBLEM.y, u]) @ matrix @ np.concatenate([PROBLEM.y, u])
    slope = lambda u: 2 * (matrix @ np.concatenate([PROBLEM.y, u]))[len(x) :]
    found = minimize(energy, np.zeros(len(z)), jac=slope, method="BFGS", options={"gtol": 1e-9})
    spline = saddle_prediction(logarithmic(x, x), logarithmic(z, x), x, z, PROBLEM.y)
    np.testing.assert_allclose(found.x, spline, atol=1e-5)
    np.testing.assert_allclose(found.fun, PROBLEM.y @ energy_matrix(x) @ PROBLEM.y, rtol=1e-9)


def test_the_eliminated_process_is_the_process():
    b, c = 20.0, 3000.0
    kernel = PolyharmonicCovariance(b, c)
    x, z = jnp.asarray(PROBLEM.x), jnp.asarray(PROBLEM.z)
    matrix = np.asarray(gram(kernel, x)) + np.diag(PROBLEM.noise)
    process = np.asarray(gram(kernel, z, x)) @ np.linalg.solve(matrix, PROBLEM.y)
    distance = np.sqrt(np.mean((process - spline_at(PROBLEM, PROBLEM.noise, PROBLEM.z)) ** 2))
    np.testing.assert_allclose(process_minus_spline(PROBLEM, b, c), distance, rtol=1e-7)


@pytest.mark.parametrize("b", [1.0, 2.0, 3.5])
def test_the_level_of_the_disc_is_an_energy(b):
    """1/(8 pi) of the integral of squared second derivatives, inside of r² (ln r - b), outside of its continuation."""
    inside = lambda r: 2 * np.pi * r * ((2 * np.log(r) + 3 - 2 * b) ** 2 + (2 * np.log(r) + 1 - 2 * b) ** 2)
    outside = lambda r: 2 * np.pi * r * 2 * ((1 - 2 * b) / r**2) ** 2
    total = quad(inside, 0, 1)[0] + quad(outside, 1, np.inf)[0]
    found = PositiveOnDiscs().predict(DiscPoints(np.zeros((1, 2)), 1.0, b))
    np.testing.assert_allclose(found, total / (8 * np.pi), rtol=1e-8)


def test_powers_are_positive_beside_an_affine_drift():
    basis = complement(PROBLEM.x)
    for exponent in (0.5, 1.0, 1.5, 2.5, 3.5):
        K = basis.T @ power(PROBLEM.x, PROBLEM.x, exponent) @ basis
        assert np.linalg.eigvalsh(K)[0] > 0
