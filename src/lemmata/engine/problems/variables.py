"""Variables (settings with a range) that many populations (generators of test problems) share."""

from lemmata.engine.claims import Integer

Corners = tuple[int, int] | None


def rows(default: int, low: int = 1, high: int = 10_000, corners: Corners = None) -> Integer:
    """A variable for the number of rows or points.

    >>> rows(40)
    Integer(default=40, low=1, high=10000, meaning='rows', step=1, corners=None)
    """
    return Integer(default, low, high, "rows", corners=corners)


def dimension(default: int, low: int = 1, high: int = 64, corners: Corners = None) -> Integer:
    """A variable for the number of coordinates of a row."""
    return Integer(default, low, high, "dimension", corners=corners)
