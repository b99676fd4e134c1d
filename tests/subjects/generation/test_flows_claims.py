"""Flows, velocities and couplings against matrix square roots, integrals, permutations and cases by hand."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, linalg

from lemmata.subjects.generation import couplings, flows, velocities
from lemmata.subjects.generation._gaussian_pairs import GaussianPair, IndependentPairs
from lemmata.subjects.generation._mixed_targets import MixedTarget, sampled_mixed_target


@pytest.fixture
def pair(key):
    return IndependentPairs().sample({"d": 3}, key)


def test_the_flow_is_a_square_root_and_pushes_the_base_to_the_target(pair, key):
    base, target = np.asarray(pair.base), np.asarray(pair.target)
    flow = flows.GaussianFlowMap().predict(pair)
    np.testing.assert_allclose(flow, linalg.sqrtm(target @ np.linalg.inv(base)).real, rtol=1e-9)
    np.testing.assert_allclose(flow @ base @ flow.T, target, rtol=1e-9)
    np.testing.assert_allclose(pair.transport @ base @ pair.transport, target, rtol=1e-9)
    assert np.abs(flow - flow.T).max() > 1e-3  # two random covariances do not commute
    steps, matrix = 400, np.eye(3)
    for velocity in np.asarray(jax.vmap(pair.velocity)((jnp.arange(steps) + 0.5) / steps)):
        matrix = matrix + velocity @ matrix / steps
    np.testing.assert_allclose(matrix, flow, rtol=1e-2, atol=1e-2)


def test_from_a_white_base_the_flow_is_the_transport_map(pair):
    white = GaussianPair(jnp.eye(3), pair.target, jnp.zeros((3, 3)))
    flow = flows.GaussianFlowMap().predict(white)
    np.testing.assert_allclose(flow, linalg.sqrtm(np.asarray(pair.target)).real, rtol=1e-9)
    np.testing.assert_allclose(flow, white.transport, rtol=1e-9)


def test_one_coordinate_by_scipy():
    """The energy is 1 + s² - s pi/2 and the distance is (1 - s)²."""
    for s in (0.2, 3.0):
        slope = lambda t, s=s: (t * s**2 - (1 - t)) ** 2 / ((1 - t) ** 2 + t**2 * s**2)
        one = GaussianPair(jnp.eye(1), s**2 * jnp.eye(1), jnp.zeros((1, 1)))
        energy = integrate.quad(slope, 0, 1)[0]
        assert float(flows.GaussianFlowEnergy().predict(one)[0]) == pytest.approx(energy, rel=1e-10)
        assert energy == pytest.approx(1 + s**2 - s * np.pi / 2)
        assert float(one.squared_distance) == pytest.approx((1 - s) ** 2)


def test_the_velocity_by_integrals_over_the_base():
    """At t = 0.4, E[X_1 - X_0 | X_t = x] and its variance as ratios of integrals over X_0."""
    target = MixedTarget(jnp.asarray([0.3, 0.7]), jnp.asarray([[-1.0], [2.0]]), jnp.asarray([0.5, 0.8]))
    t, x = 0.4, 0.7
    normal = lambda z, m, s: np.exp(-((z - m) ** 2) / (2 * s**2)) / s
    density = lambda z: 0.3 * normal(z, -1, 0.5) + 0.7 * normal(z, 2, 0.8)
    joint = lambda zero: normal(zero, 0, 1) * density((x - (1 - t) * zero) / t)
    step = lambda zero: (x - (1 - t) * zero) / t - zero
    mean = lambda f: integrate.quad(lambda z: f(z) * joint(z), -9, 9, epsabs=1e-13)[0]
    expected = mean(step) / mean(lambda z: 1.0)
    left = mean(lambda z: step(z) ** 2) / mean(lambda z: 1.0) - expected**2
    assert float(target.velocity(jnp.asarray(t), jnp.asarray([x]))[0]) == pytest.approx(expected, rel=1e-8)
    assert float(target.floor(jnp.asarray(t), jnp.asarray([x]))) == pytest.approx(left, rel=1e-8)


def test_the_least_loss_of_one_component_and_of_one_point(key):
    one = MixedTarget(jnp.ones(1), jnp.asarray([[3.0, -1.0]]), jnp.asarray([0.7]))
    assert float(velocities.mean_floor(one)) == pytest.approx(2 * 0.7 * np.pi / 2, rel=1e-6)
    point = MixedTarget(jnp.ones(1), jnp.asarray([[3.0, -1.0]]), jnp.asarray([1e-4]))
    assert float(velocities.mean_floor(point)) < 1e-3  # X_t determines X_1 - X_0
    two = sampled_mixed_target(key, 3, 2)
    draws = two.draw(key, 50_000)
    np.testing.assert_allclose(draws.mean(axis=0), two.weights @ two.means, atol=0.05)


def test_costs_of_pairs_by_all_permutations():
    points = np.random.default_rng(3).normal(size=(2, 5, 3))
    squares = ((points[0][:, None] - points[1]) ** 2).sum(-1)
    best = min(squares[np.arange(5), list(order)].mean() for order in itertools.permutations(range(5)))
    optimal, drawn = couplings.pair_costs(jax.random.key(0), 5, 1, lambda rng, n: points)
    assert optimal == pytest.approx(best)
    assert drawn == pytest.approx(np.trace(squares) / 5)


def test_rectification_of_normal_pairs_by_draws(pair):
    """Three convex costs of the independent pairs and of the pairs that the flow makes."""
    rng = np.random.default_rng(0)
    base = rng.multivariate_normal(np.zeros(3), pair.base, 20_000)
    drawn = rng.multivariate_normal(np.zeros(3), pair.target, 20_000) - base
    moved = base @ np.asarray(flows.GaussianFlowMap().predict(pair)).T - base
    for cost in (lambda u: np.abs(u).sum(1), lambda u: (u**2).sum(1), lambda u: np.maximum(np.abs(u).max(1) - 1, 0)):
        assert cost(moved).mean() < cost(drawn).mean()
    gain = (drawn**2).sum(1).mean() - (moved**2).sum(1).mean()
    assert float(couplings.RectificationGain().predict(pair)) == pytest.approx(gain, rel=0.05)
