"""Compare a mean with a band (interval): it is in the band, outside the band, or the sample cannot decide this."""

import dataclasses

import numpy as np

from ._relations import against_band
from ._statistics import least_mean, mean_interval, mean_limits, same_throughout, share_of_largest

_MOST = 0.5  # if one trial has a larger share of the variance, an interval supports nothing
_FEW = 16  # in samples with fewer trials, one trial may have such a share by chance


@dataclasses.dataclass(frozen=True)
class Mean:
    """The comparison of a mean with a band: holds (True), fails (False) or undecided (None).

    Args:
        holds: whether the mean is in the band.
        needed: the number of trials that could decide an undecided comparison; None if the comparison is decided.
        interval: the confidence interval of the mean that decides the comparison.
        note: the reason why the sample cannot decide the comparison; empty if it can.
        apart: whether the interval is outside the band, although the limits that allow for heavier tails are not.
    """

    holds: bool | None
    needed: int | None
    interval: tuple[float, float]
    note: str = ""
    apart: bool = False


def mean_against(
    sample: np.ndarray, level: float, lowest: float, highest: float, width: float, exact: bool = False,
    ends: tuple[np.ndarray, np.ndarray] | None = None,
) -> Mean:  # fmt: skip
    """Compare the mean of a sample with the band [lowest, highest]. For support, `width` is added on both sides.

    Args:
        sample: independent numbers.
        level: probability with which a mean in the band may be refuted.
        lowest: lower end of the band.
        highest: upper end of the band.
        width: the distance by which the interval may leave the band and still support the statement.
        exact: whether the numbers have no sampling error.
        ends: for each number, the two values between which it always lies; infinite if unknown.
    """
    interval, limits = mean_interval(sample, level, exact), mean_limits(sample, level, exact)
    known = (-np.inf, np.inf)
    if ends is not None:
        known = _by_betting(sample, level, *ends)
        interval, limits = _with(known, interval), _with(known, limits)
    if limits[1] < lowest or limits[0] > highest:
        return Mean(False, None, limits)
    note = "" if np.isfinite(known).all() else untold(sample, exact)
    holds, needed = against_band(lowest, highest, interval, len(sample), width)
    if holds and not note:
        return Mean(True, None, interval)
    if holds is False:
        note = note or "the measurements may have rare large values that did not occur in these trials"
    return Mean(None, 2 * len(sample) if needed is None else needed, interval, note, apart=holds is False)


def untold(sample: np.ndarray, exact: bool = False) -> str:
    """The reason why a sample cannot determine its mean, in words; empty if it can."""
    count = len(sample)
    if count < 2 or exact:
        return ""
    if same_throughout(sample):
        return f"all measurements are equal, but an event rarer than 1 in {count} may not have occurred in these trials"
    share = share_of_largest(sample)
    return f"a single trial accounts for {share:.0%} of the variance" if count >= _FEW and share > _MOST else ""


def _by_betting(sample: np.ndarray, level: float, least: np.ndarray, most: np.ndarray) -> tuple[float, float]:
    """Limits of a mean of numbers between known ends, for any distribution. A limit with unknown end is infinite."""
    low = least_mean(sample, least, level / 2) if np.isfinite(least).all() else -np.inf
    high = -least_mean(-sample, -most, level / 2) if np.isfinite(most).all() else np.inf
    return low, high


def _with(known: tuple[float, float], shown: tuple[float, float]) -> tuple[float, float]:
    low, high = (own if np.isfinite(own) else seen for own, seen in zip(known, shown, strict=True))
    return low, high


def of_squares(own: np.ndarray, level: float, allowed: float, exact: bool) -> tuple[bool | None, tuple[float, float]]:
    """Whether the root of a mean square is at most the allowed value (True), above it (False) or undecided (None).

    Args:
        own: numbers whose mean is the mean square of a quantity, for T trials and C components, shape (T, C): squares
            of the quantity, or products of two independent measurements of the quantity.
        level: the probability of refuting an allowed root. The columns share this probability.
        allowed: the largest root that is allowed.
        exact: whether the numbers have no sampling error.

    Returns:
        The result, and an interval of the root. Each end of this interval is the largest one over the columns.
    """
    share = level / own.shape[1]
    shown = [mean_interval(column, share, exact) for column in own.T]
    sure = max(mean_limits(column, share, exact)[0] for column in own.T)
    low, high = (float(np.sqrt(max(end, 0.0))) for end in np.max(shown, axis=0))
    beyond = sure > allowed**2 * (1 + 1e-9) + 1e-24
    return (False if beyond else True if high <= allowed else None), (low, high)
