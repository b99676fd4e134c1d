"""Dates enter as time, weekday, part of the year and time of day, where these say something."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

from lemmata.options import StudyOptions
from lemmata.workflows.studies import load_dataset, run_study
from lemmata.workflows.studies._calendar import WEEKDAYS, YEAR, Calendar, CalendarParts, calendar
from lemmata.workflows.studies._overview import describe

EPOCH = datetime.datetime(1970, 1, 1)


def table(moments, y=None, **columns):
    rng = np.random.default_rng(0)
    y = rng.normal(size=len(moments)) if y is None else y
    return pl.DataFrame({"when": moments, "x": rng.normal(size=len(moments)), **columns, "y": y})


def moments(rows=140, every=datetime.timedelta(days=1), start=datetime.datetime(2021, 3, 3)):
    return [start + i * every for i in range(rows)]


@pytest.mark.parametrize(
    ("every", "parts"),
    [
        (datetime.timedelta(days=1), ("weekday",)),
        (datetime.timedelta(days=7), ("year",)),
        (datetime.timedelta(days=5), ("weekday", "year")),
        (datetime.timedelta(minutes=50), ("day",)),
        (datetime.timedelta(hours=7), ("weekday", "day")),
        (datetime.timedelta(minutes=2), ()),
    ],
)
def test_a_part_that_repeats_has_columns(every, parts):
    data = load_dataset(table(moments(every=every)), "y")
    assert data.calendars[0] is not None
    assert data.calendars[0].parts == parts
    assert data.calendars[1] is None
    assert data.features == ("when", "x", *data.calendars[0].names("when"))
    assert len(data.features) == 2 + 7 * ("weekday" in parts) + 2 * ("year" in parts) + 2 * ("day" in parts)


@pytest.mark.parametrize("day", [1, 15, "last"])
def test_the_weekday_of_monthly_dates_is_an_accident(day):
    months = [datetime.date(2015 + i // 12, 1 + i % 12, 1) for i in range(60)]
    dates = [(date + datetime.timedelta(days=31)).replace(day=1) - datetime.timedelta(days=1) for date in months]
    dates = dates if day == "last" else [date.replace(day=day) for date in months]
    calendars = load_dataset(table(dates), "y").calendars
    assert calendars[0] is not None
    assert calendars[0].parts == ("year",)
    yearly = [datetime.date(1950 + i, 7, 1) for i in range(60)]
    assert load_dataset(table(yearly), "y").calendars == (Calendar(-7124.0, ()), None)


def test_weekdays_and_angles_are_those_of_the_standard_library():
    when = moments(300, datetime.timedelta(hours=31), datetime.datetime(2019, 12, 30, 17, 20))
    data = load_dataset(table(when), "y")
    dates = data.calendars[0]
    assert dates is not None
    parts = CalendarParts(dates).fit_transform(data.inputs[:, :1])
    assert parts[:, :7].argmax(axis=1).tolist() == [moment.weekday() for moment in when]
    assert WEEKDAYS[when[0].weekday()] == "Monday"
    days = np.array([(moment - EPOCH) / datetime.timedelta(days=1) for moment in when])
    for columns, period in ((parts[:, 7:9], YEAR), (parts[:, 9:], 1.0)):
        angle = 2 * np.pi * days / period
        np.testing.assert_allclose(columns, np.stack([np.sin(angle), np.cos(angle)], axis=1), atol=1e-6)


def test_midnight_belongs_to_the_day_that_begins():
    """The first date, two minutes of a day, is not exact, and its sum with what has passed falls short of midnight."""
    start = datetime.datetime(1970, 1, 1) - datetime.timedelta(days=5000, minutes=-2)
    later = datetime.datetime(1970, 1, 1) + datetime.timedelta(days=3193)
    when = [start, *(later + datetime.timedelta(days=i) for i in range(60))]
    data = load_dataset(table(when), "y")
    assert data.calendars[0] is not None
    parts = CalendarParts(data.calendars[0]).fit_transform(data.inputs[:, :1])
    assert parts[:, :7].argmax(axis=1).tolist() == [moment.weekday() for moment in when]


def test_a_time_zone_shows_its_own_clock():
    when = pl.Series(moments(every=datetime.timedelta(hours=5))).dt.replace_time_zone("Asia/Tokyo")
    data = load_dataset(table(when), "y")
    assert data.calendars[0] is not None
    parts = CalendarParts(data.calendars[0]).fit_transform(data.inputs[:, :1])
    assert parts[:, :7].argmax(axis=1).tolist() == [moment.weekday() for moment in when.to_list()]


def test_a_missing_date_has_no_part():
    when = moments()
    data = load_dataset(table([None, *when[1:]]), "y")
    assert data.features[:3] == ("x", "when", "when is missing")
    assert data.calendars[0] is not None
    parts = CalendarParts(data.calendars[0]).fit_transform(data.inputs[:, :1])
    np.testing.assert_array_equal(parts[0], np.zeros(7))
    np.testing.assert_array_equal(parts[1:].sum(axis=1), 1)
    assert np.isfinite(data.x).all()
    assert calendar(np.full(3, np.nan), 0.0).parts == ()


def test_the_width_is_the_same_in_every_split():
    data = load_dataset(table(moments()), "y")
    for train in (np.arange(1), np.arange(3), np.arange(0, 140, 7)):
        x = np.asarray(data.encoder().fit(data.inputs[train]).transform(data.inputs))
        assert x.shape == (140, len(data.features))
        assert np.isfinite(x).all()


def test_the_overview_shows_dates():
    data = load_dataset(table(moments(30)), "y")
    column = describe(data).columns[0]
    assert (column.kind, column.range) == ("date", "2021-03-03 to 2021-04-01")
    assert "the dates of 'when' are encoded as days since the first date, weekday (one column each)" in data.notes


def test_a_target_that_depends_on_the_weekday_alone_is_learned():
    rng = np.random.default_rng(1)
    when = [datetime.date(2020, 1, 1) + datetime.timedelta(days=int(day)) for day in rng.integers(0, 1500, 200)]
    level = np.array([3.0, -1.0, 0.0, 2.0, -2.0, 5.0, -4.0])
    y = level[[date.weekday() for date in when]] + 0.3 * rng.normal(size=200)
    found = run_study(load_dataset(table(when, y), "y"), StudyOptions(models="linear,rbf", quick=True, error="r2 0.9"))
    assert found.signal.found
    for model in found.models:
        assert model.points[-1].value > 0.9


def with_offsets(hours, kind):
    """Local times, and a column of them, in which the offsets from universal time take turns."""
    zones = [datetime.timezone(datetime.timedelta(hours=own)) for own in hours]
    local = [
        moment.replace(tzinfo=zones[i % len(zones)])
        for i, moment in enumerate(moments(every=datetime.timedelta(hours=5)))
    ]
    match kind:
        case "blank":
            return local, [f"{own:%Y-%m-%d %H:%M:%S %z}" for own in local]
        case "short":
            return local, [f"{own:%Y-%m-%dT%H:%M}{own:%z}" for own in local]
        case "objects":
            return local, pd.Series(local, dtype=object)
        case "pandas":
            return local, pd.Series(pd.to_datetime(pd.Series(local), utc=True)).dt.tz_convert(zones[0])
    return local, [own.isoformat() for own in local]


@pytest.mark.parametrize("kind", ["iso", "blank", "short", "objects", "pandas"])
@pytest.mark.parametrize("hours", [(2,), (-4.5,), (0, 1), (1, 2)])
def test_a_fixed_offset_shows_its_own_clock(kind, hours):
    """Times were converted to universal time, so the time of day was not the local one."""
    if kind == "pandas" and len(hours) > 1:
        pytest.skip("a pandas type has one offset")
    local, cells = with_offsets(hours, kind)
    frame = pd.DataFrame({"t": cells, "y": [own.hour + own.minute / 60 for own in local]})
    data = load_dataset(frame, "y", task="regression")
    assert data.calendars[0] is not None
    np.testing.assert_allclose((data.inputs[:, 0] + data.calendars[0].first) % 1 * 24, data.targets[:, 0], atol=1e-6)


def test_offsets_of_several_places_are_instants():
    local, cells = with_offsets((1, 9), "iso")
    data = load_dataset(pd.DataFrame({"t": cells, "y": np.arange(len(cells)) % 13.0}), "y", task="regression")
    assert data.calendars[0] is not None
    days = [own.timestamp() / 86_400 for own in local]
    np.testing.assert_allclose(data.inputs[:, 0] + data.calendars[0].first, days, atol=1e-9)
