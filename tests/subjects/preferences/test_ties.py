"""Comparisons that nobody wins: Davidson's model by another optimiser, other derivatives, and simulated truth."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from lemmata.errors import DataError
from lemmata.subjects.preferences import fit_rewards


def probabilities(rewards, nu, i, j):
    """Davidson's formula in worths pi = exp(reward): pi_i : pi_j : nu sqrt(pi_i pi_j)."""
    first, second = np.exp(rewards[i]), np.exp(rewards[j])
    weights = np.array([first, second, nu * np.sqrt(first * second)])
    return weights / weights.sum()


def drawn(rng, rewards, nu, each):
    """Pairs (winner, loser), and ties, with every pair of items compared so many times."""
    won, tied = [], []
    for i, j in itertools.combinations(range(len(rewards)), 2):
        first, second, even = rng.multinomial(each, probabilities(rewards, nu, i, j))
        won += [(i, j)] * first + [(j, i)] * second
        tied += [(i, j), (j, i)] * (even // 2) + [(i, j)] * (even % 2)
    return won, tied


def minus_likelihood(at, won, tied):
    rewards, log_nu = at[:-1], at[-1]
    half = lambda pairs: (rewards[pairs[:, 0]] - rewards[pairs[:, 1]]) / 2
    norm = lambda d: jnp.logaddexp(jnp.logaddexp(d, -d), log_nu)
    wins, evens = half(jnp.asarray(won)), half(jnp.asarray(tied))
    return jnp.sum(norm(wins) - wins) + jnp.sum(norm(evens) - log_nu)


@pytest.mark.parametrize(("seed", "nu"), [(0, 0.7), (1, 3.0), (2, 0.05)])
def test_the_fit_and_its_covariance_are_those_of_another_optimiser(seed, nu):
    rng = np.random.default_rng(seed)
    won, tied = drawn(rng, rng.normal(size=5), nu, 30)
    found = fit_rewards(won, ties=tied)
    loss = lambda at: minus_likelihood(at, won, tied) + jnp.sum(at[:-1]) ** 2
    other = minimize(jax.jit(jax.value_and_grad(loss)), np.zeros(6), jac=True, method="BFGS", options={"gtol": 1e-9}).x
    assert np.allclose(found.reward, other[:-1], atol=1e-6)
    assert found.tie[0] == pytest.approx(np.exp(other[-1]) / (np.exp(other[-1]) + 2), abs=1e-7)
    inverse = np.linalg.pinv(jax.jit(jax.hessian(lambda at: minus_likelihood(at, won, tied)))(other), rcond=1e-10)
    assert np.allclose(found.covariance, inverse[:5, :5], rtol=1e-5, atol=1e-8)
    spread = np.diff(np.log(np.divide(found.tie, 1 - np.array(found.tie))))[0] / -1.959963984540054
    assert spread == pytest.approx(np.sqrt(inverse[5, 5]), rel=1e-5)
    expected = probabilities(other[:-1], np.exp(other[-1]), 1, 3)
    assert np.allclose(found.outcomes(1, 3), expected[[0, 2, 1]], atol=1e-7)
    assert found.probability(1, 3)[0] == pytest.approx(expected[0] / (expected[0] + expected[1]), abs=1e-7)
    assert found.freedom == 2 * 10 - 5


def test_without_ties_nothing_changes_and_the_order_of_ties_does_not_matter():
    won, tied = drawn(np.random.default_rng(3), np.array([0.8, 0.0, -0.8]), 0.6, 40)
    plain, empty = fit_rewards(won), fit_rewards(won, ties=[])
    assert np.array_equal(plain.reward, empty.reward)
    assert np.isnan(plain.tie[1:]).all()
    assert plain.tie[0] == 0
    assert plain.outcomes(0, 2)[:2] == (pytest.approx(plain.probability(0, 2)[0]), 0.0)
    found, turned = fit_rewards(won, ties=np.array(tied)), fit_rewards(won, ties=[(b, a) for a, b in tied])
    assert np.array_equal(found.reward, turned.reward)
    assert np.abs(found.reward).max() < np.abs(plain.reward).max()  # ties draw rewards together
    few = fit_rewards(won * 200, ties=tied[:1])
    assert np.allclose(few.reward, plain.reward, atol=1e-3)


def test_half_a_win_each_is_borda_and_balanced_ties_are_equal_rewards():
    found = fit_rewards([("a", "b")] * 3 + [("b", "a")] * 3, ties=[("a", "b")] * 4)
    assert np.allclose(found.reward, 0, atol=1e-12)
    assert found.borda.tolist() == [0.5, 0.5]
    assert found.tie[0] == pytest.approx(0.4)
    assert found.freedom == 0
    assert np.isnan(found.p_value)
    # an item that only ties is as good as its partner
    third = fit_rewards([("a", "b")] * 9 + [("b", "a")] * 3, ties=[("a", "c")] * 5)
    assert third.reward[0] == pytest.approx(third.reward[2], abs=1e-8)


def test_intervals_and_test_hold_on_simulated_truth():
    rng, rewards, nu = np.random.default_rng(4), np.array([-0.9, -0.2, 0.2, 0.9]), 1.0
    hits, ties, rejected = [], [], []
    for _ in range(200):
        won, tied = drawn(rng, rewards, nu, 80)
        found = fit_rewards(won, ties=tied)
        hits.append((found.interval[:, 0] <= rewards) & (rewards <= found.interval[:, 1]))
        ties.append(found.tie[1] <= nu / (nu + 2) <= found.tie[2])
        rejected.append(found.p_value <= 0.05)
    print("coverage", np.mean(hits, axis=0).round(3), "of ties", np.mean(ties), "rejected", np.mean(rejected))
    # four standard errors over 200 runs are 0.062
    assert (np.abs(np.mean(hits, axis=0) - 0.95) <= 0.062).all()
    assert abs(np.mean(ties) - 0.95) <= 0.062
    assert abs(np.mean(rejected) - 0.05) <= 0.062


def test_a_fit_exists_exactly_where_no_direction_leaves_the_likelihood_growing():
    """In a direction (v, e) of rewards and ln nu, an outcome stays likely if its exponent grows the most."""
    kept = refused = 0
    rng = np.random.default_rng(5)
    while kept + refused < 50:
        items = int(rng.integers(2, 5))
        pairs = list(itertools.permutations(range(items), 2))
        won = [pair for pair in pairs if rng.uniform() < rng.choice([0.15, 0.4])]
        tied = [pair for pair in itertools.combinations(range(items), 2) if rng.uniform() < 0.5]
        if not won or not tied or len({item for pair in won + tied for item in pair}) < items:
            continue
        rules = []
        for i, j in won:
            rules += [row(items, i, j, 0.5, -1.0), row(items, i, j, 1.0, 0.0)]
        for i, j in tied:
            rules += [row(items, i, j, 0.5, 1.0), row(items, j, i, 0.5, 1.0)]
        reach = 0.0
        for axis, sign in itertools.product(range(items + 1), (1, -1)):
            cost = np.zeros(items + 1)
            cost[axis] = -sign
            mean = np.append(np.ones(items), 0.0)[None]
            solved = linprog(cost, -np.array(rules), np.zeros(len(rules)), mean, [0.0], bounds=(-1, 1))
            reach = max(reach, -solved.fun)
        try:
            fit_rewards(won, ties=tied)
        except DataError:
            refused += 1
            assert reach > 0.1, (won, tied)
        else:
            kept += 1
            assert reach < 1e-6, (won, tied)
    assert min(kept, refused) > 10


def row(items, i, j, by_rewards, by_log_nu):
    """The exponent's lead, by_rewards (v_i - v_j) + by_log_nu e, which is not negative."""
    found = np.zeros(items + 1)
    found[i], found[j], found[-1] = by_rewards, -by_rewards, by_log_nu
    return found


@pytest.mark.parametrize(
    ("won", "tied", "said"),
    [
        ([("a", "b"), ("b", "a"), ("c", "a")], [("a", "b")], "ever beat or tied with an item of {'c'}"),
        ([("a", "b"), ("b", "a")], [("c", "d")], "no comparison joins"),
        ([("a", "b")] * 9, [("a", "b")], "no cycle of items has more wins than ties"),
        ([], [("a", "b")], "ties alone"),
        ([("a", "b"), ("b", "a")], [("a", "a")], "tie 0.*two different items"),
        ([("a", "b"), ("b", "a")], [("a", "b", "c")], "tie 0.*pairs of items that tied"),
        ([("a", "b"), ("b", "a")], "ab", "ties"),
        ([("a", "b"), ("b", "a")], [(float("nan"), "a")], "tie 0.*NaN"),
    ],
)  # fmt: skip
def test_ties_that_cannot_be_fitted_are_refused(won, tied, said):
    with pytest.raises(DataError, match=said):
        fit_rewards(won, ties=tied)
