"""The generalised covariance: its values, its slope on the diagonal, and where it is positive definite."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from lemmata.errors import SettingError
from lemmata.kernels import PolyharmonicCovariance, gram, squares_logarithm


def disc_level(slope, radius):
    """The least level on a disc, by the formula of the kernel's docstring."""
    relative = slope - np.log(radius)
    return radius**2 * (2 * relative**2 - 2 * relative + 1)


def smallest(slope, level, x):
    return np.linalg.eigvalsh(np.asarray(gram(PolyharmonicCovariance(slope, level), jnp.asarray(x))))[0]


def test_values_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(6, 3)), rng.normal(size=(4, 3))
    r = np.linalg.norm(x[:, None] - z, axis=2)
    found = gram(PolyharmonicCovariance(2.0, 30.0), jnp.asarray(x), jnp.asarray(z))
    np.testing.assert_allclose(found, r**2 * (np.log(r) - 2.0) + 30.0, rtol=1e-13)


def test_the_diagonal_is_the_level_and_has_slope_zero():
    kernel, x = PolyharmonicCovariance(5.0, 400.0), jnp.array([0.3, -1.0])
    assert float(kernel(x, x)) == 400.0
    assert np.all(np.asarray(jax.grad(kernel)(x, x)) == 0)
    assert float(jax.grad(squares_logarithm)(jnp.zeros(()))) == 0
    slope = jax.grad(kernel)(x + jnp.array([0.0, 2.0]), x)  # (2 ln r - 2b + 1) (x - y)
    np.testing.assert_allclose(slope, [0.0, 2 * (2 * np.log(2) - 9)], rtol=1e-14)


@pytest.mark.parametrize(("d", "seed"), [(2, 0), (8, 1), (20, 2)])
def test_it_is_positive_definite_on_sixty_points_of_the_unit_ball(d, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(60, d))
    x *= rng.uniform(size=(60, 1)) ** (1 / d) / np.linalg.norm(x, axis=1, keepdims=True)
    assert smallest(1.0, 4.0, x) > 0


def full_disc():
    angle = 2 * np.pi * np.arange(16) / 16
    rings = np.sin(np.pi / 2 * np.arange(1, 9) / 8)[:, None, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.concatenate([np.zeros((1, 2)), rings.reshape(-1, 2)])


def test_below_a_slope_of_one_no_level_is_enough_on_the_unit_disc():
    assert smallest(1.02, 1e3, full_disc()) > 0
    assert smallest(0.95, 1e3, full_disc()) < 0
    assert smallest(0.95, 1e6, full_disc()) < 0


def test_the_radius_of_the_authors_numbers():
    """Below 4.7 the level 400 is enough for b = 5, above it is not, as a disc full of points shows."""
    radius = brentq(lambda r: disc_level(5.0, r) - 400.0, 1.0, 20.0)
    assert 4.7 < radius < 4.8
    disc = full_disc()
    assert smallest(5.0, 400.0, 0.99 * radius * disc) > 0
    assert smallest(5.0, 400.0, 1.1 * radius * disc) < 0


@pytest.mark.parametrize("p", [2, 5, 40])
def test_the_hyperoctahedron_needs_a_level_of_its_own(p):
    """{0, +-e_i}: the centre against the mean of the others has the form c s² - 2 b s t + (1 + 1/p) ln 2 t²."""
    x, least = np.concatenate([np.zeros((1, p)), np.eye(p), -np.eye(p)]), 9.0 / ((1 + 1 / p) * np.log(2))
    assert smallest(3.0, 1.001 * least, x) > 0
    assert smallest(3.0, 0.999 * least, x) < 0


@pytest.mark.parametrize(
    ("given", "named"), [((np.inf, 4.0), "slope"), ((1.0, -4.0), "level"), ((1.0, np.nan), "level")]
)
def test_bad_numbers_are_refused(given, named):
    with pytest.raises(SettingError, match=f"PolyharmonicCovariance.{named}"):
        PolyharmonicCovariance(*given)
