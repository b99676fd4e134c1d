"""Confidence limits of probabilities and means, and Holm's procedure, which verdicts use."""

import numpy as np
from scipy import special, stats

_FARTHEST = 200.0
"""The largest factor by which the distance from the mean to an end of its interval is multiplied.

This factor is used if a sample has too few values in a tail."""


def failure_limits(failures: int, trials: int, level: float) -> tuple[float, float]:
    """Exact (Clopper-Pearson) one-sided confidence limits of a failure probability, each at error level `level`."""
    lower = float(stats.beta.ppf(level, failures, trials - failures + 1)) if failures else 0.0
    upper = float(stats.beta.ppf(1 - level, failures + 1, trials - failures)) if failures < trials else 1.0
    return lower, upper


def trials_to_support(probability: float, level: float) -> int:
    """The number of trials without a failure after which the upper confidence limit is at most `probability`."""
    return int(np.ceil(np.log(level) / np.log1p(-probability)))


def mean_interval(sample: np.ndarray, level: float, exact: bool = False) -> tuple[float, float]:
    """A two-sided confidence interval of a mean at confidence 1 - level, corrected for skewness.

    The interval uses Hall's monotone transformation of the t statistic (Hall 1992) with Student quantiles. For a skewed
    sample, a plain t interval misses the mean far more often than stated, at levels like 1e-3. For skewed samples with
    light tails, the tests show that Hall's interval does not miss more often than stated. For samples with heavy tails,
    use `mean_limits`.

    Args:
        sample: independent numbers.
        level: probability with which the interval may miss the mean.
        exact: whether the numbers have no sampling error. If they have sampling error, n equal numbers give an infinite
            interval, because they cannot show events that are rarer than 1 in n.
    """
    sample = np.asarray(sample, float)
    count = len(sample)
    if count < 2:
        return -np.inf, np.inf
    mean, deviation = sample.mean(), sample.std(ddof=1)
    if same_throughout(sample):
        return (mean - deviation, mean + deviation) if exact else (-np.inf, np.inf)
    skewness = float(np.mean(((sample - mean) / deviation) ** 3))
    quantile = stats.t.ppf(1 - level / 2, count - 1) / np.sqrt(count)

    def untransformed(value: float) -> float:
        if abs(skewness) < 1e-6:
            return value
        return 3 / skewness * (np.cbrt(1 + skewness * (value - skewness / (6 * count))) - 1)

    return mean - deviation * untransformed(quantile), mean - deviation * untransformed(-quantile)


def same_throughout(sample: np.ndarray) -> bool:
    """Whether all numbers of a sample are the same, up to rounding."""
    return bool(np.std(sample, ddof=1) <= 64 * np.finfo(float).eps * np.abs(sample).max())


def mean_limits(sample: np.ndarray, level: float, exact: bool = False) -> tuple[float, float]:
    """Limits of a mean that also hold for rare events and heavy tails. Refutations use these limits.

    If a heavy tail is mostly missing from the sample, the sample's interval is too narrow and in the wrong place. So
    each end is taken from Hall's or from Student's interval, whichever is farther from the mean. The distance of this
    end from the mean is then multiplied by `stretch`. docs/trust.md lists the rates at which these limits miss the mean
    for distributions with light tails, heavy tails and rare events. Without any assumption on the distribution, no
    limits hold (Bahadur and Savage 1956).

    Args:
        sample: independent numbers.
        level: probability with which the limits may miss the mean.
        exact: whether the numbers have no sampling error. If so, Hall's interval is returned.
    """
    sample = np.asarray(sample, float)
    low, high = mean_interval(sample, level, exact)
    if exact or len(sample) < 2 or same_throughout(sample):
        return low, high
    mean, student = sample.mean(), float(stats.t.ppf(1 - level / 2, len(sample) - 1) * stats.sem(sample))
    return mean - stretch(-sample) * max(mean - low, student), mean + stretch(sample) * max(high - mean, student)


def stretch(sample: np.ndarray) -> float:
    """The factor by which `mean_limits` multiplies the distance from the mean to the upper end of its interval.

    Three figures show a heavy upper tail in a sample of n numbers. The first is Hill's estimate 1/a, where a is the
    index of the tail, from the quarter of the sample that is farthest above the median. The second is the largest
    squared deviation above the mean, divided by its size for normal numbers, which is 2 log(n) / n of the sum of
    squares. The third, for samples below 200, is the distance between the largest value and the median, divided by the
    distance between the smallest value and the median. The third figure is 1 for a symmetric distribution.

    The factor takes its largest value in five cases:

    * There are fewer than 4 trials.
    * 1/a is above 1.
    * The number of trials above the median is below 25 and below a quarter of all trials (a rare event).
    * The third figure is above 8, and there are fewer than 100 trials.
    * Few trials make up the deviations d above the mean, so that (sum d)² / sum d² is below n/8 and 32.
    """
    count = len(sample)
    deviations = np.sort(sample - np.median(sample))
    wanted = max(4, -(-count // 4))
    if count < wanted:  # no tail can be seen
        return _FARTHEST
    if deviations[-wanted] <= 0 and (deviations < 0).any():  # few different values, and many equal the median
        deviations = deviations - deviations[deviations < 0].max()
    above = deviations[-wanted - 1 :]
    above = above[above > 0]
    if len(above) < min(wanted, 25):
        return _FARTHEST
    tail = float(np.log(above[1:] / above[0]).mean())
    reach = above[-1] / -deviations[0] if deviations[0] < 0 else np.inf
    upper = np.maximum(sample - np.mean(sample), 0.0)
    if tail > 1 or (count < 100 and reach > 8) or upper.sum() ** 2 < (upper**2).sum() * min(count, 256) / 8:
        return _FARTHEST
    largest = share_of_largest(sample, above=True) * count / (2 * np.log(count))
    few = max(0.0, 100 / count - 0.5) * float(np.clip(reach - 1, 0, 1))
    return 1 + few + 0.3 * max(0.0, largest - 1) + 4 * max(0.0, tail - 0.57 - 1.5 / np.sqrt(count))


def share_of_largest(sample: np.ndarray, above: bool = False) -> float:
    """The share of one trial in the squared deviations from the mean.

    By default, this is the trial farthest from the mean. If `above` is true, it is the trial farthest above the mean.
    """
    deviations = np.asarray(sample, float) - np.mean(sample)
    farthest = deviations.max() if above else np.abs(deviations).max()
    return float(farthest**2 / (deviations**2).sum())


def least_mean(sample: np.ndarray, least: np.ndarray, level: float) -> float:
    """Lower confidence limit of a mean by betting. The limit holds for any numbers that are never below `least`.

    Suppose that each number has a mean of at most m. For each stake b in [0, 1], the capital prod (1 + b (x_i - m) /
    (m - least_i)) is at most 1 on average. The average of the capital over stakes is also at most 1 on average. So this
    average reaches 1/level with probability at most `level`. The limit is the smallest m at which the average stays
    below 1/level.

    Args:
        sample: independent numbers.
        least: for each number, a value that the number never falls below.
        level: the probability that the limit is above the mean.

    >>> least_mean(np.ones(100), np.zeros(100), 1e-3) > 0.88, least_mean(np.zeros(9), np.zeros(9), 1e-3)
    (True, 0.0)
    """
    stakes = np.geomspace(1 / len(sample), 1, 24, endpoint=False)[:, None]

    def enough(mean: float) -> bool:
        with np.errstate(divide="ignore", invalid="ignore"):
            logarithms = np.log1p(stakes * (sample - mean) / (mean - least)).sum(axis=1)
        return bool(special.logsumexp(logarithms) - np.log(len(stakes)) >= -np.log(level))

    low, high = float(np.max(least)), float(np.mean(sample))
    if high - low <= 1e-12 * max(abs(low), abs(high)):
        return low
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def holm(p_values: dict[str, float], level: float) -> dict[str, tuple[float, bool]]:
    """Holm's step-down procedure.

    For each name, the result gives the level with which the p-value of this name is compared, and whether the
    hypothesis of this name is rejected.

    The probability that any true hypothesis is rejected is at most `level`, for any dependence of the p-values.

    >>> holm({"a": 0.001, "b": 0.04}, 0.05)
    {'a': (0.025, True), 'b': (0.05, True)}
    """
    levels, stopped = {}, False
    for rank, (name, p_value) in enumerate(sorted(p_values.items(), key=lambda item: item[1])):
        allowed = level / (len(p_values) - rank)
        stopped = stopped or p_value > allowed
        levels[name] = (allowed, not stopped)
    return levels
