"""Edges of what a study decides: which rows are drawn, which models suit, how many orders there are, what is near."""

import dataclasses
import itertools
import math

import numpy as np
import polars as pl
import pytest
import scipy.sparse

from lemmata.errors import DataError, MemoryPlanError, SettingError
from lemmata.workflows.records.model_tables import Interval, beside_null
from lemmata.workflows.studies import (
    Reading,
    _findings,
    _memory,
    _models,
    _signal_blocks,
    _signal_groups,
    _sources,
    _tables,
)
from lemmata.workflows.studies._sampling import drawn, how_drawn
from lemmata.workflows.studies._signal_blocks import _near
from lemmata.workflows.studies._suited import check_amounts, suited
from lemmata.workflows.studies._usual import amounts

RNG = np.random.default_rng(0)


def test_all_rows_are_used_where_they_fit_and_else_exactly_as_many_as_were_asked():
    for most in (10, 11):
        np.testing.assert_array_equal(drawn(10, most, 0), np.arange(10))
    found = drawn(10, 9, 0)
    assert len(set(found.tolist())) == 9
    assert np.all(np.diff(found) > 0)
    assert drawn(1000, 100, 0).tolist() == drawn(1000, 100, 0).tolist() != drawn(1000, 100, 1).tolist()


@pytest.mark.parametrize(
    ("sizes", "most", "whole"),
    [([2] * 10, 8, True), ([2] * 10, 9, True), ([8, 8, 8], 16, True), ([8, 8, 8], 15, False), ([5, 5], 9, False),
     ([3, 3, 20], 12, None)],
)  # fmt: skip
def test_whole_groups_are_drawn_where_two_of_them_are_half_of_the_rows(sizes, most, whole):
    groups = np.repeat(np.arange(len(sizes)), sizes)
    for seed in range(20):
        chosen = drawn(len(groups), most, seed, groups)
        assert len(chosen) <= most
        full = all((groups[chosen] == group).sum() == sizes[group] for group in set(groups[chosen].tolist()))
        assert len(chosen) == most or (full and 2 * len(chosen) >= most)
        if whole is not None:
            assert full == whole
        said = f"{len(set(groups[chosen].tolist()))} whole groups drawn at random"
        assert (how_drawn(groups, chosen) == said) == full
    assert how_drawn(None, chosen) == "drawn at random"


@pytest.mark.parametrize("values", [[1, 1, 2, 3], [1, 2, 3, 4, 5], [1, 1, 1], [1, 1, 2, 2, 3]])
def test_orders_are_counted(values):
    number = len(set(itertools.permutations(values)))
    for y in (np.array(values, float)[:, None], np.eye(6)[values]):
        assert math.exp(_signal_groups._log_arrangements(y)) == pytest.approx(number)


def test_nearness_is_the_gaussian_kernel():
    a, b = RNG.normal(size=(5, 3)), RNG.normal(size=(4, 3))
    apart = ((a[:, None] - b[None]) ** 2).sum(axis=-1)
    np.testing.assert_allclose(_near(a, b), np.exp(-apart / 6), rtol=1e-12)
    far = 1e8 + a  # where squares cancel, a distance is not below zero
    assert _near(far, far).max() <= 1.0


@pytest.mark.parametrize(
    ("targets", "poisson", "gamma"),
    [
        ([0.0, 1.0, 2.0], True, False),
        ([0.5, 1.0, 2.0], True, True),
        ([-1.0, 1.0, 2.0], False, False),
        (None, True, True),
    ],
)
def test_counts_and_amounts_are_asked_for_where_there_are_any(targets, poisson, gamma):
    y = None if targets is None else np.array(targets)[:, None]
    for name, allowed in (("poisson", poisson), ("gamma", gamma), ("lasso", True)):
        if allowed:
            check_amounts(["forest", name], y)
            continue
        with pytest.raises(SettingError, match=f"--models {name} .*found a target of {min(targets):g}"):
            check_amounts(["forest", name], y)


def test_the_models_that_suit_a_table():
    usual = ["boosting", "forest", "lasso", "neighbours", "svm"]
    counts, skew = np.array([0.0, 3, 1, 8])[:, None], np.array([0.1, 0.2, 0.3, 9.5])[:, None]
    even = np.array([1.5, 2.5, 3.5, 4.5])[:, None]
    for y, more in (
        (counts, ["poisson"]),
        (skew, ["gamma"]),
        (even, []),
        (-even, []),
        (np.append(skew, 0)[:, None], []),
    ):
        assert suited(RNG.normal(size=(len(y), 1)), "regression", y) == usual + more
    assert suited(RNG.normal(size=(4, 2)), "regression", even) == [*usual, "elastic-net"]
    assert suited(RNG.normal(size=(5, 2)), "regression", np.append(even, 1.1)[:, None]) == usual
    assert suited(RNG.normal(size=(4, 2)), "regression", None) == usual
    for width, more in ((1, []), (2, ["lasso"])):
        found = suited(RNG.normal(size=(4, width)), "classification", np.eye(2)[[0, 1, 0, 1]])
        assert found == ["boosting", "forest", "logistic", "neighbours", "svm", *more]


def test_amounts_are_believed_from_nothing_to_twice_the_largest():
    least, most = amounts(np.array([[1.0, 5.0], [4.0, 2.0], [0.0, 3.0]]))
    np.testing.assert_array_equal(least, [0.0, 0.0])
    np.testing.assert_array_equal(most, [8.0, 10.0])


def test_only_a_naive_season_is_chosen(monkeypatch):
    monkeypatch.setattr(_models, "chosen_season", lambda y, order, ahead: 7)
    y, order = np.arange(30.0)[:, None], np.arange(30.0)
    season = _models.usual(("last season", "words", lambda *given: None, lambda *given: 0.0), "season")
    assert season.naive
    found = _models.seasoned(season, y, order, 3)
    assert (found.title, found.least) == ("last season (7 rows)", 7)
    for other in (dataclasses.replace(season, name="last"), dataclasses.replace(season, naive=False)):
        assert _models.seasoned(other, y, order, 3) is other
    assert not _models.is_last_value(found)
    monkeypatch.setattr(_models, "chosen_season", lambda y, order, ahead: 1)
    found = _models.seasoned(season, y, order, 3)
    assert found.title == "last season (none found)"
    assert _models.is_last_value(found)
    assert not _models.is_last_value(dataclasses.replace(found, naive=False))
    assert not _models.is_last_value(dataclasses.replace(found, name="last"))


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_a_number_at_the_end_of_its_null_is_within_it(unit):
    null = Interval(10 * unit, 5 * unit, 20 * unit)
    for value, side in ((20.000009, ""), (20.00002, "above"), (4.999991, ""), (4.99998, "below"), (12.0, "")):
        assert beside_null(value * unit, null) == side
    assert beside_null(None, null) == beside_null(3.0, None) == ""


def test_columns_with_one_reason_stand_in_one_sentence():
    assert _findings._together(["a"], "gives the target away") == "'a' gives the target away"
    assert _findings._together(["a", "b"], "gives the target away") == "Each of 'a', 'b' gives the target away"


@pytest.mark.parametrize("period", [5, 7, 12])
@pytest.mark.parametrize("columns", [1, 2])
def test_the_lag_of_a_season_is_its_length(period, columns):
    """Of a season that dies away; of one that goes on, any multiple is as good."""
    for rows in (60, 61):
        past = np.cos(2 * np.pi * np.arange(rows) / period)[:, None] * np.arange(1, columns + 1)
        assert _signal_blocks._period(past) % period == 0
        assert _signal_blocks._period(past * 0.97 ** np.arange(rows)[:, None]) == period
    assert _signal_blocks._period(np.linspace(0, 1, 40)[:, None] ** 0) == 0, "a constant has none"


@pytest.mark.parametrize("limit", [799, 800, 801])
def test_a_table_is_read_whole_up_to_the_last_byte_that_is_allowed(limit):
    frame = pl.DataFrame({"a": range(100), "g": [k // 10 for k in range(100)]}).lazy()
    asked = []

    def planned(rows, columns):
        asked.append((rows, columns))
        return 8 * rows

    for group in (None, "g"):
        read, rows, notes, chosen = _tables._collect("t.csv", frame, Reading(limit, 0, group=group), planned)
        assert rows == 100
        assert asked.pop() == (100, 2)
        if limit >= 800:
            assert (read.height, notes, chosen) == (100, (), None)
            continue
        assert read.height == len(chosen) == (99 if group is None else 90)
        np.testing.assert_array_equal(read["a"].to_numpy(), chosen)
        assert "100 rows of 2 columns need 800 bytes, but the limit is 799 bytes" in notes[0]
        assert ("9 whole groups" in notes[0]) == (group is not None)
    empty = _tables._collect("t.csv", frame.limit(0), Reading(0, 0), lambda rows, columns: 1)
    assert (empty[0].height, empty[1:]) == (0, (0, (), None))


def test_an_unpacked_table_fits_up_to_the_last_byte_that_is_allowed(tmp_path):
    _sources._fits(tmp_path, 10, 10)
    with pytest.raises(MemoryPlanError, match="more than 10 bytes"):
        _sources._fits(tmp_path, 11, 10)


def test_sparse_matrices_become_arrays_and_others_stay(monkeypatch):
    monkeypatch.setattr(_memory, "MOST_DENSE", 6)
    found = _memory._dense(scipy.sparse.csr_array(np.eye(2, 3)))
    np.testing.assert_array_equal(found, np.eye(2, 3))
    with pytest.raises(DataError, match="7 x 1 cells"):
        _memory._dense(scipy.sparse.csr_array(np.ones((7, 1))))
    for other in (np.eye(3), [1], None):
        assert _memory._dense(other) is other
