"""Rewards from comparisons: another optimiser, other derivatives, simulated truth, and graphs that fall apart."""

import itertools
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_expit

from lemmata.errors import DataError, SettingError, UnknownNameError
from lemmata.subjects.preferences import fit_rewards


def games(rng, rewards, each):
    """Pairs (winner, loser): every pair of items, so many times."""
    pairs = []
    for i, j in itertools.combinations(range(len(rewards)), 2):
        won = rng.binomial(each, expit(rewards[i] - rewards[j]))
        pairs += [(i, j)] * won + [(j, i)] * (each - won)
    return pairs


def uneven(rng, k, count):
    pairs = []
    while len(pairs) < count:
        i, j = rng.choice(k, 2, replace=False)
        pairs.append((i, j) if rng.uniform() < expit((i - j) / 2) else (j, i))
    return np.array(pairs)


def test_the_fit_is_that_of_another_optimiser():
    pairs = uneven(np.random.default_rng(0), 6, 150)
    found = fit_rewards(pairs)
    loss = lambda r: -np.sum(log_expit(r[pairs[:, 0]] - r[pairs[:, 1]])) + r.sum() ** 2
    other = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-9}).x
    assert np.allclose(found.reward, other, atol=1e-6)
    assert abs(found.reward.sum()) < 1e-12


def test_the_covariance_is_the_pseudo_inverse_of_an_automatic_hessian():
    torch = pytest.importorskip("torch")
    pairs = uneven(np.random.default_rng(1), 5, 120)
    found = fit_rewards(pairs)
    first, second = torch.tensor(pairs[:, 0]), torch.tensor(pairs[:, 1])
    loss = lambda r: -torch.nn.functional.logsigmoid(r[first] - r[second]).sum()
    hessian = torch.autograd.functional.hessian(loss, torch.tensor(found.reward)).numpy()
    assert np.allclose(found.covariance, np.linalg.pinv(hessian, rcond=1e-10), rtol=1e-7, atol=1e-10)


def test_intervals_and_test_hold_on_simulated_truth():
    rng, rewards = np.random.default_rng(2), np.array([-1.0, -0.4, 0.0, 0.5, 0.9])
    rewards, hits, rejected, probable = rewards - rewards.mean(), [], [], []
    for _ in range(500):
        found = fit_rewards(games(rng, rewards, 60))
        hits.append((found.interval[:, 0] <= rewards) & (rewards <= found.interval[:, 1]))
        rejected.append(found.p_value <= 0.05)
        _, low, high = found.probability(0, 4)
        probable.append(low <= expit(rewards[0] - rewards[4]) <= high)
    covered = np.mean(hits, axis=0)
    print("coverage of rewards", covered.round(3), "of a probability", np.mean(probable), "rejected", np.mean(rejected))
    # four standard errors over 500 runs are 0.039
    assert (np.abs(covered - 0.95) <= 0.039).all()
    assert abs(np.mean(probable) - 0.95) <= 0.039
    assert abs(np.mean(rejected) - 0.05) <= 0.039


def test_a_circle_of_preferences_is_not_explained_by_rewards():
    circle = [("rock", "scissors")] * 40 + [("scissors", "paper")] * 40 + [("paper", "rock")] * 40
    circle += [(loser, winner) for winner, loser in circle[::4]]
    found = fit_rewards(circle)
    assert np.allclose(found.reward, 0.0, atol=1e-9)
    assert found.freedom == 1
    assert found.p_value < 1e-6
    assert found.worst[2:] == (pytest.approx(0.8), pytest.approx(0.5))


@pytest.mark.parametrize("seed", range(5))
def test_with_pairs_equally_often_the_order_is_that_of_borda(seed):
    rng = np.random.default_rng(seed)
    pairs = []
    for i, j in itertools.combinations(range(7), 2):
        won = rng.integers(2, 19)
        pairs += [(i, j)] * won + [(j, i)] * (20 - won)
    found = fit_rewards(pairs)
    assert (np.argsort(found.reward) == np.argsort(found.borda)).all() or len(set(found.borda)) < 7
    assert found.conditions[3].holds is True


def test_a_winner_of_every_duel_can_come_second():
    duels = [("a", "b", 51), ("a", "c", 51), ("b", "c", 99)]
    pairs = [pair for x, y, won in duels for pair in [(x, y)] * won + [(y, x)] * (100 - won)]
    found = fit_rewards(pairs)
    assert found.items[int(np.argmax(found.reward))] == "b"
    assert found.items[int(np.argmax(found.borda))] == "b"


def test_two_items_are_a_logit_and_nothing_is_left_to_test():
    found = fit_rewards([("x", "y")] * 3 + [("y", "x")])
    assert found.reward[0] - found.reward[1] == pytest.approx(np.log(3.0))
    assert found.freedom == 0
    assert np.isnan(found.p_value)
    assert found.conditions[2].holds is False
    assert found.conditions[1].holds is False  # one expected win


def test_many_items_and_names_of_any_kind():
    rng = np.random.default_rng(3)
    names = [("model", number) for number in range(60)]
    pairs = [(names[i], names[j]) for i, j in games(rng, rng.normal(size=60), 6)]
    found = fit_rewards(pairs)
    assert found.items == tuple(sorted(names))
    assert found.probability(names[3], names[3])[0] == 0.5


@pytest.mark.parametrize(
    ("pairs", "said"),
    [
        (
            [("a", "b"), ("b", "c"), ("a", "c")],
            r"3 groups of items: no item of \{'c'\} ever beat an item of \{'a', 'b'\}",
        ),
        ([(1, 2), (2, 1), (3, 4), (4, 3)], r"2 groups of items: no comparison joins \{1, 2\} with \{3, 4\}"),
        ([(1, 2), (2, 1), (2, 3)], r"2 groups of items: no item of \{3\} ever beat an item of \{1, 2\}"),
        ([(1, 1)], "two different items"),
        ([], "at least two"),
        ("ab", "pairs"),
        ([("a", "b", "c")], "comparison 0"),
        ([("a", "b"), 3], "comparison 1"),
        (["ab", "ba"], "comparison 0"),
        ([(float("nan"), 1)], "none of them NaN"),
        ([("a", pd.NA), ("a", "b")], "comparison 0.*none of them NaN"),
        ([("a", pd.NaT), ("a", "b")], "comparison 0.*none of them NaN"),
        (Counter([("a", "b"), ("b", "a"), ("a", "b")]), r"a Counter.*range\(n\)"),
        ([{"a", "b"}, {"b", "a"}], "comparison 0"),
        ([("a", "b"), frozenset("ab")], "comparison 1"),
        (np.ma.masked_array([[0, 1], [1, 0]], [[False, True], [False, False]]), "1 masked entries"),
        ([np.ma.masked_array([0, 1], [False, True]), (1, 0)], "comparison 0; found 1 masked entries"),
    ],
)
def test_what_cannot_be_fitted_is_refused_in_one_line(pairs, said):
    with pytest.raises(DataError, match=said) as caught:
        fit_rewards(pairs)
    assert "\n" not in str(caught.value)


def test_the_rows_of_a_frame_are_comparisons():
    rows = [("a", "b"), ("b", "a"), ("a", "b")]
    frame = pd.DataFrame(rows, columns=["winner", "loser"])
    found = fit_rewards(frame, ties=frame[:1])
    assert found.items == ("a", "b")
    np.testing.assert_array_equal(found.reward, fit_rewards(rows, ties=rows[:1]).reward)


def test_unknown_items_and_levels_are_refused():
    with pytest.raises(UnknownNameError, match="'z'"):
        fit_rewards([("x", "y"), ("y", "x")]).probability("x", "z")
    with pytest.raises(SettingError, match="level"):
        fit_rewards([("x", "y"), ("y", "x")], level=1.0)


def test_no_fit_exists_where_the_likelihood_has_no_maximum():
    """Every small tournament: the check refuses exactly where the gradient never vanishes."""
    refused, kept = 0, 0
    for wins in itertools.product((0, 1), repeat=6):
        pairs = [pair for won, pair in zip(wins, itertools.permutations(range(3), 2), strict=True) if won]
        if len({item for pair in pairs for item in pair}) < 3:
            continue
        loss = lambda r, pairs=pairs: -sum(log_expit(r[i] - r[j]) for i, j in pairs)
        ends = [minimize(loss, start, method="BFGS").x for start in (np.zeros(3), np.array([1.0, 0.0, -1.0]))]
        centred = [end - end.mean() for end in ends]
        bounded = max(np.abs(end).max() for end in centred) < 4 and np.allclose(*centred, atol=1e-3)
        try:
            fit_rewards(pairs)
        except DataError:
            refused += 1
            assert not bounded
        else:
            kept += 1
            assert bounded
    assert (refused, kept) == (36, 18)
