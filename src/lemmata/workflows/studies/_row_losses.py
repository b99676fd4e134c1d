"""The loss of each row for given predictions. The mean over rows is the loss of a metric."""

import math

import numpy as np
from jaxtyping import Float


def unexplained(
    y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float
) -> Float[np.ndarray, " m"]:
    """Return each row's squared error over the target's variance.

    The mean over rows is 1 - R² (1 for predicting the mean).
    """
    return ((y - output) ** 2).sum(axis=1) / spread


def wrong(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Return 1 for each row whose class does not have the largest output, and 0 for all other rows."""
    return (y.argmax(axis=1) != output.argmax(axis=1)).astype(float)


def surprise(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Return -log of the predicted probability of each row's class in nats. Probabilities below 1e-6 count as 1e-6."""
    chance = np.clip(output, 1e-6, None)
    return -np.log((chance * y).sum(axis=1) / chance.sum(axis=1))


def misranked(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Return the contribution of each row to 1 - AUC.

    The mean over the m rows is 1 - AUC. The variance over rows, divided by m, is the variance of the estimate.

    The AUC is the AUC of one class against the others, averaged over the classes that occur. Let A be the share of
    pairs that are ranked wrongly. A row i of the class, which has m_1 rows, contributes A + (m / m_1) (a_i - A). Here
    a_i is the share of the m_0 rows outside the class that are ranked above row i. A row i outside the class
    contributes A + (m / m_0) (b_i - A). Here b_i is the share of the rows of the class that are ranked below row i.
    These contributions are the projections of a U-statistic (DeLong et al. 1988).
    """
    label, rows = y.argmax(axis=1), np.zeros(len(y))
    present = [c for c in np.unique(label) if (label != c).any()]
    for c in present:
        inside = label == c
        own, rest = output[inside, c], output[~inside, c]
        for part, wrongly in ((inside, 1.0 - _below(own, rest)), (~inside, _below(rest, own))):
            mean = wrongly.mean()
            rows += mean / 2  # both parts have the same mean
            rows[part] += (wrongly - mean) * len(y) / part.sum()
    return rows / len(present) if present else np.full(len(y), math.nan)


def _below(scores: Float[np.ndarray, " a"], others: Float[np.ndarray, " b"]) -> Float[np.ndarray, " a"]:
    """Return, for each score, the share of the other scores that are smaller. Equal scores count by half."""
    others = np.sort(others)
    return (np.searchsorted(others, scores, "left") + np.searchsorted(others, scores, "right")) / (2 * len(others))


def squared(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Return the squared error of each row's outputs against the one-hot columns, summed over classes."""
    return ((y - output) ** 2).sum(axis=1)


def absolute(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Return the absolute error of each row in the units of the target, averaged over target columns."""
    return np.abs(y - output).mean(axis=1)


def brier(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Return the squared error of each row's probabilities, summed over classes (the Brier score).

    For two classes, this is the squared error of one class, which is half of the score of Brier (1950).
    """
    return ((y - output) ** 2).sum(axis=1) / (2 if y.shape[1] == 2 else 1)
