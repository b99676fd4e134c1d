"""How many of n random directions can be active before they can no longer be recovered from their sum.

Two methods recover the active directions. The linear readout takes a direction as active if its inner product with the
sum is above 1/2. Sparse (non-negative l1) decoding finds the non-negative codes with the smallest sum that reproduce
the sum of directions; a code is a number for each direction.
"""

from typing import Any

import numpy as np
from jaxtyping import Float, Int
from scipy import optimize, special, stats

_LEAST_VARIANCE = 1e-12


def welch_floor(n: int, d: int) -> float:
    """Return Welch's lower bound sqrt((n - d)/(d (n - 1))) on the coherence of n unit vectors in d dimensions.

    The coherence is the largest absolute inner product of two of the vectors. The bound is 0 for n <= d. For some n and
    d, no set of vectors attains the bound.
    """
    return float(np.sqrt(max(n - d, 0) / (d * (n - 1))))


def rankin_floor(n: int, d: int) -> float:
    """Return a lower bound on the largest inner product of two of n unit vectors in d dimensions.

    The bound is -1/(n - 1) for n <= d + 1, which a simplex attains, and otherwise 0. For more than 2d vectors, the
    largest inner product is above 0.
    """
    return -1.0 / (n - 1) if n <= d + 1 else 0.0


def usual_coherence(n: int, d: int) -> float:
    """Return the approximate median coherence (largest absolute inner product) of n random unit vectors in R^d.

    The approximation treats the inner products of all pairs as independent.
    """
    share = np.log(2.0) / (n * (n - 1) / 2)
    return float(np.sqrt(special.betainccinv(0.5, (d - 1) / 2, min(share, 1.0))))


def cap_tail(c: Float[np.ndarray, " k"], d: int) -> Float[np.ndarray, " k"]:
    """Return P(<u, x> > c |x|) for a random unit vector u in d dimensions and c >= 0. The probability is 0 for c >= 1.

    Args:
        c: the cosines c, an array of any numbers of at least 0.
        d: the dimension, at least 2.
    """
    return 0.5 * special.betaincc(0.5, (d - 1) / 2, np.minimum(c, 1.0) ** 2)


def linear_failures(active: Int[np.ndarray, " k"], n: int, d: int) -> Float[np.ndarray, " k"]:
    """Return the approximate probability that a linear readout fails on a sum of some of n random unit directions.

    The readout takes a direction as active if its inner product with the sum is above 1/2. The readout fails if it
    takes any inactive direction as active, or any active direction as inactive. With k active directions, the sum has a
    length of about sqrt(k). Without one of these directions, the length is about sqrt(k - 1). `cap_tail` then gives the
    probabilities of both errors for one direction.

    Args:
        active: numbers of active directions.
        n: the number of directions.
        d: the dimension of the directions.
    """
    k = np.asarray(active, float)
    with np.errstate(divide="ignore"):
        silent, missed = cap_tail(0.5 / np.sqrt(k), d), cap_tail(0.5 / np.sqrt(k - 1), d)
    return -np.expm1(-((n - k) * silent + k * missed))


def statistical_dimension(k: int, n: int) -> tuple[float, float]:
    """Return the number of random equations at which non-negative l1 decoding starts to succeed, and a variance.

    The variance determines over how many equations the decoding changes from failure to success. Consider n codes, of
    which k are positive and the others 0. The descent cone contains the changes that keep the codes non-negative and do
    not increase their sum. This cone has the statistical dimension n psi(k/n), where psi(r) = min over t of r (1 + t²)
    + (1 - r) E(g - t)_+² for a standard normal g. The first number is this statistical dimension. The variance is that
    of the intrinsic volumes of the cone, Var dist² - 2 E dist². Here dist² is the squared distance of a normal vector
    from t times the subdifferential of the objective.

    Args:
        k: the number of positive codes.
        n: the number of all codes.
    """
    share = k / n
    slope = lambda t: share * t - (1 - share) * (stats.norm.pdf(t) - t * stats.norm.sf(t))
    t: Any = optimize.brentq(slope, 0.0, 40.0) if share < 1 else 0.0
    tail, density = stats.norm.sf(t), stats.norm.pdf(t)
    square = (1 + t**2) * tail - t * density
    fourth = (t**4 + 6 * t**2 + 3) * tail - (t**3 + 5 * t) * density
    mean = k * (1 + t**2) + (n - k) * square
    return float(mean), float(2 * k * t**2 + (n - k) * (fourth - square**2 - 2 * square))


def decoding_failure(k: int, n: int, d: int) -> float:
    """Return the approximate probability that l1 decoding fails to recover k positive codes of n random directions.

    The codes are recovered from the sum of the directions in d dimensions, weighted by the codes.

    Args:
        k: the number of positive codes.
        n: the number of all codes, one for each direction.
        d: the dimension of the directions.
    """
    if n <= d:
        return 0.0  # independent directions: the sum determines the codes
    mean, variance = statistical_dimension(k, n)
    return float(stats.norm.sf((d - mean) / np.sqrt(max(variance, _LEAST_VARIANCE))))


def most_linear(n: int, d: int, failure: float) -> int:
    """Return the largest number of active random directions at which a linear readout rarely fails, or 0.

    Args:
        n: the number of directions.
        d: the dimension of the directions.
        failure: the largest probability of failure that still counts as rare.
    """
    shares = linear_failures(np.arange(1, n + 1), n, d)
    return int(np.argmax(shares > failure)) if (shares > failure).any() else n


def most_decoded(n: int, d: int, failure: float) -> int:
    """Return the largest number of active random directions at which sparse decoding rarely fails, or 0.

    Args:
        n: the number of directions.
        d: the dimension of the directions.
        failure: the largest probability of failure that still counts as rare.
    """
    low, high = 0, n + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if decoding_failure(middle, n, d) <= failure else (low, middle)
    return low
