"""Mixtures under noise by brute force, the constants of their scores' norms, and norms of interpolants by series."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from numpy.polynomial import Polynomial
from scipy import stats

from lemmata.errors import SettingError
from lemmata.subjects.diffusion._heated_mixtures import (
    HeatedLaws,
    HeatedMixture,
    fisher_information,
    sampled_heated_mixture,
)
from lemmata.subjects.diffusion.location_families import ShiftedNormal
from lemmata.subjects.diffusion.score_learning import NormalDataPairs
from lemmata.subjects.diffusion.score_smoothness import ScoreSeminormConstants, TwoPoints
from lemmata.subjects.diffusion.score_spaces import EqualWidthMixtures, EqualWidths, interpolation_norm

V = jnp.asarray(0.4)


@pytest.mark.parametrize("d", [1, 3])
def test_the_density_is_the_sum_of_normal_densities(key, d):
    mixture = sampled_heated_mixture(key, 3, d)
    z = jax.random.normal(jax.random.key(1), (d,))
    parts = [
        w * stats.multivariate_normal(m, s + 0.4 * np.eye(d)).pdf(z)
        for w, m, s in zip(mixture.weights, mixture.means, np.asarray(mixture.covariances), strict=True)
    ]
    assert float(mixture.log_density(V, z)) == pytest.approx(np.log(sum(parts)), rel=1e-12)
    np.testing.assert_allclose(mixture.responsibilities(V, z), np.array(parts) / sum(parts), rtol=1e-10)


def test_the_score_is_a_difference_quotient_of_the_density(key):
    mixture, step = sampled_heated_mixture(key, 4, 2), 1e-5
    z = jnp.asarray([0.3, -0.8])
    for i in range(2):
        move = step * jnp.eye(2)[i]
        slope = (mixture.log_density(V, z + move) - mixture.log_density(V, z - move)) / (2 * step)
        assert float(mixture.score(V, z)[i]) == pytest.approx(float(slope), rel=1e-7)


def test_the_posterior_variance_is_that_of_weighted_draws(key):
    mixture = sampled_heated_mixture(key, 3, 2)
    clean, noised = mixture.draw(jax.random.key(2), V, 400_000)
    z = noised[0]
    weights = np.exp(-np.sum((np.asarray(clean) - np.asarray(z)) ** 2, axis=1) / 0.8)
    weights /= weights.sum()
    centred = clean - weights @ clean
    assert float(mixture.posterior_variance(V, z)) == pytest.approx(float(weights @ np.sum(centred**2, 1)), rel=0.02)


def test_draws_have_the_moments_of_the_mixture(key):
    mixture = sampled_heated_mixture(key, 2, 2)
    clean, noised = mixture.draw(jax.random.key(3), V, 400_000)
    mean = mixture.weights @ mixture.means
    inner = np.einsum("k,kij->ij", mixture.weights, mixture.covariances + np.einsum("ki,kj->kij", *[mixture.means] * 2))
    np.testing.assert_allclose(clean.mean(axis=0), mean, atol=0.01)
    np.testing.assert_allclose(np.cov(noised.T), inner - np.outer(mean, mean) + 0.4 * np.eye(2), atol=0.02)


@pytest.mark.parametrize("d", [1, 2])
def test_the_information_of_a_normal_law_is_the_trace_of_its_precision(d):
    covariance = 0.3 * jnp.eye(d) + 0.2
    mixture = HeatedMixture(jnp.ones(1), jnp.full((1, d), 0.7), covariance[None])
    exact = np.trace(np.linalg.inv(np.asarray(covariance) + 0.4 * np.eye(d)))
    assert float(fisher_information(mixture, V)) == pytest.approx(exact, rel=1e-9)


def test_a_grid_holds_all_of_the_law_and_has_at_most_two_dimensions(key):
    law = HeatedLaws(d=2).sample({"components": 3, "d": 2}, key)
    points, cell = law.mixture.grid(law.variances[0])
    mass = cell * jnp.exp(jax.vmap(lambda z: law.mixture.log_density(law.variances[0], z))(points)).sum()
    assert float(mass) == pytest.approx(1, abs=1e-10)
    with pytest.raises(SettingError, match="1 or 2, because"):
        sampled_heated_mixture(key, 2, 3).grid(V)


def test_the_constants_of_the_seminorms_are_integrals_of_polynomials_in_tanh():
    """The k-th derivative of t = tanh is a polynomial p_k(t) with a factor 1 - t²: integrate p_k²/(1 - t²)."""
    slope, derivative, found = Polynomial([1, 0, -1]), Polynomial([0, 1]), []
    for _ in range(3):
        derivative = derivative.deriv() * slope
        integral = (derivative**2 // slope).integ()
        found.append(integral(1.0) - integral(-1.0))
    problem = TwoPoints(jnp.asarray(1.0), jnp.asarray(1.0))
    np.testing.assert_allclose(ScoreSeminormConstants().predict(problem), found, rtol=1e-12)


def test_two_points_have_a_hyperbolic_tangent_for_a_score():
    problem, z = TwoPoints(jnp.asarray(1.3), jnp.asarray(0.4)), jnp.linspace(-3, 3, 41)
    np.testing.assert_allclose(problem.excess(z), 1.3 / 0.4 * np.tanh(1.3 / 0.4 * z), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(problem.excess(z, 2.0), 1.3 / 2 * np.tanh(1.3 / 2 * z), rtol=1e-10, atol=1e-12)


def test_the_interpolation_norm_is_that_of_the_dense_system(key):
    problem = EqualWidthMixtures().sample({"components": 3}, key)
    points = float(problem.half) * (2 * np.arange(4) + 1 - 4) / 4
    kernel = np.exp(-((points[:, None] - points) ** 2) / 2)
    density = np.asarray(problem.weights) * np.exp(
        -((points[:, None] - np.asarray(problem.means)) ** 2) / (2 * float(problem.variance))
    )
    shares = density / density.sum(axis=1, keepdims=True)
    score = (shares @ np.asarray(problem.means) - points) / float(problem.variance)
    assert interpolation_norm(problem, 4) == pytest.approx(score @ np.linalg.solve(kernel, score), rel=1e-9)


@pytest.mark.parametrize("n", [4, 16])
def test_a_linear_score_on_a_short_interval_has_the_norm_of_the_series(n):
    """The squared coefficients (2j + 1)!/(4^j j!²) of z in the basis of the space, as many as n points see."""
    problem = EqualWidths(jnp.ones(1), jnp.zeros(1), jnp.asarray(2.0), jnp.ones(()), jnp.asarray(1e-3))
    series = sum(math.factorial(2 * j + 1) / (4**j * math.factorial(j) ** 2) for j in range(n // 2))
    assert interpolation_norm(problem, n) == pytest.approx(series / 4, rel=1e-4)


def test_a_matched_quantile_is_moved_by_the_shift():
    problem = ShiftedNormal(jnp.asarray(1.0), jnp.asarray(0.5), 4)
    own, other = problem.quantiles(problem.shift, 9), problem.quantiles(jnp.asarray(1.7), 9)
    np.testing.assert_allclose(other - own, 0.7, rtol=1e-12)
    assert float(own[4]) == pytest.approx(1.0)


def test_pairs_that_are_too_few_are_refused():
    with pytest.raises(SettingError, match="n is at least d"):
        NormalDataPairs().settings().resolve({"n": 12, "d": 8})
