"""Sobolev balls against enumeration, quadrature and random spaces."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.functions import PeriodicSeries, SobolevBall, lattice_norms


@pytest.mark.parametrize("dimension", [1, 2, 3])
def test_lattice_norms_are_those_of_a_large_box(dimension):
    box = itertools.product(range(-9, 10), repeat=dimension)
    norms = sorted(norm for vector in box if (norm := sum(k * k for k in vector)) <= 81)
    for count in (1, 2, 7, len(norms)):
        assert lattice_norms(dimension, count).tolist() == norms[:count]


def test_lattices_refuse_sizes_below_one():
    for dimension, count in ((0, 3), (2, 0)):
        with pytest.raises(SettingError, match="at least 1"):
            lattice_norms(dimension, count)


def test_no_random_space_beats_the_width(key):
    ball = SobolevBall(jnp.asarray(0.8), 2)
    axes = np.sqrt(np.asarray(ball.eigenvalues(60)))
    for n in (1, 5, 20):
        basis, _ = np.linalg.qr(np.asarray(jax.random.normal(jax.random.fold_in(key, n), (60, n))))
        worst, least = (np.linalg.norm(axes * (np.eye(60) - q @ q.T), 2) ** 2 for q in (basis, np.eye(60)[:, :n]))
        assert worst >= float(ball.width(n))
        np.testing.assert_allclose(least, float(ball.width(n)), rtol=1e-12)


def test_norms_of_a_series_by_quadrature(key):
    series = PeriodicSeries(*jax.random.normal(key, (2, 5)))
    x = jnp.arange(64) / 64
    values, slopes = series(x), jax.vmap(jax.grad(lambda at: series(at[None])[0]))(x)
    np.testing.assert_allclose(series.squared_norm(0.0), jnp.mean(values**2), rtol=1e-12)
    expected = jnp.mean(values**2) + jnp.mean(slopes**2) / (4 * jnp.pi**2)
    np.testing.assert_allclose(series.squared_norm(1.0), expected, rtol=1e-12)
