"""The chapter on stepwise learning: features of a kernel, crossings, networks' outputs, equal modes on a circle."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import NNGPKernel, erf_network
from lemmata.kernels import Polynomial, gram
from lemmata.subjects.dynamics import contrastive_matrix, stepwise, stepwise_kernels, stepwise_networks
from lemmata.subjects.dynamics._crossings import company, crossings
from lemmata.subjects.dynamics._small_starts import SmallStarts, rotation
from lemmata.subjects.dynamics._trained_embeddings import correlations, small_network
from lemmata.subjects.dynamics._view_pairs import NoisyViews


def test_features_have_the_kernel_of_degree_two():
    x = jax.random.normal(jax.random.key(0), (5, 3))
    found = stepwise_kernels.features(x)
    assert found.shape == (5, 10)
    np.testing.assert_allclose(found @ found.T, gram(Polynomial(2, 1.0), x), rtol=1e-12)


def test_crossings_of_logistic_curves_are_their_middles():
    times = np.linspace(0, 10, 300)
    sizes = 1 / (1 + np.exp(-np.outer(times, [8, 8, 1]) + np.array([16.3, 40.1, 500.0])))
    assert crossings(times, sizes)[:2] == pytest.approx([16.3 / 8, 40.1 / 8], abs=1e-6)
    assert crossings(times, sizes)[2] == np.inf
    assert company(times, sizes[:, :2]) == pytest.approx(1 / (1 + np.exp(40.1 - 16.3)), rel=1e-2)


def test_a_rotation_is_orthogonal():
    found = rotation(jax.random.key(0), 5)
    np.testing.assert_allclose(found @ found.T, np.eye(5), atol=1e-14)


def test_data_that_look_the_same_after_every_shift_have_modes_in_pairs():
    signal = np.random.default_rng(0).normal(size=9)
    x = np.stack([np.roll(signal, shift) for shift in range(9)])
    values = np.linalg.eigvalsh(contrastive_matrix(jnp.asarray(x), jnp.asarray(np.roll(x, 1, axis=1))))
    gaps = np.abs(np.subtract.outer(values, values)) + np.eye(9)
    assert sum(gaps.min(axis=1) < 1e-12) == 8
    problem = SmallStarts().sample({"d": 2, "spectrum": "paired"}, jax.random.key(0))
    assert float(problem.eigenvalues[0] - problem.eigenvalues[1]) == 0.0
    np.testing.assert_allclose(np.linalg.eigvalsh(problem.matrix)[::-1], problem.eigenvalues, atol=1e-12)
    assert float(stepwise.StepsApart().predict(problem)) == 0.0


def test_a_step_of_training_is_one_of_the_flow():
    network, x = erf_network(1, 8, outputs=2), jax.random.normal(jax.random.key(1), (6, 3))
    params, readout = small_network(network, jax.random.key(0), 3, 0.1)
    assert readout.shape == (2, 8)
    path = correlations(network, params, x, x, jnp.asarray(1e-3), 3)[1]
    embedded = jax.vmap(lambda point: network.apply(params, point))(x)
    np.testing.assert_allclose(path[0], embedded.T @ embedded / 6, atol=1e-12)
    losses = [float(jnp.sum((own - jnp.eye(2)) ** 2)) for own in path]
    assert losses[0] > losses[1] > losses[2]


def test_a_kernels_steps_from_outputs_are_those_of_weights():
    """With features phi in few dimensions and outputs F = phi W', the sizes are those of W on the modes."""
    problem = NoisyViews(16, 3, 2, 0.3, 0.1).sample({"n": 16, "noise": 0.1}, jax.random.key(0))
    x, views = problem.views(jax.random.key(1))
    outputs = jax.random.normal(jax.random.key(2), (32, 2)) * 1e-4
    steps = stepwise_networks._foreseen(NNGPKernel(erf_network(1)), outputs, x, views)
    assert steps.times.shape == (2,)
    assert bool(jnp.all(jnp.diff(steps.times) > 0))
