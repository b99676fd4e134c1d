"""Features, balls and polynomials against naive routes."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize

from lemmata.kernels import SoftmaxTangent, gram
from lemmata.subjects.approximation.softmax_kernel_space import (
    ball_distances,
    kernel_features,
    polynomial_distances,
    tail_kernel,
)

RNG = np.random.default_rng(0)
POINTS = RNG.uniform(-0.6, 0.6, (40, 2))
WEIGHTS = RNG.uniform(0.5, 1.0, 40)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
TARGET = np.abs(POINTS[:, 0]) + POINTS[:, 1]


@pytest.mark.parametrize("sigma", [0.5, 1.0])
def test_features_make_the_kernel(sigma):
    features = kernel_features(POINTS, sigma, 24)
    assert np.allclose(features @ features.T, gram(SoftmaxTangent(sigma), jnp.asarray(POINTS)), atol=1e-13)


def test_the_nearest_function_in_a_ball():
    features = kernel_features(POINTS, 1.0, 3)
    loss = lambda c: float(WEIGHTS @ (features @ c - TARGET) ** 2)
    inside = {"type": "ineq", "fun": lambda c: 0.5 - c @ c}
    found = optimize.minimize(loss, np.zeros(features.shape[1]), constraints=[inside], tol=1e-12)
    assert ball_distances(features, WEIGHTS, TARGET, (0.5,))[0] == pytest.approx(np.sqrt(found.fun), rel=1e-4)


def test_a_large_ball_reaches_the_regression_and_a_small_one_nothing():
    features = kernel_features(POINTS, 1.0, 3)
    root = np.sqrt(WEIGHTS)
    best = np.linalg.lstsq(root[:, None] * features, root * TARGET, rcond=None)[1][0]
    small, large = ball_distances(features, WEIGHTS, TARGET, (1e-20, 1e12))
    assert small == pytest.approx(np.sqrt(WEIGHTS @ TARGET**2))
    assert large == pytest.approx(np.sqrt(best), rel=1e-6)


def test_distances_from_polynomials():
    found = polynomial_distances(POINTS, WEIGHTS, TARGET, 4)
    root = np.sqrt(WEIGHTS)
    for k in (1, 2, 3, 4):
        powers = [(a, b) for a in range(k + 1) for b in range(k + 1 - a)]
        basis = np.stack([POINTS[:, 0] ** a * POINTS[:, 1] ** b for a, b in powers], axis=1)
        fit = np.linalg.lstsq(root[:, None] * basis, root * TARGET, rcond=None)[0]
        assert found[k - 1] == pytest.approx(np.sqrt(WEIGHTS @ (basis @ fit - TARGET) ** 2), rel=1e-9)


def test_what_is_left_of_the_kernel():
    tails = tail_kernel(POINTS, WEIGHTS, 0.7, 6)
    for k in (1, 3, 6):
        left = kernel_features(POINTS, 0.7, 40)[:, k * (k + 3) // 2 :]
        assert tails[k - 1] == pytest.approx(WEIGHTS @ np.sum(left**2, axis=1), rel=1e-12)
