"""The divergence between two biased coins, its inverses, and the moment in PAC-Bayes bounds."""

import math

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from lemmata.answers import inside, whole
from lemmata.errors import SettingError

_HALVINGS = 64
_LARGEST = 10**7
_ROUNDING = 1e-14  # relative, of a computed divergence, several times over
_NEAR = 0.03  # if x - ln(1 + x) is summed as a series


def binary_kl(q: ArrayLike | float, p: ArrayLike | float) -> Float[np.ndarray, "*shape"]:
    """Return kl(q || p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)), or infinity if p is 0 or 1 and q differs.

    The result has a small relative error, even if p is near q and the two terms cancel.

    Args:
        q: probabilities in [0, 1].
        p: probabilities in [0, 1].

    >>> round(float(binary_kl(0.1, 0.3)), 6), float(binary_kl(0.5, 0.0))
    (0.116322, inf)
    >>> f"{float(binary_kl(0.5, 0.5 + 1e-9)):.12g}"  # 2e-18 up to the rounding of 0.5 + 1e-9
    '1.99999988687e-18'
    """
    q, p = np.broadcast_arrays(np.asarray(q, float), np.asarray(p, float))
    far = np.asarray(rel_entr(q, p) + rel_entr(1 - q, 1 - p))
    moved = p - q
    near = (np.abs(moved) < q / 2) & (np.abs(moved) < (1 - q) / 2)
    return np.where(
        near, _moved_kl(np.where(near, q, 0.5), np.where(near, 1 - q, 0.5), np.where(near, moved, 0.0)), far
    )


def _moved_kl(share: ArrayLike, rest: ArrayLike, moved: ArrayLike) -> np.ndarray:
    """Return kl(q || q + moved) for q = share and 1 - q = rest, from nonnegative terms.

    The divergence is q h(moved/q) + (1 - q) h(-moved/(1 - q)) with h(x) = x - ln(1 + x). Here the terms that are
    linear in `moved` have cancelled.
    """
    share, rest, moved = np.asarray(share), np.asarray(rest), np.asarray(moved)
    first = np.divide(moved, share, out=np.zeros_like(moved), where=share > 0)
    second = np.divide(-moved, rest, out=np.zeros_like(moved), where=rest > 0)
    found = np.where(share > 0, share * _less_logarithm(first), moved)
    return np.asarray(found + np.where(rest > 0, rest * _less_logarithm(second), -moved))


def _less_logarithm(x: np.ndarray) -> np.ndarray:
    """Return x - ln(1 + x) for x >= -1, which is infinite at -1."""
    small = np.abs(x) < _NEAR
    safe = np.where(small, x, 0.0)
    series = np.zeros_like(safe)
    for power in range(12, 1, -1):  # 0.03^11 is below eps
        series = (-1) ** power / power + safe * series
    with np.errstate(divide="ignore"):
        return np.where(small, safe * safe * series, x - np.log1p(np.maximum(x, -1.0)))


def kl_upper(q: ArrayLike | float, budget: ArrayLike | float) -> Float[np.ndarray, "*shape"]:
    """Return the largest p with kl(q || p) <= budget, elementwise. This p is the largest value compatible with the
    observed share q.

    The result is rounded up: it is never below the exact p, and above it by at most about 1e-13 (p - q).

    Args:
        q: observed shares in [0, 1].
        budget: the largest allowed divergence, at least 0; infinity gives 1.

    >>> round(float(kl_upper(0.1, 0.116322)), 4), round(float(kl_upper(0.0, math.log(2))), 4)
    (0.3, 0.5)
    """
    q, budget = _checked("kl_upper", q, budget)
    moved = _largest_move(q, 1 - q, budget)
    return np.where(budget > 0, np.minimum(np.nextafter(q + moved, 2.0), 1.0), q)


def kl_lower(q: ArrayLike | float, budget: ArrayLike | float) -> Float[np.ndarray, "*shape"]:
    """Return the smallest p with kl(q || p) <= budget, elementwise, rounded down.

    Args:
        q: observed shares in [0, 1].
        budget: the largest allowed divergence, at least 0.

    >>> round(float(kl_lower(1.0, math.log(2))), 4), round(float(kl_lower(0.3, 0.0)), 4)
    (0.5, 0.3)
    """
    q, budget = _checked("kl_lower", q, budget)
    moved = _largest_move(1 - q, q, budget)
    return np.where(budget > 0, np.maximum(np.nextafter(q - moved, -1.0), 0.0), q)


def _checked(name: str, q: ArrayLike | float, budget: ArrayLike | float) -> tuple[np.ndarray, np.ndarray]:
    q, budget = np.broadcast_arrays(np.asarray(q, float), np.asarray(budget, float))
    if not (np.all((q >= 0) & (q <= 1)) and np.all(budget >= 0)):
        raise SettingError(
            f"q and budget of {name}",
            rule="q from 0 to 1, and budgets that are not negative",
            found=f"q from {q.min():g} to {q.max():g}, and budgets from {budget.min():g}",
        )
    return q, budget


def _largest_move(share: ArrayLike, rest: ArrayLike, budget: np.ndarray) -> np.ndarray:
    """Return the largest move of the share towards 1 whose divergence is within the budget, rounded up.

    Bisection of the logarithm finds even a tiny move with a small relative error. The divergence is convex and 0
    without a move. So the relative error of the divergence is at least the relative error of the move.
    """
    low, high = np.full_like(budget, 1e-308), np.maximum(rest, 1e-308)
    for _ in range(_HALVINGS):
        middle = np.sqrt(low) * np.sqrt(high)
        within = _moved_kl(share, rest, middle) <= budget
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return np.asarray(np.minimum(high * (1 + _ROUNDING), rest))


def kl_moment(n: int) -> float:
    """Return E exp(n kl(k/n || p)) for a binomial k of n draws; it is equal for every p strictly between 0 and 1.

    The moment is sum_k C(n, k) (k/n)^k (1 - k/n)^(n - k). By an identity of Abel, this is n!/n^n sum_k n^k/k!, a sum
    of products (1 - 1/n)(1 - 2/n)... without large numbers. The moment is between sqrt(n) and 2 sqrt(n), near sqrt(pi
    n/2) + 2/3.

    Args:
        n: the number of draws, from 1 to 10^7.

    Raises:
        SettingError: for an n outside the allowed range.

    >>> kl_moment(1), kl_moment(2), round(kl_moment(1000) - math.sqrt(500 * math.pi), 3)
    (2.0, 2.5, 0.67)
    """
    n = whole("n", n, least=1)
    if n > _LARGEST:
        raise SettingError("n", found=n, rule=f"at most {_LARGEST}", remedy="use the upper bound 2 sqrt(n) instead")
    # the products are below exp(-k²/2n); beyond 10 sqrt(n), their sum is below 1e-21
    kept = np.arange(min(n, 10 * math.isqrt(n) + 10))
    return 1.0 + float(np.cumprod(1 - kept / n).sum())


def pac_bayes_budget(divergence: float, n: int, delta: float, hypotheses: int = 1) -> float:
    """Return (KL + ln(moment(n) hypotheses / delta)) / n, a bound on kl(training error || error) of a Gibbs rule.

    Args:
        divergence: the divergence KL(posterior || prior).
        n: the number of independent rows that the prior has not seen.
        delta: the probability that the bound fails.
        hypotheses: the number of priors that share delta.

    Raises:
        SettingError: for a negative divergence, n below 1, or a delta outside (0, 1).

    >>> round(pac_bayes_budget(5.0, 1000, 0.05), 5)
    0.01169
    """
    if not divergence >= 0:
        raise SettingError("divergence", found=f"{divergence:g}", rule="a number that is not negative")
    count, delta = whole("n", n, least=1), inside("delta", delta, 0.0, 1.0)
    moment = kl_moment(count) if count <= _LARGEST else 2 * math.sqrt(count)
    return (divergence + math.log(moment * whole("hypotheses", hypotheses, least=1) / delta)) / count
