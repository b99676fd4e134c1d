"""Smoothed models: a half-space, of which the radius is known, and what has no unit."""

import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.subjects.trained_models import read_trained, smoothed
from lemmata.subjects.trained_models._smoothed import spread_ratio

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 3))
W = np.array([1.0, -2.0, 0.5])


@pytest.fixture(scope="module")
def half_space():
    """Two classes by the sign of <w, x>: under noise the boundary stays where it is, at |<w, x>|/|w|."""
    model = (lambda w, x: jnp.stack([x @ w, -x @ w], 1)), jnp.asarray(4 * W)
    return read_trained(model, X, (X @ W < 0) * 1)


def test_a_half_space_is_attacked_at_its_boundary(half_space):
    found = smoothed(half_space)
    assert found.sigma == pytest.approx(0.25 * np.sqrt((X.std(0) ** 2).mean()))
    distance = np.abs(found.x @ W) / np.linalg.norm(W)
    assert len(found.x) >= 6
    assert (found.classes == (found.x @ W < 0)).all()
    assert (found.radii <= distance).all()
    near = found.radii > 0.95 * distance.min()
    assert near.any()
    broken = found.broken()
    reached = distance < 2 * found.radii
    assert reached.sum() >= 4
    np.testing.assert_array_less(distance[reached], broken[reached] * 1.02)
    np.testing.assert_array_less(broken[reached], distance[reached] + 0.35 * found.sigma)


def test_a_certificate_that_is_too_large_is_broken_inside(half_space):
    import dataclasses

    found = smoothed(half_space)
    distance = np.abs(found.x @ W) / np.linalg.norm(W)
    boasted = dataclasses.replace(found, radii=1.5 * distance)
    assert (boasted.broken() < boasted.radii).all()


def test_no_attack_is_a_radius_of_eight():
    model = (lambda w, x: jnp.stack([x @ w + 50.0, x @ w], 1)), jnp.asarray(W)
    found = smoothed(read_trained(model, X, np.arange(200) % 2))
    np.testing.assert_allclose(found.broken(), 8 * found.radii)


def test_units():
    assert spread_ratio(np.clip(X, -1, 1) * [1.0, 0.001, 0.5]) == 1.0
    assert spread_ratio(10 * X) < 1.5
    assert spread_ratio(X * [1.0, 50.0, 1000.0]) > 4
    assert spread_ratio(np.full((5, 2), 3.0)) == np.inf
    assert spread_ratio(np.column_stack([10 * X, np.full(200, 9.0)])) < 1.5
