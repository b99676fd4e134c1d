"""The divergence of two coins, its inverses, and the moment that PAC-Bayes rests on."""

import math

import numpy as np
from jaxtyping import Float
from numpy.typing import ArrayLike
from scipy.special import rel_entr

from lemmata.answers import inside, whole
from lemmata.errors import SettingError

_HALVINGS = 60
_LARGEST = 10**7


def binary_kl(q: ArrayLike | float, p: ArrayLike | float) -> Float[np.ndarray, "*shape"]:
    """kl(q || p) = q ln(q/p) + (1 - q) ln((1 - q)/(1 - p)), elementwise; infinite where p excludes what q has.

    Args:
        q: probabilities in [0, 1].
        p: probabilities in [0, 1].

    >>> round(float(binary_kl(0.1, 0.3)), 6), float(binary_kl(0.5, 0.0))
    (0.116322, inf)
    """
    q, p = np.asarray(q, float), np.asarray(p, float)
    return np.asarray(rel_entr(q, p) + rel_entr(1 - q, 1 - p))


def kl_upper(q: ArrayLike | float, budget: ArrayLike | float) -> Float[np.ndarray, "*shape"]:
    """The largest p with kl(q || p) <= budget, elementwise: the upper end of what an observed share q allows.

    Args:
        q: observed shares in [0, 1].
        budget: at least 0; infinity gives 1.

    >>> round(float(kl_upper(0.1, 0.116322)), 4), round(float(kl_upper(0.0, math.log(2))), 4)
    (0.3, 0.5)
    """
    q, budget = np.broadcast_arrays(np.asarray(q, float), np.asarray(budget, float))
    if not (np.all((q >= 0) & (q <= 1)) and np.all(budget >= 0)):
        raise SettingError(
            "q and budget of kl_upper",
            rule="q from 0 to 1, and budgets that are not negative",
            found=f"q from {q.min():g} to {q.max():g}, and budgets from {budget.min():g}",
        )
    low, high = q.copy(), np.ones_like(q)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        inside_budget = binary_kl(q, middle) <= budget
        low, high = np.where(inside_budget, middle, low), np.where(inside_budget, high, middle)
    return high  # the end that is no smaller than the root: a bound is not rounded down


def kl_lower(q: ArrayLike | float, budget: ArrayLike | float) -> Float[np.ndarray, "*shape"]:
    """The smallest p with kl(q || p) <= budget, elementwise.

    Args:
        q: observed shares in [0, 1].
        budget: at least 0.

    >>> round(float(kl_lower(1.0, math.log(2))), 4), round(float(kl_lower(0.3, 0.0)), 4)
    (0.5, 0.3)
    """
    return np.asarray(1 - kl_upper(1 - np.asarray(q, float), budget))


def kl_moment(n: int) -> float:
    """E exp(n kl(k/n || p)) for k binomial of n and p, the same for every p strictly between 0 and 1.

    It is sum_k C(n, k) (k/n)^k (1 - k/n)^(n - k), and by an identity of Abel's n!/n^n sum_k n^k/k!, a sum of products
    (1 - 1/n)(1 - 2/n)... without large numbers. It lies between sqrt(n) and 2 sqrt(n), near sqrt(pi n/2) + 2/3.

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
    # the products are below exp(-k²/2n): beyond 10 sqrt(n) they are below 1e-21 together
    kept = np.arange(min(n, 10 * math.isqrt(n) + 10))
    return 1.0 + float(np.cumprod(1 - kept / n).sum())


def pac_bayes_budget(divergence: float, n: int, delta: float, hypotheses: int = 1) -> float:
    """(KL + ln(moment(n) hypotheses / delta)) / n, which kl(training error || true error) of a Gibbs rule respects.

    Args:
        divergence: KL(posterior || prior).
        n: independent rows that the prior has not seen.
        delta: the probability that it fails.
        hypotheses: how many priors share delta.

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
