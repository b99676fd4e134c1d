"""Formulas of the chapter on state-space models against exact arithmetic and independent computations."""

from fractions import Fraction

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.state_space.legendre_memory import legendre
from lemmata.subjects.state_space.selection import GatedSumByLinearModels, HoldingByLinearModels, MarkedNoise


def test_scaled_legendre_polynomials():
    points = np.linspace(-1, 1, 9)
    expected = [np.sqrt(2 * n + 1) * np.polynomial.legendre.legval(points, np.eye(7)[n]) for n in range(7)]
    assert np.allclose(legendre(7, jnp.asarray(points)), expected, rtol=1e-13)
    assert np.allclose(legendre(1, jnp.asarray(points)), 1.0)


def test_the_eigenvectors_of_legs_are_coefficients_of_legendre_polynomials():
    """Column k of V is (-1)^(n+k) sqrt(2n+1) C(n, k) C(n+k, k), exactly: A V = -V diag(k+1) without the roots."""
    from math import comb

    states = 12
    v = [[(-1) ** (n + k) * comb(n, k) * comb(n + k, k) if n >= k else 0 for k in range(states)] for n in range(states)]
    for n in range(states):
        for k in range(states):
            # A_nm sqrt(2m+1) / sqrt(2n+1) = -(2m+1) below the diagonal
            total = sum(-(2 * m + 1) * v[m][k] for m in range(n)) - (n + 1) * v[n][k]
            assert total == -(k + 1) * v[n][k]


@pytest.mark.parametrize("marks", [Fraction(1, 10), Fraction(1, 3), Fraction(1, 2)])
def test_the_best_linear_errors_from_their_normal_equations(marks):
    """Inputs are white and marks independent of them, so the normal equations are diagonal: covariances decide."""
    p = marks
    problem = MarkedNoise(jnp.asarray(float(p)), 100, 10)
    # covariance of the last marked input with x_{t-s}: it is that one with probability p (1-p)^s
    explained = sum((p * (1 - p) ** s) ** 2 for s in range(400))
    assert np.isclose(float(HoldingByLinearModels().predict(problem)), float(explained), rtol=1e-12)
    # of a sum over T steps, variance T p: covariance p with each
    steps = 10
    assert np.isclose(float(GatedSumByLinearModels().predict(problem)), float(1 - steps * p**2 / (steps * p)))
