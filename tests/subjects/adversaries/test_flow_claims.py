"""Adversarial training in function space: integrators, networks and limits of the chapter against other routes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import scipy.linalg
from scipy.integrate import solve_ivp
from scipy.optimize import minimize

from lemmata.engine.claims._relations import Sample
from lemmata.subjects.adversaries import adversarial_flow, robust_overfitting
from lemmata.subjects.adversaries._attacked_flows import AttackedFlows
from lemmata.subjects.adversaries._attacked_networks import AttackedNetworks, linear_output, output
from lemmata.subjects.adversaries._attacked_training import ascent_training, signed_training
from lemmata.subjects.adversaries._spurious_rows import SpuriousRows


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
    found = np.asarray(signed_training(problem, 4000))
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


LAW = {"n": 100, "d": 60, "right": 0.95, "mean": 0.1, "radius": 0.3}


def judged(claim, predicted, measured):
    return claim.relation.judge(Sample(np.asarray(predicted), np.asarray(measured), np.ones(len(measured))), 1e-3).holds


def drawn(count):
    keys = jax.random.split(jax.random.key(41), count)
    return [SpuriousRows().sample(LAW, own) for own in keys]


def accuracies(problems, *trainings):
    """Of each training of each problem, one row a problem."""
    row = jax.jit(lambda own: jnp.stack([jnp.mean(own.linear_margins(train(own)) > 0) for train in trainings]))
    return np.stack([row(own) for own in problems])


def test_attacks_by_ascent_are_what_scipy_integrates(key):
    problem = SpuriousRows(n=10, d=4, new=1).sample({**LAW, "n": 10, "d": 4}, key)
    x, y = np.asarray(problem.x), np.asarray(problem.y)
    rate = 0.1 * float(problem.unit)
    w = rate * x.T @ y  # the first step starts at 0, where nothing is moved
    assert np.allclose(ascent_training(problem, 3.0, 0.1), w)
    slope = lambda s, z: (np.outer(z.reshape(x.shape) @ w - y, w)).ravel()
    attacked = solve_ivp(slope, (0, 3.0), x.ravel(), rtol=1e-10, atol=1e-12).y[:, -1].reshape(x.shape)
    after = w - rate * attacked.T @ (attacked @ w - y)
    assert np.allclose(ascent_training(problem, 3.0, 0.2), after, rtol=1e-7)


def test_the_ridge_that_ascent_leaves_is_a_ridge_and_stationary():
    (problem,) = drawn(1)
    x, y = np.asarray(problem.x), np.asarray(problem.y)
    w = np.asarray(robust_overfitting.ascent_ridge(problem, 3.0))
    kappa = np.sum((x @ w - y) ** 2) * np.expm1(3 * w @ w) / (w @ w)
    assert np.allclose(np.linalg.solve(x.T @ x + kappa * np.eye(61), x.T @ y), w, rtol=1e-9)
    plain = np.linalg.lstsq(x, y, rcond=None)[0]
    assert np.linalg.norm(plain - w) > 0.3 * np.linalg.norm(w)
    assert np.linalg.norm(np.asarray(ascent_training(problem, 0.0, 4000.0)) - plain) < 1e-6


def test_robust_overfitting_is_that_of_training_under_ascent_and_of_no_other():
    claim, problems = robust_overfitting.RobustOverfitting(), drawn(32)
    measured = [jax.jit(claim.measure)(own, jax.random.key(0)) for own in problems]
    signs = np.full(len(problems), float(claim.predict(problems[0])))
    assert judged(claim, signs, measured) is True
    plain, signed = (lambda own: ascent_training(own, 0.0, 100.0)), (lambda own: signed_training(own, 2000))
    no_attack = accuracies(problems, lambda own: ascent_training(own, 0.0, 3.0), plain, plain)
    assert judged(claim, signs, no_attack) is not True
    assert judged(claim, signs, accuracies(problems, lambda own: signed_training(own, 60), signed, plain)) is not True
    no_training = accuracies(problems, lambda own: jnp.zeros(61), lambda own: jnp.zeros(61), plain)
    assert judged(claim, signs, no_training) is not True


def test_signed_attacks_lose_nothing_and_training_without_them_does():
    claim, problems = robust_overfitting.SignedAttacksLoseNothing(), drawn(16)
    predicted = [claim.predict(own) for own in problems]
    assert judged(claim, predicted, [jax.jit(claim.measure)(own, jax.random.key(0)) for own in problems]) is True
    plain = (lambda own: ascent_training(own, 0.0, 10.0)), (lambda own: ascent_training(own, 0.0, 100.0))
    assert judged(claim, predicted, accuracies(problems, *plain)) is False
