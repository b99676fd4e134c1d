"""Read dates in texts: with the year first or last, with names of months, and with times of day."""

import contextlib
import datetime
import itertools
import re
import warnings

import polars as pl

from ._numbers import stripped
from ._offsets import local_offsets, on_local_clock

MARKS = r"[\s./,-]+"
"""A pattern of separators between the parts of a date. In a format, a slash stands for any separator."""
_YEAR_FIRST = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T].*)?")
_SPAN = r"^(?:(\d+) days?,? \+?)?(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?$"
_CLOCK = re.compile(_SPAN)
"""A time of day, or a duration such as 55:33:20 or 2 days 07:33:20."""
_UTC = r"\s*(UTC|GMT)$"
"""The name of universal time after a date, which polars reads only as Z."""
_APART = r"\s+([+-]\d\d:?\d\d)$"
"""An offset from universal time after a blank, which polars reads only without the blank."""
_ENDS = {
    r"": "",
    r"/\d{1,2}:\d\d": "/%H:%M",
    r"/\d{1,2}:\d\d:\d\d": "/%H:%M:%S",
    r"/\d{1,2}:\d\d/[AaPp][Mm]": "/%I:%M/%p",
    r"/\d{1,2}:\d\d[AaPp][Mm]": "/%I:%M%p",
    r"/\d{1,2}:\d\d:\d\d/[AaPp][Mm]": "/%I:%M:%S/%p",
    r"/\d{1,2}:\d\d:\d\d[AaPp][Mm]": "/%I:%M:%S%p",
}
"""The times of day that may follow a date, and their formats."""
_DAYS = {
    r"\d{1,2}/\d{1,2}/\d{4}": ("%d/%m/%Y", "%m/%d/%Y"),
    r"\d{1,2}/\d{1,2}/\d\d": ("%d/%m/%y", "%m/%d/%y", "%y/%m/%d"),
    r"\d{1,2}/[A-Za-z]{3}/\d{4}": ("%d/%b/%Y", "%d/%B/%Y"),
    r"\d{1,2}/[A-Za-z]{4,9}/\d{4}": ("%d/%B/%Y",),
    r"[A-Za-z]{3}/\d{1,2}/\d{4}": ("%b/%d/%Y", "%B/%d/%Y"),
    r"[A-Za-z]{4,9}/\d{1,2}/\d{4}": ("%B/%d/%Y",),
    r"\d{1,2}/[A-Za-z]{3}/\d\d": ("%d/%b/%y",),
}
"""For each pattern of a date without a time, the `strptime` formats that such a date may have."""
_PERIODS = {
    r"\d{4}[-/]\d{1,2}": ("%Y/%m",),
    r"\d{1,2}[-/]\d{4}": ("%m/%Y",),
    rf"[A-Za-z]{{3,9}}{MARKS}\d{{4}}": ("%b/%Y", "%B/%Y"),
    rf"\d{{4}}{MARKS}[A-Za-z]{{3,9}}": ("%Y/%b", "%Y/%B"),
    r"\d{4}[-/ ]?[Qq][1-4]|[Qq][1-4][-/ ]?\d{4}": ("quarter",),
    r"\d{4}[- ]?[Ww]\d{1,2}": ("week",),
}
"""For each pattern of a month, a quarter or an ISO week, the formats of `PlainTable`. 2010.01 is a number."""
_YEARS = 1500, 2200
"""A text such as 4711-05 is a month only if its year is in this range."""


def with_dates(column: pl.Series) -> pl.Series:
    """Convert a text column of dates, times of day or durations to this type. Other columns are unchanged.

    The order of day, month and year must be the only one that fits every row. A single "01/02/2020" is ambiguous, so it
    stays text. Suppose that years have two digits. Then a reading with the year first is dropped if it gives years in
    the future, but another reading gives none. Hours and minutes are a time of day if all hours are below 24, and
    otherwise a duration. A month, a quarter and an ISO week become their first days. Times with an offset from
    universal time keep their local clock times, if there is a common local time (`local_offsets`).

    >>> with_dates(pl.Series(["1/2/2024 3:00 PM", "1/30/2024 9:15 AM"]))[0].isoformat()
    '2024-01-02T15:00:00'
    >>> with_dates(pl.Series(["05-Jan-2024", "17-Feb-2024"]))[0].isoformat()
    '2024-01-05'
    >>> with_dates(pl.Series(["5:30", "27:45"])).dt.total_minutes().to_list()
    [330, 1665]
    """
    if column.dtype != pl.String:
        return column
    found = _read(stripped(column))
    return found[0][1] if len(found) == 1 else column


def format_of(column: pl.Series) -> str:
    """Return the format in which `with_dates` reads a text column, with slashes as separators; empty for year-first."""
    return _read(stripped(column))[0][0]


def zone_of(column: pl.Series) -> str:
    """Return the time zone of a column of dates, or its offsets from universal time; empty if it has none.

    >>> zone_of(pl.Series(["2024-01-01T10:00+02:00"])), zone_of(pl.Series(["2024-01-01T10:00Z"]))
    ('+02:00', 'UTC')
    """
    read = with_dates(column)
    if not isinstance(read.dtype, pl.Datetime):
        return ""
    fixed = local_offsets(stripped(column)) if column.dtype == pl.String and not read.dtype.time_zone else ()
    return read.dtype.time_zone or "/".join(fixed)


def unclear(column: pl.Series) -> str:
    """Return the first text that is a different date in two readings of the whole column; empty if there is none.

    >>> unclear(pl.Series(["01/01/2024", "01/02/2024"])), unclear(pl.Series(["13/02/2024", "01/02/2024"]))
    ("'01/02/2024' may be 2024-02-01 or 2024-01-02", '')
    """
    texts = stripped(column)
    if len(found := _read(texts)) < 2:
        return ""
    (_, one), (_, other) = found[:2]
    place = (one != other).fill_null(False).arg_true()[0]
    days = [str(own[place])[:10] for own in (one, other)]
    return f"{texts[place]!r} may be {days[0]} or {days[1]}"


def in_future(column: pl.Series) -> tuple[str, int] | None:
    """Return the latest date with a year of two digits, and the year, if this year is in the future; else None."""
    texts = stripped(column)
    found = _read(texts)
    if len(found) != 1 or "%y" not in found[0][0] or (year := _last_year(found[0][1])) <= this_year():
        return None
    return str(texts[found[0][1].arg_max() or 0]), year


def as_written(form: str, first: str) -> str:
    """Return `form`, a result of `format_of`, with the separators of the date `first`, for `pandas.to_datetime`.

    >>> as_written("%b/%d/%Y", "Jan 5, 2024"), as_written("%m/%d/%Y/%I:%M/%p", "1/30/2024 9:15 AM")
    ('%b %d, %Y', '%m/%d/%Y %I:%M %p')
    """
    between = re.split(r"\d+|[A-Za-z]+", first)
    codes = re.findall("%[A-Za-z]", form)
    return "".join(itertools.chain.from_iterable(itertools.zip_longest(between, codes, fillvalue="")))


def _formats(first: str) -> list[str]:
    """Return the formats that a date may have, judged by the shape of its text."""
    plain = re.sub(MARKS, "/", first)
    shapes = [(day, time) for day in _DAYS for time in _ENDS if re.fullmatch(day + time, plain)]
    return [form + _ENDS[time] for day, time in shapes for form in _DAYS[day]]


def _dates(texts: pl.Series, form: str) -> pl.Series:
    plain = texts.str.replace_all(MARKS, "/")
    year = r"\d{4}" if "%Y" in form else r"\d\d"  # a year of two digits is not in the first century
    plain = plain.set(~plain.str.contains(rf"(^|/){year}(/|$)").fill_null(True), None)
    if ":" in form:
        return plain.str.to_datetime(form, strict=False, time_unit="us")
    return plain.str.to_date(form, strict=False)


def _whole(dates: pl.Series, texts: pl.Series) -> bool:
    """Whether every text was read as a date."""
    return dates.null_count() == texts.null_count()


def _read(texts: pl.Series) -> list[tuple[str, pl.Series]]:
    """Return the different ways in which all texts can be read as dates, times or durations, with their formats."""
    known = texts.drop_nulls()
    first = str(known[0]) if len(known) else ""
    found = []
    if _CLOCK.fullmatch(first):
        found = [_clocks(texts, first)]
    elif _YEAR_FIRST.fullmatch(first):
        # Without a format, polars accepts any format with the year first, and raises an error if none fits.
        with contextlib.suppress(pl.exceptions.PolarsError):
            plain = texts.str.replace(_UTC, "Z").str.replace(_APART, "$1")
            found = [("", on_local_clock(plain.str.to_datetime(strict=False, time_unit="us"), plain))]
    elif forms := [form for shape, own in _PERIODS.items() if re.fullmatch(shape, first) for form in own]:
        found = [(form, _first_days(texts, form)) for form in forms]
    else:
        found = [(form, _dates(texts, form)) for form in _formats(first)]
    different = []
    for form, dates in found:
        if _whole(dates, texts) and not any(dates.equals(other) for _, other in different):
            different.append((form, dates))
    return _likely(different)


def _first_days(texts: pl.Series, form: str) -> pl.Series:
    """Read months, quarters or weeks as a saved model does. 2009/10, 2010/11, ... are seasons, which stay texts."""
    from lemmata.estimators import PlainTable

    plain = texts.set(~texts.str.contains(rf"^(?:{'|'.join(_PERIODS)})$").fill_null(True), None).alias("period")
    with warnings.catch_warnings():  # of texts in another format, which only make this format no reading
        warnings.simplefilter("ignore")
        days = PlainTable(["period"], dates={"period": []}, formats={"period": form}).fit_transform(plain.to_frame())
    dates = days["period"].cast(pl.Int32).cast(pl.Date).alias(texts.name)
    years = dates.dt.year()
    dates = dates.set(~years.is_between(*_YEARS).fill_null(True), None)
    seasons = form == "%Y/%m" and bool((dates.dt.month() == (years + 1) % 100).all())
    return dates.clear(len(dates)) if seasons else dates


def _clocks(texts: pl.Series, first: str) -> tuple[str, pl.Series]:
    """Read hours and minutes, with or without seconds, as times of day or, if an hour is above 23, as durations."""
    form = "%H:%M:%S" if first.count(":") > 1 else "%H:%M"
    times = texts.str.to_time(form, strict=False)
    return form, times if _whole(times, texts) else spans(texts, form)


def spans(texts: pl.Series, form: str) -> pl.Series:
    """Read durations of hours and minutes, possibly with days before them, and with seconds if the format has seconds.

    >>> spans(pl.Series(["55:33:20", "2 days 07:33:20"]), "%H:%M:%S").dt.total_seconds().to_list()
    [200000, 200000]
    """
    parts = texts.str.extract_groups(_SPAN).struct
    days, hours, minutes, seconds = (parts.field(str(j)).cast(pl.Float64, strict=False) for j in range(1, 5))
    total = days.fill_null(0.0) * 86_400 + hours * 3600 + minutes * 60 + seconds.fill_null(0.0)
    total = total.set(seconds.is_not_null() != form.endswith("%S"), None)
    return (total * 1e6).round().cast(pl.Int64, strict=False).cast(pl.Duration("us")).alias(texts.name)


def _likely(found: list[tuple[str, pl.Series]]) -> list[tuple[str, pl.Series]]:
    """Drop a reading whose years come first, have two digits and lie in the future, if another has no future years.

    Readings in another order are kept, because a date in the future may be a planned date.
    """
    late = ["%y" in form and _last_year(dates) > this_year() for form, dates in found]
    if all(late):
        return found
    return [own for own, future in zip(found, late, strict=True) if not (future and own[0].startswith("%y"))]


def _last_year(dates: pl.Series) -> int:
    return int(str(dates.dt.year().max()))


def this_year() -> int:
    """Return the present year."""
    return datetime.datetime.now(tz=datetime.UTC).year
