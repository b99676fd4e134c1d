"""Allocate attempts to problems: each attempt goes to the problem for which it helps most."""

import dataclasses
import heapq
import math

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaln, xlog1py

from lemmata.answers import Condition, inside, whole
from lemmata.errors import DataError, SettingError

from ._columns import floats_of
from ._records import AbstractFinding
from ._shares import counts

ADAPTIVE = "scaling.attempts.adaptive_attempts"
_PRIOR = 0.5  # both parameters of Jeffreys' prior
_LARGEST = 10**15  # whole numbers up to here are exact in float64
_STEPS = 20_000  # attempts that are allocated one by one; the others are allocated by a price


@dataclasses.dataclass(frozen=True, kw_only=True)
class AttemptPlan(AbstractFinding):
    """A number of attempts for each problem; the value is the expected number of solved problems.

    Args:
        attempts: the number of attempts for each problem.
        uniform: the expected number of solved problems if every problem gets the same number of attempts. The first
            problems then also get the remaining attempts, one each.
    """

    attempts: Int[np.ndarray, "problems"]
    uniform: float


def allocate(p: object, budget: int, *, n: object = None, level: float | int = 0.9) -> AttemptPlan:
    """Spend a budget of attempts so that the expected number of solved problems is largest.

    Attempt j on problem i only matters if the earlier attempts on this problem have failed. So attempt j adds p_i (1 -
    p_i)^(j-1) to the expected number. For each problem, this gain falls with j. So, for every budget, the best next
    attempt is the attempt with the largest gain. Pass estimated probabilities as counts: if n is given, p contains the
    successes among n attempts. The gain of the next attempt is then its posterior mean under Jeffreys' prior. This mean
    falls with every failure. The interval is for the number of solved problems, and not for the mean of this number.
    The number is below the interval with probability at most (1 - level)/2, and above the interval with probability at
    most (1 - level)/2.

    Args:
        p: for each problem, the probability that one attempt succeeds. If n is given, pass the number of successes
            instead.
        budget: the number of attempts in all.
        n: the number of attempts that were already made, one number for all problems or one for each.
        level: the probability that the number of solved problems is in the interval.

    Raises:
        DataError: for texts or masked entries, probabilities outside [0, 1], counts larger than n, or no problems.
        SettingError: for a budget that is not a whole number from 0 to 1e15, or a level outside (0, 1).

    >>> plan = allocate([0.9, 0.3, 0.05, 0.001], 20)
    >>> plan.attempts, round(plan.uniform, 2)
    (array([ 2,  7, 11,  0]), 2.06)
    >>> print(plan)
    2.339, 90 % interval 1 to 3
    """
    budget, level = whole("budget", budget, 0), inside("level", level, 0.0, 1.0)
    if budget > _LARGEST:
        raise SettingError(
            "budget", found=budget, rule=f"at most {_LARGEST:.0e} attempts", remedy="spend a smaller budget"
        )
    right, wrong = _beliefs(p, n)
    posterior = n is not None
    attempts = _by_price(right, wrong, posterior, budget) if budget > _STEPS else np.zeros(len(right), int)
    gains = _log_gain(right, wrong, posterior, attempts)
    heap = [(-float(gain), i) for i, gain in enumerate(np.asarray(gains))]
    heapq.heapify(heap)
    left = budget - int(attempts.sum())
    while left and heap[0][0] < math.inf:
        i = heap[0][1]
        attempts[i] += 1
        left -= 1
        gain = _log_gain(right[i], wrong[i], posterior, attempts[i])
        heapq.heapreplace(heap, (-float(gain), i))
    attempts[0] += left  # no attempt helps any more
    each = budget // len(right) + (np.arange(len(right)) < budget % len(right))
    counted = wrong if posterior else None
    solved = 1 - _fail(right, counted, attempts)
    notes = (
        ()
        if not posterior
        else ("probabilities are posterior means of few attempts, so the plan changes as attempts fail",)
    )
    return AttemptPlan(
        value=float(solved.sum()), interval=_solved_limits(solved, level), level=level, claim=ADAPTIVE, notes=notes,
        attempts=attempts, uniform=float((1 - _fail(right, counted, each)).sum()),
        hypotheses=(
            Condition("attempts on a problem are independent"),
            Condition("a right answer is recognised"),
        ),
    )  # fmt: skip


def _log_gain(
    right: np.ndarray | float, wrong: np.ndarray | float, posterior: bool, attempts: np.ndarray | np.integer
) -> np.ndarray | float:
    """Return the log of the probability that so many attempts fail and the next succeeds. It falls with `attempts`."""
    if posterior:
        return betaln(right + 1, wrong + attempts) - betaln(right, wrong)
    with np.errstate(divide="ignore"):
        return xlog1py(attempts, -right) + np.log(right)


def _by_price(right: np.ndarray, wrong: np.ndarray, posterior: bool, budget: int) -> Int[np.ndarray, "problems"]:
    """Allocate to every problem the attempts whose log gain is above a price, at which most of the budget is spent."""

    def bought(price: float) -> np.ndarray:
        low, high = np.zeros(len(right), int), np.full(len(right), budget + 1)
        while (high - low > 1).any():
            middle = (low + high) // 2
            worth = (middle > 0) & (_log_gain(right, wrong, posterior, np.maximum(middle - 1, 0)) > price)
            low, high = np.where(worth, middle, low), np.where(worth, high, middle)
        return low

    last = _log_gain(right, wrong, posterior, np.full(len(right), budget))
    low, high = float(np.min(last, where=np.isfinite(last), initial=-1.0)), 1.0
    found = bought(high)
    while budget - found.sum() > _STEPS and low < (middle := (low + high) / 2) < high:
        now = bought(middle)
        if now.sum() <= budget:
            found, high = now, middle
        else:
            low = middle
    return found


def _beliefs(p: object, n: object) -> tuple[np.ndarray, np.ndarray]:
    """Return the given probabilities and zeros, or for counts the two parameters of each problem's beta posterior."""
    if n is not None:
        successes, trials = counts("successes", p, n)
        return successes + _PRIOR, trials - successes + _PRIOR
    known = np.atleast_1d(floats_of("p", p, "one probability for each problem"))
    if known.ndim != 1 or len(known) == 0:
        raise DataError(
            "p",
            found=f"shape {known.shape}",
            rule="one probability for each problem, and at least one problem",
            remedy="pass one list of numbers, for example p.reshape(-1)",
        )
    wrong = ~((known >= 0) & (known <= 1))
    if wrong.any():
        row = int(wrong.argmax())
        raise DataError(
            f"p of problem {row + 1}",
            found=f"{known[row]:g}",
            rule="a number between 0 and 1",
            remedy="pass n if these are counts",
        )
    return known.copy(), np.zeros(len(known))


def _fail(right: np.ndarray, wrong: np.ndarray | None, attempts: np.ndarray) -> np.ndarray:
    """Return the probability that all m attempts fail: (1-p)^m, or its posterior mean."""
    if wrong is None:
        return (1 - right) ** attempts
    return np.exp(betaln(right, wrong + attempts) - betaln(right, wrong))


def _solved_limits(solved: Float[np.ndarray, "problems"], level: float) -> tuple[float, float]:
    """Return the two quantiles at `level` of the number of solved problems, from each problem's probability."""
    law = np.ones(1)
    for chance in solved:
        law = np.convolve(law, [1 - chance, chance])
    below = np.cumsum(law)
    tail = (1 - level) / 2
    low, high = np.searchsorted(below, tail, side="right"), np.searchsorted(below, 1 - tail - 1e-12)
    return float(low), float(min(high, len(solved)))
