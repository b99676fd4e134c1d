"""Splits: sizes, groups that stay together, earlier rows before later ones."""

import numpy as np
import polars as pl
import pytest

from lemmata.errors import DataError
from lemmata.workflows.studies._splits import (
    BLOCKS,
    before_stretches,
    check_times,
    held_out,
    number_of_splits,
    numbered_groups,
    split,
    split_sizes,
)


@pytest.mark.parametrize("total", [20, 51, 60, 442, 1797, 10_000, 25_000, 1_000_000])
def test_sizes_grow_to_four_fifths_of_the_rows(total):
    """Of 25,000 rows at most 1,000 were trained on."""
    sizes = split_sizes(total)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == int(0.8 * total)
    assert len(sizes) >= 5
    assert all(number_of_splits(total, n) >= (6 if n <= 10_000 else 2) for n in sizes)
    assert all(number_of_splits(total, n, most=0.0) == (2 if n < 4000 else 1) for n in sizes)
    assert len(split_sizes(total, quick=True)) <= 5
    assert split_sizes(total, quick=True)[-1] == int(0.8 * total)


def test_sizes_leave_the_largest_group_out():
    groups = np.repeat([0, 1, 2], [70, 20, 10])
    assert split_sizes(100, groups=groups)[-1] == 30
    assert split_sizes(1000, order=np.arange(1000))[-1] == 600


def test_rows_train_or_are_held_out():
    train, held = split(100, 30, 4, seed=1)
    assert len(train) == 30
    assert set(train).isdisjoint(held)
    assert len(set(held)) == len(held) == 70
    again, other = split(100, 30, 4, seed=1), split(100, 30, 5, seed=1)
    np.testing.assert_array_equal(train, again[0])
    assert set(train) != set(other[0])


def test_many_rows_are_held_out_of_many():
    """500 of 25,000 rows decided before."""
    assert held_out(25_000, 20_000) == 5000
    assert held_out(1_000_000, 800_000) == 20_000
    assert held_out(25_000, 20) == 80


def test_consecutive_splits_hold_out_every_row():
    for total, n in ((442, 353), (1797, 1437), (60, 8)):
        held = [split(total, n, number, 0)[1] for number in range(number_of_splits(total, n))]
        assert len(np.unique(np.concatenate(held))) >= 0.75 * total
        whole = total // len(held[0])
        assert len(np.unique(np.concatenate(held[:whole]))) == whole * len(held[0])


@pytest.mark.parametrize(
    ("total", "n", "held"),
    [
        (10, 8, 2), (60, 8, 52), (200, 8, 64), (200, 16, 64), (200, 17, 68), (300, 100, 200), (1000, 100, 400),
        (1000, 300, 500), (2600, 1000, 520), (10_000, 1000, 2000), (200_000, 50_000, 20_000),
    ],
)  # fmt: skip
def test_how_many_rows_are_held_out_of_small_tables_and_large(total, n, held):
    """All that are left; at most 64 or four times the training rows; 500 or a fifth of the table; 20,000."""
    assert held_out(total, n) == held


def test_groups_are_never_split_and_each_is_held_out():
    groups = np.repeat(np.arange(25), 4)
    seen = []
    for number in range(20):
        train, held = split(100, 37, number, 0, groups)
        assert len(train) == 37
        assert len(held) == 20, "five groups of 25"
        assert not set(groups[train]) & set(groups[held])
        seen.append(set(groups[held]))
    for start in range(0, 20, 5):
        assert set.union(*seen[start : start + 5]) == set(range(25))


@pytest.mark.parametrize("number", [2, 3, 4])
def test_few_groups_are_held_out_one_by_one(number):
    """Three or four groups were refused, and the remedy was to leave --group out, which is the leak."""
    groups = np.repeat(np.arange(number), 20)
    size = split_sizes(20 * number, groups=groups)[-1]
    held = [split(20 * number, size, r, 0, groups)[1] for r in range(2 * number)]
    for part in (held[:number], held[number:]):
        assert sorted(int(groups[rows[0]]) for rows in part) == list(range(number))
    assert all(len(set(groups[rows])) == 1 for rows in held)


def test_groups_that_leave_nothing_are_refused():
    with pytest.raises(DataError, match="--group leaves no rows to hold out"):
        [split(40, 30, number, 0, np.repeat([0, 1], [39, 1])) for number in range(2)]


@pytest.mark.parametrize("sizes", [[30, 30, 1], [20, 15, 12, 10, 8, 1], [12] * 8 + [1]])
def test_a_group_of_one_row_is_held_out_with_another_group(sizes):
    """All models were left out, because a split with a single held-out row raised an error."""
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for number in range(20):
        train, held = split(len(groups), 20, number, 0, groups)
        assert min(len(train), len(held)) >= 2
        assert not set(groups[train]) & set(groups[held])


@pytest.mark.parametrize("sizes", [[39, 1], [38, 1, 1]])
def test_nearly_all_rows_in_one_group_are_refused_at_once(sizes):
    column = pl.Series("site", np.repeat([f"site {j}" for j in range(len(sizes))], sizes))
    with pytest.raises(
        DataError, match=rf"--group 'site' has nearly all rows in one group; found {sizes[0]} of 40 rows"
    ):
        numbered_groups(column, False, [])
    assert len(np.unique(numbered_groups(column, True, []))) == len(sizes)


@pytest.mark.parametrize("number", [2, 3])
def test_two_groups_are_said_to_show_little(number):
    notes: list[str] = []
    numbered_groups(pl.Series("site", np.arange(40) % number), False, notes)
    assert ("2 groups show little about new groups" in notes[-1]) == (number == 2)


def test_every_size_is_tested_on_the_same_later_stretches():
    """Small training sets were tested a short way ahead and large ones a long way."""
    when = np.random.default_rng(0).permutation(200).astype(float)
    for number in range(BLOCKS):
        stretches = []
        for n in (10, 50, 120):
            train, held = split(200, n, number, 0, order=when)
            assert len(train) == n
            assert when[train].max() + 1 == when[held].min()
            stretches.append(sorted(held))
        assert stretches[0] == stretches[1] == stretches[2]
    assert len({tuple(sorted(split(200, 10, number, 0, order=when)[1])) for number in range(BLOCKS)}) == BLOCKS


def test_with_groups_and_an_order_both_hold():
    when, groups = np.arange(200.0), np.tile(np.arange(20), 10)
    train, held = split(200, 10, 3, 0, groups, when)
    assert when[train].max() < when[held].min()
    assert not set(groups[train]) & set(groups[held])


def test_rows_of_one_time_are_not_on_both_sides_of_a_cut():
    order = np.random.default_rng(0).permutation(np.repeat(np.arange(5.0), 96))
    for number in range(8):
        train, held = split(480, 200, number, 0, order=order)
        assert order[train].max() < order[held].min()
        assert len(train) == 200


@pytest.mark.parametrize(("sizes", "first"), [([100, 100, 100], 200), ([100, 100], 100), ([60, 200], 60)])
def test_the_first_cut_is_the_start_of_the_time_nearest_to_three_fifths(sizes, first):
    order = np.repeat(np.arange(len(sizes)), sizes)
    assert before_stretches(order)[0] == first
    assert split_sizes(len(order), order=order)[-1] == first


def test_a_time_that_nearly_all_rows_share_is_refused():
    with pytest.raises(DataError, match=r"single time.*found 2020-01-01 in all 30 rows.*rule.*remedy"):
        check_times(np.zeros(30), "t", "2020-01-01")
    with pytest.raises(DataError, match=r"too few rows at other times.*29 of 30.*remedy"):
        check_times(np.r_[np.zeros(29), 1.0], "t", "2020-01-01")
    check_times(np.r_[np.zeros(15), np.ones(15)], "t", "2020-01-01")
