"""Read dates, times of day and differences of times as numbers of days, and warn of cells in another format."""

import datetime
import re
import warnings
from collections.abc import Sequence

import polars as pl

from lemmata.errors import shortened
from lemmata.offsets import minutes_of

from ._periods import QUARTER, WEEK, first_days, is_period

_SPAN = r"^(?:(\d+) days?,? \+?)?(\d+):(\d\d)(?::(\d\d(?:\.\d+)?))?$"
"""A time of day or a duration, with its days, hours, minutes and seconds."""
_UTC = r"\s*(UTC|GMT)$"
"""The name of universal time after a date, which polars reads only as Z."""
_APART = r"\s+([+-]\d\d:?\d\d)$"
"""An offset from universal time after a blank, which polars reads only without the blank."""
_FIXED = re.compile(r"([+-])(\d\d):(\d\d)")
_FOUR_DIGITS = r"(^|/)\d{4}(/|$)"
"""A year of four digits. `strptime` reads the year 24 from 01/02/24 if the format has four digits."""
_EXAMPLE = {"%d": "31", "%m": "01", "%Y": "2024", "%y": "24", "%b": "Jan", "%B": "January",
            "%H": "15", "%M": "30", "%S": "00", "%I": "03", "%p": "PM"}  # fmt: skip
_PERIODS = {QUARTER: "2024Q1", WEEK: "2024-W05"}


def days(column: pl.Series, format: str | None, zone: str | None, missing: Sequence[str]) -> pl.Series:
    """Return a date as the days since 1970-01-01, a time of day as a part of the day, a difference of times as days.

    A text in another format and a number become missing, with a warning.

    Args:
        column: dates and times, or their texts.
        format: the format of texts, as in `PlainTable`; None if the year comes first.
        zone: the time zone of the clock times, or their offsets from universal time, as in "+02:00" or "+01:00/+02:00";
            None if they have none.
        missing: texts that mean a missing value.

    >>> days(pl.Series(["31/01/2024", None]), "%d/%m/%Y", None, ()).to_list()
    [19753.0, None]
    """
    name, kind, texts = column.name, column.dtype, None
    if kind in (pl.String, pl.Categorical, pl.Enum):
        texts = column.cast(pl.String).str.strip_chars()
        texts = texts.set(texts.is_in(list(missing)).fill_null(False), None)
        texts = texts if format else texts.str.replace(_UTC, "Z").str.replace(_APART, "$1")
        column = _read(texts, format)
        unread = column.is_null() & texts.str.contains(r"\d").fill_null(False)
        _warn_of_unread(name, texts.filter(unread), format)
    elif not kind.is_temporal():
        numbers = column.drop_nulls()
        _warn_of_unread(name, numbers.drop_nans() if kind.is_float() else numbers, format)
        column = pl.Series(name, [None] * len(column), dtype=pl.Date)
    if column.dtype == pl.Time:
        column = column.cast(pl.Duration("us"))
    if isinstance(column.dtype, pl.Duration):
        column = column.dt.total_microseconds()
    else:
        column = _on_the_clock(column.alias(name), zone, texts).cast(pl.Datetime("us")).dt.timestamp("us")
    return (column.cast(pl.Float64) / 86_400e6).alias(name)


def _read(texts: pl.Series, format: str | None) -> pl.Series:
    """Return the dates, times or durations of texts; missing if a text has another format."""
    if format is None:
        texts = texts.set(~texts.str.contains(r"^\d{4}").fill_null(False), None)
        try:
            return texts.str.to_datetime(strict=False, time_unit="us")
        except pl.exceptions.PolarsError:  # there is no date from which to guess a format
            return pl.Series(texts.name, [None] * len(texts), dtype=pl.Date)
    if format in (QUARTER, WEEK):
        return first_days(texts, format)
    if "%H" in format and "%d" not in format:
        return _spans(texts, format)
    texts = texts.str.replace_all(r"[\s./,-]+", "/")
    if "%Y" in format:
        texts = texts.set(~texts.str.contains(_FOUR_DIGITS).fill_null(True), None)
    if is_period(format):
        return first_days(texts, format)
    if ":" in format:
        return texts.str.to_datetime(format, strict=False, time_unit="us")
    return texts.str.to_date(format, strict=False)


def _spans(texts: pl.Series, format: str) -> pl.Series:
    """Times of day and durations, such as 15:30, 55:33:20 or 2 days 07:33:20, as durations.

    A text with seconds is missing if the format has no seconds, and the other way round. 15:30 may be minutes and
    seconds in a column whose other cells are hours, minutes and seconds.
    """
    parts = texts.str.extract_groups(_SPAN).struct
    days, hours, minutes, seconds = (parts.field(str(j)).cast(pl.Float64, strict=False) for j in range(1, 5))
    total = days.fill_null(0.0) * 86_400 + hours * 3600 + minutes * 60 + seconds.fill_null(0.0)
    total = total.set((seconds.is_not_null() != format.endswith("%S")).fill_null(True), None)
    return (total * 1e6).round().cast(pl.Int64, strict=False).cast(pl.Duration("us"))


def _on_the_clock(column: pl.Series, zone: str | None, texts: pl.Series | None) -> pl.Series:
    """Return dates as the clock of a time zone shows them, without the zone."""
    own = column.dtype.time_zone if isinstance(column.dtype, pl.Datetime) else None
    if own is not None and (fixed := _FIXED.findall(zone or "")):
        minutes = [int(f"{sign}1") * (60 * int(hours) + int(rest)) for sign, hours, rest in fixed]
        return _at_offsets(column, minutes, str(zone), texts)
    if own is not None and zone not in (None, own):
        column = column.dt.convert_time_zone(str(zone))
    if (own is None) != (zone is None) and column.null_count() < len(column):
        text = (
            f"the times of {column.name!r} have no time zone. They are read as times of {zone}, the zone of the "
            f"table that the model was fitted to. If the times are of another zone, convert the column to {zone}"
            if own is None
            else f"the times of {column.name!r} have the time zone {own}, but they had no time zone in the table "
            "that the model was fitted to. The clock times are used without the zone. If that table had times "
            "of another zone, convert this column to that zone"
        )
        warnings.warn(text, stacklevel=5)
    return column if own is None else column.dt.replace_time_zone(None)


def _at_offsets(column: pl.Series, known: list[int], zone: str, texts: pl.Series | None) -> pl.Series:
    """Return instants in the local time of an offset. With several offsets, each time must have one of them."""
    instants = column.dt.convert_time_zone("UTC").dt.replace_time_zone(None)
    if len(known) == 1:
        return instants + datetime.timedelta(minutes=known[0])
    if texts is None:
        offsets = (column.dt.base_utc_offset() + column.dt.dst_offset()).dt.total_minutes()
    else:
        offsets = minutes_of(texts)
    odd = column.is_not_null() & ~offsets.is_in(known).fill_null(False)
    if odd.any():
        cell = (column if texts is None else texts).filter(odd)[0]
        warnings.warn(
            f"{int(odd.sum())} cell{('s' if odd.sum() > 1 else '')} of {column.name!r} have another offset from "
            f"universal time than {zone.replace('/', ' or ')}, such as {shortened(str(cell))!r}, and count as missing. "
            "The local time of these cells is not known. Write all times of this column in the zone of the table that "
            "the model was fitted to",
            stacklevel=6,
        )
    local = instants + (offsets.cast(pl.Int64) * 60_000_000).cast(pl.Duration("us"))
    return local.set(odd, None)


def _warn_of_unread(name: str, cells: pl.Series, format: str | None) -> None:
    """Warn of cells that are not in the format of the dates or times that the model was fitted to."""
    if len(cells):
        exchanged = {"%d", "%m"} <= set(re.findall("%[A-Za-z]", format or ""))
        warnings.warn(
            f"{len(cells)} cell{('s' if len(cells) > 1 else '')} of {name!r} cannot be read as dates or times, such "
            f"as {shortened(str(cells[0]))!r}, and count as missing. The table that the model was fitted to has "
            f"{_example(format)}. Write all cells of this column in that form"
            + (
                ". Days and months may be exchanged here: then other cells are read as wrong dates" if exchanged else ""
            ),
            stacklevel=4,
        )


def _example(format: str | None) -> str:
    """Return in words how a format writes a date or a time.

    >>> _example("%d/%m/%Y/%I:%M/%p"), _example("%b/%Y")
    ("dates like '31/01/2024 03:30 PM' (%d/%m/%Y/%I:%M/%p)", "months like 'Jan 2024' (%b/%Y)")
    """
    if format is None:
        return "dates with the year first, like '2024-01-31', or cells that are dates and not texts"
    if format in _PERIODS:
        return f"{format}s like {_PERIODS[format]!r}"
    text = re.sub("/(?=%[HIp])", " ", format)
    text = text.replace("/", " ") if re.search("%[bB]", format) else text
    text = re.sub("%[A-Za-z]", lambda found: _EXAMPLE[found[0]], text)
    what = "times" if "%d" not in format and "%H" in format else "months" if is_period(format) else "dates"
    return f"{what} like {text!r} ({format})"
