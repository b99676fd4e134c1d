"""Tools for a user's own numbers: conditions, checks of arguments, and confidence limits of shares and means."""

import dataclasses
import math

import numpy as np
from scipy import optimize, special, stats

from lemmata.errors import SettingError


@dataclasses.dataclass(frozen=True)
class Condition:
    """A condition that some results need, and whether the condition holds.

    Args:
        name: the condition in words.
        value: the number that decides the condition; None if this number cannot be computed.
        holds: whether the condition holds; None if this cannot be decided.
        why: the results that need the condition.

    >>> print(Condition("draws are independent"))
    draws are independent: cannot be checked
    >>> print(Condition("ties", 3.0, False, "equal rewards make the divergence smaller"))
    ties: fails (3)
    """

    name: str
    value: float | None = None
    holds: bool | None = None
    why: str = ""

    def __str__(self) -> str:
        word = {True: "holds", False: "fails", None: "cannot be checked"}[self.holds]
        return f"{self.name}: {word}" + ("" if self.value is None else f" ({self.value:.3g})")


def positive(name: str, value: object) -> float:
    """Return the value as a finite number above 0, or raise SettingError.

    Args:
        name: the name of the value in the error message.
        value: the number.
    """
    number = _number(name, value)
    if not (math.isfinite(number) and number > 0):
        raise SettingError(name, found=f"{number:g}", rule="a finite number above 0", remedy="pass a number like 1")
    return number


def not_negative(name: str, value: object) -> float:
    """Return the value as a finite number of at least 0, or raise SettingError.

    Args:
        name: the name in the message.
        value: the number.
    """
    number = _number(name, value)
    if not (math.isfinite(number) and number >= 0):
        raise SettingError(
            name, found=f"{number:g}", rule="a finite number of at least 0", remedy="pass a number like 1"
        )
    return number


def inside(name: str, value: object, low: float, high: float) -> float:
    """Return the value as a number strictly between `low` and `high`, or raise SettingError.

    Args:
        name: the name of the value in the error message.
        value: the number.
        low: the lower end.
        high: the upper end.
    """
    number = _number(name, value)
    if not low < number < high:
        raise SettingError(
            name, found=f"{number:g}", rule=f"strictly between {low:g} and {high:g}", remedy=_within(low, high)
        )
    return number


def probability(name: str, value: object) -> float:
    """Return the value as a probability in [0, 1], or raise SettingError.

    Args:
        name: the name of the value in the error message.
        value: the number.
    """
    number = _number(name, value)
    if not 0 <= number <= 1:
        raise SettingError(name, found=f"{number:g}", rule="a probability between 0 and 1", remedy=_within(0.0, 1.0))
    return number


def whole(name: str, value: object, least: int = 0) -> int:
    """Return the value as a whole number of at least `least`, or raise SettingError.

    Args:
        name: the name of the value in the error message.
        value: the number.
        least: the smallest allowed value.
    """
    number = _number(name, value)
    if not (math.isfinite(number) and number == int(number) and number >= least):
        raise SettingError(
            name, found=f"{number:g}", rule=f"a whole number of at least {least}", remedy=f"pass a number like {least}"
        )
    return int(number)


_ONE = "pass a single number, not a string, a list or an array"
# relative amount by which a confidence limit is moved outward; the error of SciPy's quantiles is smaller
_OUTWARD = 1e-13
_OFF = 1e-6  # the allowed error of a quantile, as a share of its tail probability
_TINY = 1e-6  # an upper limit below this is computed directly


def least_share(successes: float, failures: float, tail: float) -> float:
    """Clopper and Pearson's lower confidence limit of an event's probability, rounded down.

    If this limit were the true probability, the event would occur `successes` times or more with probability `tail`.

    Args:
        successes: how often the event occurred.
        failures: how often the event did not occur.
        tail: the probability, above 0, that the limit exceeds the true probability.

    >>> round(least_share(300.0, 0.0, 1e-20), 4)
    0.8577
    """
    return _beta_quantile(tail, successes, failures + 1) * (1 - _OUTWARD) if successes > 0 else 0.0


def _beta_quantile(tail: float, a: float, b: float) -> float:
    """Return the quantile of Beta(a, b).

    SciPy's own quantile is checked, because for 1000 among 1e12 it is 15 times too large.
    """
    found = float(stats.beta.ppf(tail, a, b))
    if abs(special.betainc(a, b, found) - tail) <= _OFF * tail:
        return found
    excess = lambda log_odds: float(special.betainc(a, b, special.expit(log_odds))) - tail
    centre, reach = math.log(a / b), math.sqrt(1 / a + 1 / b)  # about the mean and standard deviation of the log odds
    while excess(centre - reach) > 0 or excess(centre + reach) < 0:
        reach *= 2
    root = optimize.brentq(excess, centre - reach, centre + reach, xtol=1e-15, rtol=4 * np.finfo(float).eps)
    return float(special.expit(root))


def share_interval(successes: float, failures: float, level: float) -> tuple[float, float]:
    """Clopper and Pearson's exact confidence limits of an event's probability, rounded outward.

    Each of the two limits is wrong with a probability of at most (1 - level)/2.

    Args:
        successes: how often the event occurred. The count may be a fraction, for the effective sample size of a survey.
        failures: how often the event did not occur.
        level: the confidence of the interval.

    >>> [round(limit, 3) for limit in share_interval(3.0, 17.0, 0.9)]
    [0.042, 0.344]
    """
    tail = (1 - level) / 2
    high = float(np.nextafter(1 - least_share(failures, successes, tail), 2.0))
    if 0 < high < _TINY and 1 - tail < 1:  # the difference from 1 has lost its digits
        high = _beta_quantile(1 - tail, successes + 1, failures) * (1 + _OUTWARD)
    return least_share(successes, failures, tail), min(high, 1.0)


def mean_interval(values: np.ndarray, level: float) -> tuple[float, float]:
    """A two-sided confidence interval for a mean, corrected for skewness by Hall's transformation of the t statistic.

    If all values are equal up to rounding, both ends of the interval are the mean.

    Args:
        values: independent observations.
        level: the confidence of the interval.
    """
    count, mean, deviation = len(values), float(values.mean()), float(values.std(ddof=1))
    if deviation <= 64 * np.finfo(float).eps * np.abs(values).max():
        return mean, mean
    skewness = float(np.mean(((values - mean) / deviation) ** 3))
    quantile = float(stats.t.ppf((1 + level) / 2, count - 1)) / np.sqrt(count)

    def moved(value: float) -> float:
        if abs(skewness) < 1e-6:
            return mean - deviation * value
        cube = 1 + skewness * (value - skewness / (6 * count))
        return mean - deviation * 3 / skewness * float(np.cbrt(cube) - 1)

    return moved(quantile), moved(-quantile)


def _within(low: float, high: float) -> str:
    middle = (low + high) / 2
    return f"pass a number like {middle:g}" if math.isfinite(middle) else "pass a number within these limits"


def _number(name: str, value: object) -> float:
    shown = " ".join(repr(value).split())[:60]  # the text of an array may have several lines
    if isinstance(value, str | bytes | bool | list | tuple) or np.ndim(value) != 0:  # type: ignore[arg-type]
        raise SettingError(name, found=shown, rule="a number", remedy=_ONE)
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError) as error:
        raise SettingError(name, found=shown, rule="a number", remedy=_ONE) from error
    except OverflowError as error:
        raise SettingError(
            name, found="a number above 1e308", rule="a number of double precision", remedy="change the unit"
        ) from error
