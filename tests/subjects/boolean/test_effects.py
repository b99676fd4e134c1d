"""Intersections of halfspaces are not found stable if their number or their thresholds do not change."""

import jax.numpy as jnp
import pytest

from lemmata.subjects.boolean import noise
from tests.subjects.effects import supported

CHANGES = {
    "one halfspace": lambda eta, k: NOISE(eta, 1.0),
    "a fixed number": lambda eta, k: NOISE(eta, 2.0**16),
    "the union bound with Peres' bound": lambda eta, k: jnp.minimum(k * jnp.sqrt(eta), 0.5),
}
NOISE = noise._intersection_noise


@pytest.mark.parametrize("change", CHANGES)
def test_an_intersection_without_its_effect_is_noticed(change, monkeypatch):
    claim = noise.IntersectionsAreStable()
    monkeypatch.setattr(noise, "_intersection_noise", CHANGES[change])
    assert not supported(claim, 32)


def test_it_is_supported_as_it_stands_and_one_halfspace_has_the_ratio_1(key):
    claim = noise.IntersectionsAreStable()
    assert supported(claim, 32)
    problem = noise.NoiseRate(jnp.asarray(1e-6))
    assert float(claim.measure_at(problem, key, 0.0)) == pytest.approx(1.0, rel=1e-9)
