"""Modes, flows and risks of the section on classifiers, each by a second route."""

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.stats import binom

from lemmata.architectures import TangentKernel, relu_network
from lemmata.core import key_from
from lemmata.kernels import gram
from lemmata.solvers import gradient_flow
from lemmata.spectra import spectrum
from lemmata.subjects.regression._labelled_modes import Bumps, LabelledModes, interval_modes, labels_of
from lemmata.subjects.regression.smoothness import interval_spectrum
from lemmata.subjects.regression.sobolev_classifiers import (
    LeastExcessOfBumps,
    circle_eigenvalues,
    circle_target,
    excess_risk,
    flow_fit,
    stopping_time,
)

RNG = np.random.default_rng(1)


def target(s=0.6, n=300):
    return LabelledModes(RNG.choice([-1.0, 1.0], size=4096), s, n)


def test_the_modes_of_the_interval_are_those_of_the_kernel():
    n = 40
    x, (values, vectors) = np.arange(1, n + 1) / (n + 0.5), interval_modes(n)
    matrix = np.minimum(x[:, None], x) / n
    np.testing.assert_allclose(vectors * values @ vectors.T, matrix, atol=1e-14)
    np.testing.assert_allclose(vectors.T @ vectors, np.eye(n), atol=1e-13)
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1], rtol=1e-10)
    # of the interval itself: ((i - 1/2) pi)^-2
    np.testing.assert_allclose(interval_modes(2000)[0][:4], ((np.arange(4) + 0.5) * np.pi) ** -2, rtol=2e-3)


def test_the_cosine_has_the_coefficients_of_smoothness_one_half():
    """The coefficients of cos 2 pi x are sqrt(2) w / (w² - 4 pi²), w = (i - 1/2) pi: squares fall like i^-2."""
    n = 2000
    x, w = np.arange(1, n + 1) / (n + 0.5), (np.arange(20) + 0.5) * np.pi
    found = interval_modes(n)[1][:, :20].T @ np.cos(2 * np.pi * x) / np.sqrt(n)
    np.testing.assert_allclose(found, np.sqrt(2) * w / (w**2 - 4 * np.pi**2), atol=2e-3)


def test_the_flow_is_the_solvers():
    n = 30
    x, y = np.arange(1, n + 1) / (n + 0.5), labels_of(np.zeros((1, n)), RNG)
    system = spectrum(jnp.asarray(np.minimum(x[:, None], x)))
    time = stopping_time(float(n), 0.6)
    path = gradient_flow(system, jnp.asarray(y[0]), [time / n])  # its eigenvalues are n times those of K/n
    np.testing.assert_allclose(flow_fit(y, time)[0], path.train[0], rtol=1e-9, atol=1e-12)


def test_the_excess_risk_is_the_difference_of_two_risks():
    f, fit = RNG.uniform(-1, 1, 500), RNG.normal(size=(1, 500))
    risk = lambda sign: np.mean(np.where(sign > 0, (1 - f) / 2, (1 + f) / 2))
    np.testing.assert_allclose(excess_risk(f, fit), risk(np.sign(fit[0])) - risk(np.sign(f)), rtol=1e-12)


def test_targets_have_the_power_law_and_are_no_probabilities_beyond_one():
    problem = target()
    f = problem.at_size(1024)
    assert abs(np.abs(f).max() - 0.9) < 1e-12
    coefficients = np.asarray(interval_spectrum(1024).eigenvectors).T @ f
    ratio = np.abs(coefficients[:50] / coefficients[0]) * np.arange(1, 51) ** 1.1
    np.testing.assert_allclose(ratio, 1.0, rtol=1e-9)
    assert abs(np.abs(circle_target(problem, 1024)).max() - 0.9) < 1e-12


def test_flat_bumps_would_be_wrong_as_often_as_a_binomial_says():
    """A bump of order r -> 0 is flat: the best classifier is the majority, and its error a binomial tail."""

    class Flat(Bumps):
        def shape(self, t):
            return np.ones_like(t)

    flat, n = Flat(np.zeros(2), 1), 512
    rows, height = round(n ** (2 / 3)), flat.height(n)
    tail = binom.cdf(np.ceil(rows / 2) - 1, rows, (1 + height) / 2)
    found = [float(LeastExcessOfBumps().measure_at(flat, key_from(seed, "bumps"), float(n))) for seed in range(20)]
    assert abs(np.mean(found) / height - tail) < 0.6 * binom.pmf(rows // 2, rows, 0.5) + 0.02


@pytest.mark.parametrize("depth", [1, 2])
def test_circle_eigenvalues_are_those_of_the_gram_matrix(depth):
    n = 24
    angle = 2 * np.pi * np.arange(n) / n
    points = jnp.asarray(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    matrix = gram(TangentKernel(relu_network(depth=depth, bias_std=1.0)), points) / n
    np.testing.assert_allclose(np.sort(circle_eigenvalues(n, depth)), np.linalg.eigvalsh(matrix), atol=1e-10)


def test_without_biases_one_hidden_layer_does_not_see_odd_frequencies():
    n = 256
    angle = 2 * np.pi * np.arange(n) / n
    points = jnp.asarray(np.stack([np.cos(angle), np.sin(angle)], axis=1))
    row = TangentKernel(relu_network(depth=1, bias_std=0.0)).cross(points[:1], points)[0]
    values = np.fft.fft(np.asarray(row)).real / n
    assert np.all(np.abs(values[3:20:2]) < 1e-4 * values[2])
    assert np.all(values[2:20:2] > 1e-3 * values[2])
