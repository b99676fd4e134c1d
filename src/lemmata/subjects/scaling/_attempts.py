"""Estimate from counts of successes how often k attempts solve a problem, even if fewer attempts were made."""

import dataclasses
import math

import numpy as np
from jaxtyping import Float
from scipy import stats
from scipy.optimize import minimize
from scipy.special import betaln

from lemmata.answers import Condition, inside, share_interval, whole
from lemmata.errors import DataError

from ._records import AbstractFinding
from ._shares import counts

UNBIASED = "scaling.attempts.unbiased_pass_at_k"
TAIL = "scaling.attempts.beta_failures"
_GRID, _ZOOMS = 61, 4
_LEAST = 5
# Of more than _SUMMED factors, the product is computed by a series. Below the logarithm _VANISHED, it is 0 in float64.
_SUMMED, _VANISHED = 1000, -750.0
# Fits that differ by at most _EQUAL in log-likelihood count as equally good. The range of pass@k among them matters if
# it is above the share _WIDE of the interval.
_EQUAL, _WIDE = 0.01, 0.25
_STRETCH = 1.08  # without it, intervals at 0.9 contained 0.868 of 500 true values (30 and 100 problems)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PassAtK(AbstractFinding):
    """Pass@k: the mean over problems of the probability that at least one of k attempts succeeds.

    Args:
        k: the number of attempts, of which at least one has to succeed.
        each: the estimate for each problem. If k is above the number n of observed attempts, the estimate comes from
            the fitted distribution.
        beta: the parameters a and b of the fitted distribution of success probabilities; None if k is at most n.
    """

    k: int
    each: Float[np.ndarray, "problems"] = dataclasses.field(repr=False)
    beta: tuple[float, float] | None


def pass_at_k(successes: object, n: object, k: int, *, level: float | int = 0.9) -> PassAtK:
    """Estimate the probability that at least one of k attempts solves a problem, averaged over problems.

    For k up to n attempts, the estimate is the unbiased 1 - C(n-c, k)/C(n, k) for c successes among n. For a single
    problem, the interval comes from the Clopper-Pearson limits of its success probability. For several problems, which
    are regarded as a sample from a larger number, the interval of the mean is binomial. The number of trials of this
    binomial distribution is chosen to give the spread of the estimates (Korn and Graubard).

    For k above n, there are no observations of so many attempts. Success probabilities are then assumed to follow
    Beta(a, b) over problems, fitted to the counts by maximum likelihood, with an interval by profile likelihood. The
    result depends on this distribution near p = 0, and n attempts show nothing about this part; a note of the result
    says so. Distributions with very different pass@k may fit the counts equally well. If so, the value is the middle of
    these pass@k, and a note says so. With one attempt for each problem, all distributions with the same mean fit
    equally well.

    On simulated problems that were not used for tuning, intervals of level 0.9 contained the mean in 90 to 94 % of
    cases (10 and 50 problems). Beyond n, if the beta distribution is right, the intervals contained the mean in 93 % of
    cases (30 and 100 problems).

    Args:
        successes: how many attempts were right, one number for each problem.
        n: how many attempts were made, one number for all problems or one for each.
        k: the number of attempts for which the probability is estimated.
        level: the confidence level of the interval.

    Raises:
        DataError: for counts that are masked, texts, dates, not whole or larger than n. The error is also raised for k
            above n if there are fewer than 5 problems, no success or no failure.
        SettingError: for a k that is not a whole number of at least 1, or a level outside (0, 1).

    >>> counted = [0, 3, 10, 1, 0, 7, 2, 0, 10, 4]
    >>> print(pass_at_k(counted, 10, 5))
    0.6171, 90 % interval 0.307 to 0.8687
    >>> print(pass_at_k(counted, 10, 100))
    0.832, 90 % interval 0.4961 to 0.9825
    - the answer is beyond the 10 attempts made and relies on the Beta(0.281, 0.416) distribution where p is near 0
    """
    k, level = whole("k", k, 1), inside("level", level, 0.0, 1.0)
    found, trials = counts("successes", successes, n)
    drawn = Condition("attempts on a problem are independent and alike")
    if k > trials.min():
        return _extrapolated(found, trials, k, level, drawn)
    each = -np.expm1(_log_all_fail(found, trials, k))
    value = float(each.mean())
    if len(each) == 1:
        low, high = share_interval(float(found[0]), float(trials[0] - found[0]), level)
        interval = _not_exact(_some(low, k), _some(high, k))
        notes = ("this probability is only for this problem",)
    else:
        interval, notes = _mean_limits(each, level), ()
    return PassAtK(
        value=value, interval=interval, level=level, claim=UNBIASED, k=k, each=each, beta=None, notes=notes,
        hypotheses=(drawn, Condition("k is at most n", k / float(trials.min()), True)),
    )  # fmt: skip


def _some(p: float, k: int) -> float:
    """Return 1 - (1 - p)^k without cancellation."""
    return -math.expm1(k * math.log1p(-p)) if p < 1 else 1.0


def _log_all_fail(found: np.ndarray, trials: np.ndarray, k: int) -> np.ndarray:
    """Return log C(n-c, k)/C(n, k); -inf if fewer than k attempts failed. Equal counts are evaluated only once.

    Logarithms of factorials would cancel: at n = 1e15, their rounding errors are larger than the answer.
    """
    pairs, places = np.unique(np.stack([found, trials]), axis=1, return_inverse=True)
    c, n = pairs
    fewer, more = np.minimum(c, k), np.maximum(c, k)
    logs = np.full(len(c), -np.inf)
    possible = (n - c >= k) & (_lowest(fewer, more, n) > _VANISHED)
    short = possible & (fewer <= _SUMMED)
    logs[short] = _log_product(fewer[short], more[short], n[short])
    long = possible & ~short
    logs[long] = _log_by_series(fewer[long], more[long], n[long])
    return logs[places.reshape(-1)]


def _lowest(fewer: np.ndarray, more: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return an upper bound of log C(n-c, k)/C(n, k) that is cheap: every factor of the product is at most 1 - M/n."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(fewer > 0, fewer * np.log1p(-more / n), 0.0)


def _log_product(fewer: np.ndarray, more: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return the sum over i below `fewer` of log(1 - M/(n - i)), where M is `more`."""
    logs = np.zeros(len(n))
    for i in range(int(fewer.max(initial=0.0))):
        used = i < fewer
        left = n[used] - i
        share = more[used] / left
        # 1 - share would cancel above 1/2; the numbers of attempts are whole, so their difference is exact
        logs[used] += np.where(share < 0.5, np.log1p(-share), np.log((left - more[used]) / left))
    return logs


def _log_by_series(fewer: np.ndarray, more: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return log C(n-c, k)/C(n, k) by Stirling's formula, whose terms are combined so that nothing cancels.

    Let M be `more` and m be `fewer`, and let a = M/n and b = m/n. The largest part of log x! is x log x - x. Add this
    part at x = n - M and x = n - m, and subtract it at x = n - M - m and x = n. The result is minus n times the sum
    over j >= 2 of D_j/(j(j-1)), where D_j = (a + b)^j - a^j - b^j. They follow
    D_(j+1) = (a + b) D_j + a^j b + a b^j.
    """
    a, b = more / n, fewer / n
    total, term, j = np.zeros(len(n)), 2 * a * b, 2
    while (term > np.finfo(float).eps * total).any():
        total += term / (j * (j - 1))
        term = (a + b) * term + a**j * b + a * b**j
        j += 1
    rest = sum(sign * (1 / (12 * x) - 1 / (360 * x**3))
               for sign, x in ((1, n - more), (1, n - fewer), (-1, n - more - fewer), (-1, n)))  # fmt: skip
    return 0.5 * np.log1p(a * b / (1 - a - b)) + rest - n * total


def _mean_limits(each: np.ndarray, level: float) -> tuple[float, float]:
    """Return binomial limits of a mean of numbers in [0, 1]. The sample size matches the variance of the numbers."""
    mean, variance = float(each.mean()), float(each.var(ddof=1))
    size = float(len(each))
    if variance > 0:
        # a yes or no has the largest variance of all numbers in [0, 1]; the ratio allows for the estimated variance
        tail = (1 - level) / 2  # (1 + level)/2 would round to 1 at the highest levels
        ratio = stats.norm.isf(tail) / stats.t.isf(tail, size - 1)
        size = max(mean * (1 - mean) / variance * size * float(ratio) ** 2, size * float(ratio) ** 2)
    return share_interval(mean * size, (1 - mean) * size, level)


def _log_likelihood(found: np.ndarray, trials: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of Beta(a, b) for the success probabilities, up to a constant.

    Equal counts are evaluated only once.
    """
    pairs, times = np.unique(np.stack([found, trials - found]), axis=1, return_counts=True)
    total = np.zeros_like(a)
    for (right, wrong), count in zip(pairs.T, times, strict=True):
        total += count * (betaln(a + right, b + wrong) - betaln(a, b))
    return total


def _extrapolated(found: np.ndarray, trials: np.ndarray, k: int, level: float, drawn: Condition) -> PassAtK:
    if len(found) < _LEAST:
        rule = f"at least {_LEAST} problems if k = {k} is above n = {trials.min():g}, to fit how difficult they are"
        raise DataError("problems", found=f"{len(found)} problems", rule=rule, remedy="ask for k of at most n")
    if found.sum() == 0 or (found == trials).all():
        rule = f"both successes and failures, because k = {k} is above n = {trials.min():g}"
        raise DataError("successes", found="no success" if found.sum() == 0 else "no failure", rule=rule)
    a, b, (low, high), (least, most) = _beta_region(found, trials, k, level)
    value, notes = _beta_pass(a, b, k), ()
    if most - least > _WIDE * (high - low):
        value = (least + most) / 2
        notes = (
            (
                f"the counts do not determine pass@k: distributions of difficulty with pass@k from {least:.3g} to "
                f"{most:.3g} fit the counts equally well, and the answer is the middle; add attempts for each problem "
                "to decide"
            ),
        )
    notes = (
        (
            f"the answer is beyond the {trials.min():g} attempts made and relies on the Beta({a:.3g}, {b:.3g}) "
            "distribution where p is near 0"
        ),
        *notes,
    )
    ends = _not_exact(min(low, float(value)), max(high, float(value)))
    return PassAtK(
        value=float(value), interval=ends, level=level, claim=TAIL, k=k,
        each=1 - np.exp(betaln(a + found, b + trials - found + k) - betaln(a + found, b + trials - found)),
        beta=(float(a), float(b)), notes=notes,
        hypotheses=(
            drawn,
            Condition("success probabilities have a beta distribution"),
            Condition("k is at most n", k / float(trials.min()), False),
        ),
    )  # fmt: skip


def _not_exact(low: float, high: float) -> tuple[float, float]:
    """Return both ends of an interval.

    If they are equal, lower the first by one rounding, as an estimate is not exact.
    """
    return (low, high) if low < high else (math.nextafter(low, 0.0), high)


def _beta_pass(a, b, k: int):
    """Return 1 - B(a, b + k)/B(a, b), where B is the beta function."""
    return -np.expm1(betaln(a, b + k) - betaln(a, b))


def _beta_region(
    found: np.ndarray, trials: np.ndarray, k: int, level: float
) -> tuple[float, float, tuple[float, float], tuple[float, float]]:
    """Return a, b, and the extremes of pass@k over the likelihood region of Beta(a, b) and among equally good fits.

    The search uses a grid of the mean's logit and the logarithm of a + b, which is refined around the region. If
    equally good fits differ much, a and b belong to the fit nearest to the middle of the extremes.
    """
    mean = np.clip(found.sum() / trials.sum(), 1e-6, 1 - 1e-6)
    centre = np.log(mean / (1 - mean))
    box = np.array([[centre - 6, centre + 6], [-7.0, 9.0]])
    threshold = (_STRETCH * stats.t.isf((1 - level) / 2, len(found) - 2)) ** 2 / 2
    for _ in range(_ZOOMS):
        logit, size = np.meshgrid(*(np.linspace(low, high, _GRID) for low, high in box), indexing="ij")
        share = 1 / (1 + np.exp(-logit))
        a, b = share * np.exp(size), (1 - share) * np.exp(size)
        likelihood = _log_likelihood(found, trials, a, b)
        inside_region = likelihood >= likelihood.max() - threshold
        steps = (box[:, 1] - box[:, 0]) / (_GRID - 1)
        ends = [(axis[inside_region].min(), axis[inside_region].max()) for axis in (logit, size)]
        box = np.array([[low - 2 * step, high + 2 * step] for (low, high), step in zip(ends, steps, strict=True)])
    values = _beta_pass(a, b, k)  # pyright: ignore[reportPossiblyUnboundVariable]  # _ZOOMS > 0
    extremes = lambda kept: (float(values[kept].min()), float(values[kept].max()))
    limits, equal = extremes(inside_region), likelihood >= likelihood.max() - _EQUAL  # pyright: ignore[reportPossiblyUnboundVariable]
    least, most = extremes(equal)
    if most - least > _WIDE * (limits[1] - limits[0]):
        middle = np.where(equal, np.abs(values - (least + most) / 2), np.inf).argmin()
        return float(a.flat[middle]), float(b.flat[middle]), limits, (least, most)  # pyright: ignore[reportPossiblyUnboundVariable]
    best = np.unravel_index(likelihood.argmax(), likelihood.shape)  # pyright: ignore[reportPossiblyUnboundVariable]
    worse = lambda logs: -float(_log_likelihood(found, trials, *np.exp(logs)[:, None])[0])
    shapes = np.exp(minimize(worse, np.log([a[best], b[best]]), method="Nelder-Mead").x)  # pyright: ignore[reportPossiblyUnboundVariable]
    return float(shapes[0]), float(shapes[1]), limits, (least, most)
