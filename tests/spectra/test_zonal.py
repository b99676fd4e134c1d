import math

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.spectra import exponential_sphere_spectrum


def closed_form(beta, dimension, degree):
    order = mpmath.mpf(dimension) / 2 - 1
    value = mpmath.gamma(order + 1) * (2 / mpmath.mpf(beta)) ** order * mpmath.besseli(degree + order, beta)
    return float(mpmath.log(value))


@pytest.mark.parametrize("dimension", [2, 3, 4, 7, 64])
@pytest.mark.parametrize("beta", [1e-3, 0.7, 8.0, 256.0, 1200.0])
def test_logarithms_are_those_of_bessel_functions_with_50_digits(beta, dimension):
    with mpmath.workdps(50):
        expected = [closed_form(beta, dimension, degree) for degree in (0, 1, 5, 30)]
    found = exponential_sphere_spectrum(beta, dimension, 30).log_eigenvalues[jnp.array([0, 1, 5, 30])]
    traced = jax.jit(lambda b: exponential_sphere_spectrum(b, dimension, 30).log_eigenvalues)(beta)
    np.testing.assert_allclose(found, expected, rtol=2e-14, atol=2e-13)
    np.testing.assert_allclose(traced[jnp.array([0, 1, 5, 30])], found, rtol=1e-14, atol=1e-13)


@pytest.mark.parametrize(("dimension", "beta"), [(2, 3.0), (3, 0.5), (5, 20.0), (16, 4.0)])
def test_the_eigenvalues_add_up_to_the_kernel_on_the_diagonal(dimension, beta):
    found = exponential_sphere_spectrum(beta, dimension, 120)
    total = jax.scipy.special.logsumexp(found.log_eigenvalues + found.log_multiplicities)
    assert float(total) == pytest.approx(beta, abs=1e-12)


def test_the_multiplicities_count_harmonic_polynomials():
    assert exponential_sphere_spectrum(1.0, 2, 4).multiplicities.tolist() == [1, 2, 2, 2, 2]
    assert exponential_sphere_spectrum(1.0, 4, 4).multiplicities.tolist() == [1, 4, 9, 16, 25]


def test_effective_dimension_is_that_of_a_gram_matrix_of_equispaced_points_on_the_circle():
    """On n equispaced points of the circle the Gram matrix has the operator's spectrum, folded modulo n."""
    n, beta, ridge = 60, 2.0, 1e-3
    angles = 2 * np.pi * np.arange(n) / n
    gram = np.exp(beta * np.cos(angles[:, None] - angles)) / n
    expected = np.trace(gram @ np.linalg.inv(gram + ridge * np.eye(n)))
    found = exponential_sphere_spectrum(beta, 2, 40).effective_dimension(math.log(ridge))
    assert float(found) == pytest.approx(expected, rel=1e-10)


def test_settings_out_of_bounds_are_refused():
    for beta, dimension, degrees in ((0.0, 3, 4), (math.inf, 3, 4), (1.0, 1, 4), (1.0, 3, -1)):
        with pytest.raises(SettingError):
            exponential_sphere_spectrum(beta, dimension, degrees)
