"""Find the offsets from universal time of texts such as 2024-01-01T10:00+02:00, and keep their local clock times."""

from typing import Any

import numpy as np
import polars as pl

from lemmata.offsets import minutes_of

SUMMER = 60
"""The clocks of one place differ by at most this number of minutes between summer and winter."""


def local_offsets(texts: pl.Series) -> tuple[str, ...]:
    """Return the offsets of a column whose local clock times are kept; empty if the column has no such offsets.

    Local times are kept if offsets are equal, or differ by at most an hour, as at one place with summer time.
    If all times are universal, or offsets differ more, there is no common local time.

    >>> local_offsets(pl.Series(["2024-01-01T10:00+02:00", None])), local_offsets(pl.Series(["2024-01-01T10:00Z"]))
    (('+02:00',), ())
    >>> local_offsets(pl.Series(["2024-01-01 10:00:00+0100", "2024-07-01 10:00:00+0200"]))
    ('+01:00', '+02:00')
    """
    known = minutes_of(texts).drop_nulls().unique().sort().to_list()
    if known in ([], [0]) or known[-1] - known[0] > SUMMER:
        return ()
    return tuple(f"{'-' if own < 0 else '+'}{abs(own) // 60:02d}:{abs(own) % 60:02d}" for own in known)


def on_local_clock(dates: pl.Series, texts: pl.Series) -> pl.Series:
    """Return dates that were read from texts in the local time of their offsets (`local_offsets`), without a zone.

    Other dates are unchanged.
    """
    if getattr(dates.dtype, "time_zone", None) is None or not local_offsets(texts):
        return dates
    return dates.dt.replace_time_zone(None) + (minutes_of(texts) * 60_000_000).cast(pl.Duration("us"))


def offsets_written(values: np.ndarray) -> np.ndarray:
    """Return times with fixed offsets as texts, because polars has no such types. Other cells are unchanged.

    A time has a fixed offset if its zone has no name such as "Europe/Berlin", and it is not universal time.

    >>> import datetime
    >>> zone = datetime.timezone(datetime.timedelta(hours=2))
    >>> offsets_written(np.array([datetime.datetime(2024, 1, 1, 10, tzinfo=zone), None])).tolist()
    ['2024-01-01T10:00:00.000000+02:00', None]
    """
    zones = [getattr(cell, "tzinfo", None) for cell in values.flat]
    if not any(map(_is_fixed, zones)):
        return values
    if any(zone is None and cell == cell and cell is not None for cell, zone in zip(values.flat, zones, strict=True)):
        return values
    times = [
        None if zone is None else cell.isoformat(timespec="microseconds")
        for cell, zone in zip(values.flat, zones, strict=True)
    ]
    return np.array(times, dtype=object) if local_offsets(pl.Series(times, dtype=pl.String)) else values


def _is_fixed(zone: Any) -> bool:
    return zone is not None and not (getattr(zone, "key", None) or getattr(zone, "zone", None))
