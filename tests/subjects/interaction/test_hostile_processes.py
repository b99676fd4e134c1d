"""Processes whose actions differ by little of their values, episodes in tables, and malformed environments."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from lemmata.errors import DataError, SettingError
from lemmata.subjects.interaction import TabularMDP


def _exact(moves, rewards, discount):
    """Values of a policy by elimination with fractions."""
    s = len(moves)
    table = [[Fraction(int(i == j)) - discount * moves[i][j] for j in range(s)] + [rewards[i]] for i in range(s)]
    for c in range(s):
        pivot = next(k for k in range(c, s) if table[k][c] != 0)
        table[c], table[pivot] = table[pivot], table[c]
        table[c] = [value / table[c][c] for value in table[c]]
        for k in range(s):
            if k != c:
                table[k] = [u - table[k][c] * v for u, v in zip(table[k], table[c], strict=True)]
    return [row[-1] for row in table]


@pytest.mark.parametrize("discount", [0.9, 0.999999, 1 - 1e-9])
@pytest.mark.parametrize("shift", [0.0, 1e6, 1e10])
def test_policies_are_optimal_near_discount_1_and_for_shifted_rewards(discount, shift):
    """Values near shift/(1 - discount) hid differences of actions below 1e-10 of them."""
    rng = np.random.default_rng(0)
    for trial in range(8):
        counts = rng.integers(0, 5, (3, 2, 3)) + np.eye(3, dtype=int)[:, None]
        if trial % 2:
            counts = np.eye(3, dtype=int)[rng.integers(0, 3, (3, 2))]
        rewards = rng.integers(-3, 4, (3, 2))
        found = TabularMDP(counts / counts.sum(axis=2, keepdims=True), rewards + shift, discount).optimal()
        laws = [[[Fraction(int(v), int(own.sum())) for v in own] for own in state] for state in counts]
        values = {
            policy: _exact([laws[i][policy[i]] for i in range(3)],
                           [Fraction(int(rewards[i, policy[i]])) for i in range(3)], Fraction(discount))
            for policy in itertools.product(range(2), repeat=3)
        }  # fmt: skip
        best = [max(own[i] for own in values.values()) for i in range(3)]
        chosen = values[tuple(int(action) for action in found.policy)]
        assert max(float(b - v) for b, v in zip(best, chosen, strict=True)) < 1e-6
        truth = [float(own + Fraction(shift) / (1 - Fraction(discount))) for own in best]
        assert np.abs(found.values - truth).max() <= found.error


def test_gains_over_a_policy_keep_their_digits():
    moves = np.full((2, 2, 2), 0.5)
    plain, shifted = (TabularMDP(moves, np.array([[0.0, 1.0], [2.0, 5.0]]) + c, 1 - 1e-9) for c in (0.0, 2.0**30))
    np.testing.assert_allclose(plain.advantage([0, 1]), [[0.0, 1.0], [-3.0, 0.0]], atol=1e-9)
    np.testing.assert_allclose(shifted.advantage([0, 1]), plain.advantage([0, 1]), atol=1e-9)


def test_each_table_of_steps_starts_an_episode():
    """The second table starts in the state where the first one ends; its first step was not counted as a start."""
    first, second = [[1, 0, 0.0, 0]], [[0, 0, 0.0, 1], [1, 0, 0.0, 0]]
    found = TabularMDP.from_trajectories([first, second], 0.9)
    assert found.start.tolist() == [0.5, 0.5]
    assert TabularMDP.from_trajectories(first + second, 0.9).start.tolist() == [0.0, 1.0]


def test_a_prior_that_overflows_is_named():
    with pytest.raises(SettingError, match="prior"):
        TabularMDP.from_trajectories([[0, 0, 0.0, 1], [1, 0, 0.0, 0]], 0.9, prior=1e308)


@pytest.mark.parametrize(
    "table",
    [
        {"a": {0: [(1.0, "a", 0.0, False)]}},
        {1: {0: [(1.0, 1, 0.0, False)]}},
        {0: [[(1.0, 0, 0.0, False)]]},
        {0: {0: [(1.0, 0, 0.0)]}},
        {0: {0: [(1.0, 5, 0.0, False)]}},
        {0: {0: [(1.0, -1, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}},
        {0: {1: [(1.0, 0, 0.0, False)]}},
        {0: {0: [(1.0, 0, 0.0, False)], 1: [(1.0, 0, 0.0, False)]}, 1: {0: [(1.0, 0, 0.0, False)]}},
    ],
)
def test_malformed_tables_of_environments_are_refused_in_one_line(table):
    env = type("Env", (), {"P": table})()
    with pytest.raises(DataError, match="P\\[state\\]\\[action\\]") as error:
        TabularMDP.from_gymnasium(env)
    assert "\n" not in str(error.value)


def test_each_answer_draws_itself():
    mdp = TabularMDP(np.full((2, 2, 2), 0.5), [[0.0, 1.0], [2.0, 0.0]], 0.5)
    for answer in (mdp.value([0, 1]), mdp.optimal(), mdp.greedy_loss_bound([1.0, 0.0])):
        assert answer.plot().to_dict()["config"]
        assert answer.conditions
        assert answer.claims
