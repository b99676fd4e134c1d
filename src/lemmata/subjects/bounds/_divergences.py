"""The Kullback-Leibler divergence of two Bernoulli distributions, its inverses, and its moment in PAC-Bayes bounds."""

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from lemmata.answers import inside, whole
from lemmata.core import array_of, real_numbers
from lemmata.errors import DataError, SettingError, ShapeError

_HALVINGS = 64
_LARGEST = 10**7
_ROUNDING = 1e-14  # several times the relative rounding error of a computed divergence
_SUBNORMAL = 16 * 5e-324  # the largest error of terms below the normal floating-point numbers
_NEAR = 0.1  # if |x| is below this number, x - ln(1 + x) is summed as a series
_BITS = 192  # number of fractional bits of the fixed-point numbers in which the moment is summed
_EPS = sys.float_info.epsilon


def binary_kl(q: ArrayLike | float, p: ArrayLike | float) -> Float[np.ndarray, "*shape"]:
    """Return kl(q || p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)), or infinity if p is 0 or 1 and q is not p.

    The relative error of the result is small for all q and p, even for tiny q and p. The error is also small if q is so
    near p that the two terms cancel.

    Args:
        q: probabilities in [0, 1].
        p: probabilities in [0, 1], with the shape of q or a shape that broadcasts with the shape of q.

    Raises:
        SettingError: for numbers outside [0, 1].
        ShapeError: for shapes that do not broadcast.
        DataError: for entries that are not numbers.

    >>> round(float(binary_kl(0.1, 0.3)), 6), float(binary_kl(0.5, 0.0))
    (0.116322, inf)
    >>> f"{float(binary_kl(0.5, 0.5 + 1e-9)):.12g}"  # 2e-18 up to the rounding of 0.5 + 1e-9
    '1.99999988687e-18'
    >>> f"{float(binary_kl(1e-20, 3e-20)):.6g}"
    '9.01388e-21'
    """
    q, p = _together({"q": (q, 1.0), "p": (p, 1.0)})
    return _moved_kl(q, p, 1 - q, 1 - p, p - q)


def _moved_kl(
    share: np.ndarray, other: ArrayLike, rest: ArrayLike, remaining: ArrayLike, moved: ArrayLike
) -> np.ndarray:
    """Return kl(share || other) for other = share + moved, rest = 1 - share and remaining = 1 - other.

    The divergence is share h(moved/share) + rest h(-moved/rest) with h(x) = x - ln(1 + x). Neither term is negative.
    Parts that are linear in `moved` cancel and are left out of both terms.
    """
    rest, moved = np.asarray(rest), np.asarray(moved)
    return np.asarray(_term(share, np.asarray(other), moved) + _term(rest, np.asarray(remaining), np.asarray(-moved)))


def _term(share: np.ndarray, other: np.ndarray, moved: np.ndarray) -> np.ndarray:
    """Return share h(moved/share), where other = share + moved and h(x) = x - ln(1 + x)."""
    near = np.abs(moved) < share / 2
    ratio = np.divide(moved, share, out=np.zeros_like(moved), where=near)
    # if share and other are far apart, the two parts cancel by less than a digit, and no quotient overflows
    return np.where(near, share * _less_logarithm(ratio), moved + rel_entr(share, other))


def _less_logarithm(x: np.ndarray) -> np.ndarray:
    """Return x - ln(1 + x) for x above -1."""
    small = np.abs(x) < _NEAR
    safe = np.where(small, x, 0.0)
    series = np.zeros_like(safe)
    for power in range(20, 1, -1):  # 0.1^19 is below eps
        series = (-1) ** power / power + safe * series
    return np.where(small, safe * safe * series, x - np.log1p(x))


def kl_upper(q: ArrayLike | float, budget: ArrayLike | float) -> Float[np.ndarray, "*shape"]:
    """Return the largest p with kl(q || p) <= budget, elementwise.

    This p is the largest probability that is compatible with the observed share q.

    The result is rounded up. The result is never below the exact p, and exceeds the exact p by at most about 1e-13 (p -
    q) + 1e-307.

    Args:
        q: observed shares in [0, 1].
        budget: the largest allowed divergence, at least 0. An infinite budget gives the result 1. The budget has the
            shape of q, or a shape that broadcasts with the shape of q.

    Raises:
        SettingError: for a q outside [0, 1], or a budget that is negative.
        ShapeError: for shapes that do not broadcast.
        DataError: for entries that are not numbers.

    >>> round(float(kl_upper(0.1, 0.116322)), 4), round(float(kl_upper(0.0, math.log(2))), 4)
    (0.3, 0.5)
    """
    q, budget = _together({"q": (q, 1.0), "budget": (budget, math.inf)})
    moved = _largest_move(q, 1 - q, budget)
    return np.where(budget > 0, np.minimum(np.nextafter(q + moved, 2.0), 1.0), q)


def kl_lower(q: ArrayLike | float, budget: ArrayLike | float) -> Float[np.ndarray, "*shape"]:
    """Return the smallest p with kl(q || p) <= budget, elementwise, rounded down.

    Args:
        q: observed shares in [0, 1].
        budget: the largest allowed divergence, at least 0. The budget has the shape of q, or a shape that broadcasts
            with the shape of q.

    Raises:
        SettingError, ShapeError, DataError: as `kl_upper`.

    >>> round(float(kl_lower(1.0, math.log(2))), 4), round(float(kl_lower(0.3, 0.0)), 4)
    (0.5, 0.3)
    """
    q, budget = _together({"q": (q, 1.0), "budget": (budget, math.inf)})
    moved = _largest_move(1 - q, q, budget)
    return np.where(budget > 0, np.maximum(np.nextafter(q - moved, -1.0), 0.0), q)


def _together(given: dict[str, tuple[Any, float]]) -> tuple[np.ndarray, ...]:
    """Return arguments as arrays of one shape.

    Each argument is given with its largest allowed value; the least is 0.
    """
    arrays = list[np.ndarray]()
    for name, (value, most) in given.items():
        array = real_numbers(name, array_of(name, value))
        rule = f"numbers from 0 to {most:g}" if math.isfinite(most) else "numbers that are not negative"
        if array.dtype.kind not in "fiub":
            raise DataError(name, found=f"entries of type {array.dtype}", rule=rule, remedy="pass plain numbers")
        array = array.astype(float)
        wrong = array[~((array >= 0) & (array <= most))]
        if wrong.size:
            raise SettingError(name, found=f"{wrong[0]:g}", rule=rule, remedy="correct or drop such entries")
        arrays.append(array)
    try:
        return tuple(np.broadcast_arrays(*arrays))
    except ValueError as error:
        raise ShapeError(
            " and ".join(given),
            found=" and ".join(f"shape {array.shape}" for array in arrays),
            rule="equal shapes, or shapes that broadcast",
            remedy="pass arrays of equal shape, or a single number for one of them",
        ) from error


def _largest_move(share: ArrayLike, rest: ArrayLike, budget: np.ndarray) -> np.ndarray:
    """Return the largest move of the share towards 1 for which the divergence is within the budget, rounded up.

    Bisection of the logarithm of the move finds even a tiny move with a small relative error. The divergence is a
    convex function of the move, and 0 without a move. Therefore the relative error of the move is at most the relative
    error of the divergence.
    """
    share, rest = np.asarray(share), np.asarray(rest)
    low, high = np.full_like(budget, 1e-308), np.maximum(rest, 1e-308)
    most = budget + _SUBNORMAL
    for _ in range(_HALVINGS):
        middle = np.minimum(np.sqrt(low) * np.sqrt(high), rest)
        within = _moved_kl(share, share + middle, rest, rest - middle, middle) <= most
        low, high = np.where(within, middle, low), np.where(within, high, middle)
    return np.asarray(np.minimum(high * (1 + _ROUNDING), rest))


def kl_moment(n: int) -> float:
    """Return the moment E exp(n kl(k/n || p)) for k ~ Binomial(n, p). The moment is the same for all p in (0, 1).

    The moment is sum_k C(n, k) (k/n)^k (1 - k/n)^(n - k). By an identity of Abel, this is n!/n^n sum_k n^k/k!. The
    terms of this sum are products (1 - 1/n)(1 - 2/n)..., so no large numbers occur. The moment is between sqrt(n) and
    2 sqrt(n), near sqrt(pi n/2) + 2/3. The result is the moment rounded up, by less than two units in the last place.

    Args:
        n: the number of trials of the binomial distribution, from 1 to 10^7.

    Raises:
        SettingError: for an n outside the allowed range.

    >>> kl_moment(1), kl_moment(2), round(kl_moment(1000) - math.sqrt(500 * math.pi), 3)
    (2.0, 2.5, 0.67)
    """
    n = whole("n", n, least=1)
    if n > _LARGEST:
        raise SettingError("n", found=n, rule=f"at most {_LARGEST}", remedy="use the upper bound 2 sqrt(n) instead")
    # fixed-point numbers, each product rounded up; the omitted terms are at most n - drawn times the last product
    unit, product, total, drawn = 1 << _BITS, 1 << _BITS, 1 << _BITS, 0
    while drawn < n and product >> (_BITS // 2):
        total += product
        drawn += 1
        product = -(-product * (n - drawn) // n)
    return _rounded_up(Fraction(total + product * (n - drawn), unit))


def pac_bayes_budget(divergence: float, n: int, delta: float, hypotheses: int = 1) -> float:
    """Return (KL + ln(moment(n) hypotheses / delta)) / n, a bound on kl(training error || error) for a Gibbs rule.

    The result is rounded up.

    Args:
        divergence: the divergence KL(posterior || prior).
        n: the number of independent rows on which the prior does not depend.
        delta: the largest probability that the bound fails.
        hypotheses: the number of priors among which delta is divided equally.

    Raises:
        SettingError: for a negative divergence, n below 1, or a delta outside (0, 1).

    >>> round(pac_bayes_budget(5.0, 1000, 0.05), 5)
    0.01169
    """
    own = math.nan if isinstance(divergence, str | bytes) or np.ndim(divergence) else float(divergence)
    if not own >= 0:
        raise SettingError("divergence", found=repr(divergence)[:40], rule="a number that is not negative")
    count, delta = whole("n", n, least=1), inside("delta", delta, 0.0, 1.0)
    moment = kl_moment(count) if count <= _LARGEST else 2 * math.sqrt(count)
    parts = math.log(moment), math.log(whole("hypotheses", hypotheses, least=1)), -math.log(delta)
    # all terms are at least 0, so each rounding error is relative to the sum
    return float((own + sum(parts)) / count * (1 + 8 * _EPS))


def _rounded_up(number: Fraction) -> float:
    near = float(number)
    return near if Fraction(near) >= number else math.nextafter(near, math.inf)
