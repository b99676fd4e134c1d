"""Which differences are called differences: Holm's correction, pairing, the 5 % rule, and how often noise wins."""

import numpy as np
import pytest

from lemmata.workflows.comparisons import _bootstrap as bootstrap
from lemmata.workflows.comparisons._bootstrap import Pair, leaders


def drawn(seed, shifts, rows=200, repeats=3, shared=1.0):
    """Losses with a part that families share, so that pairing matters."""
    rng = np.random.default_rng(seed)
    tests = np.stack([rng.permutation(rows)[: rows // 2] for _ in range(repeats)])
    common = shared * rng.exponential(size=rows)
    losses = [common[tests] + shift + 0.1 * rng.exponential(size=tests.shape) for shift in shifts]
    guesses = np.full(tests.shape, 1.0 + common.mean())
    return bootstrap.bootstrap(losses, guesses, tests, rows, seed)


def test_errors_are_ratios_of_sums():
    tests = np.array([[0, 1], [1, 2]])
    found = bootstrap.bootstrap([np.array([[1.0, 2.0], [3.0, 4.0]])], np.full((2, 2), 5.0), tests, 3, 0)
    assert found.points[0] == pytest.approx(10 / 20)
    lower, upper = found.interval(0)
    assert 1 / 5 <= lower <= 0.5 <= upper <= 4 / 5


def test_pairing_sees_what_single_intervals_do_not():
    found = drawn(1, [0.0, 0.2], shared=5.0)
    one, other = found.interval(0), found.interval(1)
    assert one[1] > other[0], "the intervals of the errors overlap"
    difference, lower, upper, p_value = found.difference(0, 1)
    assert upper < 0
    assert p_value < 0.01
    assert lower < difference < upper


def test_a_difference_below_5_percent_is_none():
    assert not Pair(0, 1, -0.04, -0.05, -0.03, 1e-4, 1e-4).decided
    assert Pair(0, 1, -0.06, -0.07, -0.05, 1e-4, 1e-4).decided
    assert not Pair(0, 1, -0.06, -0.2, 0.08, 0.3, 0.3).decided


def small(seed, factor, rows=200):
    """Losses of two families that are both far below the variance, the second's a multiple of the first's."""
    rng = np.random.default_rng(seed)
    tests = np.stack([rng.permutation(rows)[: rows // 2] for _ in range(3)])
    one, other = (1e-5 * rng.exponential(size=rows)[tests] for _ in range(2))
    return bootstrap.bootstrap([one, factor * other], np.ones(tests.shape), tests, rows, seed)


@pytest.mark.parametrize(("factor", "wins"), [(87.0, True), (4.0, True), (1.5, False), (1.0, False)])
def test_of_two_small_errors_the_ratio_decides(factor, wins):
    """An 87-fold difference is one, though both errors are far below 5 % of the variance."""
    found = small(0, factor)
    (pair,) = bootstrap.pairs(found)
    assert pair.least < pair.ratio < pair.most
    assert pair.least < 1 / factor < pair.most
    assert pair.decided == wins
    assert (len(leaders(found.points.tolist(), [pair])) == 1) == wins


def test_the_ratio_of_rounding_errors_is_none():
    found = small(0, 1e3)
    tiny = bootstrap.Bootstrap(1e-12 * found.points, 1e-12 * found.samples)
    assert not bootstrap.pairs(tiny)[0].decided


def test_a_factor_two_is_rarely_decided_where_it_is_not_exceeded(monkeypatch):
    """Of 200 pairs whose errors differ by just a factor of two, at most 5 % come out beyond it, with binomial room."""
    monkeypatch.setattr(bootstrap, "DRAWS", 500)
    assert sum(bootstrap.pairs(small(seed, 2.0))[0].decided for seed in range(200)) <= 14


def test_who_leads():
    decided = Pair(0, 2, -0.5, -0.6, -0.4, 1e-4, 1e-4)
    slight = Pair(0, 1, -0.01, -0.02, 0.0, 1e-4, 1e-4)
    assert leaders([0.1, 0.11, 0.6], [decided, slight]) == [0, 1]
    assert leaders([0.1, 0.6], [Pair(0, 1, -0.5, -0.6, -0.4, 1e-4, 1e-4)]) == [0]
    assert leaders([], []) == []


def test_corrected_p_values_are_in_order_and_at_most_1():
    assert bootstrap.holm([0.5, 0.9, 0.001]) == pytest.approx([1.0, 1.0, 0.003])
    assert bootstrap.holm([]) == []


def test_how_often_one_of_four_equal_families_wins(monkeypatch):
    """Never twice in a hundred: a winner needs three corrected differences, and 5 % of the variance."""
    monkeypatch.setattr(bootstrap, "DRAWS", 1000)
    wins = 0
    for seed in range(100):
        found = drawn(seed, [0.0] * 4, rows=40, shared=0.2)
        wins += len(leaders(found.points.tolist(), bootstrap.pairs(found))) == 1
    assert wins <= 2


def test_a_clear_winner_is_found():
    found = drawn(3, [0.0, 0.8, 0.9, 1.0])
    assert leaders(found.points.tolist(), bootstrap.pairs(found)) == [0]


def test_intervals_hold_the_truth(monkeypatch):
    """Of the mean over rows, with rows in several splits: 95 % of 200 intervals, within binomial error."""
    monkeypatch.setattr(bootstrap, "DRAWS", 500)
    held = 0
    for seed in range(200):
        rng = np.random.default_rng([seed, 1])
        tests = np.stack([rng.permutation(120)[:60] for _ in range(3)])
        losses = rng.gamma(2.0, 0.5, size=120)[tests]
        lower, upper = bootstrap.bootstrap([losses], np.ones(tests.shape), tests, 120, seed).interval(0)
        held += lower <= 1.0 <= upper
    assert 178 <= held <= 198
