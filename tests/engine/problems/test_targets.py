"""The law of targets: what is drawn, its density under noise and its denoiser belong to each other."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.problems.schedules import Schedule, score_from_denoiser
from lemmata.engine.problems.targets import Cube, Sphere, sampled_mixture

SCHEDULE, ROWS = Schedule(1.0, 0.5), 4000
TARGETS = [Cube(1), Cube(3), Sphere(1), Sphere(2), Sphere(3), sampled_mixture(jax.random.key(1), 2, 0.3)]
NAMES = ["cube of 1", "cube of 3", "sphere of 1", "sphere of 2", "sphere of 3", "mixture"]


@pytest.mark.parametrize("time", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("target", TARGETS, ids=NAMES)
def test_a_denoiser_is_the_conditional_mean_of_what_is_drawn_and_gives_the_score(target, time, key):
    """Its errors have mean 0 and are uncorrelated with any function of the noised row: within 5 standard errors."""
    first, second = jax.random.split(key)
    clean, t = target.sample(first, ROWS), jnp.asarray(time)
    noised = SCHEDULE.noised(second, jnp.full(ROWS, time), clean)
    denoised = jax.vmap(lambda x: target.denoiser(SCHEDULE, t, x))(noised)
    for weight in (jnp.ones_like(noised), noised, denoised, jnp.cos(3 * noised)):
        found = np.asarray((clean - denoised) * weight)
        assert np.all(np.abs(found.mean(axis=0)) <= 5 * found.std(axis=0, ddof=1) / ROWS**0.5)
    some = noised[:50]
    scores = jax.vmap(lambda x: target.score(SCHEDULE, t, x))(some)
    tweedie = jax.vmap(lambda x, own: score_from_denoiser(SCHEDULE, t, x, own))(some, denoised[:50])
    np.testing.assert_allclose(scores, tweedie, rtol=1e-7, atol=1e-7 * float(jnp.abs(scores).max()))


@pytest.mark.parametrize("target", TARGETS[:5], ids=NAMES[:5])
def test_targets_lie_in_the_unit_ball_and_reach_its_boundary_on_all_sides(target, key):
    rows = np.asarray(target.sample(key, ROWS))
    lengths = np.linalg.norm(rows, axis=1)
    assert lengths.max() <= 1 + 1e-12
    assert lengths.max() > 0.9
    np.testing.assert_allclose(rows.max(axis=0), -rows.min(axis=0), rtol=0.05)
    assert np.all(rows.min(axis=0) < 0)
