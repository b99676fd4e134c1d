"""Evaluate the choice of the best of n answers by a reward: the gain, the divergence and the effect on a gold reward.

The reference is the distribution of the answers. The gold reward is the true value of an answer.
"""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Float, Int
from numpy.typing import ArrayLike
from scipy import stats

from lemmata.answers import Condition, inside
from lemmata.core import whole
from lemmata.errors import DataError, SettingError

from ._draws import as_log_probabilities, as_vector, check_same_length
from ._order_statistics import best_of_n_law
from ._selection_curve import (
    RankedSample,
    best_of,
    log_factorials,
    ranked,
    standard_error,
    win_rate,
    without_each,
)
from ._tails import tail_index

_CLAIMS = (
    "preferences.selection.law_of_best_of_n",
    "preferences.selection.divergence_of_best_of_n",
    "preferences.selection.win_rate_of_best_of_n",
    "preferences.goodhart.heavy_tails_take_gold",
)
_DRAWS_EACH = 20


@dataclasses.dataclass(frozen=True, eq=False)
class BestOfN:
    """Results for the best of n draws, with one entry for each n from 1 to the largest n.

    Args:
        n: the numbers of draws 1, 2, ....
        reward: the expected reward of the best of n.
        reward_interval: the confidence interval of `reward` at each n. The two ends are equal if `logp` was given,
            because the reward is then exact.
        divergence: KL(best of n | reference), where the reference is the distribution of a single draw. None if `logp`
            was not given; then only the bound is available.
        divergence_bound: log n - (n - 1)/n, an upper bound on the divergence. The bound equals the divergence if two
            draws never have the same reward.
        vacuous: whether `divergence_bound` is at least log(1/p), where p is the probability of the best answer. The
            divergence never exceeds log(1/p), so a vacuous bound gives no information. Always False for n = 1 and
            without `logp`.
        win_rate: the probability that the best of n has a larger reward than one further draw. A tie counts as half a
            win.
        win_rate_bound: n/(n + 1), an upper bound on `win_rate`.
        gold: the expected gold reward of the best of n. None if no gold rewards were given.
        gold_interval: the confidence interval of `gold` at each n.
        peak: the n at which the gold reward is largest.
        peak_interval: the least and the largest n at which the gold reward is not significantly below the gold reward
            at the peak.
        falls: whether the gold reward at the last n is significantly below the gold reward at the peak. If so, the
            reward by which answers are chosen was optimised too far.
        tail: the extreme value index of the rewards, and the two ends of its confidence interval. An index above 0
            means a heavy tail. None if the index is unknown.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    n: Int[np.ndarray, " N"]
    reward: Float[np.ndarray, " N"]
    reward_interval: Float[np.ndarray, "N 2"]
    divergence: Float[np.ndarray, " N"] | None
    divergence_bound: Float[np.ndarray, " N"]
    vacuous: Bool[np.ndarray, " N"]
    win_rate: Float[np.ndarray, " N"]
    win_rate_bound: Float[np.ndarray, " N"]
    gold: Float[np.ndarray, " N"] | None
    gold_interval: Float[np.ndarray, "N 2"] | None
    peak: int | None
    peak_interval: tuple[int, int] | None
    falls: bool | None
    tail: tuple[float, float, float] | None
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS


def best_of_n(
    rewards: ArrayLike,
    n: int,
    gold: ArrayLike | None = None,
    logp: ArrayLike | None = None,
    *,
    level: float = 0.95,
) -> BestOfN:
    """Evaluate the choice of the best of m draws by a reward, for every m from 1 to n.

    If `logp` is given, the rewards belong to a list of all answers with these log probabilities. Then all results are
    exact. Let F_i be the probability that the reward of one draw is at most the i-th smallest reward. The best of n has
    the i-th smallest reward with probability F_i^n - F_(i-1)^n. Among answers with equal rewards, the choice is random.

    Without `logp`, the rewards belong to independent draws from one reference. Either all draws answer the same prompt,
    or each draw answers its own random prompt. The result is an average over all choices of n of these draws, computed
    from order statistics. This average is unbiased and does not need resampling. The intervals use jackknife standard
    errors and Student's quantiles. Gold rewards must be independent of the choice. Take gold rewards from judges other
    than the reward model, and not from its training data.

    Args:
        rewards: the rewards by which the best answer is chosen, one for each answer.
        n: the largest number of draws, at least 1. Without `logp`, n must be below the number of rewards.
        gold: the true values of the answers, one for each reward.
        logp: log probabilities of the answers under the reference, if `rewards` lists all answers.
        level: the confidence level of the intervals.

    Raises:
        SettingError: if n is below 1, n is not below the number of draws, or the level is outside (0, 1).
        ShapeError: if arrays have different lengths.
        DataError: if a number is not finite, a log probability is above 0, or the probabilities do not add up to 1.

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.preferences import best_of_n
        >>> found = best_of_n([0.0, 1.0, 2.0], 4, gold=[0.0, 2.0, 1.0], logp=np.log([0.6, 0.3, 0.1]))
        >>> found.reward.round(3).tolist(), found.gold.round(3).tolist(), found.peak
        ([0.5, 0.83, 1.055, 1.214], [0.7, 1.09, 1.297, 1.397], 4)
        >>> found.divergence.round(3).tolist(), found.divergence_bound.round(3).tolist()
        ([0.0, 0.121, 0.325, 0.522], [0.0, 0.193, 0.432, 0.636])
    """
    level = inside("level", level, 0.0, 1.0)
    count = whole("n", n)
    if count < 1:
        raise SettingError("n", found=count, rule="at least 1 draw")
    values = as_vector("rewards", rewards)
    gold_values = None if gold is None else as_vector("gold", gold)
    logs = None if logp is None else as_log_probabilities("logp", logp)
    check_same_length(rewards=values, gold=gold_values, logp=logs)
    columns = values[:, None] if gold_values is None else np.stack([values, gold_values], axis=1)
    if logs is not None:
        return _of_list(values, columns, logs, count)
    if count >= len(values):
        rule = f"a whole number below {len(values)}, the number of draws"
        raise SettingError(
            "n", found=count, rule=rule, remedy="draw more answers, or pass logp if the list is complete"
        )
    return _of_sample(values, columns, count, level)


def _bounds(counts: np.ndarray, log_best: float) -> dict[str, Any]:
    bound = np.log(counts) - (counts - 1) / counts
    return {
        "n": counts,
        "divergence_bound": bound,
        "vacuous": (bound >= -log_best) & (counts > 1),
        "win_rate_bound": counts / (counts + 1),
    }


def _of_list(rewards: np.ndarray, columns: np.ndarray, logp: np.ndarray, n: int) -> BestOfN:
    """Return exact results for a complete list of answers, by sums over groups of equal rewards. Within a group,
    answers keep their relative probabilities.
    """
    total = float(np.exp(logp).sum())
    if abs(total - 1) > 1e-6:
        remedy = "if the list is complete, pass logp - scipy.special.logsumexp(logp); if it is a sample, leave logp out"
        raise DataError(
            "logp",
            found=f"probabilities that add up to {total:.6g}",
            rule="probabilities that add up to 1",
            remedy=remedy,
        )
    chance = np.exp(logp) / total
    _, groups = np.unique(rewards, return_inverse=True)
    mass = np.bincount(groups, chance)
    log_mass = np.full(len(mass), -np.inf)
    np.logaddexp.at(log_mass, groups, logp - np.log(total))  # finite even if the probability underflows
    shares = chance / mass[groups] if mass.all() else np.exp(logp - np.log(total) - log_mass[groups])
    means = np.stack([np.bincount(groups, shares * column) for column in columns.T], axis=1)
    counts = np.arange(1, n + 1)
    with jax.enable_x64(True):
        logs = jnp.asarray(log_mass)
        log_laws = np.asarray(jax.lax.map(lambda m: best_of_n_law(logs, m), jnp.asarray(counts, float)))
    laws, curves = np.exp(log_laws), np.exp(log_laws) @ means
    divergence = np.sum(np.where(laws > 0, laws * (np.maximum(log_laws, -1e300) - log_mass), 0.0), axis=1)
    worse = np.cumsum(mass) - mass
    gold, exact = None if columns.shape[1] == 1 else curves[:, 1], lambda curve: np.stack([curve, curve], axis=1)
    peak = None if gold is None else int(np.argmax(gold)) + 1
    ties = len(rewards) - len(mass)
    why = "answers with equal rewards make the divergence smaller; their order is random"
    return BestOfN(
        **_bounds(counts, float(log_mass[-1])),
        reward=curves[:, 0],
        reward_interval=exact(curves[:, 0]),
        divergence=np.maximum(divergence, 0.0),
        win_rate=laws @ (worse + mass / 2),
        gold=gold,
        gold_interval=None if gold is None else exact(gold),
        peak=peak,
        peak_interval=None if peak is None else (peak, peak),
        falls=None if gold is None else bool(gold[-1] < gold.max()),
        tail=None,
        conditions=(Condition("answers whose reward equals another answer's", float(ties), ties == 0, why),),
    )


def _of_sample(rewards: np.ndarray, columns: np.ndarray, n: int, level: float) -> BestOfN:
    size, counts = len(rewards), np.arange(1, n + 1)
    # divide by a power of 2 near the largest value, because squares of huge or tiny values overflow or underflow
    powers = np.frexp(np.abs(columns).max(axis=0))[1]
    columns = np.ldexp(columns, -powers)
    sample, logs = ranked(rewards, columns), log_factorials(size)
    quantile = float(stats.t.ppf((1 + level) / 2, size - 1))
    curves = np.stack([best_of(sample, int(m), logs) for m in counts])
    peak, lowest, falls = None, None, None
    if columns.shape[1] == 1:
        errors = np.stack([standard_error(without_each(sample, int(m), logs)) for m in counts])
    else:
        peak = int(np.argmax(curves[:, 1])) + 1
        errors, behind = _errors(sample, counts, peak, logs)
        shown = curves[peak - 1, 1] - curves[:, 1] > quantile * behind
        near = counts[~shown]
        lowest, falls = (int(near.min()), int(near.max())), bool(shown[-1])
    intervals = np.stack([curves - quantile * errors, curves + quantile * errors], axis=-1)
    curves, intervals = np.ldexp(curves, powers), np.ldexp(intervals, powers[:, None])
    return BestOfN(
        **_bounds(counts, -np.inf),
        reward=curves[:, 0],
        reward_interval=intervals[:, 0],
        divergence=None,
        win_rate=np.array([win_rate(sample, int(m), logs) for m in counts]),
        gold=None if peak is None else curves[:, 1],
        gold_interval=None if peak is None else intervals[:, 1],
        peak=peak,
        peak_interval=lowest,
        falls=falls,
        tail=tail_index(columns[:, 0], level),
        conditions=_conditions(size, n, size - len(sample.counts)),
    )


def _errors(sample: RankedSample, counts: np.ndarray, peak: int, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard errors of all curves. Also return the standard errors of the gold reward at the peak minus
    the gold reward at each n.
    """
    highest = without_each(sample, peak, logs)[:, 1]
    errors, behind = [], []
    for m in counts:
        left_out = without_each(sample, int(m), logs)
        errors.append(standard_error(left_out))
        behind.append(standard_error(highest - left_out[:, 1]))
    return np.stack(errors), np.array(behind)


def _conditions(size: int, n: int, ties: int) -> tuple[Condition, ...]:
    each = size / n
    return (
        Condition(
            "draws for each best of n",
            each,
            each >= _DRAWS_EACH,
            "the intervals are too short if there are fewer than 20",
        ),
        Condition(
            "draws whose reward equals another draw's",
            float(ties),
            ties == 0,
            "equal rewards make the divergence smaller",
        ),
        Condition("draws are independent and come from one reference", why="all intervals"),
    )
