"""Frequencies of a spectral bound by random walks, and functions of its class."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from lemmata.errors import SettingError
from lemmata.functions import (
    GaussianBumps,
    bounded_spectrum,
    draw_frequencies,
    draw_function,
)


def gaussian(omega):
    return jnp.prod(jnp.exp(-(omega**2) / 2) / math.sqrt(2 * math.pi), axis=1)


def gaussian_original(x):
    return jnp.exp(-jnp.sum(x**2, axis=1) / 2)


def cauchy(omega):
    return (1 + jnp.sum(omega**2, axis=1)) ** -2


@pytest.mark.parametrize("d", [1, 3])
def test_walks_draw_what_an_exact_sampler_draws(key, d):
    walked = bounded_spectrum(gaussian, gaussian_original, d, key=key)
    exact = GaussianBumps(d, 1.0)
    assert float(walked.moment()) == pytest.approx(float(exact.moment()), rel=1e-3)
    assert float(walked.offset()) == pytest.approx(1.0)
    first, second = jax.random.split(key)
    ours, theirs = draw_frequencies(first, walked, 4000), draw_frequencies(second, exact, 4000)
    for project in (lambda w: np.linalg.norm(w, axis=1), lambda w: np.asarray(w[:, 0])):
        _, chance = stats.ks_2samp(project(ours), project(theirs))
        assert chance > 1e-3  # pyright: ignore[reportOperatorIssue]
    second_moment = np.mean(np.sum(np.asarray(ours) ** 2, axis=1))
    assert second_moment == pytest.approx(d + 1, abs=5 * math.sqrt(2 * (d + 1) / 4000))


def test_one_step_of_a_walk_is_not_enough(key):
    walked = bounded_spectrum(gaussian, gaussian_original, 1, key=key, steps=1)
    lengths = np.linalg.norm(draw_frequencies(key, walked, 4000), axis=1)
    _, chance = stats.kstest(lengths, stats.chi(2).cdf)
    assert chance < 1e-6


def test_functions_of_a_bounded_spectrum(key):
    original = lambda x: jnp.pi / 2 * (1 + jnp.abs(x[:, 0])) * jnp.exp(-jnp.abs(x[:, 0]))
    functions = bounded_spectrum(cauchy, original, 1, key=key)
    function = draw_function(key, functions)
    x, origin = jnp.linspace(-1, 1, 5)[:, None], jnp.zeros((1, 1))
    omega = draw_frequencies(key, functions, 40_000)
    ratio = function.ratio(omega)
    assert float(jnp.abs(ratio).max()) <= 1 + 1e-12
    phase = jnp.angle(ratio)[:, None]
    waves = jnp.cos(omega @ x.T + phase) - jnp.cos(phase)
    terms = functions.moment() * jnp.abs(ratio)[:, None] * waves / jnp.linalg.norm(omega, axis=1, keepdims=True)
    error = np.abs(terms.mean(axis=0) - (function(x) - function(origin)))
    assert (error <= 5 * np.asarray(terms.std(axis=0)) / 200 + 1e-3).all()


def test_bounded_spectra_that_are_wrong(key):
    laplace = lambda x: jnp.pi * jnp.exp(-jnp.abs(x[:, 0]))
    with pytest.raises(SettingError, match="Barron parameter"):
        bounded_spectrum(lambda w: 1 / (1 + w[:, 0] ** 2), laplace, 1, key=key)
    with pytest.raises(SettingError, match="original"):
        bounded_spectrum(gaussian, lambda x: 2 * gaussian_original(x), 1, key=key)
