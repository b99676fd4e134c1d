"""Splits: sizes, groups that stay together, earlier rows before later ones."""

import numpy as np
import pytest

from lemmata.errors import DataError
from lemmata.studies._splits import number_of_splits, split, split_sizes


@pytest.mark.parametrize("total", [20, 51, 60, 442, 1797, 10_000])
def test_sizes_grow_to_four_fifths_of_the_rows(total):
    sizes = split_sizes(total)
    assert sizes == sorted(set(sizes))
    assert sizes[-1] == min(int(0.8 * total), 1000)
    assert len(sizes) >= 5
    assert min(number_of_splits(total, n) for n in sizes) >= 6
    assert min(number_of_splits(total, n, cost=16) for n in sizes) == 3
    assert len(split_sizes(total, quick=True)) <= 5
    assert split_sizes(total, quick=True)[-1] == min(int(0.8 * total), 400)
    assert split_sizes(total, cost=16)[-1] == sizes[-1]
    assert len(split_sizes(total, cost=16)) >= 4


def test_rows_train_or_are_held_out():
    train, held = split(100, 30, 4, seed=1)
    assert len(train) == 30
    assert set(train).isdisjoint(held)
    assert len(set(held)) == len(held) == 70
    again, other = split(100, 30, 4, seed=1), split(100, 30, 5, seed=1)
    np.testing.assert_array_equal(train, again[0])
    assert set(train) != set(other[0])


def test_consecutive_splits_hold_out_every_row():
    for total, n in ((442, 353), (1797, 1000), (60, 8)):
        held = [split(total, n, number, 0)[1] for number in range(number_of_splits(total, n))]
        assert len(np.unique(np.concatenate(held))) >= 0.75 * total
        whole = total // len(held[0])
        assert len(np.unique(np.concatenate(held[:whole]))) == whole * len(held[0])


def test_groups_are_never_split():
    groups = np.repeat(np.arange(25), 4)
    for number in range(20):
        train, held = split(100, 37, number, 0, groups)
        assert len(train) == 37
        assert len(held) >= 56
        assert not set(groups[train]) & set(groups[held])


def test_groups_that_leave_nothing_are_refused():
    with pytest.raises(DataError, match="--group leaves no rows to hold out"):
        split(40, 30, 0, 0, np.repeat([0, 1], 20))


def test_earlier_rows_train_and_the_next_ones_are_held_out():
    when = np.random.default_rng(0).permutation(200).astype(float)
    firsts = set()
    for number in range(10):
        train, held = split(200, 50, number, 0, order=when)
        assert len(train) == 50
        assert when[train].max() + 1 == when[held].min()
        assert len(held) >= 2
        firsts.add(when[train].min())
    assert len(firsts) > 1
