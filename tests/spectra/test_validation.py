import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import PrecisionError
from lemmata.spectra import gcv, leave_one_out, spectrum

EPS = np.finfo(float).eps


def problem(seed, n, d):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, d))
    return jnp.asarray(z @ z.T), jnp.asarray(z @ rng.normal(size=(d, 2)) + rng.normal(size=(n, 2)))


def refits(K, y, ridge):
    """Mean squared error of n refits, each without one row, by least squares."""
    K, y = np.asarray(K), np.asarray(y)
    total = 0.0
    for i in range(len(K)):
        others = np.arange(len(K)) != i
        alpha = np.linalg.lstsq(K[np.ix_(others, others)] + ridge * np.eye(len(K) - 1), y[others], rcond=1e-12)[0]
        total += np.sum((y[i] - K[i, others] @ alpha) ** 2)
    return total / len(K)


@pytest.mark.parametrize(("d", "ridge"), [(40, 0.5), (40, 1e-3), (8, 0.1), (40, 0.0), (8, 0.0)])
def test_leave_one_out_in_closed_form_is_n_refits(d, ridge):
    K, y = problem(0, 25, d)
    found = spectrum(K)
    smallest = float(jnp.min(jnp.where(found.resolved > 0, found.resolved, jnp.inf)))
    condition = float(found.eigenvalues[0]) / (smallest + ridge)
    bound = 25**2 * EPS * condition
    np.testing.assert_allclose(leave_one_out(found, y, ridge), refits(K, y, ridge), rtol=bound)


def test_a_row_that_alone_spans_a_direction_is_left_out_right_without_ridge():
    K = jnp.asarray(np.diag([0.0, 0.0, 2.0]) + np.outer([1, 1, 0], [1, 1, 0]))
    y = jnp.array([1.0, 3.0, 5.0])
    # rows 0 and 1 predict each other, row 2 is predicted 0
    np.testing.assert_allclose(leave_one_out(spectrum(K), y, 0.0), (4 + 4 + 25) / 3, rtol=100 * EPS)


def test_gcv_is_the_printed_formula():
    K, y = problem(1, 30, 50)
    inverse = np.linalg.inv(np.asarray(K) + 0.7 * np.eye(30))
    expected = 30 * np.sum((inverse @ y) ** 2) / np.trace(inverse) ** 2
    np.testing.assert_allclose(gcv(spectrum(K), y, 0.7), expected, rtol=30 * EPS * float(jnp.linalg.cond(K)))


def test_gcv_without_ridge_is_the_limit():
    K, y = problem(2, 30, 9)
    np.testing.assert_allclose(gcv(spectrum(K), y, 0.0), gcv(spectrum(K), y, 1e-9), rtol=1e-6)


@pytest.mark.parametrize("estimate", [gcv, leave_one_out])
def test_squares_that_overflow_or_vanish_are_refused(estimate):
    K, y = problem(3, 20, 30)
    system = spectrum(K)
    one = float(estimate(system, y, 0.7))
    for unit in (2.0**-500, 2.0**500):
        assert float(estimate(system, unit * y, 0.7)) == one * unit**2
        assert float(jax.jit(estimate)(system, unit * y, 0.7)) == pytest.approx(one * unit**2, rel=1e-12, abs=0)
    for unit in (1e-200, 1e200):
        with pytest.raises(PrecisionError, match=r"squared error; found about 1e-?[34]"):
            estimate(system, unit * y, 0.7)
    assert float(estimate(system, 0 * y, 0.7)) == 0.0
