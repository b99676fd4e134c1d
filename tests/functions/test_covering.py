"""Covers of classes: parameters on grids of the sizes that are claimed."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.errors import SettingError
from lemmata.functions import (
    BoundedSpectrum,
    Cosines,
    GaussianBumps,
    LinearFunctions,
    LogisticNetworks,
    LogisticSum,
    barron_parameter,
    draw_function,
    log_class_cover,
    log_pair_cover,
    required_features,
)

RNG = np.random.default_rng(0)


def test_covers_of_classes_cover(key):
    """Parameters rounded to grids that have no more points than the bound says, at random functions."""
    x, epsilon = jnp.linspace(-1, 1, 41)[:, None], 0.2
    atoms, sizes = jnp.array([[2.0], [5.0]]), jnp.array([1.0, 0.5])
    networks = LogisticNetworks(atoms, sizes)
    cells = math.ceil(1 / epsilon)
    assert 2 * math.log(cells) <= log_class_cover(networks, epsilon) + 1e-12
    for k in range(20):
        function = draw_function(jax.random.fold_in(key, k), networks)
        assert isinstance(function, LogisticSum)
        index = jnp.clip(jnp.floor((function.coefficients / sizes + 1) * cells / 2), 0, cells - 1)
        near = ((index + 0.5) * 2 / cells - 1) * sizes
        apart = (jax.nn.sigmoid(x @ atoms.T) - 0.5) @ (function.coefficients - near)
        assert float(jnp.abs(apart).max()) <= float(barron_parameter(networks)) * epsilon


def test_centres_of_bumps_may_move():
    d, epsilon, functions = 2, 0.3, GaussianBumps(2, 3.0)
    centres, x = RNG.uniform(-0.7, 0.7, (200, d)), RNG.uniform(-0.7, 0.7, (200, d))
    moved = centres + epsilon / 4 * (lambda v: v / np.linalg.norm(v, axis=1, keepdims=True))(RNG.normal(size=(200, d)))
    value = lambda at, c: np.exp(-9 * np.sum((at - c) ** 2, axis=1) / 2)
    apart = (value(x, centres) - value(0 * x, centres)) - (value(x, moved) - value(0 * x, moved))
    assert np.abs(apart).max() <= float(functions.moment()) * epsilon / 2
    expected = 3 * (math.log1p(4 / epsilon) + d * math.log1p(8 / epsilon))
    assert log_class_cover(functions, epsilon) == pytest.approx(expected)


def test_required_features():
    cosines = Cosines(jnp.ones((3, 2)), jnp.ones(3))
    assert required_features(cosines, 0.1, 2) == pytest.approx(8 * math.log(21))
    linear = LinearFunctions(4)
    assert required_features(linear, 0.1, 4) == pytest.approx(8 * math.log(21))
    assert required_features(linear, 0.01, 4) > required_features(linear, 0.1, 4)
    assert log_pair_cover(2, 0.1) == pytest.approx(2 * math.log(41) + math.log(21))
    with pytest.raises(SettingError, match="epsilon"):
        required_features(linear, 0.0, 4)
    with pytest.raises(SettingError, match="class of functions"):
        log_class_cover(BoundedSpectrum(jnp.cos, jnp.cos, 1, jnp.ones(()), jnp.ones(())), 0.1)
