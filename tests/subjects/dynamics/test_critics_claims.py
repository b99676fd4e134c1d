"""The chapter on critics: kinks by hand, closed forms, networks of two halves, the step that is allowed."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from lemmata.architectures import TangentKernel, erf_network, relu_network
from lemmata.subjects.dynamics import critic, critic_slopes, critics, particle_flows, squared_discrepancy
from lemmata.subjects.dynamics._clouds import EightGaussians, ShiftedClouds
from lemmata.subjects.dynamics.critic_slopes import LinesOfCritics


def test_the_kink_of_a_kernel_by_its_arccosine_form():
    """One hidden ReLU layer: K(x, y) = s (sin t + 2 (pi - t) cos t)/(2 pi) + b² with s = |x~||y~|, t their angle."""
    x, y, bias = np.array([0.3, -1.0]), np.array([0.8, 0.4]), 0.7
    lift = lambda z: np.append(z, bias)  # weights of variance 2/d, d = 2
    size = np.linalg.norm(lift(x)) * np.linalg.norm(lift(y))
    angle = np.arccos(lift(x) @ lift(y) / size)
    expected = size * (np.sin(angle) + 2 * (np.pi - angle) * np.cos(angle)) / (2 * np.pi) + bias**2
    found = TangentKernel(relu_network(1, bias_std=bias))(jnp.asarray(x), jnp.asarray(y))
    assert float(found) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("network", ["relu", "erf"])
def test_jumps_of_slopes(network):
    problem = LinesOfCritics(network=network).sample(
        {"n": 3, "d": 3, "bias": 1.0, "network": network}, jax.random.key(0)
    )
    jump = float(critic_slopes._jump(problem, problem.fake[0], 1e-5))
    expected = float(critic_slopes.KinkAtSamples().predict(problem))
    assert expected > 0.05
    assert jump == pytest.approx(expected if network == "relu" else 0.0, abs=1e-3)


def test_integrated_values_are_those_of_the_closed_form():
    for loss in ("ipm", "lsgan", "vanilla"):
        setting = {"n": 4, "d": 2, "apart": 2.0, "time": 1.0, "loss": loss}
        problem = ShiftedClouds().sample(setting, jax.random.key(0))
        found = critic(critics._KERNEL, problem.real, problem.fake, 1.0, loss)(problem.other)
        np.testing.assert_allclose(critics.integrated(problem, problem.other), found, atol=1e-7)


def test_two_halves_start_at_zero_and_wide_ones_end_near_the_limit():
    setting = {"n": 4, "d": 2, "apart": 2.0, "time": 1.0, "loss": "ipm"}
    problem = ShiftedClouds().sample(setting, jax.random.key(0))
    network = erf_network(1, 2048, bias_std=0.5)
    found = critics._trained(network, jax.random.key(1), problem)
    limit = critic(TangentKernel(network), problem.real, problem.fake, 1.0)(problem.other)
    assert float(jnp.abs(found - limit).max()) < 0.2 * float(jnp.abs(limit).max())


def test_the_constant_of_lipschitz_gradients_is_attained_by_points_that_push_each_other_apart():
    """Two generated points at the same place and no force but theirs: curvature along their difference is 4/(m l²)."""
    value = lambda gap: squared_discrepancy(
        particle_flows._KERNEL, jnp.array([[gap / 2**0.5], [-gap / 2**0.5]]), jnp.array([[1e3]])
    )
    curvature = float(jax.grad(jax.grad(value))(0.0))
    assert curvature == pytest.approx(-4 / 2 / 2 * 1.0, rel=1e-9)
    assert abs(curvature) <= 6 / 2


def test_eight_gaussians_are_eight():
    """Row i belongs to cloud i mod 8: means and deviations of each cloud, by their standard errors of 512 points."""
    problem = EightGaussians().sample({"n": 8 * 512}, jax.random.key(0))
    clouds = np.asarray(problem.real).reshape(512, 8, 2)
    angles = np.arange(8) * np.pi / 4
    centres = 5.0 * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    assert np.abs(clouds.mean(axis=0) - centres).max() < 5 * 0.5 / 512**0.5
    assert np.abs(clouds.std(axis=0) - 0.5).max() < 5 * 0.5 / (2 * 512) ** 0.5
