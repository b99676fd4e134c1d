"""Give attempts to the problems for which the next attempt helps most."""

import dataclasses
import heapq

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaln

from lemmata.answers import Condition, inside, whole
from lemmata.errors import DataError

from ._records import AbstractFinding
from ._shares import counts

ADAPTIVE = "scaling.attempts.adaptive_attempts"
_PRIOR = 0.5  # Jeffreys'


@dataclasses.dataclass(frozen=True, kw_only=True)
class AttemptPlan(AbstractFinding):
    """A number of attempts for each problem; the value is the expected number of solved problems.

    Args:
        attempts: the number of attempts for each problem.
        uniform: the expected number of solved problems if every problem gets the same number of attempts, except that
            the first problems get the remaining attempts, one each.
    """

    attempts: Int[np.ndarray, "problems"]
    uniform: float


def allocate(p: object, budget: int, *, n: object = None, level: float | int = 0.9) -> AttemptPlan:
    """Spend a budget of attempts so that the expected number of solved problems is largest.

    Attempt j on problem i only matters if the earlier attempts on this problem have failed. So attempt j adds p_i (1 -
    p_i)^(j-1) to the expected number. For each problem, this gain falls with j. So, for every budget, it is best to
    make the attempt with the largest gain next. Pass estimated probabilities as counts: if n is given, p contains the
    successes among n attempts. The gain of the next attempt is then its posterior mean under Jeffreys' prior. This mean
    falls with every failure. The interval is for the number of solved problems, and not for the mean of this number.
    The number is below the interval with probability at most (1 - level)/2, and above it with at most the same
    probability.

    Args:
        p: for each problem, the probability that one attempt succeeds. If n is given, pass the number of successes
            instead.
        budget: the number of attempts in all.
        n: the number of attempts that were made, one number for all problems or one for each.
        level: the probability of the interval.

    Raises:
        DataError: for probabilities outside [0, 1], counts larger than n, or no problems.
        SettingError: for a budget that is not a whole number of at least 0, or a level outside (0, 1).

    >>> plan = allocate([0.9, 0.3, 0.05, 0.001], 20)
    >>> plan.attempts, round(plan.uniform, 2)
    (array([ 2,  7, 11,  0]), 2.06)
    >>> print(plan)
    2.339, 90 % interval 1 to 3
    """
    budget, level = whole("budget", budget, 0), inside("level", level, 0.0, 1.0)
    right, wrong = _beliefs(p, n)
    fail = np.ones(len(right))  # that every attempt so far fails
    chance = right / (right + wrong) if n is not None else right
    attempts = np.zeros(len(right), int)
    heap = [(-float(gain), i) for i, gain in enumerate(chance)]
    heapq.heapify(heap)
    for _ in range(budget):
        _, i = heapq.heappop(heap)
        attempts[i] += 1
        fail[i] *= 1 - chance[i]
        if n is not None:
            chance[i] = right[i] / (right[i] + wrong[i] + attempts[i])
        heapq.heappush(heap, (-float(fail[i] * chance[i]), i))
    each = budget // len(right) + (np.arange(len(right)) < budget % len(right))
    solved = 1 - fail
    notes = (
        ()
        if n is None
        else ("probabilities are posterior means of few attempts, so the plan changes as attempts fail",)
    )
    return AttemptPlan(
        value=float(solved.sum()), interval=_solved_limits(solved, level), level=level, claim=ADAPTIVE, notes=notes,
        attempts=attempts, uniform=float((1 - _fail(right, wrong if n is not None else None, each)).sum()),
        hypotheses=(
            Condition("attempts on a problem are independent"),
            Condition("a right answer is recognised"),
        ),
    )  # fmt: skip


def _beliefs(p: object, n: object) -> tuple[np.ndarray, np.ndarray]:
    """Return probabilities and zeros, or the two parameters of each problem's beta posterior."""
    if n is not None:
        successes, trials = counts("successes", p, n)
        return successes + _PRIOR, trials - successes + _PRIOR
    try:
        known = np.atleast_1d(np.asarray(p, float))
    except (TypeError, ValueError) as error:
        raise DataError(
            "p",
            rule="one probability for each problem",
            found="values that are not numbers",
            remedy="pass a list of numbers",
        ) from error
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
    """Return quantiles of the number of successes in independent trials with different probabilities."""
    law = np.ones(1)
    for chance in solved:
        law = np.convolve(law, [1 - chance, chance])
    below = np.cumsum(law)
    tail = (1 - level) / 2
    low, high = np.searchsorted(below, tail, side="right"), np.searchsorted(below, 1 - tail - 1e-12)
    return float(low), float(min(high, len(solved)))
