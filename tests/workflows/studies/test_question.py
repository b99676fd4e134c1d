"""Losses in the user's unit: shares stay shares."""

import numpy as np
import pytest

from lemmata.errors import DataError
from lemmata.intervals import Interval
from lemmata.options import StudyOptions
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._asking import question
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


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_a_target_whose_squares_leave_float64_is_refused(scale):
    x, y = np.random.default_rng(0).normal(size=(40, 2)), np.random.default_rng(1).normal(size=40)
    with pytest.raises(DataError, match=r"divide the target by 1e[+-]?(19|20)") as raised:
        question(load_dataset((x, scale * y)), StudyOptions())
    assert "to be squared" in str(raised.value)
    assert question(load_dataset((x, scale**0.25 * y)), StudyOptions()).unit.name == "rmse"
