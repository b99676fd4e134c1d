"""The Gram map of ReLU features by quadrature, and its derivatives by differences and on the diagonal."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate
from scipy.stats import norm

from lemmata.errors import DataError
from lemmata.subjects.machines import rectify


@pytest.mark.parametrize(("cross", "left", "right"), [(0.7, 1.0, 2.0), (-0.9, 1.0, 1.0), (0.999, 1.0, 1.0)])
def test_rectify_is_the_moment_of_relus(cross, left, right):
    # v given u is normal, and E[max(v, 0)] for N(m, s²) is m Phi(m/s) + s phi(m/s)
    rest = np.sqrt(right - cross**2 / left)
    after = lambda m: m * norm.cdf(m / rest) + rest * norm.pdf(m / rest)
    value = integrate.quad(lambda u: u * after(cross * u / left) * norm.pdf(u, scale=left**0.5), 0, 40, epsabs=1e-13)[0]
    assert float(rectify(jnp.asarray(cross), left, right)) == pytest.approx(2 * value, abs=1e-9)


def test_rectify_broadcasts_and_keeps_variances():
    x = np.random.default_rng(0).normal(size=(5, 3))
    gram = jnp.asarray(x @ x.T)
    own = jnp.diagonal(gram)
    found = rectify(gram, own[:, None], own[None, :])
    assert found.shape == (5, 5)
    assert np.allclose(jnp.diagonal(found), own, rtol=1e-15)
    assert np.linalg.eigvalsh(found)[0] > 0


@pytest.mark.parametrize(
    ("cross", "left", "right", "word"),
    [
        (math.nan, 1.0, 1.0, "cross; found 1 entries"),
        (0.0, math.inf, 1.0, "left; found 1 entries"),
        (0.0, -1e-3, 1.0, r"left; found the variance -0\.001"),
        (0.0, 1.0, -1.0, "right; found the variance -1"),
        (-1.1, 1.0, 1.0, r"cross; found a size that is 0\.1 above sqrt"),
        (2.0, 1.0, 3.0, r"cross; found a size that is 0\.268 above sqrt"),
    ],
)
def test_what_are_no_covariances_is_refused_and_rounding_is_not(cross, left, right, word):
    with pytest.raises(DataError, match=word):
        rectify(jnp.asarray(cross), jnp.asarray(left), jnp.asarray(right))
    assert np.isfinite(rectify(jnp.asarray(-1.0 - 1e-12), 1.0, 1.0))
    assert rectify(jnp.asarray(0.0), -1e-12, 1.0) == pytest.approx(0.0, abs=1e-6)
    assert rectify(jnp.zeros((3, 0)), jnp.ones((3, 1)), jnp.ones((1, 0))).shape == (3, 0)


def test_derivatives_by_differences_and_at_the_diagonal():
    point, step = np.array([0.5, 1.0, 2.0]), 1e-6
    found = jax.grad(lambda p: rectify(*p))(jnp.asarray(point))
    value = lambda p: float(rectify(*jnp.asarray(p)))
    ends = [(value(point + step * e) - value(point - step * e)) / (2 * step) for e in np.eye(3)]
    assert np.allclose(found, ends, atol=1e-8)
    # equal inputs: the derivative by the covariance is E[phi' phi'] = 1/2, twice, and by a variance 0
    assert np.allclose(jax.grad(lambda p: rectify(*p))(jnp.asarray([3.0, 3.0, 3.0])), [1.0, 0.0, 0.0], atol=1e-7)
    assert np.allclose(jax.grad(lambda p: rectify(*p))(jnp.asarray([-3.0, 3.0, 3.0])), 0.0, atol=1e-7)
    beyond = jnp.asarray([1.0 + 1e-9, 1.0, 1.0])  # rounding may leave the range of a correlation
    assert np.all(np.isfinite(jax.jacfwd(jax.grad(lambda p: rectify(*p)))(beyond)))
    assert np.all(np.isfinite(jax.grad(lambda p: rectify(*p))(jnp.zeros(3))))
