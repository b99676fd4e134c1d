"""A number with its interval. Studies, comparisons, examinations and forecasts all use this class."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class Interval:
    """A number with the two ends of its interval.

    The object that contains the interval defines the probability of the interval. An end may be infinite.

    Args:
        value: the number.
        lower, upper: the ends of the interval.

    >>> Interval(0.2, 0.1, 0.4).lower
    0.1
    """

    value: float
    lower: float
    upper: float
