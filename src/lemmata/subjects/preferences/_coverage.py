"""Estimate the divergence of a policy from its reference, from log probabilities of draws from the policy."""

import dataclasses

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from lemmata.answers import Condition, inside, mean_interval, positive

from ._draws import as_log_probabilities, check_same_length

_CLAIMS = (
    "preferences.covered_answers.divergence_estimators",
    "preferences.covered_answers.overestimation_by_chi_squared",
    "preferences.covered_answers.unbiased_estimates_have_other_gradients",
)
_FEWEST, _LARGEST_SHARE = 10, 0.1


@dataclasses.dataclass(frozen=True)
class Coverage:
    """The divergence of a policy from a reference, and a bound on the over-estimation by a learned reward.

    Args:
        divergence: KL(policy | reference), the mean of log policy - log reference over the draws.
        divergence_interval: the confidence interval of `divergence`.
        nonnegative: a second estimate of KL(policy | reference), by the mean of rho - 1 - log rho, where rho =
            reference/policy. This estimate is never negative.
        nonnegative_interval: the confidence interval of `nonnegative`.
        chi_squared: the chi-squared divergence, estimated by the mean of 1/rho, minus 1. An estimate below
            exp(divergence) - 1 is raised to this number, a lower bound on the chi-squared divergence.
        chi_squared_interval: the confidence interval of `chi_squared`. Its lower end is at least exp(KL) - 1 for the
            lower end of `divergence_interval`.
        effective_share: 1/(1 + chi_squared), the effective share of draws from the reference if these draws are
            weighted to represent the policy.
        seen: the mean of rho. This mean estimates the reference's probability of the answers that the policy can draw,
            which is 1 if the policy can draw every answer of the reference.
        overestimation: an upper bound on the reward's mean error under the policy minus its mean error under the
            reference: sqrt(chi_squared), at the upper end of its interval, times the error's standard deviation under
            the reference. Without `error_sd`, the standard deviation is half of `error_range`. Without both, the bound
            is in units of this standard deviation.
        vacuous: whether `overestimation` is at least the range of the error. If so, the bound gives no information.
            None if no range is given.
        conditions: the conditions for the results.
        claims: names of the claims that state the results.
    """

    divergence: float
    divergence_interval: tuple[float, float]
    nonnegative: float
    nonnegative_interval: tuple[float, float]
    chi_squared: float
    chi_squared_interval: tuple[float, float]
    effective_share: float
    seen: float
    overestimation: float
    vacuous: bool | None
    conditions: tuple[Condition, ...]
    claims: tuple[str, ...] = _CLAIMS


def coverage(
    logp: ArrayLike,
    logp_ref: ArrayLike,
    *,
    error_sd: float | None = None,
    error_range: float | None = None,
    level: float = 0.95,
) -> Coverage:
    """Estimate the divergence of a policy from its reference, from log probabilities of answers drawn from the policy.

    Both estimates of KL(policy | reference) are unbiased. A learned reward may over-estimate the policy more than it
    over-estimates the reference. The difference is at most the root of chi² times the standard deviation of the
    reward's error under the reference. The confidence intervals of all means are corrected for skewness. If a single
    draw contributes more than a tenth of the mean of policy/reference, a condition in the result reports this. Then
    chi² may be much larger than its estimate.

    Args:
        logp: log probabilities of the drawn answers under the policy, summed over tokens.
        logp_ref: log probabilities of the same answers under the reference.
        error_sd: standard deviation of the reward's error under the reference.
        error_range: the largest minus the smallest possible error of the reward. Without `error_sd`, half of this range
            bounds the standard deviation.
        level: the confidence level of the intervals.

    Raises:
        ShapeError: if the arrays have different lengths, or if there are fewer than 10 draws.
        DataError: if a number is not finite, or a log probability is above 0.
        SettingError: if `error_sd` or `error_range` is not positive, or the level is outside (0, 1).

    Example:
        >>> import numpy as np
        >>> from lemmata.subjects.preferences import coverage
        >>> policy, ref = np.log([0.6, 0.3, 0.1]), np.log([0.2, 0.3, 0.5])
        >>> drawn = np.repeat([0, 1, 2], [60, 30, 10])  # a hundred draws, as often as they should be
        >>> found = coverage(policy[drawn], ref[drawn], error_range=1.0)
        >>> round(found.divergence, 3), round(found.nonnegative, 3), round(found.chi_squared, 3), round(found.seen, 3)
        (0.498, 0.498, 1.12, 1.0)
        >>> round(found.overestimation, 3), found.vacuous
        (0.577, False)
    """
    level = inside("level", level, 0.0, 1.0)
    error_sd = None if error_sd is None else positive("error_sd", error_sd)
    error_range = None if error_range is None else positive("error_range", error_range)
    policy, ref = as_log_probabilities("logp", logp, _FEWEST), as_log_probabilities("logp_ref", logp_ref, _FEWEST)
    check_same_length(logp=policy, logp_ref=ref)
    ratio = policy - ref
    # probability ratios of whole texts may overflow; infinite results are returned as inf
    with np.errstate(over="ignore"):
        weights, inverse, terms = np.exp(ratio), np.exp(-ratio), np.expm1(-ratio) + ratio
        kl, (kl_low, kl_high) = _mean(ratio, level)
        least, floor = float(np.expm1(max(kl, 0.0))), float(np.expm1(max(kl_low, 0.0)))
    mean, (low, high) = _mean(weights, level)
    chi, low = max(mean - 1, least), max(low - 1, floor)
    high = max(high - 1, chi, low)
    nonnegative, nonnegative_interval = _mean(terms, level)
    seen, (_, seen_high) = _mean(inverse, level)
    scale = error_sd if error_sd is not None else error_range / 2 if error_range is not None else 1.0
    bound = float(np.sqrt(high) * scale)
    share = float(np.exp(ratio.max() - logsumexp(ratio)))
    return Coverage(
        divergence=kl,
        divergence_interval=(kl_low, kl_high),
        nonnegative=nonnegative,
        nonnegative_interval=nonnegative_interval,
        chi_squared=chi,
        chi_squared_interval=(low, high),
        effective_share=1 / (1 + chi),
        seen=seen,
        overestimation=bound,
        vacuous=None if error_range is None else bool(bound >= error_range),
        conditions=(
            Condition(
                "largest share of one draw in chi²",
                share,
                share <= _LARGEST_SHARE,
                "the estimate of chi² depends strongly on a single draw",
            ),
            Condition(
                "the reference's probability of the answers that the policy can draw",
                seen,
                seen_high >= 1,
                "the part of the reference that the draws miss is not estimated",
            ),
            Condition("answers are drawn from the policy", why="the means are wrong for draws from anything else"),
        ),
    )


def _mean(values: Float[np.ndarray, " n"], level: float) -> tuple[float, tuple[float, float]]:
    """Return the mean and its confidence interval. If a value is infinite, the interval is from 0 to infinity."""
    if not np.isfinite(values).all():
        return float("inf"), (0.0, float("inf"))
    return float(values.mean()), mean_interval(values, level)
