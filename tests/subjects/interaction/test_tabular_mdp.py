"""Markov decision processes: against value iteration, linear programming, simulation; every kind of bad input."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import optimize

from lemmata.errors import DataError, LemmataError, MissingDataError, SettingError
from lemmata.subjects.interaction import EstimatedMDP, TabularMDP

STAY = [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]]
ZEROS = np.zeros((2, 2))


def process(states=7, actions=3, discount=0.9, seed=0):
    rng = np.random.default_rng(seed)
    moves = rng.dirichlet(np.full(states, 0.3), (states, actions))
    return TabularMDP(moves, rng.normal(size=(states, actions)), discount, rng.dirichlet(np.ones(states)))


def policy_of(mdp, seed=1):
    return np.random.default_rng(seed).dirichlet(np.ones(mdp.actions), mdp.states)


def swept(mdp, sweeps=3000):
    """Value iteration."""
    values, gaps = np.zeros(mdp.states), []
    for _ in range(sweeps):
        following = (mdp.rewards + mdp.discount * mdp.transitions @ values).max(axis=1)
        gaps.append(np.abs(following - values).max())
        values = following
    return values, np.array(gaps)


@pytest.mark.parametrize("discount", [0.0, 0.5, 0.9, 0.99])
def test_optimal_values_are_those_of_value_iteration_and_of_a_linear_program(discount):
    mdp = process(discount=discount)
    found, (values, gaps) = mdp.optimal(), swept(mdp)
    assert np.allclose(found.values, values, atol=1e-9)
    assert np.abs(found.values - values).max() <= found.error + 1e-9
    rows = np.repeat(np.eye(7), 3, axis=0) - discount * mdp.transitions.reshape(21, 7)
    solved = optimize.linprog(mdp.start, -rows, -mdp.rewards.ravel(), bounds=(None, None))
    assert found.expected == pytest.approx(solved.fun, abs=1e-7)
    late = gaps[1:40] > 1e-6
    assert (gaps[1:40][late] <= discount * gaps[:39][late] * (1 + 1e-9)).all()  # a sweep contracts by the discount


def test_values_visits_and_advantages_are_those_of_simulation():
    mdp, rng, draws = process(discount=0.8), np.random.default_rng(2), 4000
    policy = policy_of(mdp)
    pick = lambda laws: (rng.uniform(size=(draws, 1)) > np.cumsum(laws, axis=1)).sum(axis=1).clip(max=laws.shape[1] - 1)
    state, total, visits = rng.choice(7, draws, p=mdp.start), np.zeros(draws), np.zeros(7)
    for step in range(60):
        visits += 0.2 * 0.8**step * np.bincount(state, minlength=7) / draws
        action = pick(policy[state])
        total += 0.8**step * mdp.rewards[state, action]
        state = pick(mdp.transitions[state, action])
    assert abs(total.mean() - mdp.value(policy).expected) < 4 * total.std() / np.sqrt(draws)
    assert np.allclose(visits, mdp.occupancy(policy), atol=0.03)
    gain = np.asarray(mdp.advantage(policy))
    assert np.allclose((policy * gain).sum(axis=1), 0, atol=1e-12)
    other = policy_of(mdp, 5)
    difference = mdp.occupancy(other) @ (other * gain).sum(axis=1) / 0.2
    assert difference == pytest.approx(mdp.value(other).expected - mdp.value(policy).expected)


def test_shares_and_gains_are_records_that_numpy_reads():
    """Against sums of powers, and against values after one other first action."""
    mdp = process(discount=0.8)
    policy = policy_of(mdp)
    visits, gain = mdp.occupancy(policy), mdp.advantage(policy)
    moves = np.einsum("sa,sat->st", policy, mdp.transitions)
    summed = sum(0.2 * 0.8**k * mdp.start @ np.linalg.matrix_power(moves, k) for k in range(200))
    assert np.abs(summed - np.asarray(visits)).sum() <= visits.error + 1e-15
    assert visits.error < 1e-12
    later = mdp.rewards + 0.8 * mdp.transitions @ mdp.value(policy).values
    assert np.abs(later - mdp.value(policy).values[:, None] - np.asarray(gain)).max() <= gain.error < 1e-12
    assert np.asarray(gain, np.float32).dtype == np.float32
    for record in (visits, gain):
        assert all(own.holds for own in record.conditions)
        assert record._repr_html_().startswith("<pre")
        with pytest.raises(AttributeError):
            record.error = 0.0  # type: ignore[misc]
    assert len(visits.plot().to_dict()["data"]["values"]) == 7
    assert len(gain.plot().to_dict()["data"]["values"]) == 21


def test_shares_and_gains_that_say_nothing_are_named():
    still = TabularMDP(STAY, [[1.0, 0.0], [2.0, 2.0]], 0.0, [1.0, 0.0]).occupancy([0, 0])
    assert "- the policy influences the shares (discount): fails (0)" in str(still)
    assert "- the policy visits every state (number of states never visited): fails (1)" in str(still)
    best = TabularMDP(STAY, [[1.0, 0.0], [2.0, 2.0]], 0.9).optimal().policy
    assert str(TabularMDP(STAY, [[1.0, 0.0], [2.0, 2.0]], 0.9).advantage(best)).startswith("no action gains")
    near = process(discount=1 - 1e-12)
    assert "the shares are exact (sum of their errors): fails" in str(near.occupancy(policy_of(near)))
    assert "the gains are exact (error divided by the largest value): fails" in str(near.advantage(policy_of(near)))
    many = process(9).occupancy(np.zeros(9, int))
    assert "in 4 more" in str(many)
    assert np.asarray(many).sum() == pytest.approx(1)


def test_a_greedy_policy_loses_at_most_the_bound():
    rng = np.random.default_rng(0)
    for seed in range(20):
        mdp = process(seed=seed)
        best = mdp.optimal().values
        found = mdp.greedy_loss_bound(best + rng.normal(size=7))
        assert found.loss.max() <= found.shifted_bound + 1e-12 <= found.bound + 2e-12
        assert mdp.greedy_loss_bound(best + 100).loss.max() == pytest.approx(0, abs=1e-9)
        assert mdp.greedy_loss_bound(best + 100).shifted_bound == pytest.approx(0, abs=1e-9)
        assert mdp.greedy_loss_bound(best).error == pytest.approx(0, abs=1e-12)


def test_temporal_differences_end_where_steps_end():
    mdp, rng = process(discount=0.7), np.random.default_rng(3)
    features, policy = rng.normal(size=(7, 3)), policy_of(mdp)
    found = mdp.td_solution(features, policy)
    moves = np.einsum("sa,sat->st", policy, mdp.transitions)
    assert np.allclose(found.law @ moves, found.law)
    residual = (policy * mdp.rewards).sum(axis=1) + 0.7 * moves @ found.fitted - found.fitted
    assert np.allclose(features.T @ (found.law * residual), 0, atol=1e-12)
    assert found.best <= found.error <= found.bound
    units = mdp.td_solution(features * np.array([1e-200, 1.0, 1e200]), policy)
    assert np.allclose(units.fitted, found.fitted)
    assert mdp.td_solution(np.eye(7), policy).error == pytest.approx(0, abs=1e-10)


def test_rewards_and_policies_have_several_forms():
    mdp, policy = process(), np.array([0, 2, 1, 1, 0, 2, 1])
    plain = mdp.value(policy)
    assert np.allclose(plain.values, mdp.value(np.eye(3)[policy]).values)
    assert np.allclose(plain.values, mdp.value(pd.Series(policy)).values)
    rewards = np.random.default_rng(0).normal(size=mdp.transitions.shape)
    full = TabularMDP(mdp.transitions, rewards, 0.9)
    assert np.allclose(full.rewards, (mdp.transitions * rewards).sum(axis=2))
    assert np.allclose(TabularMDP(mdp.transitions, rewards[:, 0, 0], 0.9).rewards[:, 1], rewards[:, 0, 0])
    frozen = TabularMDP(np.asfortranarray(mdp.transitions), mdp.rewards.tolist(), 0.9)
    assert frozen.optimal().values == pytest.approx(mdp.optimal().values)
    rounded = TabularMDP(mdp.transitions.astype(np.float32), mdp.rewards, 0.9)
    assert np.allclose(rounded.transitions.sum(axis=2), 1, atol=1e-15)


@pytest.mark.parametrize("unit", [1e-300, 1e-160, 1e150, 1e290])
def test_units_of_rewards_do_not_matter(unit):
    mdp, scaled = process(), TabularMDP(process().transitions, process().rewards * unit, 0.9)
    assert (scaled.optimal().policy == mdp.optimal().policy).all()
    assert np.allclose(scaled.optimal().values / unit, mdp.optimal().values)
    found = scaled.td_solution(np.eye(7)[:, :3] + 1, policy_of(mdp))
    assert found.best / unit == pytest.approx(mdp.td_solution(np.eye(7)[:, :3] + 1, policy_of(mdp)).best)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: TabularMDP([[[0.5, 0.4], [0, 1]], STAY[1]], ZEROS, 0.9), r"transitions\[0, 0\]; found .*sum 0.9"),
        (lambda: TabularMDP([[[1.5, -0.5], [0, 1]], STAY[1]], ZEROS, 0.9), r"transitions\[0, 0, 1\]; found -0.5"),
        (lambda: TabularMDP([[[np.nan, 1], [0, 1]], STAY[1]], ZEROS, 0.9), "transitions; found 1 entries"),
        (lambda: TabularMDP(np.zeros((3, 2, 2)), np.zeros((2, 3)), 0.9), r"remedy: use numpy.moveaxis"),
        (lambda: TabularMDP(np.zeros((2, 2)), np.zeros((2, 2)), 0.9), r"transitions; found shape \(2, 2\)"),
        (lambda: TabularMDP(STAY, np.zeros((2, 3)), 0.9), r"rewards; found shape \(2, 3\)"),
        (lambda: TabularMDP(STAY, [[0, np.inf], [0, 0]], 0.9), "rewards; found 1 entries"),
        (lambda: TabularMDP(STAY, np.zeros((2, 2)), 1), "discount; found 1; rule: at least 0 and below 1"),
        (lambda: TabularMDP(STAY, np.zeros((2, 2)), -0.1), "discount; found -0.1"),
        (lambda: TabularMDP(STAY, np.zeros((2, 2)), np.nan), "discount; found nan"),
        (lambda: TabularMDP(STAY, np.zeros((2, 2)), "high"), "discount; found 'high'"),
        (lambda: TabularMDP(STAY, np.zeros((2, 2)), 0.9, [0.5, 0.6]), "start; found probabilities with the sum 1.1"),
        (lambda: TabularMDP(STAY, np.zeros((2, 2)), 0.9, [1.0]), r"start; found shape \(1,\)"),
        (lambda: TabularMDP(STAY, np.full((2, 2), 1e305), 0.9999999).optimal(), "rewards; found values of states of"),
        (lambda: process().value([0, 1]), r"policy; found shape \(2,\)"),
        (lambda: process().value([0, 1, 2, 3, 0, 0, 0]), "policy; found the action 3"),
        (lambda: process().value(np.zeros(7)), r"policy; found shape \(7,\) of float64"),
        (lambda: process().value(np.full((7, 3), 0.5)), r"policy\[0\]; found probabilities with the sum 1.5"),
        (lambda: process().greedy_loss_bound(np.zeros(6)), r"estimate; found shape \(6,\)"),
        (lambda: process().greedy_loss_bound([1e305] * 7), "estimate; found 1e"),
        (lambda: process().greedy_loss_bound([np.nan] * 7), "estimate; found 7 entries"),
        (lambda: process().td_solution(np.ones((6, 2)), policy_of(process())), r"features; found shape \(6, 2\)"),
        (lambda: process().td_solution(np.ones((7, 2)), policy_of(process())), "features; found 2 columns of rank 1"),
        (lambda: TabularMDP(np.eye(2)[:, None], [0, 0], 0.9).td_solution(np.eye(2), [0, 0]), "policy; found 2 sets"),
        (lambda: TabularMDP.from_trajectories([[0, 0, 1.0]], 0.9), r"steps; found shape \(1, 3\)"),
        (lambda: TabularMDP.from_trajectories([[0, 0.5, 1.0, 0]], 0.9), r"steps\[0\], action; found 0.5"),
        (lambda: TabularMDP.from_trajectories([[0, 0, 1.0, -1]], 0.9), r"steps\[0\], next state; found -1"),
        (lambda: TabularMDP.from_trajectories([[0, 0, 1.0, 0, 2]], 0.9), "steps, end; found 2"),
        (lambda: TabularMDP.from_trajectories([[0, 0, np.nan, 0]], 0.9), "steps; found 1 entries"),
        (lambda: TabularMDP.from_trajectories([[0, 0, 1.0, 1]], 0.9), "steps; found 1 of 2 pairs"),
        (lambda: TabularMDP.from_trajectories([[0, 0, 1.0, 3]], 0.9, states=2), "states; found 2; rule: at least 4"),
        (lambda: TabularMDP.from_trajectories([[0, 0, 1.0, 0]], 0.9, level=1), "level; found 1"),
        (lambda: TabularMDP.from_trajectories([[0, 0, 1.0, 0]], 0.9, prior=0), "prior; found 0"),
        (lambda: TabularMDP.from_trajectories([], 0.9), "steps; found shape"),
        (lambda: TabularMDP.from_trajectories([[0, [1, 2], 1.0, 0]], 0.9), "steps; found a list that is not an array"),
        (lambda: TabularMDP.from_trajectories([[0, 0, 1.0, 2**30]], 0.9), "steps; found 1073741825 states"),
        (lambda: TabularMDP.from_trajectories([["a", 0, 1.0, 0]], 0.9), "steps; found the entry 'a'"),
        (lambda: TabularMDP.from_trajectories([[0, 0, 1.0, 1]], 0.9, unseen="no"), "unseen; found the entry 'no'"),
        (lambda: TabularMDP.from_trajectories([[0, 0, 1.0, 1]], 0.9, unseen=[1, 2]), "unseen; found"),
        (lambda: TabularMDP(np.ma.masked_less(STAY, 0.5), ZEROS, 0.9), "transitions; found 4 masked"),
        (lambda: TabularMDP([[[1, 0], [0]], STAY[1]], ZEROS, 0.9), "transitions; found a list that is not an array"),
        (lambda: TabularMDP(np.array(STAY) * 1j, ZEROS, 0.9), "transitions; found entries of type complex128"),
        (lambda: TabularMDP(np.zeros((0, 2, 0)), np.zeros((0, 2)), 0.9), r"transitions; found shape \(0, 2, 0\)"),
        (lambda: TabularMDP(STAY, ZEROS, [0.9]), r"discount; found \[0.9\]"),
        (lambda: TabularMDP(STAY, ZEROS, None), "discount; found None"),
        (lambda: process().value("best"), r"policy; found shape \(\)"),
        (lambda: process().value(None), r"policy; found shape \(\)"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_in_one_line(make, said):
    with pytest.raises(LemmataError, match=said) as caught:
        make()
    assert "\n" not in str(caught.value)


def walked(mdp, steps, seed):
    rng, state, rows = np.random.default_rng(seed), 0, []
    for _ in range(steps):
        action = rng.integers(mdp.actions)
        following = rng.choice(mdp.states, p=mdp.transitions[state, action])
        rows.append([state, action, mdp.rewards[state, action], following])
        state = following
    return np.array(rows)


def test_many_steps_give_the_process_back_and_limits_contain_it():
    mdp = process(4, 2, 0.8)
    steps = walked(mdp, 20000, 0)
    found = TabularMDP.from_trajectories(steps, 0.8)
    assert isinstance(found, EstimatedMDP)
    assert np.allclose(found.transitions, mdp.transitions, atol=0.05)
    assert np.allclose(found.rewards, mdp.rewards)
    inside = (found.limits[0] <= mdp.transitions + 1e-9) & (mdp.transitions <= found.limits[1] + 1e-9)
    assert inside.mean() > 0.75
    for table in (steps.tolist(), pd.DataFrame(steps), pl.DataFrame(steps), [steps[:100], steps[100:]]):
        assert np.array_equal(TabularMDP.from_trajectories(table, 0.8).counts, found.counts)


def test_value_intervals_hold_for_most_processes_of_the_prior():
    """The Dirichlet distribution is the prior of the simulation, so that the level is exact."""
    held, rng, policy = [], np.random.default_rng(0), [1, 0, 1]
    for seed in range(100):
        mdp = TabularMDP(rng.dirichlet(np.ones(3), (3, 2)), [[0.0, 1.0], [1.0, 0.0], [0.5, 2.0]], 0.8)
        steps = walked(mdp, 60, 1000 + seed)
        found = TabularMDP.from_trajectories(steps, 0.8, states=3, actions=2, unseen=0.5, prior=1.0, level=0.8)
        low, high = found.value_interval(policy, draws=100, seed=seed)
        held.append(low <= TabularMDP(mdp.transitions, found.rewards, 0.8, found.start).value(policy).expected <= high)
    assert 0.65 < np.mean(held) < 0.92


def test_draws_in_blocks_are_those_of_one_process_after_the_other(monkeypatch):
    mdp = TabularMDP.from_trajectories(walked(process(4, 2, 0.8), 300, 0), 0.8, states=4, actions=2)
    whole, rng, values = mdp.value_interval([1, 0, 1, 0], draws=25), np.random.default_rng(0), []
    for _ in range(25):
        drawn = rng.standard_gamma(mdp.counts + mdp.prior)
        one = TabularMDP(drawn / drawn.sum(axis=2, keepdims=True), mdp.rewards, 0.8, mdp.start)
        values.append(one.value([1, 0, 1, 0]).expected)
    assert whole == pytest.approx(np.quantile(values, [0.025, 0.975]))
    monkeypatch.setattr("lemmata.subjects.interaction._tabular._AT_ONCE", 100)
    assert mdp.value_interval([1, 0, 1, 0], draws=25) == pytest.approx(whole)


def test_an_end_leads_to_a_state_without_rewards():
    steps = [[0, 0, 1.0, 1, 0], [1, 0, 5.0, 0, 1], [0, 0, 1.0, 1, 0], [1, 0, 5.0, 1, 1]]
    found = TabularMDP.from_trajectories(steps, 0.5, prior=1e-9)
    assert found.states == 3
    assert np.allclose(found.value([0, 0, 0]).values, [3.5, 5.0, 0.0])
    assert np.allclose(found.start, [1, 0, 0])
    low, high = found.value_interval([0, 0, 0], draws=20)
    assert low == pytest.approx(3.5)
    assert high == pytest.approx(3.5)


def test_pairs_without_a_step_need_a_reward():
    found = TabularMDP.from_trajectories([[0, 0, 1.0, 1], [1, 0, 0.0, 0]], 0.5, actions=2, unseen=-1.0)
    assert np.allclose(found.rewards[:, 1], -1)
    assert np.allclose(found.transitions[:, 1], 0.5)
    assert found.conditions[1].holds is False
    assert "fails (2)" in str(found)


def test_records_print_and_draw():
    mdp = process(14)
    for record in (mdp, mdp.value(policy_of(mdp)), mdp.optimal(), mdp.greedy_loss_bound(np.zeros(14))):
        assert str(record)
        assert record._repr_html_().startswith("<pre")
    assert "and 2 more states" in str(mdp.optimal())
    fixed = mdp.td_solution(np.eye(14)[:, :4], policy_of(mdp))
    assert "bound" in str(fixed)
    assert mdp.optimal().plot().to_dict()["mark"]["type"] == "bar"
    assert len(fixed.plot().to_dict()["layer"]) == 2


def test_gymnasium_environments_are_read():
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make("FrozenLake-v1", is_slippery=False)
    mdp = TabularMDP.from_gymnasium(env, 0.9)
    assert mdp.optimal().expected == pytest.approx(0.9**5)  # six steps, the reward with the last
    assert TabularMDP.from_gymnasium("FrozenLake-v1", 0.9).states == 17
    cliff = TabularMDP.from_gymnasium("CliffWalking-v1", 0.999)
    assert cliff.optimal().expected == pytest.approx(-sum(0.999**k for k in range(13)))
    with pytest.raises(SettingError, match="environment; found"):
        TabularMDP.from_gymnasium("NoSuchLake-v1")
    with pytest.raises(DataError, match="no table of transitions"):
        TabularMDP.from_gymnasium(gymnasium.make("CartPole-v1"))


def test_a_table_needs_no_package(monkeypatch):
    class Lake:
        P = {0: {0: [(0.5, 0, 1.0, False), (0.5, 0, 2.0, True)]}}  # noqa: RUF012

    mdp = TabularMDP.from_gymnasium(Lake(), 0.5)
    assert np.allclose(mdp.value([0, 0]).values, [1.5 / 0.75, 0.0])
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    with pytest.raises(MissingDataError, match=r"pip install 'lemmata\[agents\]'"):
        TabularMDP.from_gymnasium("FrozenLake-v1")
