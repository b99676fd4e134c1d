"""Claims on Markov decision processes: cases by hand, simulation, enumeration of all policies, linear programming."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import integrate, optimize, stats

from lemmata.subjects.interaction import policies, values
from lemmata.subjects.interaction._decision_processes import (
    PolicyPairs,
    ValueGuesses,
    best_values,
    summed_powers,
)

SMALL = {"states": 4, "actions": 3, "discount": 0.8}


@pytest.fixture
def pair(key):
    return PolicyPairs().sample(SMALL, key)


def test_values_are_those_of_simulated_episodes(pair):
    rng, process, (policy, _) = np.random.default_rng(0), pair.process, pair.policies
    draws, steps = 4000, 60
    state = rng.choice(4, draws, p=np.asarray(process.start))
    pick = lambda laws: (rng.uniform(size=(draws, 1)) > np.cumsum(laws, axis=1)).sum(axis=1).clip(max=laws.shape[1] - 1)
    total, visits = np.zeros(draws), np.zeros(4)
    for step in range(steps):
        visits += 0.2 * 0.8**step * np.bincount(state, minlength=4) / draws
        action = pick(np.asarray(policy)[state])
        total += 0.8**step * np.asarray(process.rewards)[state, action]
        state = pick(np.asarray(process.moves)[state, action])
    error = total.std() / np.sqrt(draws)
    assert abs(total.mean() - float(process.start @ process.solved(policy))) < 4 * error
    assert np.allclose(visits, policies._occupancy(process, policy), atol=0.03)


def test_the_gradient_is_that_of_finite_differences(pair):
    value = lambda logits: float(pair.process.start @ pair.process.solved(jax.nn.softmax(logits, axis=1)))
    moved = lambda place, size: value(pair.logits.at[place].add(size))
    slopes = [(moved(place, 1e-5) - moved(place, -1e-5)) / 2e-5 for place in itertools.product(range(4), range(3))]
    assert np.allclose(policies.PolicyGradient().predict(pair).ravel(), slopes, atol=1e-8)


def test_a_start_that_is_stationary_makes_the_control_true(pair):
    process, (policy, _) = pair.process, pair.policies
    law = policies._stationary(process.followed(policy)[0])
    stationary = type(process)(process.moves, process.rewards, process.discount, law)
    assert np.allclose(policies._occupancy(stationary, policy), law)


def test_best_values_are_those_of_all_policies_and_of_a_linear_program(pair):
    process = pair.process
    every = [process.solved(jnp.eye(3)[jnp.array(chosen)]) for chosen in itertools.product(range(3), repeat=4)]
    assert np.allclose(best_values(process), np.max(every, axis=0))
    rows = np.repeat(np.eye(4), 3, axis=0) - 0.8 * np.asarray(process.moves).reshape(12, 4)
    found = optimize.linprog(np.ones(4), -rows, -np.asarray(process.rewards).ravel(), bounds=(None, None)).x
    assert np.allclose(best_values(process), found, atol=1e-7)


def test_the_greedy_loss_attains_its_bound_and_falls_without_an_error(key):
    claim = policies.GreedyLoss()

    def judged(own):
        problem = ValueGuesses().sample(SMALL, own)
        exact = type(problem)(problem.process, best_values(problem.process), problem.error)
        return claim.measure(problem, own) / claim.predict(problem), claim.measure(exact, own)

    ratios, losses = jax.jit(jax.vmap(judged))(jax.random.split(key, 40))
    assert np.allclose(losses, 0, atol=1e-9)
    assert float(ratios.max()) == pytest.approx(1.0, abs=1e-6)
    assert 0.2 < np.mean(np.asarray(ratios) > 0.99) < 0.8


def test_temporal_differences_attain_the_bound_on_a_cycle(key):
    claim, chains = values.TemporalDifferenceError(), values.ChainsWithFeatures()

    def ratio(own):
        problem = chains.sample({"states": 8, "discount": 0.9}, own)
        return claim.measure(problem, own) / claim.predict(problem)

    ratios = np.asarray(jax.jit(jax.vmap(ratio))(jax.random.split(key, 40)))
    assert ratios.max() == pytest.approx(1.0, abs=1e-9)
    assert 0.2 < np.mean(ratios > 1 - 1e-6) < 0.8


def test_temporal_differences_by_steps_end_at_the_fixed_point(key):
    """Expected updates; and values in the span of the features are found."""
    problem = values.ChainsWithFeatures().sample({"states": 7, "discount": 0.6}, key)
    scaled = problem.features / jnp.linalg.norm(problem.features, axis=0)

    def step(_, weights):
        fitted = scaled @ weights
        error = problem.rewards + problem.discount * problem.transition @ fitted - fitted
        return weights + 0.5 * scaled.T @ (problem.law * error)

    found = problem.length(scaled @ jax.lax.fori_loop(0, 40000, step, jnp.zeros(3)) - problem.values)
    assert float(found) == pytest.approx(float(values.TemporalDifferenceError().measure(problem, key)), rel=1e-5)
    inside = problem.features @ jnp.array([1.0, -2.0, 0.5])
    rewards = inside - problem.discount * problem.transition @ inside
    exact = type(problem)(problem.transition, problem.law, rewards, problem.discount, problem.features)
    assert float(values.TemporalDifferenceError().measure(exact, key)) < 1e-10


@pytest.mark.parametrize(("discount", "grows"), [(0.45, False), (0.55, True)])
def test_the_weight_grows_from_a_discount_of_a_half(discount, grows, key):
    problem = values.TwoStates(*map(jnp.asarray, (2.0, discount, 0.1)))
    alone, both = values.UpdatesOfOneState().measure(problem, key)
    assert (float(alone) > 1) == grows
    assert float(both) < 1


def test_the_maximum_of_normal_numbers_is_that_of_their_density():
    for m in (2, 5, 16):
        law = lambda z, m=m: z * m * stats.norm.pdf(z) * stats.norm.cdf(z) ** (m - 1)
        found = values.MaximumOfEstimates().predict(values.EqualActions(jnp.asarray(2.0), m))
        assert float(found[1]) == pytest.approx(2 * integrate.quad(law, -12, 12)[0], rel=1e-9)
    assert float(found[0]) == pytest.approx(2 * 15 / 17)
    assert float(values.MaximumOfEstimates().predict(values.EqualActions(jnp.asarray(1.0), 2))[1]) == pytest.approx(
        1 / np.sqrt(np.pi)
    )


def test_powers_add_up_to_the_inverse():
    matrix = 0.95 * np.random.default_rng(0).dirichlet(np.ones(5), 5)
    assert np.allclose(summed_powers(jnp.asarray(matrix)), np.linalg.inv(np.eye(5) - matrix))
