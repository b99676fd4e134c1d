"""The first moment of a spectrum by numbers, against closed forms and repetitions."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError, ShapeError
from lemmata.functions import (
    gaussian_moment,
    moment_from_grid,
    moment_from_samples,
    spectral_moment,
)

RNG = np.random.default_rng(0)


def gaussian(omega):
    return jnp.prod(jnp.exp(-(omega**2) / 2) / math.sqrt(2 * math.pi), axis=1)


def cauchy(omega):
    return (1 + jnp.sum(omega**2, axis=1)) ** -2


@pytest.mark.parametrize("d", [1, 2, 5])
def test_moment_of_a_gaussian_transform(key, d):
    found = spectral_moment(gaussian, d, key)
    assert abs(found.value - gaussian_moment(d)) <= 5 * found.standard_error + found.truncation + 1e-4
    lengths = np.linalg.norm(RNG.standard_normal((200_000, d + 1)), axis=1)
    assert found.median == pytest.approx(np.median(lengths), rel=0.02), "|omega| times the density is chi with d + 1"


def test_moment_with_a_polynomial_tail(key):
    # the integral of |w| / (1 + w²)² is 1
    found = spectral_moment(cauchy, 1, key)
    assert abs(found.value - 1) <= 5 * found.standard_error + found.truncation + 1e-6
    slow = spectral_moment(lambda w: (1 + jnp.sum(w**2, axis=1)) ** -1.25, 1, key)
    assert abs(slow.value + slow.truncation - 4) < 0.01
    assert slow.truncation > 1e-4, "the tail falls like the root of the frequency"


def test_the_standard_error_is_that_of_repetitions():
    anisotropic = lambda omega: jnp.exp(-(omega[:, 0] ** 2) / 2 - 50 * jnp.sum(omega[:, 1:] ** 2, axis=1))
    found = [spectral_moment(anisotropic, 3, jax.random.key(k), number=4096) for k in range(40)]
    spread = np.std([f.value for f in found], ddof=1)
    assert 0.6 < np.mean([f.standard_error for f in found]) / spread < 1.7


@pytest.mark.parametrize(
    "transform",
    [lambda w: jnp.sin(w[:, 0]) / (jnp.pi * w[:, 0]), lambda w: (jnp.sin(w[:, 0] / 2) / w[:, 0]) ** 2],
    ids=["a jump", "a kink"],
)
def test_an_infinite_moment_is_an_error(key, transform):
    with pytest.raises(SettingError, match=r"Barron parameter.*finite"):
        spectral_moment(transform, 1, key)


def test_a_transform_that_is_not_finite_is_an_error(key):
    with pytest.raises(SettingError, match="not finite"):
        spectral_moment(lambda w: w[:, 0] * jnp.inf, 1, key)


def grid(function, side, m, d):
    axis = -side + 2 * side / m * np.arange(m)
    return function(np.stack(np.meshgrid(*d * [axis], indexing="ij"), axis=-1))


def bump(scale):
    return lambda x: np.exp(-(scale**2) * np.sum(x**2, axis=-1) / 2)


@pytest.mark.parametrize("d", [1, 2])
def test_moment_from_a_grid(d):
    errors = []
    for side, m in ((2.0, 128), (4.0, 256)):
        found = moment_from_grid(grid(bump(6.0), side, m, d), side)
        errors.append(abs(found.value / gaussian_moment(d, 6.0) - 1))
        assert found.truncation < 1e-3 * found.value
    assert errors[1] < errors[0] / 3 < 0.01, "sums over frequencies pi/side apart near the integral"


def test_a_coarse_grid_says_so():
    exact = moment_from_grid(grid(bump(16.0), 2.0, 1024, 1), 2.0).value
    coarse = moment_from_grid(grid(bump(16.0), 2.0, 64, 1), 2.0)
    assert coarse.truncation > 0.01 * exact
    assert abs(coarse.value - exact) <= coarse.truncation
    with pytest.raises(SettingError, match="last two shells of the grid"):
        moment_from_grid(grid(bump(32.0), 2.0, 64, 1), 2.0)


@pytest.mark.parametrize("d", [1, 2])
def test_an_indicator_on_a_grid_is_an_error(d):
    with pytest.raises(SettingError, match="Barron parameter"):
        moment_from_grid(grid(lambda x: (x[..., 0] > 0.3).astype(float), 2.0, 256, d), 2.0)


@pytest.mark.parametrize("shape", [(16, 32), (17,), (8,)])
def test_grids_of_other_shapes(shape):
    with pytest.raises(ShapeError, match="values"):
        moment_from_grid(np.zeros(shape), 2.0)


def test_a_grid_needs_a_margin():
    with pytest.raises(SettingError, match="side"):
        moment_from_grid(np.zeros((16, 16)), 1.0)


def test_moment_from_samples(key):
    x = RNG.uniform(-2.5, 2.5, (200, 1))
    found = moment_from_samples(x, bump(2.0)(x), key, width=0.4, ridge=1e-8)
    error = abs(found.value - gaussian_moment(1, 2.0))
    assert error <= 5 * found.standard_error + found.truncation + 0.03 * found.value
    with pytest.raises(ShapeError, match="x and y"):
        moment_from_samples(x, x, key)
    with pytest.raises(SettingError, match="width"):
        moment_from_samples(x, x[:, 0], key, width=0.0)
