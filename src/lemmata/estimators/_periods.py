"""Read months, quarters and ISO weeks that are written as texts, each as its first day."""

import polars as pl

QUARTER, WEEK = "quarter", "week"
"""The formats of quarters and of ISO weeks, which `strptime` does not have."""
_QUARTERS = r"(?i)^(?:(\d{4})[-/ ]?Q([1-4])|Q([1-4])[-/ ]?(\d{4}))$"
_WEEKS = r"(?i)^(\d{4})[- ]?W(\d{1,2})$"
_LONG = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
         "December"]  # fmt: skip
_SHORT = [name[:3] for name in _LONG]
_MONTHS = {"1": "01", "2": "04", "3": "07", "4": "10"}


def is_period(format: str) -> bool:
    """Whether a format is that of months, quarters or weeks: it has a year, but no day.

    >>> is_period("%Y/%m"), is_period("quarter"), is_period("%d/%m/%Y"), is_period("%H:%M")
    (True, True, False, False)
    """
    return format in (QUARTER, WEEK) or ("%Y" in format and "%d" not in format)


def first_days(texts: pl.Series, format: str) -> pl.Series:
    """Return the first day of each period; missing if a text has another form.

    >>> first_days(pl.Series(["1990Q1", "Q4-1990"]), "quarter").dt.to_string().to_list()
    ['1990-01-01', '1990-10-01']
    >>> first_days(pl.Series(["2021-W01"]), "week")[0].isoformat()
    '2021-01-04'
    >>> first_days(pl.Series(["Jan/2010"]), "%b/%Y")[0].isoformat()
    '2010-01-01'
    """
    if format == QUARTER:
        parts = texts.str.extract_groups(_QUARTERS).struct
        year, quarter = (parts.field(one).fill_null(parts.field(other)) for one, other in (("1", "4"), ("2", "3")))
        return (year + "-" + quarter.replace(_MONTHS) + "-01").str.to_date("%Y-%m-%d", strict=False)
    if format == WEEK:
        parts = texts.str.extract_groups(_WEEKS).struct
        week = parts.field("1") + "-W" + parts.field("2").str.zfill(2) + "-1"
        return week.str.to_date("%G-W%V-%u", strict=False)
    if "%B" in format:  # polars 1 fails if a short name of a month stands where a long one may
        texts = texts.str.replace_many(_LONG, _SHORT, ascii_case_insensitive=True)
    return (texts + "/01").str.to_date(f"{format.replace('%B', '%b')}/%d", strict=False)
