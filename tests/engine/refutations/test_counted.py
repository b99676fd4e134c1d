"""A search counts the violations of a bound that may fail, of each setting by itself."""

import numpy as np
import pytest

from lemmata.engine.refutations._chance import _ROWS, Chances
from lemmata.engine.refutations._draws import Drawn, Draws
from lemmata.engine.refutations._problem import Place
from tests.engine.refutations import untested as own

SETTINGS = [{"n": n} for n in range(2, 10)]


def drawn(settings, inside, measured):
    one = np.ones(len(inside))
    margin = np.where(inside, 0.5, -0.25)
    return Drawn([Place(each, 0, 0) for each in settings], inside, margin, margin, one, measured, one)


class Given(Draws):
    """Draws that a function of the settings gives; it keeps what it is asked."""

    def __init__(self, calls, given):
        self.calls, self.given = calls, given

    def judge(self, seed, numbers, forms, settings):
        self.calls.append((seed, numbers, settings))
        return self.given(settings)


def chances(calls, patience=100.0):
    """A search whose clock one call moves by a second."""
    return Chances(own.OftenCutShort(), 0, patience, clock=lambda: float(len(calls)))


def test_each_setting_has_its_own_violations_and_trials():
    """Of setting n, the first n rows violate the bound, the first 4 n satisfy the hypotheses, and one is NaN."""

    def judge(rows):
        place = np.tile(np.arange(_ROWS), len(SETTINGS))
        n = np.array([row["n"] for row in rows])
        return drawn(rows, place < 4 * n, np.where(place < n, 2.0, np.where(place == n, np.nan, 0.5)))

    calls, sizes = [], np.arange(2, 10)
    search = chances(calls)
    failures, counted, margin = search._counted(Given(calls, judge), 7, SETTINGS, 72, 1000)
    np.testing.assert_array_equal(counted, 8 * sizes)
    np.testing.assert_array_equal(failures, 2 * sizes)
    assert margin == 0.5
    assert (search.trials, search.judged, search.failed) == (2 * 8 * _ROWS, 2 * (4 * sizes - 1).sum(), 2 * 8)
    assert [seed for seed, _, _ in calls] == [7, 7]
    numbers = np.concatenate([given for _, given, _ in calls])
    np.testing.assert_array_equal(numbers, 1000 + np.arange(2 * 8 * _ROWS))
    assert calls[0][2] == [each for each in SETTINGS for _ in range(_ROWS)]


@pytest.mark.parametrize(("inside", "patience", "times"), [(True, 3.0, 4), (False, 3.0, 1), (True, 100.0, 16)])
def test_counting_ends_with_the_patience_or_where_no_problem_satisfies_the_hypotheses(inside, patience, times):
    calls = []
    judge = lambda rows: drawn(rows, np.full(len(rows), inside), np.full(len(rows), 0.5))
    failures, counted, margin = chances(calls, patience)._counted(Given(calls, judge), 0, SETTINGS, 16 * _ROWS, 0)
    assert len(calls) == times
    assert (failures.sum(), counted.sum()) == (0, times * inside * 8 * _ROWS)
    assert margin == (0.5 if inside else -0.25)
