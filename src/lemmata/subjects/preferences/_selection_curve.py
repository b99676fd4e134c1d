"""Estimate expected values at the best of m draws from a sample, without resampling, with jackknife errors.

If several draws have the largest reward, each is equally likely to be the best.
"""

import dataclasses

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln


@dataclasses.dataclass(frozen=True)
class RankedSample:
    """A sample of K draws in groups of equal rewards, from the smallest reward to the largest.

    Args:
        ends: for each group, the number of draws with at most the reward of the group.
        counts: the number of draws in each group.
        means: the mean of each column of `values` over each group.
        values: the quantities to average, one in each column. Rows are in the order of increasing rewards.
        groups: the group of each draw, in the order of increasing rewards.
    """

    ends: Int[np.ndarray, " g"]
    counts: Int[np.ndarray, " g"]
    means: Float[np.ndarray, "g c"]
    values: Float[np.ndarray, "K c"]
    groups: Int[np.ndarray, " K"]

    @property
    def size(self) -> int:
        """The number of draws."""
        return len(self.groups)


def ranked(rewards: Float[np.ndarray, " K"], columns: Float[np.ndarray, "K c"]) -> RankedSample:
    """Return the sample sorted by reward, with draws of equal rewards in groups.

    Args:
        rewards: the rewards by which the best draw is chosen.
        columns: the quantities that are evaluated at the best draw.
    """
    order = np.argsort(rewards, kind="stable")
    _, groups, counts = np.unique(rewards[order], return_inverse=True, return_counts=True)
    values, starts = columns[order], np.concatenate([[0], np.cumsum(counts)[:-1]])
    means = np.add.reduceat(values, starts, axis=0) / counts[:, None]
    return RankedSample(np.cumsum(counts), counts, means, values, groups)


def _below(ends: np.ndarray, size: int, m: int, logs: np.ndarray) -> np.ndarray:
    """Return C(F, m) / C(K, m), the probability that m draws without replacement are all among the first F of K."""
    least = np.maximum(ends, m)
    chance = np.exp(logs[least] - logs[least - m] - (logs[size] - logs[size - m]))
    return np.where(ends >= m, chance, 0.0)


def log_factorials(size: int) -> np.ndarray:
    """Return the logarithms of 0!, 1!, ..., size!.

    Args:
        size: the number whose factorial is the last.
    """
    return gammaln(np.arange(size + 1) + 1.0)


def best_of(sample: RankedSample, m: int, logs: np.ndarray) -> Float[np.ndarray, " c"]:
    """Return the mean of each column at the best draw, over all choices of m of the K draws.

    Args:
        sample: the K draws, sorted by reward.
        m: the number of draws from which the best is chosen.
        logs: the logarithms of the factorials up to K!.
    """
    chance = np.diff(_below(sample.ends, sample.size, m, logs), prepend=0.0)
    return chance @ sample.means


def without_each(sample: RankedSample, m: int, logs: np.ndarray) -> Float[np.ndarray, "K c"]:
    """Return K results of `best_of`, each without one of the K draws. All results are computed in one pass.

    Args:
        sample: the K draws, sorted by reward.
        m: the number of draws from which the best is chosen, at most K - 1.
        logs: the logarithms of the factorials up to K!.
    """
    ends, starts = sample.ends, sample.ends - sample.counts
    below = lambda count: _below(count, sample.size - 1, m, logs)[:, None]
    untouched = np.cumsum((below(ends) - below(starts)) * sample.means, axis=0)
    moved = (below(ends - 1) - below(starts - 1)) * sample.means
    moved = np.cumsum(moved[::-1], axis=0)[::-1]
    none = np.zeros_like(sample.means[:1])
    others = np.concatenate([none, untouched[:-1]]) + np.concatenate([moved[1:], none])
    left = np.maximum(sample.counts - 1, 1)[:, None]
    share = (below(ends - 1) - below(starts)) / left
    sums = sample.means * sample.counts[:, None]
    at = sample.groups
    return others[at] + share[at] * (sums[at] - sample.values)


def standard_error(left_out: Float[np.ndarray, "K *c"]) -> Float[np.ndarray, "*c"]:
    """Return the jackknife standard error.

    Args:
        left_out: K estimates, each without one of the K draws.
    """
    return np.asarray(np.sqrt(len(left_out) - 1) * left_out.std(axis=0))


def win_rate(sample: RankedSample, m: int, logs: np.ndarray) -> float:
    """Return the share of choices of m + 1 draws in which the best of the first m has a larger reward than the last.

    A tie counts as half a win.

    Args:
        sample: the K draws, sorted by reward.
        m: the number of draws from which the best is chosen, at most K - 1.
        logs: the logarithms of the factorials up to K!.
    """
    top = _below(sample.ends - 1, sample.size - 1, m, logs)
    alone = _below(sample.ends - sample.counts, sample.size - 1, m, logs)
    return float(1 - sample.counts @ (top + alone) / (2 * sample.size))
