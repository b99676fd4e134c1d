"""What is said of a real table is true of it: which rows repeat others, what a column may be, what a text holds."""

import datetime

import numpy as np
import polars as pl
import pytest

from lemmata.errors import DataError
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._findings import identifiers
from lemmata.workflows.studies._hints import numeric_hint
from lemmata.workflows.studies._losses import LeftOut, say_left_out
from lemmata.workflows.studies._repeats import copies
from lemmata.workflows.studies._signal import Signal, signal
from lemmata.workflows.studies._unfound import copied

DAY = datetime.date(2012, 1, 1)


def said(data, kind):
    return " ".join(finding.text for finding in data.findings if finding.kind == kind)


def weather(rows=240):
    """Half of the days have the weather of another day, and another temperature than most of those."""
    rng = np.random.default_rng(0)
    wind = np.r_[np.repeat(rng.normal(size=rows // 4), 2), rng.normal(size=rows // 2)]
    degrees = np.r_[np.repeat(rng.normal(size=rows // 4), 2), rng.normal(size=rows // 2)]
    degrees[: rows // 4 : 2] += 1
    days = [DAY + datetime.timedelta(days=int(day)) for day in range(rows)]
    return pl.DataFrame({"date": days, "wind": wind, "degrees": degrees})


def test_copies_are_counted_with_the_time():
    """Of 1,461 days with a date of their own 96 were said to repeat an earlier row."""
    table = weather()
    assert copies(load_dataset(table, "degrees", drop_columns=["date"])) == 30
    assert copies(load_dataset(table, "degrees", time="date")) == 0
    twice = pl.concat([table, table[:20]])
    assert copies(load_dataset(twice, "degrees", time="date")) == 20
    apart = twice.with_columns(site=pl.Series(["a"] * 240 + ["b"] * 20))
    assert copies(load_dataset(apart, "degrees", time="date", group="site")) == 0


@pytest.mark.parametrize(
    ("kind", "grouped", "words"),
    [
        ("rows", False, "repeat an earlier row in every input and the target. A held-out row with a duplicate"),
        ("groups", True, "equal an earlier row of another group in every input and the target. A held-out row"),
        ("time", False, "repeat an earlier row in every input, the target and the time. If these rows are copies"),
    ],
)
def test_the_warning_names_what_was_compared(kind, grouped, words):
    assert words in copied(Signal(True, 0.005, 0.3, 1.0, 320, grouped=grouped, copies=100, total=320, kind=kind))


def test_rare_texts_that_are_pooled_are_not_equal():
    """Two rare towns are both "other" to a model; rows that differ in them alone are no copies, and no floor."""
    rng = np.random.default_rng(1)
    x = np.repeat(rng.normal(size=120), 2)
    towns = ["here"] * 160 + [f"town {i}" for i in range(40)] * 2
    table = pl.DataFrame({"x": x, "town": towns, "y": np.repeat(rng.normal(size=120), 2)})
    data = load_dataset(table, "y")
    assert "other" in (data.categories[1] or ())
    assert said(data, "repeats").startswith("80 rows repeat an earlier row in every input and the target.")
    assert copies(data) == 80
    different = table.with_columns(
        y=pl.when(pl.col("town") == "here").then("y").otherwise(pl.Series(rng.normal(size=240)))
    )
    assert not said(load_dataset(different, "y"), "contradiction")


def test_rows_that_differ_in_a_column_left_out_are_not_said_to_be_equal_in_it():
    text = said(load_dataset(weather(), "degrees", drop_columns=["date"]), "repeats")
    assert text.startswith(
        "30 rows repeat an earlier row in every input and the target. If these rows are copies, remove them, because "
        "a copy"
    )
    text = said(load_dataset(weather(), "degrees", drop_columns=["date"]), "contradiction")
    assert "No model of the inputs alone can explain" in text


def late(cells, odd, rows=3000):
    """Texts of which the last are odd: none is among those that are looked at first."""
    return pl.Series("x", [*cells[: rows - len(odd)], *odd])


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (["."] * 3, "correct the cells that are not numbers, such as '.'"),
        (
            ["1,5"] * 2000,
            "add --decimal , if a comma marks decimals, or --decimal . if it separates thousands (such as '1,5')",
        ),
        (["3 March 2020"] * 2000, "write dates as YYYY-MM-DD (such as '3 March 2020')"),
        (["somewhere"] * 2000, ""),
    ],
)
def test_texts_are_looked_at_from_the_first_row_to_the_last(odd, words):
    """An odd cell after the first thousand rows ended in an IndexError."""
    column = late([f"{i}.5" for i in range(3000)], odd)
    assert numeric_hint(column) == words


def test_odd_cells_that_are_not_among_the_rows_in_use_are_no_error():
    assert numeric_hint(late([f"{i}.5" for i in range(3000)], [])) == ""
    sentence = "it was a day of rain and wind, number "
    texts = late([f"n{i}" for i in range(1400)] + [f"{sentence}{i}" for i in range(1600)], [])
    assert not identifiers(pl.DataFrame([texts])), "most of these texts are sentences, and the first ones are not"


def test_a_refused_column_names_a_cell_that_is_wrong():
    x = late([f"{i % 700}.5" for i in range(3000)], ["7..5"] * 3)
    y = np.random.default_rng(0).normal(size=3000)
    with pytest.raises(DataError, match="too many categories") as refusal:
        load_dataset(pl.DataFrame({"x": x, "y": y}), "y")
    assert "correct the cells that are not numbers, such as '7..5'" in str(refusal.value)
    with pytest.raises(DataError, match="is text") as refusal:
        load_dataset(pl.DataFrame({"x": y, "y": x}), "y", task="regression")
    assert refusal.value.found == "'7..5'"


@pytest.mark.parametrize("task", [None, "regression"])
def test_a_target_of_numbers_with_marks_names_a_marked_cell(task):
    y = np.random.default_rng(0).normal(size=60).round(3)
    marked = [f"{own}*" if i % 10 == 3 else f"{own}" for i, own in enumerate(y)]
    with pytest.raises(DataError) as refusal:
        load_dataset(pl.DataFrame({"x": y[::-1], "y": marked}), "y", task=task)
    assert refusal.value.remedy == f"correct the cells that are not numbers, such as {marked[3]!r}"


def test_cells_of_rows_without_a_target_make_no_column_a_text():
    x = np.random.default_rng(0).normal(size=61).round(3)
    y = pl.Series([*x[:5], None, *x[6:]])
    found = load_dataset(pl.DataFrame({"x": [*map(str, x[:5]), "7..5", *map(str, x[6:])], "y": y}), "y")
    np.testing.assert_array_equal(found.inputs[:, 0], np.delete(x, 5))


def attributes(rows=200):
    rng = np.random.default_rng(2)
    school = rng.integers(4, 18, rows)
    return pl.DataFrame({
        "school": school, "education": school // 4, "plane_year": rng.integers(1970, 2013, rows),
        "built_year": np.where(rng.random(rows) < 0.1, np.nan, rng.integers(1970, 2013, rows)),
        "x": rng.normal(size=rows), "y": rng.normal(size=rows),
    })  # fmt: skip


def test_what_a_column_looks_like_is_no_fact_about_it():
    """Years of schooling name no groups of dependent rows; the year of a plane is not when a flight was seen."""
    data = load_dataset(attributes(), "y")
    text = said(data, "group")
    assert text.startswith("'school' may name groups of rows: 14 values")
    assert "rows of new groups" in text
    assert "are not independent" not in text
    text = said(data, "time")
    assert text.startswith(
        "'plane_year' may hold dates or times. If it says when the rows were observed, and the model"
    )
    assert "built_year" not in text, "a time that some rows lack is refused by --time"
    dates = said(load_dataset(weather(), "degrees"), "time")
    assert dates.startswith("'date' holds dates or times. If it says when the rows were observed")


def test_days_of_equal_weather_are_neither_copies_nor_a_floor():
    """To remove them would delete real days, and the day of the year explained what "no model can explain"."""
    data = load_dataset(weather(), "degrees", time="date")
    assert not said(data, "repeats")
    assert not said(data, "contradiction")
    twice = pl.concat([weather(), weather()[:20], weather()[20:60].with_columns(pl.col("degrees") + 1)])
    data = load_dataset(twice, "degrees", time="date")
    text = said(data, "repeats")
    assert text.startswith(
        "20 rows repeat an earlier row in every input, the target and the time. If these rows are copies"
    )
    assert "reveals the target" not in text
    assert "80 rows have the same inputs and time as another row" in said(data, "contradiction")
    assert "No model of the inputs and the time can explain" in said(data, "contradiction")


def test_rows_of_another_group_do_not_repeat_a_row():
    table = pl.concat([weather(), weather()[:20]]).with_columns(site=pl.Series(["a", "b"] * 120 + ["a"] * 20))
    data = load_dataset(table, "degrees", group="site")
    texts = [finding.text for finding in data.findings if finding.kind == "repeats"]
    assert texts[0].startswith("10 rows repeat an earlier row in every input, the target and the group.")
    assert texts[1].startswith("10 rows equal an earlier row of another group in every input and the target.")


def test_splits_that_are_left_out_are_told_once():
    """Twelve notes, one a model, buried the one about the target's tail."""
    one = {"lasso": LeftOut(450.4, 1, 5, 33)}
    assert say_left_out({}) == []
    assert say_left_out(one) == [
        "lasso had up to 450 times the squared error of guessing in 1 of 5 splits with 33 rows. The study leaves "
        "these splits out of this model's curve, and does not call the model significantly better than guessing."
    ]
    assert say_left_out({**one, "ReLU network, depth 1": LeftOut(2106.0, 1, 10, 84)}) == [
        "The fits of 2 models broke down in a few splits with 33 to 84 rows: lasso; ReLU network, depth 1. The study "
        "leaves these splits out of the models' curves, and calls none of these models significantly better than "
        "guessing. In the worst case, ReLU network, depth 1 had up to 2,106 times the squared error of guessing in 1 "
        "of 10 splits with 84 rows."
    ]


def test_copies_among_few_values_are_told_first():
    """Every row pasted twice, and no warning, as columns had few values: accuracy 95.8 %, and 90.6 % on new rows."""
    rng = np.random.default_rng(0)
    x = rng.integers(3, size=(150, 6))
    y = np.where((x[:, 0] > 0) ^ (rng.random(150) < 0.2), "a", "b")
    twice = load_dataset((np.concatenate([x, x]), np.concatenate([y, y])))
    found = signal(twice)
    assert found.alike
    assert found.copies >= 150
    assert "If these rows are copies, every number here is too optimistic" in copied(found)
    assert not signal(load_dataset((rng.normal(size=(150, 6)), y))).alike
