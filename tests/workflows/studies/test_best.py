"""The best model is the smallest of its own table; what is not sure is said, also where letters cannot be dim."""

import dataclasses
import io
import re

import numpy as np
import pytest
from rich.console import Console

from lemmata.interfaces.cli._summary import print_summary
from lemmata.options import StudyOptions
from lemmata.subjects.forecasts import forecast
from lemmata.workflows.studies import run_study
from lemmata.workflows.studies._answers import answers
from lemmata.workflows.studies._losses import LeftOut, say_left_out
from lemmata.workflows.studies._outlook import Candidate, evened
from lemmata.workflows.studies._standing import beats_guessing
from lemmata.workflows.studies._unfound import nothing
from tests.workflows.studies import tables
from tests.workflows.studies.candidates import SEEN, SIZES, candidate, question


def gained(name, loss, gain, **more):
    """A model whose gain over guessing, row by row, is told."""
    item = candidate(name, loss, **more)
    losses = {key: dataclasses.replace(own, gain=gain) for key, own in item.measured.losses.items()}
    measured = dataclasses.replace(item.measured, losses=losses)
    return Candidate(measured, item.forecast, item.unit, item.total)


def test_the_best_model_is_the_smallest_of_the_table():
    """A lasso with 43.3 was "best" beside 43.1: it stays near guessing, so that its gain varies least."""
    shy, bold = gained("shy", lambda n: 0.97, -0.01), gained("bold", lambda n: 0.90, 0.01, se=0.5)
    asked = question()
    found = answers(SEEN, [shy, bold], asked)
    assert found.best == "bold"
    text = " ".join(found.sentences)
    assert "the best model is the bold model" in text
    assert "not significantly better than guessing" in text
    assert "The shy model is significantly better than guessing, with" in text
    assert found.now is not None
    assert found.now.value <= asked.told(shy.expected(asked.total)).value


def test_without_one_that_surely_beats_guessing_none_is_best():
    assert answers(SEEN, [gained("bold", lambda n: 0.90, 0.01, se=0.5)], question()).best is None


def test_what_is_expected_to_be_worse_than_guessing_does_not_surely_beat_it():
    """Neighbours had 2,260, guessing 2,000: "surely beats guessing: yes"."""
    asked = question()
    worse = gained("worse", lambda n: 1.2 * asked.guessing, -0.01)
    assert not beats_guessing(worse, asked)
    better = gained("better", lambda n: 0.9 * asked.guessing, -0.01)
    found = answers(SEEN, [worse, better], asked)
    assert "the worse model" not in " ".join(found.sentences)


def test_a_file_shows_which_models_are_not_sure():
    record = run_study(tables.waves(80), StudyOptions(models="linear,rbf", quick=True))
    told = [dataclasses.replace(model, learns=model.name == record.answers.best) for model in record.models]
    out = io.StringIO()
    print_summary(Console(file=out, width=100), dataclasses.replace(record, models=told))
    text = out.getvalue()
    unsure = next(model for model in told if not model.learns)
    assert f"{unsure.title} *" in text
    assert "* marks a model that is not significantly better than guessing." in " ".join(text.split())


def test_what_more_rows_change_is_named():
    """ "Change that is open": change what?"""
    model = candidate("slow", lambda n: 0.9 * n**-0.02, se=0.2)
    text = " ".join(answers(SEEN, [model], question()).sentences)
    assert "change the rmse: rmse" in text


def test_a_model_that_overtakes_beyond_what_was_measured_is_named():
    """Boosting was best, compared at 1,600 rows; the table of the page had less for the forest with all 8,645."""
    early, late = candidate("early", lambda n: 0.4 + 0 * n), candidate("late", lambda n: 6.6 * n**-0.5)
    asked = dataclasses.replace(question(), total=4000)
    both = [dataclasses.replace(item, total=4000) for item in (early, late)]
    found = answers(SEEN, both, asked)
    assert found.best == "early"
    assert late.expected(4000).value < early.expected(4000).value
    text = " ".join(found.sentences)
    assert "models are compared at 260 training rows" in text
    assert "With all 4,000 rows the late model is expected to have" in text


def test_a_model_whose_interval_lies_above_the_best_is_not_as_good():
    """ "Random forest may be as good" stood beside 0.489 (0.380 to 0.571) and the best model's 0.572."""
    wide, near = candidate("wide", lambda n: 0.50, se=0.3), candidate("near", lambda n: 0.56, se=0.002)
    text = " ".join(answers(SEEN, [wide, near], question()).sentences)
    assert "the best model is the wide model" in text
    assert ("may be as good" in text) == (near.expected(320).lower <= wide.expected(320).value)
    assert "may be as good" not in text


def test_a_model_that_broke_down_in_a_split_is_neither_best_nor_sure():
    """A softmax kernel with 18 times the error of guessing in one split of five was "best": that split was left out."""
    broken, steady = candidate("broken", lambda n: 0.5), candidate("steady", lambda n: 0.6)
    measured = dataclasses.replace(broken.measured, wild=LeftOut(18.0, 1, 5, 256))
    broken = dataclasses.replace(broken, measured=measured)
    asked = question()
    assert not beats_guessing(broken, asked)
    found = answers(SEEN, [broken, steady], asked)
    assert found.best == "steady"
    assert "the broken model" not in " ".join(found.sentences)
    assert answers(SEEN, [broken], asked).best is None
    text = " ".join(say_left_out({"softmax": LeftOut(18.0, 1, 5, 256), "lasso": LeftOut(11.0, 1, 5, 256)}))
    assert "significantly better than guessing" in text


@pytest.mark.parametrize("unit", ["accuracy", "auc"])
def test_of_no_error_at_all_no_tenth_is_told(unit):
    """Eight models without an error needed from "16" to "1,620,000 (1,330 to no limit)" rows for a tenth less."""
    perfect = candidate("perfect", lambda n: 0.001, unit=unit)
    losses = dataclasses.replace(perfect.losses, seen=np.zeros(len(perfect.losses.sizes)))
    perfect = dataclasses.replace(perfect, measured=dataclasses.replace(perfect.measured, losses={unit: losses}))
    asked = dataclasses.replace(question(f"{unit} 0.9", "classification", spread=0.25), loss=None, guessing=0.5)
    found = answers(SEEN, [perfect], asked)
    assert found.needed is None
    assert "cannot estimate how many rows" in " ".join(found.sentences)
    still = answers(SEEN, [perfect], dataclasses.replace(asked, loss=0.1))
    assert still.needed is not None, "what the user asks for is answered"


@pytest.mark.parametrize("at", [0.9, 0.5])
def test_what_is_called_measured_is_measured(at):
    """ "There it has 170, and softmax network has 153", read off a curve: it was measured to have 254 there."""
    best, short = candidate("best", lambda n: 4.0 * n**-0.5), candidate("short", lambda n: at + 0.0 * n)
    few = {name: dataclasses.replace(own, sizes=own.sizes[:3], mean=own.mean[:3], se=own.se[:3], splits=own.splits[:3])
           for name, own in short.measured.losses.items()}  # fmt: skip
    forecasted = forecast(SIZES[:3], np.full(3, at), np.full(3, 0.01 * at), baseline=1.0)
    short = dataclasses.replace(short, measured=dataclasses.replace(short.measured, losses=few), forecast=forecasted)
    high = {name: dataclasses.replace(own, seen=np.where(own.sizes == 32, 0.7, own.mean))
            for name, own in best.measured.losses.items()}  # fmt: skip
    best = dataclasses.replace(best, measured=dataclasses.replace(best.measured, losses=high))
    text = " ".join(answers(SEEN, [best, short], question()).sentences)
    told = f"At this size it has rmse {2 * at**0.5:#.3g}, and the best model has {2 * 0.7**0.5:#.3g}"
    assert f"at most 32 training rows. {told}" in text, text
    assert ("may be the better model" in text) == (at < 0.7)


def test_fewer_rows_than_there_are_are_not_said_to_suffice_where_all_of_them_do_not():
    """2,296 rows with an interval that lies above the asked value: "open, from 1,840 rows on"."""
    model = candidate("slow", lambda n: 0.9 * n**-0.02, se=0.02)
    asked = model.expected(320).lower * 0.999
    assert model.samples(asked).lower >= 320


def held(item, rows):
    """The same model, held against so many rows."""
    losses = {key: dataclasses.replace(own, rows=rows) for key, own in item.measured.losses.items()}
    return dataclasses.replace(item, measured=dataclasses.replace(item.measured, losses=losses))


def test_of_models_that_are_not_told_apart_the_one_held_against_more_rows_is_best():
    """A support vector machine of one split was best with 54.2; over ten splits it was 57.2, and linear 56.0."""
    lucky, known = (
        held(candidate("lucky", lambda n: 0.54, se=0.005), 1000.0),
        candidate("known", lambda n: 0.56, se=0.1),
    )
    found = answers(SEEN, [lucky, held(known, 5000.0)], question())
    assert found.best == "known"
    assert "the lucky model may be as good" in " ".join(found.sentences)
    told = "The lucky model has 1.47, but this may be luck: this model was tested on only 1,000 rows, "
    told += "and the known model on 5,000 rows."
    assert told in found.sentences
    assert answers(SEEN, [lucky, held(candidate("known", lambda n: 0.8, se=0.01), 5000.0)], question()).best == "lucky"


def test_of_those_held_against_more_rows_the_best_one_is_named():
    """An interval that reached the lucky value made the worst of four models the best: it was the widest."""
    lucky = held(candidate("lucky", lambda n: 0.54, se=0.005), 1000.0)
    close = held(candidate("close", lambda n: 0.60, se=0.005), 5000.0)
    wide = held(candidate("wide", lambda n: 0.62, se=0.6), 5000.0)
    assert close.expected(320).lower > lucky.expected(320).value > wide.expected(320).lower
    assert answers(SEEN, [lucky, close, wide], question()).best == "close"


def test_an_interval_of_few_rows_is_not_narrower_than_those_of_many():
    """ "54.2 (51.0 to 59.2)" stood beside 45 to 76 for nearly every model that was held against more rows."""
    lucky, known = (
        held(candidate("lucky", lambda n: 0.54, se=0.005), 1000.0),
        candidate("known", lambda n: 0.56, se=0.1),
    )
    known = held(known, 5000.0)
    before, (after, same) = lucky.expected(320), evened([lucky, known])
    assert same is known
    assert after.expected(320).value == before.value
    wide = known.expected(known.reach)
    assert after.expected(320).upper / before.value >= wide.upper / wide.value * (1 - 1e-9)
    assert after.expected(320).lower / before.value <= wide.lower / wide.value * (1 + 1e-9)
    assert evened([lucky]) == [lucky]


def test_how_many_more_is_the_difference_of_the_numbers_that_are_told():
    """ "About 110 rows; there are 100, so about 13 more"."""
    text = " ".join(answers(SEEN, [candidate("slow", lambda n: 1.2 * n**-0.3)], question("rmse 0.9")).sentences)
    told = re.search(r"takes about ([\d,]+) rows .* table has 320, so you need about ([\d,]+) more", text)
    assert told, text
    assert int(told[1].replace(",", "")) - 320 == int(told[2].replace(",", ""))


def test_where_nearly_all_rows_are_of_one_class_another_metric_is_named():
    rare = dataclasses.replace(question("accuracy 0.995", "classification", spread=0.25), guessing=0.0086)
    model = candidate("model", lambda n: 0.0086, unit="accuracy", se=0.001)
    text = " ".join(nothing(SEEN, rare, [model], []).sentences)
    assert "The most frequent class has 99.1 % of the rows" in text
    assert "--error 'auc 0.9'" in text
    assert "auc" not in " ".join(nothing(SEEN, dataclasses.replace(rare, guessing=0.3), [model], []).sentences)


def split_by_split(item, losses):
    """The same model, with its losses on the splits of its largest size."""
    told = {key: dataclasses.replace(own, paired=(*[np.empty(0)] * (len(own.sizes) - 1), np.array(losses)))
            for key, own in item.measured.losses.items()}  # fmt: skip
    return dataclasses.replace(item, measured=dataclasses.replace(item.measured, losses=told))


@pytest.mark.parametrize(("few", "best"), [([0.50, 0.60], "few"), ([0.70, 0.80], "many")])
def test_models_that_are_not_told_apart_are_compared_on_the_splits_of_both(few, best):
    """A forest of two splits, better than boosting of five on both, had 2,020 against 2,440 and was "luck"."""
    lucky = split_by_split(held(candidate("few", lambda n: 0.54, se=0.005), 1000.0), few)
    known = split_by_split(held(candidate("many", lambda n: 0.56, se=0.1), 5000.0), [0.6, 0.7, 0.5, 0.5, 0.5])
    assert answers(SEEN, [lucky, known], question()).best == best
