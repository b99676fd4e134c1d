"""Encode the calendar information in dates: weekday, part of the year and time of day."""

import dataclasses

import numpy as np
import polars as pl
from jaxtyping import Float64
from sklearn.base import BaseEstimator, TransformerMixin

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
YEAR = 365.2425


@dataclasses.dataclass(frozen=True)
class Calendar:
    """The calendar information of a date column, which is stored as days since its first date.

    Args:
        first: the first date, in days since 1970-01-01.
        parts: the encoded parts, a selection from "weekday", "year" and "day". A part is selected if the dates cover
            more than one of its periods, and rows differ in it.
    """

    first: float
    parts: tuple[str, ...]

    def names(self, column: str) -> tuple[str, ...]:
        """Return the names of the encoded columns.

        >>> Calendar(0.0, ("year", "day")).names("sold")[:2]
        ('sold: part of the year (sine)', 'sold: part of the year (cosine)')
        """
        waves = {"year": "part of the year", "day": "time of day"}
        return tuple(
            f"{column}: {name}"
            for part in self.parts
            for name in (WEEKDAYS if part == "weekday" else (f"{waves[part]} (sine)", f"{waves[part]} (cosine)"))
        )

    def day(self, value: float | int) -> str:
        """Return the date of an entry of the column, as text."""
        return str(np.datetime64(int(np.floor(self.absolute(np.array([float(value)]))[0])), "D"))

    def absolute(self, days: Float64[np.ndarray, " N"]) -> Float64[np.ndarray, " N"]:
        """Return days since 1970-01-01, rounded to the second, so that midnight is a whole number."""
        return np.round((days + self.first) * 86_400) / 86_400


def calendar(days: Float64[np.ndarray, " N"], first: float) -> Calendar:
    """Choose the parts of the date that get a column.

    A part must repeat within the table: the dates must span more than its period. Otherwise the part has no more
    information than the time itself. The weekday is also left out if all dates are on the same day of the month, or all
    on the last day of their month. The reason is that the calendar alone then determines the weekdays. A part is also
    left out if it is equal in all rows.

    Args:
        days: the days since the first date; NaN if missing.
        first: the first date, in days since 1970-01-01.

    >>> calendar(7.0 * np.arange(200), 0.0).parts, calendar(1.0 * np.arange(20), 0.0).parts
    (('year',), ('weekday',))
    """
    there = Calendar(first, ()).absolute(days[~np.isnan(days)])
    if not len(there):
        return Calendar(first, ())
    whole = np.floor(there).astype("datetime64[D]")
    months = whole.astype("datetime64[M]")
    of_month = (whole - months).astype(int)
    last = np.all((whole + np.timedelta64(1, "D")).astype("datetime64[M]") > months)
    monthly = bool(last) or len(np.unique(of_month)) == 1
    span, parts = float(np.ptp(there)), []
    if span > 7 and not monthly and len(np.unique(np.floor(there) % 7)) > 1:
        parts.append("weekday")
    if span > YEAR and len(np.unique(months.astype(int) % 12)) > 1:
        parts.append("year")
    if span > 1 and np.ptp(there % 1) > 0:
        parts.append("day")
    return Calendar(first, tuple(parts))


class CalendarParts(TransformerMixin, BaseEstimator):
    """Encode one column of dates: a column for each weekday, and sine and cosine of the part of the year and day.

    Each weekday has its own column, because a Sunday may resemble neither a Saturday nor a Monday. The parts of the
    year and of the day are periodic, because the end of a period is near the beginning of the next one. If the date is
    missing, all parts are 0.

    >>> friday, saturday = np.array([[1.0], [2.0]])
    >>> CalendarParts(Calendar(0.0, ("weekday",))).fit_transform(np.stack([friday, saturday])).argmax(axis=1)
    array([4, 5])
    """

    def __init__(self, of: Calendar):
        self.of = of

    def fit(self, X, y=None):
        """Return the encoder unchanged, because it learns nothing from the rows."""
        return self

    def transform(self, X):
        """Return the parts of X, which has shape (n, 1) and holds days since the first date."""
        days = self.of.absolute(np.asarray(X, dtype=np.float64)[:, 0])
        columns = []
        for part in self.of.parts:
            if part == "weekday":
                columns += [np.floor(days + 3) % 7 == day for day in range(7)]  # 1970-01-01 was a Thursday
            else:
                angle = 2 * np.pi * days / (YEAR if part == "year" else 1.0)
                columns += [np.sin(angle), np.cos(angle)]
        return np.nan_to_num(np.stack(columns, axis=1).astype(np.float64))


def wall_clock(column: pl.Series) -> pl.Series:
    """Convert dates to local clock times without a time zone, so that weekdays and times of day are local."""
    if isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is not None:
        column = column.dt.replace_time_zone(None)
    return column.cast(pl.Datetime("us"))


def first_days(columns: list[pl.Series]) -> dict[str, float]:
    """Return, by name, the first date of each date column in days since 1970-01-01."""
    dates = [column for column in columns if column.dtype == pl.Date or isinstance(column.dtype, pl.Datetime)]
    firsts = {column.name: wall_clock(column).dt.timestamp("us").min() for column in dates}
    return {name: first / 86_400e6 for name, first in firsts.items() if isinstance(first, int)}
