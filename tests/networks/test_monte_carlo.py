"""Averages of kernels over initialisations, their standard errors, and the extrapolation to infinite width."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.architectures import TangentKernel, relu_network
from lemmata.kernels import gram
from lemmata.networks import KernelEstimate, infinite_width, monte_carlo_kernel

EPS = np.finfo(np.float64).eps
RANDOM = np.random.default_rng(5)


def close(found, expected):
    """Rounding of sums of some hundred products, relative to the largest entry."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=1000 * EPS * np.abs(expected).max())


POINTS = jnp.asarray([[1.0, 0.2, 0.0], [-0.3, 1.0, 0.5]])
WIDTHS, DRAWS, KEYS = (4, 8, 16), 1000, 24


@pytest.fixture(scope="module")
def measured():
    """For each width the estimates under KEYS independent keys."""

    def of(width):
        network = relu_network(2, width)
        init = lambda key: network.init(key, 3)[0]
        one = lambda key: monte_carlo_kernel(init, network, POINTS, key=key, draws=DRAWS)
        return jax.vmap(one)(jax.random.split(jax.random.key(width), KEYS))

    return [of(width) for width in WIDTHS]


def test_extrapolated_kernels_cover_the_limit(measured):
    limit = np.asarray(gram(TangentKernel(relu_network(2)), POINTS))
    found = jax.vmap(lambda *some: infinite_width(some, WIDTHS))(*measured)
    z = np.asarray((found.mean - limit) / found.standard_error)[:, *np.triu_indices(2)]
    # Three entries share their draws: their counts are at worst equal, so each is judged as a binomial of KEYS alone.
    level = 1e-3 / 3
    covered = (np.abs(z) < stats.norm.ppf(0.9)).sum(axis=0)
    assert (covered >= stats.binom.ppf(level / 2, KEYS, 0.8)).all()
    assert (covered <= stats.binom.isf(level / 2, KEYS, 0.8)).all()
    # Where the largest width's bias stands out of its error, the extrapolation is nearer.
    pooled = lambda one: (np.asarray(one.mean).mean(0), np.sqrt((np.asarray(one.standard_error) ** 2).sum(0)) / KEYS)
    (last, last_error), (limit_found, _) = pooled(measured[-1]), pooled(found)
    resolved = np.abs(last - limit) > 4 * last_error
    assert resolved[0, 1]
    assert (np.abs(limit_found - limit) < np.abs(last - limit))[resolved].all()


def test_standard_errors_are_those_of_the_mean(measured):
    # Over keys the variance of a mean against the square of its stated error: chi² with KEYS - 1 degrees, to the
    # excess of the draws' kurtosis, which at DRAWS draws is of order 1 / DRAWS.
    for one in measured:
        ratio = (KEYS - 1) * np.asarray(one.mean).var(axis=0, ddof=1) / (np.asarray(one.standard_error) ** 2).mean(0)
        assert (stats.chi2.cdf(ratio, KEYS - 1) > 1e-4).all()
        assert (stats.chi2.sf(ratio, KEYS - 1) > 1e-4).all()


def test_extrapolation_is_weighted_least_squares():
    widths = [10, 20, 80]
    means, errors = RANDOM.normal(size=(3, 2, 2)), RANDOM.uniform(0.1, 1.0, size=(3, 2, 2))
    estimates = [KernelEstimate(*map(jnp.asarray, pair)) for pair in zip(means, errors, strict=True)]
    found = infinite_width(estimates, widths)
    design = np.stack([np.ones(3), 1 / np.array(widths)], axis=1)
    for entry in np.ndindex(2, 2):
        weights = np.diag(errors[:, *entry] ** -2)
        covariance = np.linalg.inv(design.T @ weights @ design)
        expected = covariance @ design.T @ weights @ means[:, *entry]
        np.testing.assert_allclose(found.mean[entry], expected[0], rtol=1000 * EPS)
        np.testing.assert_allclose(found.standard_error[entry], covariance[0, 0] ** 0.5, rtol=1000 * EPS)
    exact = [KernelEstimate(3.0 + jnp.ones((1, 1)) / w, jnp.zeros((1, 1))) for w in widths]
    np.testing.assert_allclose(infinite_width(exact, widths).mean, 3.0, rtol=100 * EPS)


def test_averages_of_a_known_law():
    init = lambda key: jax.random.normal(key, (2,))
    f = lambda w, x: w @ x
    found = monte_carlo_kernel(init, f, jnp.eye(2), key=jax.random.key(1), draws=50, nngp=True)
    drawn = np.stack([np.outer(w, w) for w in map(init, jax.random.split(jax.random.key(1), 50))])
    close(found.mean, drawn.mean(axis=0))
    close(found.standard_error, drawn.std(axis=0, ddof=1) / 50**0.5)
    fixed = monte_carlo_kernel(init, f, jnp.eye(2), key=jax.random.key(1), draws=3)
    close(fixed.mean, np.eye(2))
    np.testing.assert_array_equal(fixed.standard_error, 0.0)
