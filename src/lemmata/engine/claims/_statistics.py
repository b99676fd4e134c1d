"""Confidence limits that the verdicts rest on."""

import numpy as np
from scipy import stats


def failure_limits(failures: int, trials: int, level: float) -> tuple[float, float]:
    """Exact (Clopper-Pearson) one-sided confidence limits of a failure probability, each at `level`."""
    lower = float(stats.beta.ppf(level, failures, trials - failures + 1)) if failures else 0.0
    upper = float(stats.beta.ppf(1 - level, failures + 1, trials - failures)) if failures < trials else 1.0
    return lower, upper


def trials_to_support(probability: float, level: float) -> int:
    """Trials without a failure after which the upper confidence limit is at most `probability`."""
    return int(np.ceil(np.log(level) / np.log1p(-probability)))


def mean_interval(sample: np.ndarray, level: float) -> tuple[float, float]:
    """Two-sided confidence interval of a mean at confidence 1 - level, corrected for skewness.

    Hall's monotone transformation of the t statistic (Hall 1992) with Student quantiles. A plain t interval of a
    skewed sample misses far more often than it says at levels like 1e-3; the tests measure that this one does not.
    """
    sample = np.asarray(sample, float)
    count = len(sample)
    if count < 2:
        return -np.inf, np.inf
    mean, deviation = sample.mean(), sample.std(ddof=1)
    if deviation <= 64 * np.finfo(float).eps * np.abs(sample).max():
        return mean - deviation, mean + deviation
    skewness = float(np.mean(((sample - mean) / deviation) ** 3))
    quantile = stats.t.ppf(1 - level / 2, count - 1) / np.sqrt(count)

    def untransformed(value: float) -> float:
        if abs(skewness) < 1e-6:
            return value
        return 3 / skewness * (np.cbrt(1 + skewness * (value - skewness / (6 * count))) - 1)

    return mean - deviation * untransformed(quantile), mean - deviation * untransformed(-quantile)


def holm(p_values: dict[str, float], level: float) -> dict[str, tuple[float, bool]]:
    """Holm's step-down procedure: for each name the level that its p-value is held against, and whether it is rejected.

    The probability that any true hypothesis is rejected is at most `level`, whatever the dependence.

    >>> holm({"a": 0.001, "b": 0.04}, 0.05)
    {'a': (0.025, True), 'b': (0.05, True)}
    """
    levels, stopped = {}, False
    for rank, (name, p_value) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        allowed = level / (len(p_values) - rank)
        stopped = stopped or p_value > allowed
        levels[name] = (allowed, not stopped)
    return levels
