"""Targets under noise: densities and denoisers by brute force over x(0)."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, stats

from lemmata.engine.problems.regression import Regression
from lemmata.engine.problems.schedules import Schedule
from lemmata.engine.problems.targets import Cube, GaussianMixture, Sphere, sampled_mixture, sampled_target
from lemmata.errors import SettingError
from lemmata.kernels import RBF
from lemmata.subjects.diffusion._diffusion import NoisedMixtures, pose_rows

SCHEDULE = Schedule(0.7, 1.3)


def posterior(clean, weights, t, x):
    """Density and mean of x(0) by summing over draws or nodes of it."""
    alpha, v = float(SCHEDULE.scale(t)), float(SCHEDULE.variance(t))
    likelihood = weights * np.exp(-np.sum((x - alpha * clean) ** 2, axis=1) / (2 * v))
    density = likelihood.sum() * (2 * np.pi * v) ** (-len(x) / 2)
    return density, likelihood @ clean / likelihood.sum()


def check(target, clean, weights, t, x):
    density, mean = posterior(clean, weights, t, np.asarray(x))
    assert float(target.log_density(SCHEDULE, t, x)) == pytest.approx(np.log(density), abs=1e-9)
    assert np.allclose(target.denoiser(SCHEDULE, t, x), mean, atol=1e-9)


def test_the_schedule_integrates_its_rate():
    for t in (0.0, 0.3, 2.0):
        value = integrate.quad(lambda s: 0.7 + 1.3 * s, 0, t)[0]
        assert float(SCHEDULE.integral(jnp.asarray(t))) == pytest.approx(value)
        assert float(SCHEDULE.variance(jnp.asarray(t))) == pytest.approx(1 - np.exp(-value))
        assert float(SCHEDULE.scale(jnp.asarray(t))) == pytest.approx(np.exp(-value / 2))


def test_the_schedule_is_constant_from_its_end_on():
    schedule = Schedule(0.5, 2.0, end=1.0)
    for t in (0.4, 1.0, 3.0):
        assert float(schedule.rate(jnp.asarray(t))) == pytest.approx(0.5 + 2.0 * min(t, 1.0))
        value = integrate.quad(lambda s: 0.5 + 2.0 * min(s, 1.0), 0, t, points=[1.0])[0]
        assert float(schedule.integral(jnp.asarray(t))) == pytest.approx(value)
    positive, bounded = schedule.hypotheses()
    assert positive.holds
    assert bounded.holds
    assert (float(positive.value), float(bounded.value)) == (0.5, 2.5)
    assert not Schedule(1.0, -0.6).hypotheses()[0].holds
    assert not Schedule(1.0, jnp.inf).hypotheses()[1].holds


@pytest.mark.parametrize("law", ["cube", "mixture"])
@pytest.mark.parametrize("d", [1, 3])
def test_the_lipschitz_constants_bound_difference_quotients(key, law, d):
    target = sampled_target(key, law, d)
    draws = jax.random.normal(jax.random.key(1), (2, 400, d))
    times = 10 ** jax.random.uniform(jax.random.key(2), (400,), minval=-4.0, maxval=0.3)
    at = jax.vmap(lambda t, x: target.denoiser(SCHEDULE, t, x))
    near = draws[0] + 1e-4 * draws[1]
    rise = jnp.linalg.norm(at(times, near) - at(times, draws[0]), axis=1)
    steepest = float((rise / jnp.linalg.norm(near - draws[0], axis=1)).max())
    assert steepest <= float(target.lipschitz) + 1e-6
    assert steepest > 0.9 / d
    assert float(Sphere(2).lipschitz) == np.inf


@pytest.mark.parametrize("t", [0.1, 0.5, 2.0])
def test_spheres(t):
    t = jnp.asarray(t)
    check(Sphere(1), np.asarray([[-1.0], [1.0]]), np.full(2, 0.5), t, jnp.asarray([0.4]))
    angles = np.linspace(0, 2 * np.pi, 2000, endpoint=False)
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    check(Sphere(2), circle, np.full(2000, 1 / 2000), t, jnp.asarray([0.4, -0.9]))
    heights, weights = np.polynomial.legendre.leggauss(200)
    turns = np.linspace(0, 2 * np.pi, 200, endpoint=False)
    radius = np.sqrt(1 - heights**2)
    ball = np.stack([np.outer(radius, np.cos(turns)), np.outer(radius, np.sin(turns)),
                     np.outer(heights, np.ones(200))], axis=2).reshape(-1, 3)  # fmt: skip
    check(Sphere(3), ball, np.repeat(weights / 400, 200), t, jnp.asarray([0.4, -0.9, 0.2]))


def test_a_sphere_near_and_at_the_origin():
    t = jnp.asarray(0.5)
    slope = float(SCHEDULE.scale(t) / SCHEDULE.variance(t))
    for d in (1, 2, 3):
        assert np.allclose(Sphere(d).denoiser(SCHEDULE, t, jnp.zeros(d)), 0.0)
        near = Sphere(d).denoiser(SCHEDULE, t, 1e-4 * jnp.eye(d)[0])[0]
        assert float(near) == pytest.approx(1e-4 * slope / d, rel=1e-6)
        assert np.isfinite(Sphere(d).score(SCHEDULE, t, 1e-9 * jnp.ones(d))).all()
    with pytest.raises(SettingError, match="1, 2 or 3"):
        Sphere(4)


@pytest.mark.parametrize("x", [-2.5, -0.3, 0.0, 0.95, 3.0])
@pytest.mark.parametrize("t", [0.05, 0.5, 2.0])
def test_cubes(t, x):
    nodes, weights = np.polynomial.legendre.leggauss(400)
    check(Cube(1), nodes[:, None], weights / 2, jnp.asarray(t), jnp.asarray([x]))


def test_a_cube_is_a_clip_at_time_zero_and_far_out():
    t = jnp.asarray(1e-6)
    places = jnp.asarray([-3.0, -0.2, 0.4, 5.0])
    clipped = jax.vmap(lambda x: Cube(1).denoiser(SCHEDULE, t, x[None])[0])(places)
    assert np.allclose(clipped, np.clip(places, -1, 1), atol=1e-5)
    assert Cube(4).half == 0.5


def test_mixtures(key):
    target = sampled_mixture(key, 1, 0.3)
    t, x = jnp.asarray(0.4), jnp.asarray([0.25])
    nodes = np.linspace(-4, 4, 8001)
    law = stats.norm.pdf(nodes[:, None], np.asarray(target.means)[:, 0], 0.3) @ np.asarray(target.weights)
    check(target, nodes[:, None], law * (nodes[1] - nodes[0]), t, x)
    density = lambda x: float(jnp.exp(target.log_density(SCHEDULE, t, jnp.asarray([x]))))
    assert integrate.quad(density, -8, 8)[0] == pytest.approx(1.0)


def test_the_posterior_covariance_of_one_component():
    target = GaussianMixture(jnp.zeros((1, 2)), jnp.ones(1), 0.5)
    t = jnp.asarray(0.3)
    alpha, v = float(SCHEDULE.scale(t)), float(SCHEDULE.variance(t))
    expected = np.eye(2) / (1 / 0.25 + alpha**2 / v)
    assert np.allclose(target.covariance(SCHEDULE, t, jnp.ones(2)), expected)


@pytest.mark.parametrize("target", [Sphere(2), Cube(2), GaussianMixture(jnp.eye(2), jnp.full(2, 0.5), 0.1)])
def test_draws_have_the_moments_of_the_law(key, target):
    draws = target.sample(key, 20_000)
    near = {"Sphere": (0.0, 0.5), "Cube": (0.0, 1 / 6), "GaussianMixture": (0.5, 0.51)}[type(target).__name__]
    assert np.allclose(draws.mean(axis=0), near[0], atol=0.03)
    assert np.allclose((draws**2).mean(axis=0), near[1], atol=0.03)


def test_noised_draws(key):
    clean = jnp.ones((50_000, 1))
    noised = SCHEDULE.noised(key, jnp.full(50_000, 0.5), clean)
    assert float(noised.mean()) == pytest.approx(float(SCHEDULE.scale(jnp.asarray(0.5))), abs=0.02)
    assert float(noised.var()) == pytest.approx(float(SCHEDULE.variance(jnp.asarray(0.5))), abs=0.02)


def test_a_users_rows_as_a_law():
    train, test = (jnp.zeros((5, 3)), jnp.zeros((5, 1))), (jnp.zeros((1, 3)), jnp.zeros((1, 1)))
    problem = Regression(*train, *test, RBF(1.0), jnp.zeros(()), jnp.zeros(()))
    posed = pose_rows(problem)
    assert posed is not None
    assert posed.points.shape == (8, 3)
    assert pose_rows("a word") is None
    assert NoisedMixtures().posed(posed) is posed
    assert NoisedMixtures().posed("a word") is None
