"""The toy model of two features in one dimension: its exact loss, its minima, and the boundary of superposition.

The model is y = ReLU(w w'x + b). Below the boundary, a frequency of the features, it is better to store both features
as an antipodal pair (w_1 and w_2 of opposite signs) than to store one feature.
"""

import numpy as np
from jaxtyping import Float
from scipy import optimize

_GAIN = 1e-10  # a loss is smaller if the difference exceeds this number, which is above rounding errors
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(2)  # exact for polynomials up to degree 3, such as the pieces
_NODES, _WEIGHTS = (1 + _NODES) / 2, _WEIGHTS / 2


def _mixture(kinks: Float[np.ndarray, "y k"], p: float) -> tuple[np.ndarray, np.ndarray]:
    """Return quadrature nodes and weights for a variable that is uniform on [0, 1] with probability p, and else 0.

    Each row has its own kinks of the integrand. The nodes are placed separately on each interval between kinks.
    """
    ends = np.sort(np.clip(kinks, 0.0, 1.0), axis=1)
    ends = np.concatenate([np.zeros((len(ends), 1)), ends, np.ones((len(ends), 1))], axis=1)
    width = np.diff(ends, axis=1)[:, :, None]
    nodes = (ends[:, :-1, None] + width * _NODES).reshape(len(ends), -1)
    weights = (p * width * _WEIGHTS).reshape(len(ends), -1)
    return np.pad(nodes, ((0, 0), (1, 0))), np.pad(weights, ((0, 0), (1, 0)), constant_values=1 - p)


def _zero(slope: float, height: np.ndarray | float) -> np.ndarray:
    """Return the x at which slope x + height is 0, or a number near 0 if the size of the slope is below 1e-150."""
    return np.asarray(-height / (slope if abs(slope) > 1e-150 else 1e150))


def _error(own: float, other: float, bias: float, p: float) -> np.ndarray:
    """Return the mean of (x - ReLU(own x + other y + bias))² over two features x and y, and three derivatives.

    The derivatives are those with respect to own, other and bias.
    """
    y, of_y = _mixture(np.stack([_zero(other, bias), _zero(other, bias + own)])[None], p)
    x, of_x = _mixture(_zero(own, other * y[0] + bias)[:, None], p)
    weight, y = of_y[0][:, None] * of_x, y[0][:, None]
    reach = own * x + other * y + bias
    left = x - np.maximum(reach, 0.0)
    slope = -2 * weight * left * (reach > 0)
    return np.array([(weight * left**2).sum(), (slope * x).sum(), (slope * y).sum(), slope.sum()])


def two_feature_loss(weights: Float[np.ndarray, " 4"], p: float, r: float) -> tuple[float, np.ndarray]:
    """Return the exact mean of (x_1 - y_1)² + r (x_2 - y_2)² for y = ReLU(w w'x + b), and its gradient.

    Args:
        weights: the numbers w_1, w_2, b_1, b_2.
        p: the probability that a feature is active; an active feature is uniform on [0, 1].
        r: the importance of the second feature.
    """
    w1, w2, b1, b2 = weights
    first, second = _error(w1**2, w1 * w2, b1, p), r * _error(w2**2, w1 * w2, b2, p)
    cross = first[2] + second[2]
    slope = [2 * w1 * first[1] + w2 * cross, 2 * w2 * second[1] + w1 * cross, first[3], second[3]]
    return first[0] + second[0], np.array(slope)


def descend(start: Float[np.ndarray, " 4"], p: float, r: float) -> tuple[float, np.ndarray]:
    """Descend from `start` to a local minimum of the loss. Return the loss and the weights of this minimum.

    Args:
        start: the numbers w_1, w_2, b_1, b_2 at which the descent starts.
        p: the probability that a feature is active.
        r: the importance of the second feature.
    """
    found = optimize.minimize(two_feature_loss, start, args=(p, r), jac=True, method="BFGS", options={"gtol": 1e-10})
    return float(found.fun), np.asarray(found.x)


def one_feature_loss(p: float, r: float) -> float:
    """Return the least loss of a model that stores only the first feature: r times the variance of the second.

    Args:
        p: the probability that a feature is active.
        r: the importance of the second feature.
    """
    return r * (p / 3 - p**2 / 4)


def pair_boundary(r: float, accuracy: float) -> float:
    """Return the frequency p up to which the best model near an antipodal pair beats the best model of one feature.

    Args:
        r: the importance of the second feature.
        accuracy: the largest error of this frequency.
    """
    low, high, pair = 0.0, 1.0, np.array([1.0, -1.0, 0.0, 0.0])
    while high - low > accuracy:
        p = (low + high) / 2
        loss, weights = descend(pair, p, r)
        if loss < one_feature_loss(p, r) - _GAIN:
            low, pair = p, weights
        else:
            high = p
    return low
