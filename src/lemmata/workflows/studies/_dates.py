"""Read dates as people write them: with the year first or last, names of months, and times of day."""

import contextlib
import itertools
import re

import polars as pl

from ._columns import stripped

MARKS = r"[\s./,-]+"
"""The separators between the parts of a date. A format has a slash in their place."""
_YEAR_FIRST = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([ T].*)?")
_CLOCK = re.compile(r"\d{1,2}:\d\d(:\d\d)?")
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
"""The shapes of written days, and the formats that they may have."""


def with_dates(column: pl.Series) -> pl.Series:
    """Convert text that holds dates to dates.

    The order of day, month and year must be the only one that fits every row. A single "01/02/2020" is ambiguous, so it
    stays text.

    >>> with_dates(pl.Series(["1/2/2024 3:00 PM", "1/30/2024 9:15 AM"]))[0].isoformat()
    '2024-01-02T15:00:00'
    >>> with_dates(pl.Series(["05-Jan-2024", "17-Feb-2024"]))[0].isoformat()
    '2024-01-05'
    """
    if column.dtype != pl.String:
        return column
    texts = stripped(column)
    found = _read(texts)
    return found[0] if len(found) == 1 else column


def format_of(column: pl.Series) -> str:
    """Return the format in which `with_dates` reads a text column, with slashes; empty if the year comes first."""
    texts = stripped(column)
    first = str(texts.drop_nulls()[0])
    if _CLOCK.fullmatch(first):
        return "%H:%M:%S" if first.count(":") > 1 else "%H:%M"
    if _YEAR_FIRST.fullmatch(first):
        return ""
    return next(form for form in _formats(first) if _whole(_dates(texts, form), texts))


def as_written(form: str, first: str) -> str:
    """Return the format of `format_of` with the separators of a date in the column, for `pandas.to_datetime`.

    >>> as_written("%b/%d/%Y", "Jan 5, 2024"), as_written("%m/%d/%Y/%I:%M/%p", "1/30/2024 9:15 AM")
    ('%b %d, %Y', '%m/%d/%Y %I:%M %p')
    """
    between = re.split(r"\d+|[A-Za-z]+", first)
    codes = re.findall("%[A-Za-z]", form)
    return "".join(itertools.chain.from_iterable(itertools.zip_longest(between, codes, fillvalue="")))


def _formats(first: str) -> list[str]:
    """Return the formats that a date may have, by the shape of its text."""
    plain = re.sub(MARKS, "/", first)
    shapes = [(day, time) for day in _DAYS for time in _ENDS if re.fullmatch(day + time, plain)]
    return [form + _ENDS[time] for day, time in shapes for form in _DAYS[day]]


def _dates(texts: pl.Series, form: str) -> pl.Series:
    plain = texts.str.replace_all(MARKS, "/")
    year = r"\d{4}" if "%Y" in form else r"\d\d"  # a year of two digits is no year of the first century
    plain = plain.set(~plain.str.contains(rf"(^|/){year}(/|$)").fill_null(True), None)
    if ":" in form:
        return plain.str.to_datetime(form, strict=False, time_unit="us")
    return plain.str.to_date(form, strict=False)


def _whole(dates: pl.Series, texts: pl.Series) -> bool:
    """Whether every text was read as a date."""
    return dates.null_count() == texts.null_count()


def _read(texts: pl.Series) -> list[pl.Series]:
    """Return the different ways in which all texts can be read as dates or times of day."""
    known = texts.drop_nulls()
    first = str(known[0]) if len(known) else ""
    found = []
    if _CLOCK.fullmatch(first):
        found = [texts.str.to_time("%H:%M:%S" if first.count(":") > 1 else "%H:%M", strict=False)]
    elif _YEAR_FIRST.fullmatch(first):
        # Without a format polars takes any with the year first, and raises if none fits.
        with contextlib.suppress(pl.exceptions.PolarsError):
            found = [texts.str.to_datetime(strict=False, time_unit="us")]
    else:
        found = [_dates(texts, form) for form in _formats(first)]
    different = []
    for dates in found:
        if _whole(dates, texts) and not any(dates.equals(other) for other in different):
            different.append(dates)
    return different
