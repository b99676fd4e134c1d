"""The information that outputs share through their common scale."""

import numpy as np
from scipy.special import gammaln, logsumexp

from lemmata.core import check_real, check_whole

_REACH = 8.5  # end of the integration, in standard deviations of log G


def shared_information(log_variance: float, first: int, second: int) -> float:
    """Return the mutual information, in nats, of two groups of outputs of a deep, wide, critical and scale invariant
    network.

    Let the depth L and the width n both be large with L/n = r. The outputs for one input are z = sqrt(G) u, where u is
    standard normal. log G is normal with variance nu r, because G is a product of L independent factors; nu is given
    by `vertex_growth`. The information is S(k1) + S(k2) - S(k1 + k2), where S(m) is the entropy of m outputs, computed
    by quadrature.

    Args:
        log_variance: nu r, positive and at most 20.
        first: k1, the number of outputs in one group.
        second: k2, the number of outputs in the other group.

    Raises:
        SettingError: if the variance is outside its range, or a group is empty.

    >>> shared_information(0.2, 1, 1) < shared_information(2.0, 1, 1)
    True
    """
    check_real("log_variance", log_variance, "above 0 and at most 20", lambda found: (found > 0) & (found <= 20))
    for name, size in (("first", first), ("second", second)):
        check_whole(name, size, 1, "outputs")
    return _entropy(first, log_variance) + _entropy(second, log_variance) - _entropy(first + second, log_variance)


def _entropy(m: int, log_variance: float) -> float:
    """Compute the entropy of m outputs by trapezoidal rules in the logarithms of the scale G and of the length |z|.

    Given |z|, the likelihood of log G has the width sqrt(2/m). Given G, the likelihood of log |z| has half of this
    width. The steps are fractions of these widths and of the standard deviation of log G.
    """
    deviation = np.sqrt(log_variance)
    step = min(deviation / 3.0, 0.5 / np.sqrt(m))
    x = step * np.arange(-np.ceil(_REACH * deviation / step), np.ceil(_REACH * deviation / step) + 1)
    weights, scale = np.exp(-0.5 * x**2 / log_variance), x - log_variance / 2
    # Towards small |z|, the density of log |z| falls like |z|^m. It is lost in rounding 36/m below the least scale.
    low, high = scale[0] / 2.0 - 36.0 / m, scale[-1] / 2.0 + np.log(9.0 + np.sqrt(m))
    lengths, size = np.linspace(low, high, int((high - low) * 8.0 * np.sqrt(m)) + 2, retstep=True)
    inside = np.log(weights / weights.sum()) - 0.5 * m * scale - 0.5 * np.exp(2.0 * lengths[:, None] - scale)
    density = logsumexp(inside, axis=1) - 0.5 * m * np.log(2.0 * np.pi)
    shell = np.log(2.0) + 0.5 * m * np.log(np.pi) - gammaln(0.5 * m)
    return float(-np.sum(np.exp(density + m * lengths + shell) * density) * size)
