"""What cells are read as: dates in which the order is clear, categories, and tables of other libraries."""

import datetime
import re

import numpy as np
import polars as pl
import pytest

from lemmata.errors import DataError, UnknownNameError
from lemmata.estimators import PlainTable
from lemmata.workflows.studies import _dates, load_dataset
from lemmata.workflows.studies._columns import MOST_CATEGORIES, plain_column
from lemmata.workflows.studies._copies import _FIRST, many_values
from lemmata.workflows.studies._dates import as_written, format_of, with_dates
from lemmata.workflows.studies._memory import table_in_memory

DAY, TIME = datetime.datetime(2024, 2, 1), datetime.time
MOMENTS = pl.Datetime("us")


@pytest.mark.parametrize(
    ("texts", "kind", "first"),
    [
        (["2024-02-01", "2024-03-20"], MOMENTS, DAY), ([" 2024-02-01 ", None, ""], MOMENTS, DAY),
        (["2024-02-01 10:30:00", "2024-02-02 00:00:00"], MOMENTS, DAY.replace(hour=10, minute=30)),
        (["01/02/2024", "13/02/2024"], pl.Date, DAY.date()), (["02/01/2024", "02/13/2024"], pl.Date, DAY.date()),
        (["01.02.2024", "13.02.2024"], pl.Date, DAY.date()), (["01-02-2024", "13-02-2024"], pl.Date, DAY.date()),
        (["01/02/2024", "03/02/2024"], pl.String, None), (["13/02/2024", "02/13/2024"], pl.String, None),
        (["1/2/2024 3:00 PM", "1/30/2024 9:15 AM"], MOMENTS, datetime.datetime(2024, 1, 2, 15)),
        (["1/2/2024 3:00:05pm", "1/30/2024 9:15:00am"], MOMENTS, datetime.datetime(2024, 1, 2, 15, 0, 5)),
        (["13.1.2024 15:00", "02.02.2024 9:15"], MOMENTS, datetime.datetime(2024, 1, 13, 15)),
        (["13.1.2024 15:00:07", None, "02.02.2024 9:15:00"], MOMENTS, datetime.datetime(2024, 1, 13, 15, 0, 7)),
        (["01-Feb-2024", "17-may-2024"], pl.Date, DAY.date()), (["1 February 2024", "3 May 2024"], pl.Date, DAY.date()),
        (["Feb 1, 2024", "May 13, 2024"], pl.Date, DAY.date()), (["May 1, 2024", "February 13, 2024"], pl.Date, None),
        (["1-Feb-24", "17-Mar-24"], pl.Date, DAY.date()), (["2/1/24", "2/13/24"], pl.Date, DAY.date()),
        (["2/1/24", "2/3/24"], pl.String, None), (["1/2/24", "13/2/2024"], pl.String, None),
        (["13/1/2024", "13/2/24"], pl.String, None), (["1.2.10", "1.12.3"], pl.String, None),
        (["10:30", "9:05"], pl.Time, TIME(10, 30)), (["10:30:15", "9:05:00"], pl.Time, TIME(10, 30, 15)),
        (["10:30", "late"], pl.String, None), (["1:30", "1:30:00"], pl.String, None),
        (["27:30", "9:05"], pl.Duration("us"), datetime.timedelta(hours=27, minutes=30)),
        (["9:05:00", None, "55:33:20"], pl.Duration("us"), datetime.timedelta(hours=9, minutes=5)),
        (["2 days 07:33:20", "0 days 01:00:00.5"], pl.Duration("us"), datetime.timedelta(seconds=200000)),
        (["1.2.24", "27.8.15"], pl.Date, DAY.date()), (["01-02-24 15:30", "27-08-15 9:00"], MOMENTS, None),
        (["01/02/24 3:30 PM", "27/08/15 9:00 AM"], MOMENTS, datetime.datetime(2024, 2, 1, 15, 30)),
        (["24.02.01", "15.08.27", "08.10.31"], pl.String, None), (["24.02.01", "99.08.27"], pl.Date, DAY.date()),
        (["01.02.28", "01.03.29"], pl.String, None), (["31.12.98", "01.02.24"], pl.Date, datetime.date(1998, 12, 31)),
        (["2024-02-01", "soon"], pl.String, None),
        (["2024-02", "2024-12"], pl.Date, DAY.date()), (["2024/02", None, "2023/02"], pl.Date, DAY.date()),
        (["02/2024", "12/2023"], pl.Date, DAY.date()), (["Feb 2024", "May 2024"], pl.Date, DAY.date()),
        (["February 2024", "May 2024"], pl.Date, DAY.date()), (["2024-Feb", "2024 May"], pl.Date, DAY.date()),
        (["2024Q2", "1990-Q4"], pl.Date, datetime.date(2024, 4, 1)), (["q4 2024", "Q1 1990"], pl.Date, None),
        (["2024-W05", "2020-W53"], pl.Date, datetime.date(2024, 1, 29)), (["2024W05", "2021W53"], pl.String, None),
        (["2009/10", "2010/11"], pl.String, None), (["4711-05", "4711-06"], pl.String, None),
        (["2024-02", "2024-13"], pl.String, None), (["2010.01", "2010.02"], pl.String, None),
        (["2024-02-01 10:30:00 UTC", "2024-02-02 00:00:00.123 UTC"], pl.Datetime("us", "UTC"), None),
        (["word", "2024-02-01"], pl.String, None), ([None, None], pl.String, None), ([""], pl.String, None),
    ],
)  # fmt: skip
def test_dates_are_read_where_their_order_is_clear(texts, kind, first, monkeypatch):
    monkeypatch.setattr(_dates, "this_year", lambda: 2026)
    column = pl.Series("when", texts, dtype=pl.String)
    found = with_dates(column)
    assert found.dtype == kind
    if kind == pl.String:
        assert found.equals(column)
    else:
        assert first is None or found[0] == first
        assert found.null_count() == sum(not (text or "").strip() for text in texts)


@pytest.mark.parametrize(
    ("texts", "form"),
    [
        (["1/2/2024 3:00 PM", "1/30/2024 9:15 AM"], "%m/%d/%Y %I:%M %p"),
        (["1/2/2024 3:00PM", "1/30/2024 9:15AM"], "%m/%d/%Y %I:%M%p"),
        (["13.1.2024 15:00", "02.02.2024 9:15"], "%d.%m.%Y %H:%M"),
        (["Feb 1, 2024", "May 13, 2024"], "%b %d, %Y"),
        (["1 February 2024", "13 May 2024"], "%d %B %Y"),
        (["01-Feb-24", "13-May-24"], "%d-%b-%y"),
        (["01.02.24", "27.08.15"], "%d.%m.%y"),
        (["24.02.01", "99.08.27"], "%y.%m.%d"),
        (["2024-02", "2024-12"], "%Y-%m"),
        (["Feb 2024", "May 2024"], "%b %Y"),
    ],
)
def test_the_format_of_dates_is_that_of_pandas(texts, form, monkeypatch):
    monkeypatch.setattr(_dates, "this_year", lambda: 2026)
    pandas = pytest.importorskip("pandas")
    column = pl.Series(texts)
    assert as_written(format_of(column), texts[0]) == form
    np.testing.assert_array_equal(with_dates(column).cast(MOMENTS), pandas.to_datetime(texts, format=form))


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["02.02.24", "01.02.24"], "'01.02.24' may be 2024-02-01 or 2024-01-02"),
        ([None, "01.02.28", "01.03.29"], "'01.02.28' may be 2028-02-01 or 2028-01-02"),
        (["27.08.15", "15.08.27"], "'27.08.15' may be 2015-08-27 or 2027-08-15"),
    ],
)
@pytest.mark.parametrize("rows", [40, 400])
def test_both_readings_of_an_unclear_date_are_said(monkeypatch, texts, said, rows):
    monkeypatch.setattr(_dates, "this_year", lambda: 2026)
    column = pl.Series("when", texts * rows)[:rows]
    table = pl.DataFrame({"x": np.arange(rows) % 7.0, "when": column, "y": np.arange(rows) % 11.0})
    found = load_dataset(table, "y", task="regression").findings
    (text,) = [own.text for own in found if own.columns == ("when",) and "not clear" in own.text]
    assert said in text
    assert "YYYY-MM-DD" in text


def test_many_unclear_dates_are_refused_with_both_readings(monkeypatch):
    monkeypatch.setattr(_dates, "this_year", lambda: 2026)
    days = [f"{1 + i % 12:02d}.{1 + i // 12:02d}.{18 + i % 5}" for i in range(100)]
    table = pl.DataFrame({"x": np.arange(100) % 7.0, "when": days, "y": np.arange(100) % 11.0})
    for options in ({}, {"time": "when"}):
        with pytest.raises(DataError, match=r"'02\.01\.19' may be 2019-01-02 or 2019-02-01"):
            load_dataset(table, "y", **options)


@pytest.mark.parametrize("option", [{}, {"time": "when"}])
def test_years_of_two_digits_in_the_future_are_told(monkeypatch, option):
    monkeypatch.setattr(_dates, "this_year", lambda: 2026)
    days = [f"{1 + i % 28:02d}.{1 + i % 12:02d}.{20 + i % 5:02d}" for i in range(60)]
    for late in ("01.02.40", "01.02.26"):
        table = pl.DataFrame({"x": np.arange(60) % 7.0, "when": [*days[1:], late], "y": np.arange(60) % 11.0})
        found = load_dataset(table, "y", task="regression", **option).findings
        said = [own.text for own in found if "future" in own.text and "digits" in own.text]
        assert len(said) == (late == "01.02.40")
        assert all("'when' has years of two digits. '01.02.40' was read as a date in 2040" in text for text in said)


@pytest.mark.parametrize("form", ["{0:02d}h {1:02d}m", "PT{0}H{1}M", "{1}. Mai 20{0:02d}"])
def test_what_can_be_written_as_a_date_or_duration_is_no_label(form):
    texts = [form.format(i // 30, 1 + i % 30) for i in range(200)]
    table = pl.DataFrame({"x": np.arange(200) % 7.0, "took": texts, "y": np.arange(200) % 11.0})
    with pytest.raises(DataError, match=r"write (dates as YYYY-MM-DD|durations as HH:MM:SS) \(such as"):
        load_dataset(table, "y", task="regression")


@pytest.mark.parametrize("texts", [["5:30", "17:45"], ["55:33:20", "5:33:20"], ["2 days 07:33:20", "0 days 01:00:00"]])
def test_new_durations_are_read_as_the_table_was(texts):
    column = pl.Series("took", texts)
    plain = PlainTable(["took"], dates={"took": []}, formats={"took": format_of(column)})
    np.testing.assert_array_equal(plain.fit_transform(column.to_frame())["took"], plain_column(with_dates(column)))


@pytest.mark.parametrize("kind", ["hours", "days", "column"])
def test_durations_are_numbers_and_no_times_of_observation(kind):
    seconds = np.random.default_rng(0).permutation(np.linspace(60, 200_000, 60).astype(int))
    took: list = [datetime.timedelta(seconds=int(s)) for s in seconds]
    if kind == "hours":
        took = [f"{s // 3600:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds]
    elif kind == "days":
        took = [f"{s // 86400} days {s // 3600 % 24:02d}:{s // 60 % 60:02d}:{s % 60:02d}" for s in seconds]
    rng = np.random.default_rng(1)
    data = load_dataset(pl.DataFrame({"took": took, "y": rng.normal(size=60)}), "y")
    np.testing.assert_allclose(data.inputs[:, 0] * 86_400, seconds, rtol=1e-12)
    assert [found.kind for found in data.findings] == []


def test_what_is_no_text_is_no_date():
    numbers = pl.Series("x", [20240201, 20240202])
    assert with_dates(numbers) is numbers


def test_more_values_than_a_category_may_have_are_many():
    few = np.arange(MOST_CATEGORIES).repeat(3)
    assert not many_values(few)
    assert many_values(np.append(few, -1))
    late = np.zeros(_FIRST + 100, int)
    late[_FIRST:] = np.arange(100)
    assert many_values(late), "those behind the first rows count, too"


class Frame:
    """A table of another library: columns by name, cells by place."""

    def __init__(self, **columns):
        self.columns, self.cells = list(columns), [np.asarray(part) for part in columns.values()]

    @property
    def iloc(self):
        cells = self.cells

        class Places:
            def __getitem__(self, place):
                return cells[place[1]]

        return Places()


class Column:
    """A column of another library, which is no table."""

    iloc = ()

    def __len__(self):
        return 3


class Named:
    """Something with columns, which is no table either."""

    columns = ("a", "b")
    column_names = ("a", "b")


def test_tables_of_other_libraries_are_read_by_their_columns():
    frame = Frame(a=[1.0, 2.0], b=["x", "y"])
    found = table_in_memory(frame)
    assert found.frame.to_dict(as_series=False) == {"a": [1.0, 2.0], "b": ["x", "y"]}
    assert found.given is frame
    assert not found.of_polars
    own = pl.DataFrame({"a": [1]})
    found = table_in_memory(own)
    assert (found.given, found.of_polars) == (None, True)
    assert table_in_memory(own.lazy()).frame.equals(own)


@pytest.mark.parametrize("data", [Column(), Named(), 3, None, [1, 2]], ids=lambda data: type(data).__name__)
def test_what_is_no_table_is_refused(data):
    with pytest.raises(DataError, match=f"found type {type(data).__name__}"):
        table_in_memory(data)


@pytest.mark.parametrize("cut", ["cut", "qcut"])
@pytest.mark.parametrize("gaps", [False, True])
def test_intervals_of_pandas_are_categories(cut, gaps):
    pandas = pytest.importorskip("pandas")
    x = np.random.default_rng(0).normal(size=(60, 2))
    size = pandas.Series(getattr(pandas, cut)(x[:, 0], 3))
    if gaps:
        size[:5] = np.nan
    data = load_dataset(pandas.DataFrame({"size": size, "x": x[:, 1], "y": x[:, 0]}), "y")
    assert set(data.categories[0] or ()) == {str(own) for own in size.cat.categories}
    assert np.isnan(data.inputs[:, 0]).sum() == 5 * gaps
    data = load_dataset(pandas.DataFrame({"x": x[:, 1], "size": size}), "size")
    assert set(data.classes or ()) == {str(own) for own in size.cat.categories}
    assert len(data.targets) == 60 - 5 * gaps
    assert load_dataset((x, size.astype(object))).classes == data.classes


def test_which_declared_categories_stay_numbers():
    pandas = pytest.importorskip("pandas")
    n, y = np.arange(300), np.random.default_rng(0).normal(size=300)
    load = lambda values, **other: load_dataset(
        pandas.DataFrame({"k": pandas.Categorical(values, **other), "u": np.cos(n), "y": y}), "y"
    )
    said = lambda data: [own.text for own in data.findings if "is declared as categories" in own.text]
    for values, names in ((n % 3, 3), (n % 40, 1), (n % 3 / 2, 3)):  # the last 40 are pooled
        data = load(values)
        assert len(data.categories[0] or ()) == names
        assert not said(data)
    assert load(n % 3, ordered=True).categories[0] is None
    assert load(n % 2 == 0).categories[0] is None
    for values, why in ((n**2, "hardly repeat"), (n % 40 / 8, "with decimals. .*'code 0'")):
        data = load(values)
        assert data.categories[0] is None
        (text,) = said(data)
        assert re.search(why, text)
    table = pandas.DataFrame({"k": pandas.Categorical(n), "u": np.cos(n), "y": pandas.Categorical(n % 25)})
    data = load_dataset(table, "y", task="regression", time="k")
    np.testing.assert_array_equal(data.order, n)
    np.testing.assert_array_equal(data.targets[:, 0], n % 25)


def test_periods_of_pandas_are_dates():
    pandas = pytest.importorskip("pandas")
    months = pandas.Series(pandas.period_range("2020-01", periods=40, freq="M"))
    y = np.random.default_rng(0).normal(size=40)
    table = pandas.DataFrame({"month": months, "y": y})
    twin = table.assign(month=months.dt.to_timestamp())
    given, dates = load_dataset(table, "y"), load_dataset(twin, "y")
    np.testing.assert_array_equal(given.inputs, dates.inputs)
    assert given.calendars == dates.calendars
    np.testing.assert_array_equal(
        load_dataset(table, "y", time="month", keep_columns=["month"]).order, dates.inputs[:, 0]
    )
    months[3] = pandas.NaT
    assert np.isnan(load_dataset(table.assign(month=months), "y").inputs[3, 0])
    with pytest.raises(DataError, match="'month' is a date or time"):
        load_dataset(table.assign(x=y), "month")


def test_other_objects_are_named_by_their_type():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"x": [object() for _ in range(30)], "y": np.arange(30.0) ** 2})
    with pytest.raises(DataError, match="'x' holds Python objects; found type object"):
        load_dataset(table, "y")


def test_new_periods_and_intervals_are_read_as_the_table_was():
    pandas = pytest.importorskip("pandas")
    months = pandas.Series(pandas.period_range("2020-01", periods=8, freq="M"))
    months[3] = pandas.NaT
    table = pandas.DataFrame({"month": months, "size": pandas.cut(np.arange(8.0), 2)})
    plain = PlainTable(["month", "size"], dates={"month": []}).fit_transform(table)
    days = (months.dt.to_timestamp() - pandas.Timestamp("1970-01-01")).dt.days
    np.testing.assert_array_equal(plain["month"].fill_null(float("nan")), days)
    assert plain["size"].to_list() == [str(own) for own in table["size"]]


def indexed(kind):
    """A data frame of pandas whose index holds data, or not."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": np.arange(40) % 7 * 1.5, "z": np.sin(np.arange(40)), "y": np.cos(np.arange(40.0))})
    days = pd.date_range("2024-01-01", periods=40)
    levels = pd.MultiIndex.from_arrays([np.arange(40) // 8, np.arange(40) % 8 + 2000], names=["firm", "year"])
    made = {"named": days.rename("day"), "dates": days, "levels": levels, "split": np.arange(40)[::-1], "range": None}
    return frame if made[kind] is None else frame.set_index(made[kind])


@pytest.mark.parametrize(("kind", "said"), [
    ("named", "('day') is not used. frame.reset_index() makes it a column."),
    ("dates", "('index') is not used. frame.reset_index() makes it a column."),
    ("levels", "('firm', 'year') is not used. frame.reset_index() makes it columns."),
    ("split", ""), ("range", ""),
])  # fmt: skip
def test_an_index_that_holds_data_is_told(kind, said):
    frame = indexed(kind)
    for data, target in ((frame, "y"), ((frame[["x", "z"]], frame["y"]), None)):
        texts = [finding.text for finding in load_dataset(data, target).findings]
        assert texts == ([f"The index of the data frame {said}"] if said else [])


@pytest.mark.parametrize("role", ["target", "group", "time", "drop_columns"])
def test_a_name_of_a_level_of_the_index_is_told(role):
    given = {"target": "y", role: ["year"] if role == "drop_columns" else "year"}
    with pytest.raises(UnknownNameError) as refusal:
        load_dataset(indexed("levels"), **given)
    assert refusal.value.remedy == "pass frame.reset_index(), which makes 'year' a column"
