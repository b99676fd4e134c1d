"""Counts in sentences are counts in the table: rows that repeat others, and rows that tell a model from guessing."""

import dataclasses
import math

import numpy as np
import polars as pl
import pytest

from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._answers import answers
from lemmata.workflows.studies._copies import repeated_across
from lemmata.workflows.studies._losses import Split, curve_of
from lemmata.workflows.studies._measure import baselines
from lemmata.workflows.studies._metrics import metric, tell
from lemmata.workflows.studies._outlook import Candidate
from lemmata.workflows.studies._question import Question
from lemmata.workflows.studies._repeats import copies
from lemmata.workflows.studies._standing import beats_guessing
from tests.workflows.studies import tables
from tests.workflows.studies.candidates import SEEN, candidate

WRONG = metric("accuracy", "classification")
GUESSING = 0.28


def planes(rows=120):
    """Each row stands twice, a third of them with a rare text of its own; 20 pairs differ in that text alone."""
    rng = np.random.default_rng(2)
    x = np.repeat(rng.normal(size=rows), 2)
    models = np.repeat([f"model {i}" if i < rows // 3 else "usual" for i in range(rows)], 2).astype(object)
    models[:40:2] = [f"other model {i}" for i in range(20)]
    return pl.DataFrame({"x": x, "model": models.tolist(), "y": np.repeat(np.arange(rows) % 3, 2).astype(str)})


def test_rows_with_pooled_texts_are_counted_by_their_own_cells():
    """532 of 1,000 rows were said to repeat an earlier one, and 683 of them in the note below."""
    table = planes()
    data = load_dataset(table, "y")
    assert "other" in (data.categories[1] or ())
    count = table.height - table.n_unique()
    assert count == 100
    assert copies(data) == count
    notes = [finding.text for finding in data.findings if finding.kind == "repeats"]
    assert [text.split()[0] for text in notes] == [str(count)]
    assert copies(data.some(np.arange(40))) == 0


def test_rows_that_equal_one_of_another_group_are_all_counted():
    """59 rows were said to equal an earlier row of another group, where 97 do."""
    rng = np.random.default_rng(3)
    x = np.repeat(rng.normal(size=60), 4)
    owners = np.tile(["a", "a", "b", "a"], 60)
    owners[120:] = np.repeat([f"c{i}" for i in range(30)], 4)
    data = load_dataset(pl.DataFrame({"x": x, "owner": owners, "y": np.repeat(rng.normal(size=60), 4)}), "y",
                        group="owner")  # fmt: skip
    assert copies(data) == 60, "the third and fourth of each quartet of the first half"
    notes = [finding.text for finding in data.findings if finding.kind == "repeats"]
    assert [text.split(" ", 1)[0] for text in notes] == ["150", "60"]


def test_rows_of_other_groups_as_by_hand():
    rng = np.random.default_rng(4)
    groups, cells = rng.integers(0, 3, 200), rng.integers(0, 40, 200).astype(float)
    by_hand = sum(any(cells[j] == cells[i] and groups[j] != groups[i] for j in range(i)) for i in range(200))
    assert repeated_across(groups, cells) == by_hand


def classified(better, worse, held=100, splits=5):
    """A classifier that is right in so many rows where guessing is wrong, and wrong in so many where it is right."""
    total = held * splits
    net, apart = (worse - better) / total, (better + worse) / total
    loss = GUESSING + net
    one = lambda value: np.array([value])
    gain = np.array([[net], [apart - net**2]])
    each = [
        Split(4 * held, held, one(loss), one(loss * (1 - loss)), one(GUESSING), one(1.0), gain, True, one(1.0))
        for _ in range(splits)
    ]
    losses, _ = curve_of([each], 0, total, tables.classes(90), WRONG)
    item = candidate("near", lambda n: loss, unit="accuracy", total=total)
    known = dataclasses.replace(item.measured.losses["accuracy"], gain=losses.gain)
    measured = dataclasses.replace(item.measured, losses={"accuracy": known})
    return Candidate(measured, item.forecast, item.unit, total), losses


@pytest.mark.parametrize(
    ("better", "worse", "sure"),
    [(1, 0, False), (2, 0, False), (4, 0, False), (5, 0, True), (6, 3, False), (17, 5, True), (60, 57, False)],
)
def test_a_model_that_is_nearly_guessing_does_not_surely_beat_it(better, worse, sure):
    """An SVM surely beat guessing by one of 500 rows: a difference of few rows has a tiny standard error."""
    item, _ = classified(better, worse)
    assert beats_guessing(item, Question(WRONG, None, 500, 1.0, GUESSING)) == sure


def test_the_held_out_rows_are_known():
    assert classified(5, 0)[1].rows == 500
    assert math.isnan(candidate("plain", lambda n: 0.1).losses.rows)


def scored(name, loss, rows, se=0.1):
    item = candidate(name, lambda n: loss, unit="accuracy", se=se, total=1000)
    losses = {key: dataclasses.replace(own, rows=rows) for key, own in item.measured.losses.items()}
    return Candidate(dataclasses.replace(item.measured, losses=losses), item.forecast, item.unit, 1000)


def test_a_model_that_was_measured_on_fewer_rows_may_be_as_good():
    """Two splits left a model 3 rows behind the best of five: "may be as good" did not name it."""
    asked = Question(WRONG, None, 1000, 1.0, 0.1)
    best, same = scored("best", 0.050, 1000.0), scored("same", 0.055, 1000.0, se=0.4)
    text = lambda *items: " ".join(answers(SEEN, list(items), asked).sentences)
    assert "may be as good" not in text(best, same)
    assert "the fewer model may be as good" in text(best, scored("fewer", 0.055, 400.0, se=0.4))
    assert "may be as good" not in text(best, scored("far", 0.095, 400.0, se=0.1))


def test_two_rows_tell_no_two_classifiers_apart():
    asked = Question(WRONG, None, 1000, 1.0, 0.1)
    items = [scored("best", 0.0500, 1000.0, se=1e-3), scored("next", 0.0515, 1000.0, se=1e-3)]
    assert "the next model may be as good" in " ".join(answers(SEEN, items, asked).sentences)
    items[1] = scored("next", 0.0540, 1000.0, se=1e-3)
    assert "may be as good" not in " ".join(answers(SEEN, items, asked).sentences)


def test_guessing_explains_nothing():
    """Guessing had an R² of 2.22e-16."""
    rng = np.random.default_rng(5)
    for seed in range(20):
        data = load_dataset((rng.normal(size=(31 + seed, 2)), rng.exponential(size=31 + seed) * 7))
        assert tell(metric("r2", "regression"), baselines(data)["r2"], 1.0) == "0.00"
