"""What is said where no signal was found: what the test could see, what it could not, and what the past knows."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._answers import answers
from lemmata.workflows.studies._metrics import metric
from lemmata.workflows.studies._question import Question
from lemmata.workflows.studies._signal import Signal, signal
from tests.workflows.studies.candidates import FAST, SEEN, UNSEEN, candidate, question
from tests.workflows.studies.test_signal_groups import grouped


def test_rows_of_groups_are_told_as_such():
    seen = Signal(False, 0.4, 0.9, 1.0, 25, grouped=True, kind="whole groups", groups=25)
    assert "in 25 rows, the targets of whole groups were exchanged" in answers(seen, [], question()).sentences[0]


def test_a_test_without_power_is_not_told_as_absence():
    """Four groups can be exchanged in 24 ways: a p-value of 0.01 is out of its reach."""
    seen = Signal(False, 0.3, 0.9, 1.0, 60, grouped=True, kind="whole groups", least=1 / 24, groups=4)
    found = answers(seen, [], question())
    assert found.sentences[0].startswith("It is open whether the columns predict the target")
    assert "With 4 groups this test cannot find a signal" in found.sentences[1]
    weak = answers(Signal(False, 0.6, 0.9, 1.0, 60, visible=0.2), [], question())
    assert "would have been found in most cases if it explained 20 % or more of the target's" in weak.sentences[1]


def test_a_short_series_is_not_told_as_absence():
    seen = Signal(False, 0.5, 0.9, 1.0, 120, kind="time")
    found = answers(seen, [], question())
    assert found.sentences[0].startswith("It is open whether the columns predict the target")
    assert "A series of fewer than 400 rows is too short" in found.sentences[1]
    long = answers(Signal(False, 0.5, 0.9, 1.0, 900, kind="time", visible=0.03), [], question())
    assert long.sentences[0].startswith("No signal was found")
    assert not any("would have been found" in sentence for sentence in long.sentences)


def test_a_last_value_speaks_for_no_column():
    """Independent random walks: repeating the last value beats guessing, and uses no column."""
    found = answers(UNSEEN, [repeated(FAST)], question())
    assert found.sentences[0].startswith("No signal was found")
    assert not any("suggests that there is a signal" in sentence for sentence in found.sentences)


def test_a_model_that_beats_guessing_by_its_interval_is_not_told_as_nothing():
    """120 rows of 3,000 columns: the test said open, the forest's interval lay below guessing."""
    found = answers(UNSEEN, [candidate("fast", FAST)], question())
    assert found.sentences[0].startswith("It is open whether the columns predict the target")
    assert "On held-out rows the fast model has rmse" in found.sentences[1]


def repeated(loss):
    """A candidate that repeats the last value."""
    last = candidate("last", loss)
    naive = dataclasses.replace(last.measured.model, naive=True, title="last value")
    return dataclasses.replace(last, measured=dataclasses.replace(last.measured, model=naive))


def test_the_past_of_the_target_is_named_where_it_predicts():
    found = answers(UNSEEN, [repeated(FAST)], question())
    told = "The target's own past predicts the target: repeating the last value over the next 16 rows gives rmse "
    assert any(text.startswith(told) for text in found.sentences)
    assert found.sentences[0].startswith("No signal was found beyond the past of the target: ")
    assert not any("own past" in text for text in answers(UNSEEN, [], question()).sentences)


def test_more_rows_are_no_remedy_where_the_target_drifts():
    idle = candidate("idle", lambda n: 0.999, learns=False)
    still, moving = (answers(SEEN, [idle], dataclasses.replace(question(), drifts=drifts)).sentences[0]
                     for drifts in (False, True))  # fmt: skip
    assert still.endswith("or more rows may succeed.")
    assert "more recent rows may" in moving


def test_a_model_speaks_for_the_columns_of_a_series_only_where_it_beats_the_past():
    """Boosting of independent walks had rmse 4.0 where the mean had 10, and the last value 4.3."""
    steps = Signal(False, 0.9, 0.9, 1.0, 900, kind="time")
    like, better = candidate("like", lambda n: 1.99 * n**-0.5), candidate("better", lambda n: 0.5 * n**-0.5)
    said = answers(steps, [like, repeated(FAST)], question()).sentences
    assert not any("suggests that there is a signal" in text for text in said)
    said = answers(steps, [better, repeated(FAST)], question()).sentences
    assert any("but the target's own past has" in text and "suggests that there is a signal" in text for text in said)


@pytest.mark.parametrize("groups", [4, 5])
def test_what_is_between_few_groups_is_not_told_as_absent(groups):
    """The dose of each of five sites explained 89 % of the variance; "3 % would have been found" was said."""
    site = np.repeat(np.arange(groups), 60)
    rng = np.random.default_rng(2)
    dose = rng.normal(size=groups)[site]
    table = pl.DataFrame({"dose": dose, "x": rng.normal(size=len(site)), "site": [f"s{i}" for i in site],
                          "y": 3 * dose + rng.normal(size=len(site))})  # fmt: skip
    found = signal(load_dataset(table, "y", group="site"))
    said = answers(found, [], question()).sentences
    assert not found.found
    assert said[0].startswith("It is open whether the columns predict the target")
    assert f"columns explain differences between groups: {groups} groups are too few" in said[1]
    assert said[1].startswith("A linear signal in one or several columns would have been found in most cases ")
    assert "of the variance within groups. " in said[1]


def test_both_tests_of_groups_say_what_they_could_see():
    found = signal(grouped([60] * 8))
    assert not found.found
    assert found.between > 0.5 > found.visible
    said = answers(found, [], question()).sentences
    assert said[0].startswith("It is open whether the columns predict the target"), "8 groups show little of themselves"
    assert "or more of the variance within groups. " in said[1]
    assert "of the variance between 8 groups" in said[1]
    many = signal(grouped([4] * 100))
    assert many.between < 0.5
    assert answers(many, [], question()).sentences[0].startswith("No signal was found")


def test_rare_classes_are_named_where_nothing_was_found():
    said = "These classes have fewer than 8 rows, which is too few for both training and testing: 'b' (2)."
    for unit in ("accuracy", "auc"):
        asked_of = Question(metric(unit, "classification"), None, 320, 1.0, 0.5, rare=said)
        found = answers(UNSEEN, [candidate("fast", FAST, unit=unit)], asked_of)
        assert "predict" in found.sentences[0]
        assert said in found.sentences


def test_of_rows_that_drift_no_number_is_told():
    still, moving = (answers(SEEN, [candidate("fast", FAST)], dataclasses.replace(question("rmse 0.2"), drifts=drifts))
                     for drifts in (False, True))  # fmt: skip
    assert still.needed is not None
    assert moving.needed is None
    assert moving.more == []
    assert any("Later rows differ from earlier rows" in text for text in moving.sentences)
    assert not any("takes about" in text or "twice the data" in text for text in moving.sentences)
    assert math.isfinite(moving.now.value)
