"""Whole groups are compared by the means of their rows, so that rows of a group that are repeated change nothing."""

import numpy as np
import pytest

from lemmata.workflows.studies import _signal_groups
from lemmata.workflows.studies._signal_statistics import Outcome, _visible, kernels


@pytest.fixture
def seen(monkeypatch):
    """What the test for signal is given."""
    found = []
    said = Outcome(1.0, 1.0, 1.0, 5, "whole groups", 1.0, 30, 5)
    monkeypatch.setattr(_signal_groups, "outcome", lambda views, *told: found.append((views, *told)) or said)
    return found


@pytest.mark.parametrize("times", [(1, 1, 1, 1, 1, 1), (1, 2, 3, 4, 5, 6), (7, 1, 1, 1, 1, 1)])
def test_a_group_is_the_mean_of_its_rows(seen, times):
    rng = np.random.default_rng(0)
    rows, target = rng.normal(size=(6, 2)), rng.normal(size=(5, 1))
    groups = np.repeat(np.arange(6), times)
    kept = np.array([0, 1, 2, 4, 5])
    _signal_groups._whole(rows[groups], target, kept, groups, False, rng, 30, 0.05)
    (views, number, kind, _, count, level, _) = seen[0]
    (view,) = views
    assert (number, kind, count, level) == (sum(times) - times[3], "whole groups", 5, 0.05)
    np.testing.assert_allclose(view.columns, rows[kept], atol=1e-12)
    for own, alone in zip(view.grams, kernels(rows[kept]), strict=True):
        np.testing.assert_allclose(own, alone, atol=1e-9)
    np.testing.assert_allclose(view.targets[:, 0], target - target.mean(axis=0))


def test_groups_with_too_few_rows_are_left_out_and_the_others_have_equally_many():
    rng = np.random.default_rng(1)
    groups = rng.permutation(np.repeat(np.arange(4), [9, 3, 8, 9]))
    y = np.stack([groups * 10.0, np.ones(len(groups))], axis=1)
    found, kept = _signal_groups._targets(y, groups, rng)
    sizes = np.bincount(groups)
    assert 0 < len(kept) <= 4
    assert sizes[kept].min() > np.delete(sizes, kept).max(initial=0)
    np.testing.assert_allclose(found, np.stack([kept * 10.0, np.ones(len(kept))], axis=1))


def test_what_is_visible_is_the_lowest_percent_below_the_median():
    errors, flat = np.linspace(0.5, 1.5, 101), np.ones((2, 101))
    assert _visible(errors, flat) == pytest.approx(0.49)
    column = np.stack([np.linspace(0.9, 1.0, 101), np.linspace(0.2, 1.0, 101)])
    assert _visible(np.ones(101), column) == pytest.approx(1 - 0.208)
    assert _visible(errors, column) == pytest.approx(0.792)
    assert _visible(np.linspace(-5, 5, 101), flat) == 1.0
