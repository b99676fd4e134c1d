"""Losses in the user's unit: shares stay shares."""

import pytest

from lemmata.intervals import Interval
from lemmata.workflows.studies._metrics import metric
from lemmata.workflows.studies._question import Question


@pytest.mark.parametrize("name", ["accuracy", "wrong", "auc"])
def test_shares_stay_between_nothing_and_all(name):
    asked_of = Question(metric(name, "classification"), None, 100, 1.0, 0.5)
    told = asked_of.told(Interval(0.7, 0.4, 1.2))
    assert 0.0 <= told.lower < told.value < told.upper <= 1.0
    assert "-" not in asked_of.say_interval(Interval(0.7, 0.4, 1.2))
    assert (
        Question(metric("log-loss", "classification"), None, 100, 1.0, 0.5).told(Interval(0.7, 0.4, 1.2)).upper == 1.2
    )
