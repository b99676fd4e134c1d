"""The exact privacy curve of normal noise, and its inverses."""

import math

from scipy import optimize, special

from lemmata.answers import inside, positive

_ROOT_TWO, _ROOT_TWO_PI = math.sqrt(2), math.sqrt(2 * math.pi)
_FAR = 39.0  # exp(-39²/2) is 0
_NEAR = 1e-5


def gaussian_delta(eps: float, sensitivity: float, sigma: float) -> float:
    """The least delta for which noise N(0, sigma² I) on a statistic is (eps, delta)-private (Balle and Wang, 2018).

    With mu = sensitivity/sigma and Phi the normal distribution function

        delta = Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu),

    exact for one release. T releases of the same noise are one with sqrt(T) times the sensitivity. The two terms are
    taken as one density times a difference of Mills ratios, so that nothing overflows or cancels before a delta of
    1e-300; the relative error is below 1e-9, and near 1e-14 for mu above 0.1.

    Args:
        eps: of the privacy, above 0.
        sensitivity: the largest Euclidean distance of the statistic between neighbouring data sets.
        sigma: the standard deviation of the noise in each coordinate.

    Raises:
        SettingError: if a value is not a finite number above 0.

    Example:
        >>> round(gaussian_delta(1.0, 1.0, 1.0), 4), round(gaussian_delta(1000.0, 50.0, 1.0), 4)
        (0.1269, 1.0)
        >>> f"{gaussian_delta(1.0, 1.0, 20.0):.3g}"
        '1.13e-91'
    """
    eps, ratio = positive("eps", eps), positive("sensitivity", sensitivity) / positive("sigma", sigma)
    return curve(eps, ratio)


def gaussian_eps(delta: float, sensitivity: float, sigma: float) -> float:
    """The least eps for which noise N(0, sigma² I) is (eps, delta)-private: the inverse of `gaussian_delta` in eps.

    It is 0 where delta is no less than the total variation 2 Phi(mu/2) - 1, mu = sensitivity/sigma.

    Args:
        delta: of the privacy, inside (0, 1).
        sensitivity: the largest Euclidean distance of the statistic between neighbouring data sets.
        sigma: the standard deviation of the noise in each coordinate.

    Raises:
        SettingError: for a delta outside (0, 1), and sizes that are not finite numbers above 0.

    Example:
        >>> round(gaussian_eps(1e-5, 1.0, 1.0), 4), gaussian_eps(0.5, 1.0, 1.0)
        (4.3772, 0.0)
    """
    delta, ratio = inside("delta", delta, 0.0, 1.0), positive("sensitivity", sensitivity) / positive("sigma", sigma)
    return budget(delta, ratio)


def gaussian_sigma(eps: float, delta: float, sensitivity: float = 1.0) -> float:
    """The least noise that is (eps, delta)-private: the inverse of `gaussian_delta` in sigma.

    Args:
        eps: of the privacy, above 0.
        delta: of the privacy, inside (0, 1).
        sensitivity: the largest Euclidean distance of the statistic between neighbouring data sets.

    Raises:
        SettingError: for a delta outside (0, 1), and sizes that are not finite numbers above 0.

    Example:
        >>> round(gaussian_sigma(1.0, 1e-5), 4), round(gaussian_sigma(100.0, 1e-5), 4)
        (3.7306, 0.0947)
    """
    eps, delta = positive("eps", eps), inside("delta", delta, 0.0, 1.0)
    return positive("sensitivity", sensitivity) / ratio_for(eps, delta)


def curve(eps: float, ratio: float) -> float:
    """The least delta at an eps of at least 0.

    Args:
        eps: of the privacy.
        ratio: mu = sensitivity/sigma; 0 and infinity are what they tend to.
    """
    if ratio == 0 or math.isinf(ratio):
        return float(ratio > 0)
    start = eps / ratio - ratio / 2
    if start > _FAR:
        return 0.0
    # e^eps Phi(-mu/2 - eps/mu) = phi(start) M(start + mu) with M = (1 - Phi)/phi
    density = math.exp(-start * start / 2) / _ROOT_TWO_PI if start > -_FAR else 0.0
    if ratio < _NEAR:  # M(s) - M(s + mu) = -mu M'(s + mu/2), M'(t) = t M(t) - 1: the difference itself cancels
        middle = eps / ratio
        return density * ratio * (1 - middle * _mills(middle))
    beyond = density * _mills(start + ratio)
    return float(special.ndtr(-start)) - beyond if start < 0 else density * _mills(start) - beyond


def budget(delta: float, ratio: float) -> float:
    """The least eps at a delta inside (0, 1), rounded up.

    Args:
        delta: of the privacy.
        ratio: mu = sensitivity/sigma.
    """
    if curve(0.0, ratio) <= delta:
        return 0.0
    if math.isinf(ratio):
        return math.inf
    # delta(eps) is at most the probability that the loss exceeds eps, which is delta at this eps
    most = ratio * ratio / 2 - ratio * float(special.ndtri(delta))
    found = float(optimize.brentq(lambda eps: curve(eps, ratio) - delta, 0.0, most * (1 + 1e-9), rtol=1e-14))  # pyright: ignore
    return found * (1 + 1e-12)


def ratio_for(eps: float, delta: float) -> float:
    """The largest mu = sensitivity/sigma that is (eps, delta)-private, rounded down.

    Args:
        eps: of the privacy.
        delta: inside (0, 1).
    """
    quantile = -float(special.ndtri(delta))
    # the root of mu/2 - eps/mu = -quantile, where the loss exceeds eps with probability delta
    root = math.hypot(quantile, math.sqrt(2 * eps))
    low = 2 * eps / (root + quantile) if quantile > 0 else root - quantile
    high = 2 * low
    while curve(eps, high) <= delta:
        high *= 2
    found = float(optimize.brentq(lambda ratio: curve(eps, ratio) - delta, low / 2, high, xtol=low * 1e-14, rtol=1e-14))  # pyright: ignore
    return found * (1 - 1e-11)


def _mills(t: float) -> float:
    """(1 - Phi(t))/phi(t)."""
    return _ROOT_TWO_PI / 2 * float(special.erfcx(t / _ROOT_TWO))
