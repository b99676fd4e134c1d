"""A time for every row: the exponential itself, equal times, derivatives by differences, what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.linalg

from lemmata.errors import DataError, SettingError, ShapeError
from lemmata.solvers import gradient_flow, row_time_coefficients
from lemmata.spectra import spectrum


def problem(n=7, rank=4, outputs=2):
    rng = np.random.default_rng(1)
    factors = rng.normal(size=(n, rank))
    return factors @ factors.T, rng.uniform(0, 2, n), rng.normal(size=(n, outputs))


def test_it_is_the_exponential_of_a_matrix_that_is_not_symmetric():
    K, times, y = problem()
    times[0] = 0.0
    found = K @ row_time_coefficients(jnp.asarray(K), jnp.asarray(times), jnp.asarray(y))
    assert np.allclose(found, y - scipy.linalg.expm(-K * times) @ y, atol=1e-13)


def test_equal_times_are_the_flow_elsewhere_too():
    K, _, y = problem(rank=9)
    cross = jnp.asarray(np.random.default_rng(2).normal(size=(3, 7)))
    found = cross @ row_time_coefficients(jnp.asarray(K), jnp.full(7, 0.7), jnp.asarray(y))
    path = gradient_flow(spectrum(jnp.asarray(K)), jnp.asarray(y), 0.7, cross)
    assert np.allclose(found, path.test[0], atol=1e-12)


@pytest.mark.parametrize("matrix", ["random", "identity"])
def test_derivatives_are_those_of_differences_where_eigenvalues_are_equal_too(matrix):
    K, times, y = problem()
    K = K if matrix == "random" else np.eye(7)
    times = np.full(7, 0.8) if matrix == "identity" else times
    value = lambda t: jnp.sum(jnp.sin(row_time_coefficients(jnp.asarray(K), t, jnp.asarray(y))))
    slope = jax.grad(value)(jnp.asarray(times))
    steps = 1e-5 * np.eye(7)
    differences = [(float(value(jnp.asarray(times + e))) - float(value(jnp.asarray(times - e)))) / 2e-5 for e in steps]
    assert np.allclose(slope, differences, atol=1e-8)
    assert np.allclose(slope, jax.jacfwd(value)(jnp.asarray(times)), atol=1e-13)


def test_long_times_interpolate_and_singular_kernels_do_no_harm():
    K, _, y = problem()
    found = K @ row_time_coefficients(jnp.asarray(K), jnp.full(7, 1e6), jnp.asarray(y))
    values, vectors = np.linalg.eigh(K)
    seen = vectors[:, values > 1e-9]
    assert np.allclose(found, seen @ (seen.T @ y), atol=1e-6)


@pytest.mark.parametrize(
    ("times", "y", "error"),
    [(jnp.array([1.0, -1.0]), jnp.ones(2), SettingError), (jnp.array([1.0, jnp.inf]), jnp.ones(2), SettingError),
     (jnp.ones(3), jnp.ones(2), ShapeError), (jnp.ones(2), jnp.ones(3), ShapeError),
     (jnp.ones(2), jnp.array([1.0, jnp.nan]), DataError)],
)  # fmt: skip
def test_what_is_refused(times, y, error):
    with pytest.raises(error):
        row_time_coefficients(jnp.eye(2), times, y)
    with pytest.raises(ShapeError, match="square"):
        row_time_coefficients(jnp.ones((2, 3)), jnp.ones(2), jnp.ones(2))
