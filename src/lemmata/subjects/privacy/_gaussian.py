"""The exact privacy curve delta(eps) of normal noise, and its inverses: the eps for a delta, and the noise for both."""

import math
import sys
from collections.abc import Callable
from fractions import Fraction

from scipy import optimize, special

from lemmata.answers import inside, not_negative, positive
from lemmata.errors import SettingError

_ROOT_TWO, _ROOT_TWO_PI = math.sqrt(2), math.sqrt(2 * math.pi)
_FAR = 39.0  # exp(-39²/2) is 0 in double precision
_NEAR = 1e-3
_UNIT = 8 * sys.float_info.epsilon  # the largest relative error of a term of the curve
_TINY = 1e-300
_LEAST = 5e-324


def gaussian_delta(eps: float, sensitivity: float, sigma: float) -> float:
    """Return the least delta for which a statistic with noise N(0, sigma² I) is (eps, delta)-private.

    Let mu = sensitivity/sigma, and let Phi be the normal distribution function. Then (Balle and Wang, 2018)

        delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu),

    which is exact for one release. T releases with the same noise are equivalent to one release with sqrt(T) times the
    sensitivity. The two terms are computed together, as one density times a difference of Mills ratios (1 - Phi)/phi,
    where phi is the normal density. So nothing overflows or cancels for a delta above 1e-300. The answer is rounded up
    by a bound on its relative rounding error, which is below 1e-9, and below 1e-11 for mu above 0.01. A delta below
    1e-300 is rounded up to 1e-300 or to 5e-324, the smallest positive number. So the answer is never 0.

    Args:
        eps: the eps of (eps, delta)-privacy, at least 0.
        sensitivity: the largest Euclidean distance of the statistic between neighbouring data sets.
        sigma: the standard deviation of the noise in each coordinate.

    Raises:
        SettingError: if eps is not a finite number of at least 0, or another value is not a finite number above 0.

    Example:
        >>> round(gaussian_delta(1.0, 1.0, 1.0), 4), round(gaussian_delta(1000.0, 50.0, 1.0), 4)
        (0.1269, 1.0)
        >>> f"{gaussian_delta(1.0, 1.0, 20.0):.3g}"
        '1.13e-91'
    """
    eps, ratio = not_negative("eps", eps), _ratio(sensitivity, sigma)
    return curve_above(eps, ratio)


def gaussian_eps(delta: float, sensitivity: float, sigma: float) -> float:
    """Return the least eps for which noise N(0, sigma² I) is (eps, delta)-private, the inverse of `gaussian_delta`.

    The result is 0 if delta is at least the total variation 2 Phi(mu/2) - 1, where mu = sensitivity/sigma and Phi is
    the normal distribution function. Otherwise the result is rounded up, so the release is (eps, delta)-private at the
    returned eps.

    Args:
        delta: the delta of (eps, delta)-privacy, inside (0, 1).
        sensitivity: the largest Euclidean distance of the statistic between neighbouring data sets.
        sigma: the standard deviation of the noise in each coordinate.

    Raises:
        SettingError: for a delta outside (0, 1), and for any other argument that is not a finite number above 0.

    Example:
        >>> round(gaussian_eps(1e-5, 1.0, 1.0), 4), gaussian_eps(0.5, 1.0, 1.0)
        (4.3772, 0.0)
    """
    delta, ratio = inside("delta", delta, 0.0, 1.0), _ratio(sensitivity, sigma)
    return budget(delta, ratio)


def gaussian_sigma(eps: float, delta: float, sensitivity: float = 1.0) -> float:
    """Return the least sigma of noise N(0, sigma² I) that makes a release (eps, delta)-private, rounded up.

    Args:
        eps: the eps of (eps, delta)-privacy, at least 0.
        delta: the delta of (eps, delta)-privacy, inside (0, 1).
        sensitivity: the largest Euclidean distance of the statistic between neighbouring data sets.

    Raises:
        SettingError: for a delta outside (0, 1), an eps that is not a finite number of at least 0, and a sensitivity
            that is not a finite number above 0. The error is also raised if the needed sigma is beyond double
            precision.

    Example:
        >>> round(gaussian_sigma(1.0, 1e-5), 4), round(gaussian_sigma(100.0, 1e-5), 4)
        (3.7306, 0.0947)
    """
    eps, delta = not_negative("eps", eps), inside("delta", delta, 0.0, 1.0)
    sigma = math.nextafter(positive("sensitivity", sensitivity) / ratio_for(eps, delta), math.inf)
    if math.isinf(sigma):
        raise SettingError(
            "sensitivity",
            found=f"{sensitivity:g}, for which sigma would have to be above 1.8e308",
            rule="a sigma of double precision",
            remedy="choose a larger unit for the statistic",
        )
    return sigma


def _ratio(sensitivity: float, sigma: float) -> float:
    """Return mu = sensitivity/sigma, rounded up, because a larger mu is less private."""
    sensitivity, sigma = positive("sensitivity", sensitivity), positive("sigma", sigma)
    ratio = max(sensitivity / sigma, _LEAST)
    if math.isinf(ratio):
        return ratio
    return ratio if Fraction(ratio) * Fraction(sigma) >= Fraction(sensitivity) else math.nextafter(ratio, math.inf)


def _start(eps: float, ratio: float) -> float:
    """Return s = eps/mu - mu/2, rounded only once: in the normal density, a rounding error of s is multiplied by s."""
    near = eps / ratio
    if not near < 1e9 or near < 1e-9:  # the density is 0, or eps/mu does not matter
        return near - ratio / 2
    return float(Fraction(eps) / Fraction(ratio) - Fraction(ratio) / 2)


def curve(eps: float, ratio: float) -> float:
    """Return the least delta of (eps, delta)-privacy for normal noise, at an eps of at least 0.

    Args:
        eps: the eps of (eps, delta)-privacy.
        ratio: mu = sensitivity/sigma. For 0 and infinity, the result is the limit of the curve.
    """
    if ratio == 0 or math.isinf(ratio):
        return float(ratio > 0)
    start = _start(eps, ratio)
    if start > _FAR:
        return 0.0
    # e^eps Phi(-mu/2 - eps/mu) = phi(start) M(start + mu) with M = (1 - Phi)/phi
    density = math.exp(-start * start / 2) / _ROOT_TWO_PI if start > -_FAR else 0.0
    if ratio < _NEAR:
        # M(s) - M(s + mu) = -mu M_1(t) - mu³ M_3(t)/24 for t = s + mu/2, with the derivatives M_1 = t M - 1 and M_3 of
        # M. This series avoids the cancellation in the difference.
        middle = eps / ratio
        slope = middle * _mills(middle) - 1
        third = (2 + middle * middle) * slope + middle * _mills(middle)
        return density * ratio * (-slope - ratio * ratio / 24 * third)
    beyond = density * _mills(start + ratio)
    return float(special.ndtr(-start)) - beyond if start < 0 else density * _mills(start) - beyond


def curve_above(eps: float, ratio: float) -> float:
    """Return `curve` plus a bound on its rounding errors.

    Args:
        eps: the eps of (eps, delta)-privacy, at least 0.
        ratio: mu = sensitivity/sigma.
    """
    value = curve(eps, ratio)
    if ratio == 0 or math.isinf(ratio):
        return value
    near, start = eps / ratio, _start(eps, ratio)
    if start > _FAR:
        return _LEAST  # the value is below phi(39), so below the smallest positive number
    # `start` has a relative error of half the machine epsilon, and its square has a similar error. Both errors change
    # the density by a share of up to start² times the machine epsilon.
    density = math.exp(-start * start / 2) / _ROOT_TWO_PI if start > -_FAR else 0.0
    if ratio < _NEAR:
        terms = density * ratio * (1 + near * _mills(near))
    else:
        terms = density * _mills(start + ratio) + (
            float(special.ndtr(-start)) if start < 0 else density * _mills(start)
        )
    slack = _UNIT * (terms + value) + sys.float_info.epsilon * start * start * value
    rest = ratio**4 * value if ratio < _NEAR else 0.0  # 16 times the next term of the series of the difference
    return min(1.0, value + slack + rest + _TINY)


def budget(delta: float, ratio: float) -> float:
    """Return the least eps of (eps, delta)-privacy for normal noise, at a delta inside (0, 1), rounded up.

    Args:
        delta: the delta of (eps, delta)-privacy.
        ratio: mu = sensitivity/sigma.

    The result is infinite if the least eps is above all numbers of double precision.
    """
    if curve_above(0.0, ratio) <= delta:
        return 0.0
    if math.isinf(ratio):
        return math.inf
    # delta(eps) is at most the probability that the privacy loss exceeds eps, and this probability is delta at `most`
    most = ratio * (ratio / 2 - float(special.ndtri(delta))) * (1 + 1e-9)
    if math.isinf(most):
        return math.inf
    return _settled(lambda eps: curve_above(eps, ratio) - delta, 0.0, max(most, _TINY), 1.0)


def ratio_for(eps: float, delta: float) -> float:
    """Return the largest mu = sensitivity/sigma at which the release is (eps, delta)-private, rounded down.

    Args:
        eps: the eps of (eps, delta)-privacy.
        delta: the delta of (eps, delta)-privacy, inside (0, 1).
    """
    quantile = -float(special.ndtri(delta))
    # the mu with mu/2 - eps/mu = -quantile, for which the privacy loss exceeds eps with probability delta
    root = math.hypot(quantile, _ROOT_TWO * math.sqrt(eps))
    low = max(eps / ((root + quantile) / 2) if quantile > 0 else root - quantile, 4 * _LEAST)
    while curve_above(eps, low) > delta:  # for a delta below the rounding errors of the curve
        low /= 2
    if low == 0:
        raise SettingError(
            "eps and delta",
            found=f"{eps:g} and {delta:g}",
            rule="a privacy budget for which double precision can hold the noise level",
            remedy="pass a larger eps or delta",
        )
    high = 2 * low
    while curve_above(eps, high) <= delta:
        high *= 2
    return _settled(lambda ratio: curve_above(eps, ratio) - delta, low / 2, high, -1.0) * (1 - 1e-11)


def _settled(excess: Callable[[float], float], low: float, high: float, sense: float) -> float:
    """Return a root of `excess` between two ends, moved up (sense 1) or down (-1) until `excess` there is at most 0."""
    while sense > 0 and excess(high) > 0:
        high *= 2
    if math.isinf(high):
        return math.inf
    found, report = optimize.brentq(excess, low, high, xtol=_TINY, rtol=1e-14, full_output=True, disp=False)  # pyright: ignore
    if not report.converged:  # because the ends are hundreds of decades apart
        found = _bisected(excess, low, high, sense)
    step = 1e-14
    while excess(found) > 0:
        # a number near 0 moves by the least positive number at least
        found, step = max(found * (1 + sense * step) + sense * _LEAST, 0.0), 2 * step
    return found


def _bisected(excess: Callable[[float], float], low: float, high: float, sense: float) -> float:
    """Return a point next to the root where `excess` is at most 0, by bisection of the logarithm of the point."""
    low = max(low, _LEAST)
    for _ in range(70):
        middle = math.sqrt(low) * math.sqrt(high)
        if (excess(middle) > 0) == (sense > 0):
            low = middle
        else:
            high = middle
    return high if sense > 0 else low


def _mills(t: float) -> float:
    """Return the Mills ratio (1 - Phi(t))/phi(t)."""
    return _ROOT_TWO_PI / 2 * float(special.erfcx(t / _ROOT_TWO))
