"""Gaussian-process regression against scikit-learn, conditional normal laws and finite differences."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF as PeerRBF
from sklearn.gaussian_process.kernels import WhiteKernel

from lemmata.architectures import Dense, Erf, NNGPKernel, Serial
from lemmata.errors import DataError, PrecisionError, SettingError, ShapeError
from lemmata.kernels import RBF, gram
from lemmata.solvers import kernel_ridge, log_evidence, posterior

EPS = np.finfo(float).eps


def problem(n=25, t=7, d=3, seed=0):
    rng = np.random.default_rng(seed)
    x, new = rng.normal(size=(n, d)), rng.normal(size=(t, d))
    return x, new, np.sin(x[:, 0]) + 0.1 * rng.normal(size=n)


def test_agrees_with_scikit_learn():
    x, new, y = problem()
    peer = GaussianProcessRegressor(PeerRBF(1.5) + WhiteKernel(0.2), optimizer=None, alpha=0.0).fit(x, y)
    mean, covariance = peer.predict(new, return_cov=True)
    kernel, points, others = RBF(1.5), jnp.asarray(x), jnp.asarray(new)
    K, cross = gram(kernel, points), gram(kernel, others, points)
    found = posterior(kernel_ridge(K, jnp.asarray(y), 0.2), cross, gram(kernel, others))
    tolerance = 32 * EPS * len(x) / 0.2 * 4
    np.testing.assert_allclose(found.mean, mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.covariance + 0.2 * np.eye(7), covariance, rtol=0, atol=tolerance)
    variances = posterior(kernel_ridge(K, jnp.asarray(y), 0.2), cross, kernel.diagonal(others)).covariance
    np.testing.assert_allclose(variances, np.diag(found.covariance), rtol=0, atol=tolerance)
    evidence = log_evidence(K, jnp.asarray(y), 0.2)
    np.testing.assert_allclose(evidence, peer.log_marginal_likelihood_value_, rtol=tolerance)


def test_the_posterior_is_the_conditional_law_of_draws():
    x, new, y = problem(n=4, t=2)
    points = jnp.asarray(np.concatenate([x, new]))
    whole = np.asarray(gram(RBF(1.0), points)) + np.diag([0.3] * 4 + [0.0] * 2)
    precision = np.linalg.inv(whole)[4:, 4:]
    K = gram(RBF(1.0), points)
    found = posterior(kernel_ridge(K[:4, :4], jnp.asarray(y), 0.3), K[4:, :4], K[4:, 4:])
    np.testing.assert_allclose(found.covariance, np.linalg.inv(precision), atol=1e3 * EPS)


def test_evidence_has_the_gradient_of_finite_differences():
    x, _, y = problem()
    points, values = jnp.asarray(x), jnp.stack([jnp.asarray(y), jnp.asarray(y) ** 2], axis=1)
    evidence = lambda length, noise: log_evidence(gram(RBF(length), points), values, noise)
    for argument in (0, 1):
        at, step = [1.3, 0.4], 1e-5
        ends = []
        for sign in (1, -1):
            moved = list(at)
            moved[argument] += sign * step
            ends.append(float(evidence(*moved)))
        slope = float(jax.grad(evidence, argument)(*at))
        # The difference has an error of order step² in the slope and eps/step from rounding.
        assert slope == pytest.approx((ends[0] - ends[1]) / (2 * step), rel=1e-6)
    apart = log_evidence(gram(RBF(1.3), points), values[:, 0], 0.4) + log_evidence(
        gram(RBF(1.3), points), values[:, 1], 0.4
    )
    assert float(evidence(1.3, 0.4)) == pytest.approx(float(apart), rel=1e-13)


def test_evidence_has_a_gradient_in_the_parameters_of_a_network():
    x, _, y = problem(n=12)
    points, values = jnp.asarray(x), jnp.asarray(y)

    def evidence(scales):
        network = Serial([Dense(1, scales[0], scales[1]), Erf(), Dense(1, scales[2], 0.3)])
        return log_evidence(gram(NNGPKernel(network), points), values, 0.1)

    scales, step = jnp.array([1.3, 0.4, 1.1]), 1e-5
    slopes = jax.grad(evidence)(scales)
    for i in range(3):
        ahead, behind = (float(evidence(scales.at[i].add(sign * step))) for sign in (1, -1))
        assert float(slopes[i]) == pytest.approx((ahead - behind) / (2 * step), rel=1e-6)


def test_without_noise_the_training_points_are_certain():
    x, _, y = problem(n=8)
    K = gram(RBF(0.7), jnp.asarray(x))
    found = posterior(kernel_ridge(K, jnp.asarray(y), 0.0), K, jnp.diagonal(K))
    condition = float(jnp.linalg.cond(K))
    np.testing.assert_allclose(found.mean, y, atol=32 * EPS * condition * 8)
    assert 0 <= float(found.covariance.min()) <= float(found.covariance.max()) <= 32 * EPS * condition * 8


def test_no_variance_is_negative():
    x = jnp.asarray(np.random.default_rng(2).normal(size=(40, 3)))
    K = gram(RBF(3.0), x)
    solution = kernel_ridge(K, x[:, 0], 0.0)
    assert float(jnp.min(jnp.diagonal(posterior(solution, K, K).covariance))) >= 0
    assert float(jnp.min(posterior(solution, K, jnp.diagonal(K)).covariance)) >= 0


def test_wrong_arguments_are_refused():
    K, y = jnp.eye(3), jnp.ones(3)
    solution = kernel_ridge(K, y, 0.1)
    with pytest.raises(ShapeError, match="other points"):
        posterior(solution, jnp.ones((2, 4)), jnp.ones(2))
    with pytest.raises(ShapeError, match="other points"):
        posterior(solution, jnp.ones((2, 3)), jnp.ones(3))
    with pytest.raises(ShapeError, match="other points"):
        posterior(solution, jnp.ones((2, 3)), jnp.ones((2, 1)))
    with jax.enable_x64(False), pytest.raises(PrecisionError):
        log_evidence(K, y, 0.1)
    with pytest.raises(DataError, match="cross matrix"):
        posterior(solution, jnp.full((2, 3), jnp.nan), jnp.ones(2))
    with pytest.raises(DataError, match="prior"):
        posterior(solution, jnp.ones((2, 3)), jnp.array([1.0, jnp.inf]))
    with pytest.raises(ShapeError, match="targets; found 2 rows"):
        log_evidence(K, y[:2], 0.1)
    with pytest.raises(DataError, match="targets"):
        log_evidence(K, y.at[0].set(jnp.nan), 0.1)
    with pytest.raises(SettingError, match=r"noise; found -0\.1"):
        log_evidence(K, y, -0.1)
    with pytest.raises(ShapeError, match="symmetric"):
        log_evidence(K.at[0, 1].set(0.5), y, 0.1)
