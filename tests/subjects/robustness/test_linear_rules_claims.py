"""Linear rules and floors: cases by hand, SciPy's search, attacks on draws, brute force over all labellings."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats

from lemmata.subjects.robustness import floors, linear_rules


@pytest.mark.parametrize("norm", ["linf", "l1"])
def test_the_attack_finds_the_corner_that_a_linear_program_finds(norm, key):
    problem = linear_rules.AttackedRules().sample({"d": 5, "norm": norm}, key)
    w, eps, d = np.asarray(problem.weight), float(problem.budget), 5
    if norm == "linf":
        found = optimize.linprog(w, bounds=(-eps, eps)).fun
    else:
        found = optimize.linprog(np.concatenate([w, -w]), np.ones((1, 2 * d)), [eps]).fun
    assert -found == pytest.approx(eps * float(linear_rules._dual(problem.weight, norm)))
    far = linear_rules._projected(100 * eps * problem.weight, problem.budget, norm)
    exact = optimize.minimize(
        lambda v: ((v[:d] - v[d:] - 100 * eps * w) ** 2).sum(), np.zeros(2 * d), bounds=[(0, eps)] * 2 * d,
        constraints=[] if norm == "linf" else [{"type": "ineq", "fun": lambda v: eps - v.sum()}],
    ).x  # fmt: skip
    assert np.allclose(far, exact[:d] - exact[d:], atol=2e-3 * eps)


def test_without_a_budget_the_bayes_rule_returns():
    mean, spread = jnp.array([0.8, -0.3, 0.1]), jnp.array([1.0, 0.7, 1.2])
    problem = linear_rules.AttackedClasses(mean, spread, jnp.asarray(0.0))
    kept = mean.at[2].set(0.0) * (1 - 0.1 / jnp.abs(mean).clip(min=0.1))  # the least mean is the budget
    assert np.allclose(linear_rules.BestRobustLinearRule().predict(problem), problem.errors(kept / spread**2))
    free = linear_rules.AttackedClasses(mean.at[2].set(0.0), spread, jnp.asarray(0.0))
    bayes = stats.norm.cdf(-np.linalg.norm(np.asarray(mean[:2] / spread[:2])))
    assert np.allclose(linear_rules.BestRobustLinearRule().predict(free), [bayes, bayes])


def test_no_direction_of_a_grid_beats_the_best_rule():
    problem = linear_rules.AttackedClasses(jnp.array([1.0, 0.4]), jnp.ones(2), jnp.asarray(0.5))
    angles = jnp.linspace(0, 2 * jnp.pi, 20001)
    grid = jax.vmap(problem.errors)(jnp.stack([jnp.cos(angles), jnp.sin(angles)], axis=1))
    best = linear_rules.BestRobustLinearRule().predict(problem)
    assert float(grid[:, 0].min()) == pytest.approx(float(best[0]), rel=1e-6)


def test_fragile_features_on_draws(key):
    problem = linear_rules.FragileFeatures().population.sample({"d": 50}, key)
    rng, n = np.random.default_rng(0), 40000
    first = np.where(rng.uniform(size=n) < float(problem.keep), 1.0, -1.0)
    c, eta = np.asarray(problem.weights), float(problem.eta)
    weak = eta - 2 * eta * np.sign(c) + rng.normal(size=(n, 50))
    right = float(problem.pull) * np.linalg.norm(c) * first + weak @ c > 0
    assert right.mean() == pytest.approx(float(linear_rules.FragileFeatures().measure(problem, key)), abs=0.012)


@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
def test_the_floor_is_that_of_all_covers(norm, key):
    claim = floors.FloorOfRobustError()
    for own in jax.random.split(key, 5):
        problem = floors.LabelledClouds().sample({"n": 20, "d": 2, "crowding": 0.8, "norm": norm}, own)
        first, second = np.nonzero(problem.distances <= 2 * problem.radius)
        sides = 10
        least = min(
            sum(chosen) + len({j for i, j in zip(first, second, strict=True) if not chosen[i]})
            for chosen in itertools.product((0, 1), repeat=sides)
        )
        assert np.allclose(claim.predict(problem), least / 20)
        assert np.allclose(claim.measure(problem, own), least / 20)
