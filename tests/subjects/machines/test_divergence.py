"""The divergence of Gram matrices by SciPy's densities, its derivatives in closed form, and what is refused."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.errors import NotPositiveDefiniteError, ShapeError
from lemmata.subjects.machines import gaussian_divergence


@pytest.fixture
def pair():
    draw = np.random.default_rng(0).normal(size=(2, 4, 9))
    return [jnp.asarray(z @ z.T / 9) for z in draw]


def test_the_divergence_is_the_mean_of_a_log_ratio_of_densities(pair):
    gram, prior = map(np.asarray, pair)
    # A quadratic has its mean over N(0, G) at the 2n points +-sqrt(n) times the columns of a root of G.
    points = np.sqrt(4) * np.linalg.cholesky(gram).T
    apart = [stats.multivariate_normal(np.zeros(4), cov).logpdf(points) for cov in (gram, prior)]
    assert float(gaussian_divergence(*pair)) == pytest.approx(np.mean(apart[0] - apart[1]), rel=1e-12)


def test_derivatives_of_the_divergence(pair):
    gram, prior = map(np.asarray, pair)
    by_gram, by_prior = jax.jit(jax.grad(gaussian_divergence, argnums=(0, 1)))(*pair)
    inverse = np.linalg.inv(prior)
    assert np.allclose(by_gram, (inverse - np.linalg.inv(gram)) / 2, atol=1e-10)
    assert np.allclose(by_prior, (inverse - inverse @ gram @ inverse) / 2, atol=1e-10)


def test_equal_matrices_have_no_divergence_and_bad_ones_are_refused(pair):
    assert float(gaussian_divergence(pair[0], pair[0])) == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(NotPositiveDefiniteError, match="prior"):
        gaussian_divergence(pair[0], jnp.ones((4, 4)) - 2 * jnp.eye(4))
    with pytest.raises(NotPositiveDefiniteError, match="the Gram matrix"):
        gaussian_divergence(-pair[0], pair[1])
    with pytest.raises(ShapeError, match="the same shape"):
        gaussian_divergence(pair[0], jnp.eye(3))
    with pytest.raises(ShapeError, match="symmetric"):
        gaussian_divergence(pair[0], jnp.eye(4).at[0, 1].set(1.0))
