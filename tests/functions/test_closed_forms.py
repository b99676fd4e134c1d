"""Closed forms and bounds of the Barron parameter against sums, integrals and differences."""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from lemmata.errors import SettingError, ShapeError
from lemmata.functions import (
    combination_moment,
    gaussian_moment,
    logistic_moment,
    polynomial_bound,
    polynomial_extension,
    product_moment,
    radial_moment,
    ridge_moment,
    ridge_polynomial_bound,
)


@pytest.mark.parametrize("d", [1, 2, 7])
def test_radial_moment(d):
    density = lambda r: np.exp(-(r**2) / 2) / (2 * np.pi) ** (d / 2)
    assert radial_moment(density, d) == pytest.approx(gaussian_moment(d), rel=1e-9)
    with pytest.raises(SettingError, match="finite"):
        radial_moment(lambda r: r ** -(d + 1.0) / (1 + 1 / r) ** (d + 1), d)


def test_ridge_and_logistic_moments():
    direction = jnp.array([3.0, 4.0])
    slope = lambda x, w: math.exp(-x) / (1 + math.exp(-x)) ** 2 * math.cos(w * x) / (2 * math.pi)
    spectrum = lambda w: integrate.quad(slope, -40, 40, args=(w,), limit=200)[0]
    profile = 2 * integrate.quad(lambda w: abs(spectrum(w)), 0, 6, limit=50)[0]
    assert logistic_moment(direction) == pytest.approx(ridge_moment(direction, profile), rel=1e-6)


def test_combinations_and_products():
    first, second = np.array([0.3, -0.2, 0.5]), np.array([1.0, 0.4, 0.0, -0.1])
    moment = lambda c: float(np.sum(np.abs(np.arange(len(c)) * c)))
    parts = [(float(np.abs(c).sum()), moment(c)) for c in (first, second)]
    assert moment(np.convolve(first, second)) <= product_moment(*parts) + 1e-12
    first, second = np.abs(first), np.abs(second)
    parts = [(float(c.sum()), moment(c)) for c in (first, second)]
    assert moment(np.convolve(first, second)) == pytest.approx(product_moment(*parts))
    assert combination_moment(jnp.array([2.0, -3.0]), jnp.array([1.0, 0.5])) == 3.5


def test_polynomials_are_sums_of_ridge_polynomials():
    square = jnp.array([0.0, 0.0, 0.25])
    product = polynomial_bound([square, -square], jnp.array([[1.0, 1.0], [1.0, -1.0]]))
    half = ridge_polynomial_bound(jnp.array([0.0, 0.0, 0.5]))
    assert product == pytest.approx(2 * half), "x y = ((x + y)² - (x - y)²)/4, and |(1, 1)|² = 2"
    # g'' by finite differences of the extension itself
    series = jnp.array([0.2, 1.0, -0.7, 0.4])
    cubic = np.asarray(polynomial_extension(series, 3.0))
    t = np.linspace(-1, 2, 30001)
    g = np.where(t <= 1, np.polyval(np.asarray(series)[::-1], t), np.polyval(cubic[::-1], t - 1))
    assert g[0] == pytest.approx(g[-1])
    assert g[1] - g[0] == pytest.approx(g[-1] - g[-2], rel=1e-2)
    second = np.diff(g, 2) / (t[1] - t[0]) ** 2
    bound = 3 / math.sqrt(12) * math.sqrt(np.mean(second**2))
    assert ridge_polynomial_bound(series, 3.0) == pytest.approx(bound, rel=1e-3)
    with pytest.raises(ShapeError, match="polynomials"):
        polynomial_bound([square], jnp.ones((2, 2)))
    with pytest.raises(SettingError, match="period"):
        polynomial_bound([square], jnp.ones((1, 2)), 2.0)
