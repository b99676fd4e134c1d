"""Answers in words: what the first line is, what is never said, and that no number contradicts another."""

import math
import re

import pytest

from lemmata.intervals import Interval
from lemmata.workflows.records import rows
from lemmata.workflows.studies._answers import _rows, answers
from lemmata.workflows.studies._metrics import asked, metric
from lemmata.workflows.studies._question import Question
from lemmata.workflows.studies._signal import Signal
from tests.workflows.studies.candidates import FAST, SEEN, SLOW, UNSEEN, candidate, question


def test_without_signal_no_number_of_rows_is_told():
    found = answers(UNSEEN, [candidate("idle", lambda n: 0.999, learns=False)], question("rmse 0.5"))
    assert found.sentences[0].startswith("No signal was found")
    assert found.best is found.needed is None
    assert not re.search(r"\d+ rows \(", " ".join(found.sentences))


def test_models_that_do_not_beat_guessing_are_not_considered():
    idle = candidate("idle", lambda n: 0.999, learns=False)
    worse = candidate("worse", lambda n: 1.3)
    found = answers(SEEN, [idle, worse], question())
    assert found.best is None
    assert "no model here is shown to beat guessing" in found.sentences[0]
    assert answers(SEEN, [idle, worse, candidate("slow", SLOW)], question()).best == "slow"


def test_the_model_that_needs_fewest_rows_is_best():
    found = answers(SEEN, [candidate("slow", SLOW), candidate("fast", FAST)], question("unexplained 0.25"))
    assert found.best == "fast"
    assert found.needed.value == pytest.approx(64, rel=0.1)
    assert found.needed.lower <= found.needed.value <= found.needed.upper
    assert re.search(
        r"Reaching unexplained variance 0\.250 takes about 6\d rows .* with the fast model\. The table has 320\.",
        found.sentences[1],
    )


def test_a_value_beyond_the_data_says_how_many_more_rows_and_what_they_cost():
    found = answers(SEEN, [candidate("fast", FAST)], question("unexplained 0.09", cost=2.0))
    assert found.needed.value == pytest.approx((2.0 / 0.09) ** 2, rel=0.25)
    extra = found.needed.value - 320
    assert f"so you need about {rows(extra)} more" in found.sentences[1]
    assert "At a price of 2 per row, that costs about" in found.sentences[1]
    assert [item.rows for item in found.more] == [80, 320, 960, 2240]
    assert [item.cost for item in found.more] == [160.0, 640.0, 1920.0, 4480.0]


def test_a_value_below_the_floor_is_out_of_reach_of_any_number_of_rows():
    flat = candidate("flat", lambda n: 0.5 + 0.3 * n**-1.0, se=0.002)
    found = answers(SEEN, [flat], question("unexplained 0.2"))
    assert (
        "None of these models is expected to reach unexplained variance 0.200, even with 2,560 rows (8 times the "
        "table)." in found.sentences[1]
    )
    assert not math.isfinite(found.needed.value)
    assert not any("however many" in sentence.lower() for sentence in found.sentences), "nobody measured that"


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
    assert found.sentences[1].startswith("With all 320 rows the best model is the fast model: rmse 0.6")
    assert found.sentences[2].startswith("Cutting the error by 10 %")
    assert found.origin.startswith("10 % less")
    assert found.now.value == pytest.approx(math.sqrt(4.0 * FAST(320)), rel=0.05)


def test_no_end_of_a_number_of_rows_is_beyond_what_was_measured_or_forecast():
    model, asked = candidate("fast", FAST), question("unexplained 0.15")
    told = lambda *ends: _rows(model, model, [model], asked, 0.15, Interval(*ends))
    assert "takes about 420 rows (61 to more than 2,560) with the fast model." in told(420.0, 61.0, 53100.0)
    assert "takes about 42 rows (fewer than 8 to 95) with the fast model." in told(42.0, 1.0, 95.0)
    least = "takes at most about 8 rows, the smallest size that was measured for the fast model"
    assert f"{least}. The table has 320." in told(1.0, 1.0, 6.0)
    assert f"{least} (the upper end of the 90 % interval is 20). The table has 320." in told(7.0, 1.0, 20.0)


def test_metrics_that_rise_are_told_from_worse_to_better():
    unit = metric("accuracy", "classification")
    model = candidate("fast", lambda n: 0.8 * n**-0.5, unit="accuracy")
    found = answers(SEEN, [model], Question(unit, 0.05, 320, 1.0, 0.6))
    low, high = map(float, re.search(r"\((\d+\.\d) % to (\d+\.\d) %\)", found.sentences[2]).groups())
    assert low < 100 * found.now.value < high
    assert found.now.lower < found.now.value < found.now.upper
    assert "Reaching accuracy 95.0 % takes about" in found.sentences[1]


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
    assert found.sentences[1].endswith("rmse on held-out rows is 2.00e-12.")
    assert len(found.sentences) == 2
    assert found.needed is None
    assert found.first is None


def crossing():
    """One that is soon below 0.3 and stays near it, and one that comes late and is far better with 320 rows."""
    return candidate("early", lambda n: 0.24 + 1.2 * n**-1.0), candidate("late", lambda n: 8.0 * n**-0.9)


def test_the_best_with_all_rows_need_not_be_the_one_that_needs_fewest():
    early, late = crossing()
    poor = candidate("poor", lambda n: 1.0 * n**-0.05)
    found = answers(SEEN, [early, late, poor], question("unexplained 0.3"))
    assert early.forecast.samples(0.3).value < late.forecast.samples(0.3).value < 320
    assert "with the early model" in found.sentences[1]
    assert found.sentences[2].startswith("With all 320 rows the best model is the late model")
    assert (found.best, found.first) == ("late", "early")
    assert found.needed == early.samples(0.3)
    assert found.now.value == late.expected(320).value


def test_where_all_have_it_already_the_better_model_is_named():
    early, late = crossing()
    found = answers(SEEN, [early, late], question("unexplained 0.3"))
    assert re.search(r"with the early model\. The table has 320\.$", found.sentences[1])
    assert (found.best, found.first) == ("late", "early"), "all of its interval is below what the late model needs"


@pytest.mark.parametrize(("factor", "first"), [(1.03, "good"), (1.3, "other")])
def test_of_as_many_rows_the_better_model_is_named(factor, first):
    """With n^(-1/2) a loss that is larger by a factor takes its square in rows."""
    good = candidate("good", lambda n: FAST(n) if n < 100 else 0.9 * FAST(n))
    other = candidate("other", lambda n: FAST(n) / factor if n < 100 else FAST(n))
    worst = candidate("worst", lambda n: 1.0 * n**-0.05)
    found = answers(SEEN, [good, other, worst], question("unexplained 0.3"))
    assert found.best == "good"
    assert found.first == first


def test_without_a_question_the_tenth_is_told_of_the_model_that_comes_there_first():
    slow, steep = candidate("slow", lambda n: 0.4 * n**-0.1), candidate("steep", lambda n: 44.0 * n**-0.9)
    found = answers(SEEN, [slow, steep], question())
    assert found.best == "slow"
    assert found.first == "steep"
    assert "with the steep model" in found.sentences[2]
    needed = steep.samples(0.81 * slow.expected(320).value)
    for end in ("lower", "value", "upper"):  # the forecast is made twice, and sums of threads are not ordered
        assert getattr(found.needed, end) == pytest.approx(getattr(needed, end), rel=1e-12)


def test_out_of_reach_names_the_model_that_comes_nearest():
    now = candidate("now", lambda n: 0.3 + 0.05 * n**-1.0, se=0.002)
    later = candidate("later", lambda n: 5.0 * n**-0.45, se=0.002)
    assert now.expected(320).value < later.expected(320).value
    assert later.expected(2560).value < now.expected(2560).value
    found = answers(SEEN, [now, later], question("unexplained 1e-7"))
    assert "model is expected to have unexplained variance 0.30" in found.sentences[1], (
        "the noise that it shows holds for all"
    )
    assert found.best == "now"


def test_an_open_value_names_the_model_that_is_expected_to_be_best_there():
    """Only the interval of a worse model may reach the value; that model alone would read as a loss by more rows."""
    sure = candidate("sure", lambda n: 0.3 + 0.02 * n**-1.0, se=0.002)
    wide = candidate("wide", lambda n: 0.36 + 0.6 * n**-0.5, se=0.3)
    level = 0.98 * sure.expected(2560).lower
    assert sure.expected(2560).value < wide.expected(2560).value
    assert wide.expected(2560).lower < level
    (text,) = [own for own in answers(SEEN, [sure, wide], question(f"unexplained {level}")).sentences if "open" in own]
    assert "the sure model is expected to have unexplained variance 0.3" in text
    assert "The wider interval of the wide model contains this value: unexplained variance 0." in text


@pytest.mark.parametrize("unit", ["rmse", "r2", "unexplained", "accuracy", "auc", "log-loss"])
def test_a_tenth_less_is_a_tenth_of_what_is_told(unit):
    kind = metric(unit, "regression" if unit in ("rmse", "r2", "unexplained") else "classification")
    found = answers(SEEN, [candidate("fast", FAST, unit=unit)], Question(kind, None, 320, 4.0, 1.0))
    left = (lambda value: 1 - value) if kind.rises else (lambda value: value)
    assert left(found.asked) == pytest.approx(0.9 * left(found.now.value), rel=1e-9)


def test_a_change_that_no_digit_shows_is_called_none():
    unit = metric("accuracy", "classification")
    flat = candidate("flat", lambda n: 0.2 + 0.0001 * n**-1.0, unit="accuracy", se=0.002)
    found = answers(SEEN, [flat], Question(unit, None, 320, 1.0, 0.6, 2.0))
    sentence = next(sentence for sentence in found.sentences if "twice the data" in sentence)
    assert sentence.startswith(
        "320 more rows (twice the data) would change little: accuracy 80.0 % is expected with all rows, "
    )
    assert sentence.endswith("rows cost 640.")


def test_the_asked_value_keeps_its_digits():
    unit, loss = asked("accuracy 0.99999", "classification", 1.0)
    flat = candidate("flat", lambda n: 0.1 + 0.3 * n**-1.0, unit="accuracy", se=0.002)
    found = answers(SEEN, [flat], Question(unit, loss, 320, 1.0, 0.6))
    assert found.sentences[1].startswith("None of these models is expected to reach accuracy 99.999 %")
    assert re.search(r"expected to have accuracy \d\d\.\d{3} %", found.sentences[1])


@pytest.mark.parametrize(
    ("text", "task", "words"),
    [
        ("rmse 2.5", "regression", "No rows are needed for rmse 2.50: guessing the mean already gives 2.00."),
        ("accuracy 0.4", "classification", "No rows are needed for accuracy 40.0 %: guessing the most frequent class"),
        ("log-loss 3", "classification", "No rows are needed for log-loss 3.00: guessing the shares of the classes"),
    ],
)
def test_what_guessing_has_already_takes_no_rows(text, task, words):
    unit, loss = asked(text, task, 4.0)
    guessing = 0.5 if unit.name == "accuracy" else 1.0
    model = candidate("good", lambda n: 0.4 * n**-0.5, unit=unit.name)
    found = answers(SEEN, [model], Question(unit, loss, 320, 4.0, guessing))
    assert found.sentences[1].startswith(words)
    assert "good" not in found.sentences[1]
    assert found.needed is found.first is None
    assert found.best == "good"


def test_the_remedies_name_another_kind_of_model_first():
    found = answers(SEEN, [candidate("worse", lambda n: 1.3)], question())
    assert found.sentences[0].endswith("Another kind of model, other columns or more rows may succeed.")


@pytest.mark.parametrize(
    ("p", "head"),
    [(0.051, "No signal was found: "), (0.05, "It is open whether the columns predict the target: ")],
)
def test_a_p_value_near_the_level_leaves_the_question_open(p, head):
    found = answers(Signal(False, p, 0.9, 1.0, 51), [candidate("idle", lambda n: 1.0)], question("rmse 0.5"))
    assert found.sentences[0].startswith(head)
    assert found.best is None
    if p <= 0.05:
        assert "the targets of 51 rows were shuffled" in found.sentences[0]
        assert "p = 0.05" in found.sentences[0]


def test_a_value_that_the_rows_may_have_already_is_open_and_no_question_of_more():
    model = candidate("noisy", lambda n: 0.5 * n**-0.1, se=0.1)
    level = 1.03 * model.expected(320).value
    found = answers(SEEN, [model], question(f"unexplained {level}"))
    assert found.sentences[1].startswith("It is open whether 320 rows are enough for unexplained")


def test_fewer_rows_than_were_seen_to_miss_a_value_are_not_told():
    """The lower end of the rows lies above the sizes that were measured to be worse by their intervals."""
    model = candidate("fast", FAST, se=0.02)
    assert model.samples(0.2).lower >= 64


def test_the_least_that_shuffles_can_give_is_said_to_be_it():
    assert re.search("p ≤ 0.005, .* 199 shuffles", answers(SEEN, [candidate("fast", FAST)], question()).sentences[0])
    seen = Signal(True, 0.01, 0.3, 1.0, 100)
    assert "p = 0.01)" in answers(seen, [candidate("fast", FAST)], question()).sentences[0]
    both = Signal(True, 0.005, 0.3, 1.0, 100, kind="groups", shuffles=399)
    assert "the smallest value that this test can" in answers(both, [candidate("fast", FAST)], question()).sentences[0]
    sure = answers(Signal(False, 1.0, 0.9, 1.0, 60), [], question()).sentences[0]
    assert "in 100 % of all cases (p = 1;" in sure


def test_no_model_comes_below_the_noise_that_a_better_one_has_shown():
    """A linear model stands at the noise; a forest that is worse was told to come below it with 818,000 rows."""
    linear = candidate("linear", lambda n: 0.25 + 0.3 * n**-1.0, se=0.004)
    forest = candidate("forest", lambda n: 0.25 + 0.9 * n**-0.35, se=0.004)
    found = answers(SEEN, [linear, forest], question())
    assert found.best == "linear"
    assert "takes about" not in found.sentences[2]
    assert not math.isfinite(found.needed.value)


def test_fewer_rows_used_than_there_are_is_said():
    asked_of = Question(metric("rmse", "regression"), None, 53_940, 4.0, 1.0, used=2500)
    found = answers(SEEN, [candidate("fast", FAST, total=53_940)], asked_of)
    assert "This study used 2,500 of the table's 53,940 rows." in found.sentences
    assert "The best model is the fast model. It was measured on at most 260 training rows" in found.sentences[2]


def test_an_answer_and_the_present_come_from_one_estimate():
    """Where the loss that is expected with all rows is above the asked one, no fewer rows are told to reach it."""
    wavy = candidate("wavy", lambda n: 0.5 if n > 100 else 0.3)
    for level in (0.32, 0.4, 0.45, 0.5, 0.55):
        needed, now = wavy.samples(level), wavy.expected(320)
        assert (needed.value <= 320) == (now.value <= level)


@pytest.mark.parametrize(("rare", "unit"), [(2, "auc"), (2, "accuracy")])
def test_a_class_too_rare_to_be_measured_is_said_to_be(rare, unit):
    said = f"These classes have fewer than 8 rows, which is too few for both training and testing: 'b' ({rare})."
    asked_of = Question(metric(unit, "classification"), None, 320, 1.0, 0.5, rare=said)
    found = answers(SEEN, [candidate("fast", FAST, unit=unit)], asked_of)
    assert any(said in sentence for sentence in found.sentences)
    assert (found.best is None) == (unit == "auc")


@pytest.mark.parametrize(("copies", "told"), [(140, True), (16, True), (15, False)])
def test_many_copies_are_told_before_any_number_that_rests_on_them(copies, told):
    found = answers(Signal(True, 0.005, 0.3, 1.0, 320, False, copies, 320), [candidate("fast", FAST)], question())
    assert found.sentences[1].startswith(f"{copies} of 320 rows repeat an earlier row") == told
    assert found.sentences[1 + told].startswith("With all 320 rows")


def test_no_sentence_begins_with_the_name_of_a_unit():
    for text in ("rmse 0.5", "rmse 0.001", "rmse 3"):
        for sentence in answers(SEEN, [candidate("fast", FAST)], question(text)).sentences:
            assert not sentence.lower().startswith("rmse"), sentence


def test_titles_with_commas_stay_apart():
    twins = [candidate(f"twin, depth {i}", lambda n, i=i: (1 + 0.001 * i) * FAST(n)) for i in (1, 3)]
    found = answers(SEEN, [candidate("fast", FAST), *twins], question())
    assert found.sentences[1].endswith("may be as good: the twin, depth 1 model; the twin, depth 3 model.")


def test_a_tenth_less_that_no_digit_shows_is_told_without_a_value():
    near = candidate("near", lambda n: 0.05 * n**-0.5, unit="accuracy")
    found = answers(SEEN, [near], Question(metric("accuracy", "classification"), None, 320, 1.0, 0.6))
    assert "accuracy 99.7 %" in found.sentences[1]
    assert found.sentences[2].startswith("Cutting the error by 10 % takes about ")
