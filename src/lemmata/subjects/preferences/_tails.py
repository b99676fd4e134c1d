"""The upper tail of a sample: whether rewards have exceptions of any size."""

import numpy as np
from jaxtyping import Float
from scipy import stats

_FEWEST, _SHARE = 50, 0.1


def tail_index(rewards: Float[np.ndarray, " n"], level: float) -> tuple[float, float, float] | None:
    """The extreme value index of the upper tail with its interval. None with fewer than 50 draws in the top tenth.

    Excesses over the 90 % point are modelled as generalised Pareto. The index comes from probability-weighted moments.
    Its standard error is that of Hosking and Wallis (1987), which exists for an index below 1/2. Above 1/2, the
    interval is infinite upwards. Bounded tails have an index below 0, normal and exponential ones 0, a tail like
    x^(-nu) has 1/nu.

    Args:
        rewards: independent draws.
        level: confidence of the interval.
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
