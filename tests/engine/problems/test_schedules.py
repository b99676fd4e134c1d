"""Noise schedules against integrals that are computed step by step, and draws of a diffusion."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate

from lemmata.engine.problems.schedules import (
    Schedule,
    SchedulePoint,
    Schedules,
    loss_weight,
    sampled_schedule,
    score_from_denoiser,
)

SCHEDULE = Schedule(0.5, 0.75, 1.5)


@pytest.mark.parametrize("t", [0.0, 0.4, 1.5, 2.5])
def test_the_rate_is_linear_up_to_its_end_and_its_integral_follows(t):
    rate = lambda time: 0.5 + 0.75 * min(time, 1.5)
    wanted = integrate.quad(rate, 0, t, points=[1.5] if t > 1.5 else None)[0]
    time = jnp.asarray(t)
    assert float(SCHEDULE.rate(time)) == pytest.approx(rate(t), rel=1e-14)
    assert float(SCHEDULE.integral(time)) == pytest.approx(wanted, rel=1e-12, abs=1e-15)
    assert float(SCHEDULE.scale(time)) == pytest.approx(np.exp(-wanted / 2), rel=1e-12)
    assert float(SCHEDULE.variance(time)) == pytest.approx(1 - np.exp(-wanted), rel=1e-12, abs=1e-15)
    if t > 0:
        weight = (1 - np.exp(-wanted)) ** 2 * np.exp(wanted)
        assert float(loss_weight(SCHEDULE, time)) == pytest.approx(weight, rel=1e-12)


def test_a_schedule_without_arguments_forgets_at_the_rate_one_up_to_time_two():
    plain = Schedule()
    assert [float(plain.rate(jnp.asarray(t))) for t in (0.0, 3.0)] == [1.0, 1.0]
    assert plain.end == 2.0


@pytest.mark.parametrize(
    ("start", "slope", "wanted"),
    [
        (1.0, 0.0, [True, True]), (0.0, 1.0, [False, True]), (1.0, -0.5, [False, True]), (1.0, -0.49, [True, True]),
        (np.inf, 0.0, [True, False]),
    ],
)  # fmt: skip
def test_the_rate_is_positive_and_bounded_or_not(start, slope, wanted):
    schedule = Schedule(start, slope, 2.0)
    assert [bool(own.holds) for own in schedule.hypotheses()] == wanted
    point = SchedulePoint(schedule, jnp.asarray(1.0))
    assert [bool(own.holds) for own in Schedules().hypotheses(point)] == wanted


def test_noised_rows_have_the_mean_and_the_variance_of_their_times(key):
    count = 4000
    clean = jnp.tile(jnp.array([[3.0, -1.0]]), (2 * count, 1))
    t = jnp.repeat(jnp.array([0.3, 2.2]), count)
    found = np.asarray(SCHEDULE.noised(key, t, clean)).reshape(2, count, 2)
    for own, time in zip(found, (0.3, 2.2), strict=True):
        scale, variance = float(SCHEDULE.scale(jnp.asarray(time))), float(SCHEDULE.variance(jnp.asarray(time)))
        assert np.all(np.abs(own.mean(axis=0) - scale * np.array([3.0, -1.0])) < 5 * np.sqrt(variance / count))
        assert np.all(np.abs(own.var(axis=0) / variance - 1) < 5 * np.sqrt(2 / count))


def test_the_score_of_a_point_mass_is_that_of_its_normal_density():
    t, x, mean = jnp.asarray(0.7), jnp.array([0.2, -1.0]), jnp.array([1.0, 0.5])
    scale, variance = SCHEDULE.scale(t), SCHEDULE.variance(t)
    wanted = jax.grad(lambda x: -jnp.sum((x - scale * mean) ** 2) / (2 * variance))(x)
    np.testing.assert_allclose(score_from_denoiser(SCHEDULE, t, x, mean), wanted, rtol=1e-12)


def test_schedules_are_drawn_from_their_ranges(key):
    drawn = jax.vmap(sampled_schedule)(jax.random.split(key, 500))
    for found, low, high in ((drawn.start, 0.5, 2.0), (drawn.slope, 0.0, 2.0)):
        assert low <= float(found.min()) < low + 0.05 * (high - low)
        assert high - 0.05 * (high - low) < float(found.max()) <= high
    assert abs(float(jnp.corrcoef(drawn.start, drawn.slope)[0, 1])) < 0.3
    times = jax.vmap(lambda own: Schedules().sample({}, own).t)(jax.random.split(key, 500))
    assert 0.05 <= float(times.min()) < 0.15 < 1.9 < float(times.max()) <= 2.0
