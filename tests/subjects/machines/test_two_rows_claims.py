"""Exact posteriors on two rows: the prior's own moments, importance sampling of features, and a Wishart law."""

import numpy as np
import pytest

from lemmata.subjects.machines._two_rows import arc_cosine, posterior, rectified

PRIOR, Y = np.array([[1.0, 0.3], [0.3, 0.7]]), np.array([[1.0, -0.5], [0.4, 1.2]])


def test_without_labels_it_is_the_wishart_law():
    found = posterior(PRIOR, Y, 0.3, 20.0, 0.0)
    assert np.allclose(found.mean, PRIOR[[0, 0, 1], [0, 1, 1]], atol=1e-5)
    spread = found.grams**2 @ found.weights - found.mean**2
    a, b, c = PRIOR[0, 0], PRIOR[0, 1], PRIOR[1, 1]
    assert np.allclose(spread, np.array([2 * a * a, a * c + b * b, 2 * c * c]) / 20, rtol=1e-3)
    assert found.kurtosis(np.array([1.0, -2.0]), 20.0) == pytest.approx(3.0, abs=1e-3)


def test_with_labels_it_is_that_of_weighted_draws_of_features():
    width, copies, noise = 6, 2, 0.5
    f = np.random.default_rng(0).normal(size=(400_000, width, 2)) @ np.linalg.cholesky(PRIOR).T
    grams = np.einsum("dwi,dwj->ijd", f, f)[[0, 0, 1], [0, 1, 1]] / width
    p, q, r = arc_cosine(grams) + np.array([[noise], [0], [noise]])
    det, s = p * r - q * q, Y @ Y.T
    logs = -copies / 2 * (2 * np.log(det) + (r * s[0, 0] - 2 * q * s[0, 1] + p * s[1, 1]) / det)
    weights = np.exp(logs - logs.max())
    weights /= weights.sum()
    found, along = posterior(PRIOR, Y, noise, float(width), float(copies)), np.array([1.0, 0.5])
    assert np.allclose(found.mean, grams @ weights, atol=0.01)
    u = f[:, 0] @ along
    assert found.kurtosis(along, float(width)) == pytest.approx(u**4 @ weights / (u**2 @ weights) ** 2, abs=0.05)


def test_relu_covariances_of_all_pairs():
    found = rectified(PRIOR)
    draws = np.random.default_rng(0).multivariate_normal(np.zeros(2), PRIOR, 400_000).clip(0)
    assert np.allclose(found, 2 * draws.T @ draws / len(draws), atol=0.01)
