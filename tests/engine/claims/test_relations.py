"""What all relations share: tolerances, blocks, factors, and the comparison of an interval with a band."""

import dataclasses
import math

import numpy as np
import pytest

from lemmata.engine.claims._relations import (
    ROUNDING,
    WHOLE,
    Judgement,
    Sample,
    against_band,
    blocks,
    columns,
    factors,
    most_different,
    not_finite,
    same_shape,
)


def test_rounding_is_thirty_two_units():
    assert ROUNDING == 2.0**-47


@pytest.mark.parametrize(
    ("block", "wanted"),
    [
        (0, [[[1, 2], [3, 8]], [[5, 6], [7, 4]]]), (1, [[[2, 2], [8, 8]], [[6, 6], [7, 7]]]),
        (2, [[[8, 8], [8, 8]], [[7, 7], [7, 7]]]), (WHOLE, [[[8, 8], [8, 8]], [[7, 7], [7, 7]]]),
        (5, [[[8, 8], [8, 8]], [[7, 7], [7, 7]]]),
    ],
)  # fmt: skip
def test_a_block_shares_its_largest_value(block, wanted):
    predicted = np.array([[[1, -2], [3, 4.0]], [[5, 6], [-7, 0]]])
    measured = np.array([[[0, 1], [np.nan, -8.0]], [[np.inf, 0], [1, 4]]])
    condition = np.array([1.0, 3.0])
    found = Sample(predicted, measured, condition).tolerance(block)
    np.testing.assert_allclose(found, ROUNDING * condition[:, None, None] * np.asarray(wanted), rtol=1e-15)


def test_a_tolerance_has_a_value_for_each_replicate():
    own = Sample(np.array([2.0, 1.0]), np.array([[1.0, 3.0], [0.5, -4.0]]), np.array([1.0, 2.0]))
    np.testing.assert_allclose(own.tolerance(), ROUNDING * np.array([[2.0, 3.0], [2.0, 8.0]]), rtol=1e-15)
    each = Sample(np.ones((2, 2)), np.ones((2, 2)), np.array([[1.0, 2.0], [3.0, 4.0]]))
    np.testing.assert_allclose(each.tolerance(), ROUNDING * np.array([[1.0, 2.0], [3.0, 4.0]]), rtol=1e-15)


@pytest.mark.parametrize(
    ("predicted", "measured", "constant"),
    [([1, 1], [2, 2], True), ([1, 1], [2, 3], False), ([1, 2], [2, 2], False), ([1], [2], False)],
)
def test_equal_trials_are_one_case(predicted, measured, constant):
    own = Sample(np.asarray(predicted, float), np.asarray(measured, float), np.ones(len(measured)))
    assert own.constant is constant
    assert own.trials == len(measured)


def test_a_judgement_tells_apart_where_it_fails_or_lies_apart():
    own = Judgement(None, 0.0, (0.0, 1.0), "said")
    told = {(holds, apart): dataclasses.replace(own, holds=holds, apart=apart).told_apart
            for holds in (True, False, None) for apart in (True, False)}  # fmt: skip
    assert told == {
        (True, True): True, (True, False): False, (False, True): True, (False, False): True, (None, True): True,
        (None, False): False,
    }  # fmt: skip


def test_components_and_blocks_have_one_row_for_each_trial():
    array = np.arange(12.0).reshape(2, 3, 2)
    assert columns(array).tolist() == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10, 11]]
    assert blocks(array, 0).tolist() == columns(array).tolist()
    assert blocks(array, 1).tolist() == [[1, 3, 5], [7, 9, 11]]
    assert blocks(array, 2).tolist() == blocks(array, WHOLE).tolist() == [[5], [11]]
    assert blocks(array > 10, 2).tolist() == [[False], [True]]
    assert blocks(np.zeros((2, 0)), 1).tolist() == [[0], [0]]
    assert not_finite(np.array([[[1.0], [np.inf]], [[1.0], [2.0]], [[np.nan], [1.0]]])).tolist() == [True, False, True]


def test_factors_are_at_least_one_in_either_direction():
    predicted = np.array([2.0, 2.0, 2.0, 0.0, 0.0, np.inf, 1.0, -2.0])
    false = np.array([4.0, 1.0, -1.0, 1.0, 0.0, 1.0, np.inf, -6.0])
    wanted = [2.0, 2.0, np.inf, np.inf, np.nan, np.nan, np.nan, 3.0]
    np.testing.assert_array_equal(factors(predicted, false)[:, 0], wanted)
    np.testing.assert_array_equal(factors(np.array([2.0]), np.array([0.0])), [[np.inf]])


def test_shapes_are_the_same_or_not():
    assert same_shape((2, 3), (2, 3)) is None
    assert same_shape((2, 3), (3, 2)) == "prediction and measurement have the same shape"


def test_the_most_different_component_stands_for_a_trial():
    own = Sample(np.array([[1.0, -2.0, 4.0, 0.0]]), np.array([[2.0, 8.0, 1.0, 0.0]]), np.ones(1))
    assert most_different(own) == (-2.0, 8.0)
    assert most_different(own, lower=True) == (0.0, 0.0), "nothing is smaller than no ratio"
    first = Sample(own.predicted[:, :3], own.measured[:, :3], np.ones(1))
    assert most_different(first, lower=True) == (4.0, 1.0)
    ladder = Sample(np.array([2.0]), np.array([[1.0, 6.0]]), np.ones(1))
    assert most_different(ladder) == (2.0, 6.0)
    assert most_different(Sample(np.array([[0.0, 1.0]]), np.array([[1.0, 9.0]]), np.ones(1))) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("interval", "wanted"),
    [
        ((0.0, 1.0), (True, None)), ((-0.5, 1.5), (True, None)), ((-0.51, 0.5), (None, 200)),
        ((0.5, 1.51), (None, 200)),
        ((1.0, 1.2), (True, None)), ((1.01, 1.2), (False, None)), ((-0.2, -0.01), (False, None)),
        ((-0.2, 0.0), (True, None)), ((-2.0, 2.0), (None, 900)), ((-math.inf, 2.0), (None, 200)),
        ((-1.0, 3.1), (None, 946)),
    ],
)  # fmt: skip
def test_an_interval_lies_in_a_band_or_outside_or_needs_more_trials(interval, wanted):
    """The band [0, 1] is widened by 1/2 to the width 2: needed are n (1.5 length/2)^2 trials, and 2 n at least."""
    assert against_band(0.0, 1.0, interval, 100, 0.5) == wanted


def test_a_band_without_width_asks_for_twice_as_many_trials():
    assert against_band(1.0, 1.0, (0.5, 1.5), 70, 0.0) == (None, 140)
