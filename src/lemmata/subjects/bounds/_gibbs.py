"""The exact error probability of a classifier with Gaussian outputs, from one integral for each row."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

_REACH = 8.5
_NODES = 69  # with 1/4 standard deviation between nodes, the trapezoidal rule is exact to 1e-12 for the integrals below


def gaussian_error(
    outputs: Float[np.ndarray, "n k"], spread: Float[np.ndarray, " n"], labels: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return P(wrong class) in each row, for independent normal outputs.

    With one output (k = 1), the class is 1 if the output is positive. Then the error is Phi(-y f/s) with y = -1 or 1,
    mean f and standard deviation s. With several outputs, the largest output determines the class. Then the error is 1
    - integral of phi(u) prod_(c != y) Phi(u + (f_y - f_c)/s) du, with the true class y.

    Args:
        outputs: the means; column c holds the mean of output c.
        spread: the standard deviation of the outputs of each row; 0 gives the error of the means.
        labels: the true classes 0, 1, ...

    >>> gaussian_error(np.array([[1.0]]), np.array([1.0]), np.array([1])).round(4)
    array([0.1587])
    >>> gaussian_error(np.zeros((1, 4)), np.array([1.0]), np.array([2])).round(4)
    array([0.75])
    """
    if outputs.shape[1] == 1:
        margins = np.where(labels == 1, outputs[:, 0], -outputs[:, 0])
        return ndtr(-_ratio(margins, spread))
    own = np.take_along_axis(outputs, labels[:, None], axis=1)
    gaps = _ratio(own - outputs, spread[:, None])
    np.put_along_axis(gaps, labels[:, None], np.inf, axis=1)
    nodes = np.linspace(-_REACH, _REACH, _NODES)
    weights = np.exp(-(nodes**2) / 2)
    right = np.zeros(len(outputs))
    for node, weight in zip(nodes, weights / weights.sum(), strict=True):
        right += weight * ndtr(node + gaps).prod(axis=1)
    return np.clip(1 - right, 0.0, 1.0)


def _ratio(values: np.ndarray, spread: np.ndarray) -> np.ndarray:
    """Return values/spread. At spread 0, return infinity with the sign of the value, or -infinity for a value of 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = values / spread
    return np.where(spread > 0, ratio, np.where(values > 0, np.inf, -np.inf))
