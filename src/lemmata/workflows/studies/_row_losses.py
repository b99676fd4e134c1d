"""The loss of each row under a prediction. The mean over rows is the loss of a metric."""

import math

import numpy as np
from jaxtyping import Float


def unexplained(
    y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float
) -> Float[np.ndarray, " m"]:
    """Each row's squared error divided by the target's variance. The mean is 1 - R², or 1 for predicting the mean."""
    return ((y - output) ** 2).sum(axis=1) / spread


def wrong(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Return 1 for each row whose class does not have the largest output, else 0."""
    return (y.argmax(axis=1) != output.argmax(axis=1)).astype(float)


def surprise(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Return -log of the predicted probability of each row's class in nats. Probabilities below 1e-6 count as 1e-6."""
    chance = np.clip(output, 1e-6, None)
    return -np.log((chance * y).sum(axis=1) / chance.sum(axis=1))


def misranked(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """The contribution of each row to 1 - AUC.

    The mean over rows is 1 - AUC. The variance over rows, divided by m, is the variance of the estimate.

    The AUC is the AUC of one class against the others, averaged over the classes that occur. Let A be the share of
    pairs that are ranked wrongly. A row of the class, which has m_1 rows, contributes A + (m / m_1) (a_i - A). Here a_i
    is the share of the other m_0 rows that are ranked above row i. A row outside the class contributes A + (m / m_0)
    (b_i - A). Here b_i is the share of the rows of the class that are ranked below row i (the projections of a
    U-statistic, DeLong et al. 1988).
    """
    label, rows = y.argmax(axis=1), np.zeros(len(y))
    present = [c for c in np.unique(label) if (label != c).any()]
    for c in present:
        inside = label == c
        own, rest = output[inside, c], output[~inside, c]
        for part, wrongly in ((inside, 1.0 - _below(own, rest)), (~inside, _below(rest, own))):
            mean = wrongly.mean()
            rows += mean / 2  # the mean is the same for both
            rows[part] += (wrongly - mean) * len(y) / part.sum()
    return rows / len(present) if present else np.full(len(y), math.nan)


def _below(scores: Float[np.ndarray, " a"], others: Float[np.ndarray, " b"]) -> Float[np.ndarray, " a"]:
    """For each score, the share of the other scores that are below it. Equal scores count by half."""
    others = np.sort(others)
    return (np.searchsorted(others, scores, "left") + np.searchsorted(others, scores, "right")) / (2 * len(others))


def squared(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Squared error of each row over the one-hot columns, summed over classes (the Brier score)."""
    return ((y - output) ** 2).sum(axis=1)


def absolute(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Absolute error of each row in the units of the target, averaged over targets."""
    return np.abs(y - output).mean(axis=1)


def brier(y: Float[np.ndarray, "m k"], output: Float[np.ndarray, "m k"], spread: float) -> Float[np.ndarray, " m"]:
    """Squared error of the probabilities, summed over classes.

    For two classes, this is the squared error of one class, which is half of the score of Brier (1950).
    """
    return ((y - output) ** 2).sum(axis=1) / (2 if y.shape[1] == 2 else 1)
