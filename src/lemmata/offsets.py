"""Read the offsets from universal time in texts such as 2024-01-01T10:00+02:00."""

import polars as pl

_OFFSET = r":\d\d(?:\.\d+)?\s*(?:(?<utc>Z|UTC|GMT)|(?<sign>[+\-\u2212])(?<hours>\d\d)(?::?(?<minutes>\d\d))?)$"
"""The end of a text with a time of day and its offset from universal time."""


def minutes_of(texts: pl.Series) -> pl.Series:
    """Return the offset from universal time of each text, in minutes; missing if a text has none.

    >>> minutes_of(pl.Series(["2024-01-01T10:00+02:00", "10:00:00-0130", "10:00Z", "2024-01-01"])).to_list()
    [120, -90, 0, None]
    """
    parts = texts.str.extract_groups(_OFFSET).struct
    hours, minutes = (parts.field(own).cast(pl.Int64, strict=False) for own in ("hours", "minutes"))
    size = hours * 60 + minutes.fill_null(0)
    signed = pl.select(pl.when(parts.field("sign") == "+").then(size).otherwise(-size)).to_series()
    return signed.set(parts.field("utc").is_not_null(), 0)
