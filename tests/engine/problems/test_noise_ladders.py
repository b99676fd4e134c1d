"""Noise that multiplies features: its tails, and the shapes and bounds of what it multiplies."""

import jax.numpy as jnp
import numpy as np

from lemmata.engine.problems.noise_ladders import BoundedMisfits, HeavyNoise, SpherePoints, sampled_features


def test_heavy_noise_has_its_tails_in_both_directions_and_multiplies_features_in_the_unit_interval(key):
    population = HeavyNoise(examples=1000)
    problem = population.sample({}, key)
    assert problem.noise.shape == (32, 1000)
    assert problem.features.shape == (1000, 9), "the constant is a feature"
    noise = np.asarray(problem.noise)
    for u in (1.0, 2.0, 4.0, 16.0):
        share, trials = u**-1.5, noise.size
        for found, chance in ((np.abs(noise) > u, share), (noise > u, share / 2)):
            assert abs(found.mean() - chance) <= 5 * np.sqrt(chance * (1 - chance) / trials)
    assert 0 <= float(problem.features.min()) < float(problem.features.max()) <= 1
    assert all(bool(own.holds) for own in population.hypotheses(problem))


def test_a_sampled_feature_is_a_ramp_along_its_frequency_that_is_steep_at_its_threshold():
    features = sampled_features(jnp.zeros((2, 6)).at[:, 1].set(2.0))
    assert features(jnp.zeros((5, 2))).shape == (5, 3)
    np.testing.assert_allclose(features.thresholds, [-0.5, -0.5], atol=1e-12)  # 3 Phi(0) - 2
    assert float(features.sharpness) == 16.0


def test_points_on_a_sphere_have_many_features_without_the_constant_and_one_noise_each(key):
    problem = SpherePoints(number=50).sample({"N": 12, "d": 3}, key)
    assert problem.noise.shape == (1, 12)
    assert problem.features.shape == (12, 50)


def test_a_bounded_misfit_is_uniform_and_its_noise_normal(key):
    problem = BoundedMisfits(examples=200).sample({}, key)
    misfit, noise = np.asarray(problem.misfit), np.asarray(problem.noise)
    assert misfit.shape == noise.shape == (64, 200)
    assert -1 <= misfit.min() < misfit.max() <= 1
    for found, mean, variance in ((misfit, 0, 1 / 3), (misfit**2, 1 / 3, 4 / 45), (noise, 0, 1), (noise**2, 1, 2)):
        assert abs(found.mean() - mean) <= 5 * np.sqrt(variance / found.size)
    assert abs((noise * misfit).mean()) <= 5 * np.sqrt(1 / 3 / noise.size), "they are independent"
