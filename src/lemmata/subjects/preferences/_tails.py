"""Estimate the extreme value index of a sample. The index shows whether rewards are bounded or arbitrarily large."""

import numpy as np
from jaxtyping import Float
from scipy import stats

_FEWEST, _SHARE = 50, 0.1


def tail_index(rewards: Float[np.ndarray, " n"], level: float) -> tuple[float, float, float] | None:
    """Return an estimate of the extreme value index of the upper tail, and the two ends of a confidence interval.

    The result is None if the top tenth has fewer than 50 draws, or only equal rewards. The amounts by which rewards
    exceed the 90 % quantile are modelled by a generalised Pareto distribution. The index is estimated from
    probability-weighted moments. Its standard error is that of Hosking and Wallis (1987), which exists only for an
    index below 1/2. If the estimate is at least 0.45, the upper end is infinite. The standard error for the lower end
    is then 4 divided by the square root of the number of excesses. Bounded tails have an index below 0, normal and
    exponential tails have the index 0, and a tail like x^(-nu) has the index 1/nu.

    Args:
        rewards: the rewards of independent draws.
        level: the confidence level of the interval.
    """
    count = int(_SHARE * len(rewards))
    if count < _FEWEST:
        return None
    top = np.sort(rewards)[-count - 1 :]
    excess = top[1:] - top[0]
    mean = excess.mean()
    if mean <= 0:
        return None
    weighted = np.mean(np.arange(count - 1, -1, -1) / (count - 1) * excess)
    index = float(2 - mean / (mean - 2 * weighted))
    if index >= 0.45:
        low = index - 4 * stats.norm.ppf((1 + level) / 2) / np.sqrt(count)
        return index, float(low), np.inf
    spread = (1 - index) * (2 - index) ** 2 * (1 - index + 2 * index**2) / ((1 - 2 * index) * (3 - 2 * index))
    half = float(stats.norm.ppf((1 + level) / 2) * np.sqrt(spread / count))
    return index, index - half, index + half
