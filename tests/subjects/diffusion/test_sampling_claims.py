"""Samplers on a normal law, where everything is known; the energy distance against loops."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.engine.problems.schedules import Schedule
from lemmata.engine.problems.targets import GaussianMixture
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.subjects.diffusion._diffusion import training_set
from lemmata.subjects.diffusion.reverse_sampling import (
    energy_distance,
    energy_interval,
    learn_score,
    probability_flow,
    sample_reverse,
    simulate_forward,
    train_score,
)

NORMAL = GaussianMixture(jnp.asarray([[0.5, -0.2]]), jnp.ones(1), 0.3)
SCHEDULE = Schedule(1.0, 1.0)


def test_the_energy_distance_by_loops(key):
    x, y = np.asarray(jax.random.normal(key, (9, 2))), np.asarray(jax.random.normal(jax.random.key(1), (7, 2)))
    mean = lambda pairs: np.mean([np.linalg.norm(a - b) for a, b in pairs])
    own = lambda z: mean([(z[i], z[j]) for i in range(len(z)) for j in range(len(z)) if i != j])
    expected = 2 * mean([(a, b) for a in x for b in y]) - own(x) - own(y)
    assert float(energy_distance(jnp.asarray(x), jnp.asarray(y))) == pytest.approx(expected)


def test_the_interval_of_an_energy_distance(key):
    x = jax.random.normal(key, (300, 1))
    _, low, high = energy_interval(x, jax.random.normal(jax.random.key(7), (300, 1)))
    assert low < 0 < high
    _, low, high = energy_interval(x, 1 + jax.random.normal(jax.random.key(7), (300, 1)))
    # For N(0, 1) and N(1, 1): 2 E|N(1, 2)| - 2 E|N(0, 2)|.
    exact = 2 * (2 / np.sqrt(np.pi) * np.exp(-1 / 4) + 2 * (0.760249939 - 0.5)) - 4 / np.sqrt(np.pi)
    assert float(low) < exact < float(high)


def test_forward_reverse_and_flow_on_a_normal_law(key):
    keys = jax.random.split(key, 4)
    clean = NORMAL.sample(keys[0], 4000)
    last = simulate_forward(keys[1], SCHEDULE, clean, 2.0, 200)
    alpha = float(SCHEDULE.scale(jnp.asarray(2.0)))
    assert np.allclose(last.mean(axis=0), alpha * np.asarray([0.5, -0.2]), atol=0.06)
    assert np.allclose(last.std(axis=0), np.sqrt(1 - alpha**2 * (1 - 0.09)), atol=0.04)
    score = lambda t, x: NORMAL.score(SCHEDULE, t, x)
    first = jnp.asarray(0.02)
    shrunk, spread = SCHEDULE.scale(first), jnp.sqrt(SCHEDULE.scale(first) ** 2 * 0.09 + SCHEDULE.variance(first))
    for back in (sample_reverse(keys[2], score, SCHEDULE, last), probability_flow(score, SCHEDULE, last)):
        assert np.allclose(back.mean(axis=0), shrunk * jnp.asarray([0.5, -0.2]), atol=0.03)
        assert np.allclose(back.std(axis=0), spread, atol=0.02)


def test_a_learned_score_is_ridge_regression(key):
    times, places, clean = training_set(key, NORMAL, SCHEDULE, 30, 2.0, 0.02)
    learned = learn_score(SCHEDULE, times, places, clean, sigma=1.0, ridge=0.5)
    inputs = np.concatenate([np.ones((30, 1)), times[:, None], places], axis=1)
    inputs = inputs / np.linalg.norm(inputs, axis=1).max()
    matrix = np.asarray(gram(SoftmaxTangent(1.0), jnp.asarray(inputs)))
    expected = matrix[3] @ np.linalg.solve(matrix + 0.5 * np.eye(30), clean)
    assert np.allclose(learned.denoiser(times[3], places[3]), expected)
    alpha = SCHEDULE.scale(times[3])
    assert np.allclose(learned(times[3], places[3]), (alpha * expected - places[3]) / (1 - alpha**2))
    assert np.isfinite(learned(times[3], jnp.asarray([1e6, 1e6]))).all()


def test_a_trained_network_comes_nearer_than_zero(key):
    times, places, clean = training_set(key, NORMAL, SCHEDULE, 100, 2.0, 0.02)
    learned = train_score(key, SCHEDULE, times, places, clean, width=64, steps=50)
    outputs = jax.vmap(learned.denoiser)(times, places)
    assert float(jnp.mean((outputs - clean) ** 2)) < 0.5 * float(jnp.mean(clean**2))
