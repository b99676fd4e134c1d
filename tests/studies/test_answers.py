"""Answers in words: what the first line is, what is never said, and that no number contradicts another."""

import math
import re

import numpy as np
import pytest

from lemmata.studies._answers import Candidate, Question, answers, rows
from lemmata.studies._forecast import forecast
from lemmata.studies._measure import Losses, Measured
from lemmata.studies._metrics import asked, metric
from lemmata.studies._models import Model
from lemmata.studies._signal import Signal

SEEN, UNSEEN = Signal(True, 0.005, 0.3, 1.0, 100), Signal(False, 0.42, 0.98, 1.0, 51)
SIZES = np.array([8.0, 16.0, 32.0, 64.0, 128.0, 256.0])


def candidate(name, loss, unit="rmse", se=0.01, learns=True):
    values = np.array([loss(n) for n in SIZES])
    losses = {unit: Losses(SIZES, values, se * values, (8,) * len(SIZES)) for unit in (unit, "unexplained")}
    model = Model(name, f"the {name} model", "", True, lambda x, y, task: None)  # pyright: ignore[reportArgumentType]
    measured = Measured(model, losses, learns)
    return Candidate(measured, forecast(SIZES, values, se * values, baseline=1.0))


def question(text=None, task="regression", total=320, spread=4.0, cost=None):
    unit, loss = (metric("rmse", task), None) if text is None else asked(text, task, spread)
    return Question(unit, loss, total, spread, 1.0, cost)


FAST, SLOW = lambda n: 2.0 * n**-0.5, lambda n: 1.2 * n**-0.2


def test_without_signal_no_number_of_rows_is_told():
    found = answers(UNSEEN, [candidate("fast", FAST)], question("rmse 0.5"))
    assert found.sentences[0].startswith("Nothing here predicts the target")
    assert found.best is found.needed is None
    assert not re.search(r"\d+ rows \(", " ".join(found.sentences))


def test_models_that_do_not_beat_guessing_are_not_considered():
    idle = candidate("idle", lambda n: 0.999, learns=False)
    worse = candidate("worse", lambda n: 1.3)
    found = answers(SEEN, [idle, worse], question())
    assert found.best is None
    assert "no model here beats guessing" in found.sentences[0]
    assert answers(SEEN, [idle, worse, candidate("slow", SLOW)], question()).best == "slow"


def test_the_model_that_needs_fewest_rows_is_best():
    found = answers(SEEN, [candidate("slow", SLOW), candidate("fast", FAST)], question("unexplained 0.25"))
    assert found.best == "fast"
    assert found.needed.value == pytest.approx(64, rel=0.1)
    assert found.needed.lower <= found.needed.value <= found.needed.upper
    assert re.search(
        r"Unexplained 0\.250 takes about 6\d rows .* with the fast model; there are 320\.", found.sentences[1]
    )


def test_a_value_beyond_the_data_says_how_many_more_rows_and_what_they_cost():
    found = answers(SEEN, [candidate("fast", FAST)], question("unexplained 0.09", cost=2.0))
    assert found.needed.value == pytest.approx((2.0 / 0.09) ** 2, rel=0.25)
    extra = found.needed.value - 320
    assert f"so about {rows(extra)} more" in found.sentences[1]
    assert "At 2 a row that costs about" in found.sentences[1]
    assert [item.rows for item in found.more] == [80, 320, 960, 2240]
    assert [item.cost for item in found.more] == [160.0, 640.0, 1920.0, 4480.0]


def test_a_value_below_the_floor_is_out_of_reach_of_any_number_of_rows():
    flat = candidate("flat", lambda n: 0.5 + 0.3 * n**-1.0, se=0.002)
    found = answers(SEEN, [flat], question("unexplained 0.2"))
    assert "is not expected of any model here, however many rows" in found.sentences[1]
    assert not math.isfinite(found.needed.value)
    assert any(sentence.startswith("However many rows, the flat model") for sentence in found.sentences)


@pytest.mark.parametrize("level", [0.9, 0.5, 0.25, 0.15, 0.12])
def test_a_value_that_was_measured_is_never_called_out_of_reach(level):
    """Where a measured error is below the asked one, a number of rows at most that size is told."""
    for model in (candidate("fast", FAST), candidate("noisy", lambda n: FAST(n) * (1 + 0.2 * math.sin(9 * n)))):
        losses = model.measured.losses["rmse"]
        below = losses.sizes[losses.mean <= level * 0.8]
        found = answers(SEEN, [model], question(f"unexplained {level}"))
        if len(below):
            assert found.needed.value <= below[-1]
            assert "not expected" not in found.sentences[1]


def test_where_nothing_is_asked_the_present_comes_first_and_then_a_tenth_less():
    found = answers(SEEN, [candidate("fast", FAST), candidate("slow", SLOW)], question())
    assert found.sentences[1].startswith("With all 320 rows the best is the fast model: rmse 0.6")
    assert found.sentences[2].startswith("A tenth less error")
    assert found.origin.startswith("a tenth less")
    expected = 2.0 * (4 * 0.9 * 2 * 320**-0.5) ** 0.0  # the unit of rmse is that of the target
    assert expected == 2.0
    assert found.now.value == pytest.approx(math.sqrt(4.0 * FAST(320)), rel=0.05)


def test_metrics_that_rise_are_told_from_worse_to_better():
    unit = metric("accuracy", "classification")
    model = candidate("fast", lambda n: 0.8 * n**-0.5, unit="accuracy")
    found = answers(SEEN, [model], Question(unit, 0.05, 320, 1.0, 0.6))
    low, high = map(float, re.search(r"\((\d+\.\d) % to (\d+\.\d) %\)", found.sentences[2]).groups())
    assert low < 100 * found.now.value < high
    assert found.now.lower < found.now.value < found.now.upper
    assert "Accuracy 95.0 % takes about" in found.sentences[1]


def test_rivals_within_the_interval_are_named():
    twin = candidate("twin", lambda n: 1.01 * FAST(n))
    found = answers(SEEN, [candidate("fast", FAST), twin, candidate("slow", SLOW)], question())
    assert "the twin model may be as good" in found.sentences[1]
    assert "slow" not in found.sentences[1]


def test_rows_are_told_to_as_many_digits_as_are_known():
    assert [rows(n) for n in (0.2, 7.01, 123.4, 8888.8, 1e6)] == ["1", "8", "120", "8,890", "1,000,000"]
    assert rows(math.inf) == "any number"


def test_an_exact_prediction_says_from_which_size_on_and_nothing_of_more():
    exact = candidate("exact", lambda n: 0.5 if n < 30 else 1e-24)
    found = answers(SEEN, [exact], question())
    assert found.sentences[1].startswith("From about 3")
    assert found.sentences[1].endswith("the exact model predicts it exactly, up to rounding.")
    assert len(found.sentences) == 2
