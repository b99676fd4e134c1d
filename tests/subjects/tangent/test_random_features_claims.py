"""Random Fourier features against scikit-learn's sampler and sampled moments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.kernel_approximation import RBFSampler

from lemmata.engine.claims import examine
from lemmata.engine.problems.regression import Regression
from lemmata.kernels import RBF, Laplace
from lemmata.subjects.tangent import random_features as section
from lemmata.subjects.tangent.random_features import FeaturePoints


def regression(kernel, key):
    x = jax.random.normal(key, (80, 3))
    return Regression(x, x[:, :1], x, x[:, :1], kernel, jnp.asarray(0.0), jnp.asarray(jnp.nan))


@pytest.mark.parametrize("distance", [0.0, 0.7, 2.0, 20.0])
def test_variance_is_that_of_sklearns_features(distance):
    lengthscale, count = 1.3, 200_000
    x = np.array([[0.4, -0.2], [0.4 + distance, -0.2]])
    sampler = RBFSampler(gamma=1 / (2 * lengthscale**2), n_components=count, random_state=1)
    features = sampler.fit_transform(x) * np.sqrt(count)
    products = features[0] * features[1]
    fourth = np.mean((products - products.mean()) ** 4)
    error = np.sqrt((fourth - products.var() ** 2) / count)
    expected = float(section.product_variance(jnp.asarray(distance**2), lengthscale))
    assert abs(products.var() - expected) <= 4 * error


def test_features_average_to_the_kernel(key):
    x = jax.random.normal(key, (6, 3))
    count = 40_000
    features = section.fourier_features(x, 0.9, count, key)
    distances = np.sum((np.asarray(x)[:, None] - np.asarray(x)[None]) ** 2, axis=2)
    error = np.sqrt(np.asarray(section.product_variance(jnp.asarray(distances), 0.9)) / count)
    assert np.all(np.abs(features @ features.T / count - np.exp(-distances / 1.62)) <= 5 * error)


def test_lengthscale_is_the_kernels_or_the_median_distance(key):
    posed = section.RandomFeaturesRate.population.pose(regression(RBF(lengthscale=2.5), key))
    assert float(posed.lengthscale) == 2.5
    assert posed.x.shape == (64, 3)
    other = section.RandomFeaturesRate.population.pose(regression(Laplace(), key))
    x = np.asarray(other.x)
    distances = [np.linalg.norm(x[i] - x[j]) for i in range(64) for j in range(i)]
    assert float(other.lengthscale) == pytest.approx(np.median(distances), rel=1e-12)
    assert section.RandomFeaturesRate.population.pose(3) is None


def test_examination_of_a_regression(key):
    found = examine(section.RandomFeaturesVariance(), regression(RBF(), key), key)
    assert found.applies
    assert found.ratio == pytest.approx(1, abs=0.2)
    rate = examine(section.RandomFeaturesRate(), regression(RBF(), key), key)
    assert rate.applies
    assert rate.measured < -0.3


def test_points_that_are_not_finite_are_found(key):
    problem = FeaturePoints(jnp.array([[1.0], [jnp.nan]]), jnp.asarray(0.0))
    held = [bool(h.holds) for h in section.RandomFeaturesRate.population.hypotheses(problem)]
    assert held == [False, False]
