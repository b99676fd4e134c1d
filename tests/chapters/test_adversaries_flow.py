"""Adversarial training in function space: integrators, networks and limits of the chapter against other routes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from lemmata.chapters.adversaries import adversarial_flow, robust_overfitting
from lemmata.problems._attacked_flows import AttackedFlows
from lemmata.problems._attacked_networks import AttackedNetworks, linear_output, output
from lemmata.problems._spurious_rows import SpuriousRows


def flow(schedule, key):
    return AttackedFlows(schedule).sample({"n": 6, "m": 2, "spread": 3.0, "schedule": schedule}, key)


def test_taylor_steps_are_the_exponential(key):
    A = np.asarray(jax.random.normal(key, (5, 5)))
    found = adversarial_flow.taylor_flow(jnp.asarray(A), jnp.ones(5), jnp.asarray(2.0), 12)
    assert np.allclose(found, scipy.linalg.expm(-2 * A) @ np.ones(5), rtol=1e-12)


def test_changing_weights_are_what_scipy_integrates(key):
    problem = flow("changing", key)
    K, first, last = map(np.asarray, (problem.K, problem.first, problem.last))
    end = float(problem.time)
    slope = lambda t, r: -K @ ((first + (last - first) * t / end) * r)
    path = solve_ivp(slope, (0, end), np.asarray(problem.start - problem.y), rtol=1e-11, atol=1e-13)
    assert np.allclose(adversarial_flow.changing_flow(problem, problem.time), path.y[:, -1], atol=1e-9)


def test_the_error_of_integrated_weights_is_the_commutator(key):
    problem = flow("changing", key)
    claim, short = adversarial_flow.ChangingAttack(), 1e-3
    one, other = np.asarray(problem.K * problem.first), np.asarray(problem.K * problem.last)
    time = short / float(problem.speed)
    expected = time**2 / 12 * np.linalg.norm((one @ other - other @ one) @ np.asarray(problem.start - problem.y))
    assert np.allclose(claim.measure_at(problem, key, short), expected, rtol=0.02)
    same = dataclasses.replace(problem, last=2 * problem.first)  # at one pace matrices commute
    assert claim.measure_at(same, key, 1.0) < 1e-9


def test_the_frozen_flow_ends_at_the_interpolant(key):
    problem = dataclasses.replace(flow("constant", key), time=jnp.asarray(2000.0))
    found = adversarial_flow.FrozenAttackFlow().predict(problem)
    plain = problem.other_start + problem.cross @ jnp.linalg.solve(problem.K, problem.y - problem.start)
    assert np.allclose(found, jnp.concatenate([problem.y, plain]), atol=1e-10)


def test_a_linearised_network_without_attack_is_a_kernel_flow(key):
    setting = {"n": 3, "d": 3, "steps": 12, "strength": 0.05}
    problem = dataclasses.replace(AttackedNetworks().sample(setting, key), strength=jnp.asarray(0.0))
    params = problem.drawn(key, 20)
    assert np.allclose(problem.trained(params, linear=True), problem.frozen(params, attacked=False), atol=1e-12)
    change = jax.tree.map(lambda leaf: 1e-4 * leaf, params)
    moved = output(jax.tree.map(jnp.add, params, change), problem.x[0])
    assert np.allclose(linear_output(params, change, problem.x[0]), moved, atol=1e-6)


def test_signed_training_finds_the_least_attacked_loss(key):
    problem = SpuriousRows(n=8, d=12, new=1).sample({"n": 8, "d": 12, "right": 0.95, "mean": 0.1, "radius": 0.3}, key)
    x, y = np.asarray(problem.x), np.asarray(problem.y)
    loss = lambda w: np.sum((np.abs(x @ w - y) + 0.3 * np.abs(w).sum()) ** 2)
    found = np.asarray(robust_overfitting.signed_training(problem, 4000))
    split = lambda v: loss(v[:13] - v[13:])
    best = minimize(split, np.full(26, 0.01), bounds=[(0, None)] * 26, options={"maxiter": 2000, "maxfun": 10**6})
    assert loss(found) <= 1.05 * best.fun
    plain = np.linalg.lstsq(x, y, rcond=None)[0]
    assert loss(plain) > 1.1 * loss(found)


def test_margins_are_the_worst_of_all_corners(key):
    problem = SpuriousRows(n=8, d=3, new=20).sample({"n": 8, "d": 3, "right": 0.9, "mean": 0.1, "radius": 0.3}, key)
    w = jax.random.normal(key, (4,))
    corners = np.stack(np.meshgrid(*[[-0.3, 0.3]] * 4), axis=-1).reshape(-1, 4)
    worst = np.min(
        np.asarray(problem.y_new)[:, None] * ((np.asarray(problem.x_new)[:, None] + corners) @ np.asarray(w)), 1
    )
    assert np.allclose(problem.linear_margins(w), worst)
