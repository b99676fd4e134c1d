"""Cells that may mean something else are told: numbers that stand for none, spellings, numbers among texts."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lemmata.errors import DataError, SettingError
from lemmata.workflows.studies import load_dataset
from lemmata.workflows.studies._hints import merged
from lemmata.workflows.studies._suspects import total_row

ROWS = 60


def told(kind, **columns):
    """The findings of this kind about a table with these columns."""
    rng = np.random.default_rng(0)
    table = pl.DataFrame({"base": rng.normal(size=ROWS), **columns, "y": rng.normal(size=ROWS)})
    return [finding.text for finding in load_dataset(table, "y").findings if finding.kind == kind]


@pytest.mark.parametrize("stands", [-999.0, 9999.0, -1.0, 888888.0])
def test_a_number_that_may_stand_for_none_is_told(stands):
    values = 40 + 3 * np.sin(np.arange(ROWS))
    if stands == -1.0:
        values = values / 100
    values[::10] = stands
    (text,) = told("missing", x=values)
    assert f"The value {stands:g} occurs in 6 rows of 'x'" in text
    assert f"write frame = frame.with_columns(polars.col('x').replace({stands:g}, None))" in text


@pytest.mark.parametrize("kind", [".csv", ".parquet", "pandas", "texts", "arrays"])
def test_the_remedy_for_a_number_that_stands_for_none_fits_the_table(tmp_path, kind):
    """A data frame got the advice to add --na, which only text files have."""
    values, y = np.where(np.arange(ROWS) % 10, 40 + np.sin(np.arange(ROWS)), -999.0), np.arange(ROWS) % 13.0
    table, path = pl.DataFrame({"x": values, "y": y}), tmp_path / f"t{kind}"
    frame = pd.DataFrame({"x": values.astype(str) if kind == "texts" else values, "y": y})
    data: object = str(path) if "." in kind else (values[:, None], y) if kind == "arrays" else frame
    if kind == ".csv":
        table.write_csv(path)
    elif kind == ".parquet":
        table.write_parquet(path)
    dataset = load_dataset(data, "y")
    (text,) = [finding.text for finding in dataset.findings if "-999" in finding.text]
    expected = {
        ".csv": "add --na -999.",
        "pandas": "write frame['x'] = frame['x'].replace(-999, numpy.nan), with",
        "texts": "write frame['x'] = frame['x'].replace('-999.0', numpy.nan), with",
    }
    assert f"stands for a missing value, {expected.get(kind, 'leave these cells empty, or write nan in them.')}" in text
    if kind == ".csv":
        assert np.isnan(load_dataset(data, "y", na=("-999",)).inputs).sum() == 6
    else:
        with pytest.raises(SettingError, match=r"--na does not apply to .*'-999' and a table that is not a text file"):
            load_dataset(data, "y", na=("-999",))


PLACES = np.arange(ROWS)


@pytest.mark.parametrize("values", [PLACES % 100 + 0.5, np.where(PLACES % 9, PLACES, 99.0),
                                    np.where(PLACES, PLACES / 7, -999.0), np.full(ROWS, -999.0)])  # fmt: skip
def test_numbers_like_the_others_are_not_told(values):
    assert not told("missing", x=values)


@pytest.mark.parametrize(("cells", "shown"), [(["yes", "Yes", "no"], "'Yes' and 'yes'"),
                                              (["New York", "NewYork", "Rome"], "'New York' and 'NewYork'"),
                                              (["a", "b", "B"], "'B' and 'b'")])  # fmt: skip
def test_spellings_of_one_word_are_told(cells, shown):
    (text,) = told("categories", x=[cells[i % len(cells)] for i in range(ROWS)])
    assert "differ only in capital letters or blanks" in text
    assert shown in text


@pytest.mark.parametrize("odd", ["3 km", "4+", "< 2"])
def test_few_texts_among_numbers_are_told(odd):
    (text,) = told("categories", x=[odd if i % 20 == 0 else str(i % 9) for i in range(ROWS)])
    assert repr(odd) in text
    assert "(3 cells) among numbers, so each of its 10 values is a category" in text


@pytest.mark.parametrize("cells", [["a", "b", "c"], ["A1", "A2", "B1"], ["1", "2", "x"]])
def test_other_texts_are_not_told(cells):
    assert not told("categories", x=[cells[i % len(cells)] for i in range(ROWS)])


def gapped(places, names=None):
    """A column with texts in these rows, and no other cells."""
    texts = dict(zip(places, names or [f"region {j}" for j in range(len(places))], strict=True))
    return pl.Series([texts.get(row) for row in range(ROWS)], dtype=pl.String)


@pytest.mark.parametrize("places", [range(0, ROWS, 10), range(0, ROWS, 4), [0, 5, 12, 20, 25, 34, 40, 46, 52]])
def test_merged_cells_are_told(places):
    (text,) = told("missing", x=gapped(list(places)))
    assert text.startswith(f"'x' looks like merged cells: {len(places)} of 60 cells are filled")
    assert "fill the column down" in text


def test_merged_cells_that_are_too_many_categories_are_told():
    with pytest.raises(DataError, match="it looks like merged cells, so fill the column down"):
        told("missing", x=gapped(list(range(0, ROWS, 2))))


def test_sparse_texts_are_not_taken_for_merged_cells():
    assert not told("missing", x=gapped(list(range(0, ROWS, 10)), ["late"] * 6))
    assert not told("missing", x=gapped(list(range(1, ROWS, 10))))
    assert not told("missing", x=gapped([0, 30]))
    rng = np.random.default_rng(0)
    comments = [np.sort(rng.choice(ROWS, rng.integers(2, 30), replace=False)) for _ in range(1000)]
    assert sum(bool(merged(gapped(places.tolist()))) for places in comments) <= 3  # chance is 1 in 1000


def test_two_numbers_that_may_stand_for_none_are_both_told():
    values = 40 + 3 * np.sin(np.arange(ROWS))
    values[::10], values[1::10] = -999.0, 9999.0
    assert [text.split(" occurs ")[0] for text in told("missing", x=values)] == ["The value -999", "The value 9999"]


DAYS = np.datetime64("2020-01-01") + 7 * np.arange(ROWS)


def dates(*marks, of="%Y-%m-%d"):
    days = DAYS.copy()
    for i, mark in enumerate(marks):
        days[i::10] = np.datetime64(mark)
    return pl.Series(days).dt.strftime(of) if of else pl.Series(days)


@pytest.mark.parametrize("mark", ["9999-12-31", "1900-01-01", "0001-01-01", "2999-12-31", "1970-01-01"])
def test_a_date_that_may_stand_for_none_is_told(mark):
    (text,) = told("missing", x=dates(mark))
    assert f"The date {mark} occurs in 6 rows of 'x'" in text
    assert f"polars.col('x').replace('{mark}', None)" in text


def test_a_date_that_may_stand_for_none_is_told_as_it_is_written(tmp_path):
    written = dates("9999-12-31", of="%d.%m.%Y")
    pl.DataFrame({"x": written, "y": np.arange(ROWS) % 13.0}).write_csv(tmp_path / "t.csv")
    found = load_dataset(str(tmp_path / "t.csv"), "y").findings
    assert any("add --na '31.12.9999'" in finding.text for finding in found)
    assert "replace('31.12.9999', None)" in told("missing", x=written)[0]
    assert "leave these cells empty" in told("missing", x=dates("9999-12-31", of=None))[0]
    assert len(told("missing", x=dates("9999-12-31", "0001-01-01"))) == 2


def test_a_usual_mark_that_is_much_more_frequent_than_other_dates_is_told():
    days = np.datetime64("1910-06-15") + 600 * np.arange(ROWS)
    days[::10] = np.datetime64("1900-01-01")
    assert "1900-01-01" in told("missing", x=pl.Series(days))[0]


@pytest.mark.parametrize("days", [DAYS, np.datetime64("1969-12-20") + np.arange(ROWS) // 4,
                                  np.datetime64("2099-01-01") + 30 * np.arange(ROWS)])  # fmt: skip
def test_dates_like_the_others_are_not_told(days):
    assert not told("missing", x=pl.Series(days))


def test_a_total_row_may_have_rounded_sums_and_other_columns():
    rng = np.random.default_rng(0)
    x = np.round(rng.uniform(1, 9, ROWS), 1)
    table = pl.DataFrame({"x": [*x, np.round(x.sum())], "n": [*rng.integers(0, 9, ROWS), 4]})
    assert total_row(table)[0].columns == ("x",)
    assert not total_row(pl.DataFrame({"x": [*x, 4 * x.sum()]}))
    assert not total_row(pl.DataFrame({"x": [0, 0, 1] * 9 + [1]}))
