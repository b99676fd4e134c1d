"""The test for signal where rows come in groups."""

import math

import numpy as np
import polars as pl
import pytest

from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._signal import LEVEL, signal
from lemmata.workflows.studies._signal_groups import _exchanges, _least
from tests.workflows.studies.test_signal import as_rare_as_the_level


def grouped(sizes, seed=0, within=0.0, between=0.0, constant=False, classes=False):
    """Effects of groups in three columns and in the target, independent of each other but for what is asked."""
    rng = np.random.default_rng([seed, 11])
    group = np.repeat(np.arange(len(sizes)), sizes)
    level, own = rng.normal(size=(len(sizes), 3)), rng.normal(size=(len(group), 3))
    y = (1.5 * rng.normal(size=len(sizes)) + between * level[:, 0])[group]
    y = y + (0 if constant else rng.normal(size=len(group)) + within * own[:, 1])
    x = level[group] + own
    columns = {f"x{j}": x[:, j] for j in range(3)} | {"group": [f"g{i}" for i in group]}
    return load_dataset(
        pl.DataFrame(columns | {"y": np.where(y > np.median(y), "a", "b") if classes else y}), "y", group="group"
    )


@pytest.mark.parametrize("groups", [3, 8])
@pytest.mark.parametrize("classes", [False, True])
def test_what_varies_within_few_groups_is_seen(groups, classes):
    found = signal(grouped([60] * groups, within=1.0, classes=classes))
    assert (found.found, found.kind, found.groups) == (True, "within groups", groups)
    assert found.rows > 100


def test_what_groups_have_in_common_is_seen_whether_or_not_it_varies_within():
    for constant in (True, False):
        found = signal(grouped([4] * 40, between=3.0, constant=constant))
        assert (found.found, found.kind, found.groups) == (True, "whole groups", 40)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("groups", [3, 8, 30, 100])
def test_effects_of_groups_that_are_independent_are_no_signal(groups, constant, classes):
    if constant and groups == 3:
        pytest.skip("three targets cannot be tested")
    count, alarms = 30, 0
    for seed in range(count):
        sizes = 1 + np.random.default_rng(seed).poisson(120 / groups, groups)
        alarms += signal(grouped(sizes, seed, constant=constant, classes=classes), seed).found
    assert as_rare_as_the_level(alarms, count)


def test_four_targets_of_groups_cannot_show_anything_and_say_so():
    found = signal(grouped([20] * 4, between=5.0, constant=True))
    assert found.least > LEVEL
    assert not found.found


def test_all_different_exchanges_of_few_groups_are_tried():
    rng = np.random.default_rng(0)
    numbers = np.array([[3.0], [1.0], [1.0], [2.0], [5.0]])
    orders = _exchanges(numbers, rng, 199)
    arranged = {tuple(numbers[order, 0]) for order in orders}
    assert len(arranged) == len(orders) == 60
    assert np.array_equal(orders[0], np.arange(5))
    assert _least(numbers, 199) == pytest.approx(1 / 60)
    classes = np.eye(2)[[0, 0, 0, 1, 1, 1]]  # with the names exchanged, an arrangement predicts as well
    assert _least(classes, 199) == pytest.approx(2 / 20)
    assert _least(np.arange(9.0)[:, None], 199) == pytest.approx(1 / 200)
    assert math.factorial(5) * _least(np.arange(5.0)[:, None], 199) == pytest.approx(1)
