"""Predict the accuracy of a kernel machine from the mean and covariance of its outputs at held-out rows."""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtr

from lemmata.spectra import Spectrum

DRAWS = 128
"""The number of Gaussian draws of the outputs at each size. Half of the draws are the negatives of the other half."""
PROBES = 40
"""The number of random vectors that estimate how the variance at a row is divided among the classes."""
# The limit of squared error over squared bias. The ratio diverges if there are as many modes as training rows.
_LARGEST_PRICE = 20.0


def predicted_accuracy(
    modes: Spectrum,
    y: Float[np.ndarray, "N k"],
    sizes: Float[np.ndarray, " s"],
    mu: Float[np.ndarray, " s"],
    seed: int = 0,
) -> Float[np.ndarray, " s"]:
    """Predict the share of held-out rows for which the right class has the largest output, for n of N training rows.

    Let 1 be the vector of ones, A the centred Gram matrix, and L = 11'/N + A (A + mu)^-1. Over random training sets
    without row i, the residual at row i has

        mean m_i = ((I - L) y)_i / (1 - L_ii),   covariance C_i = (N/n - 1) sum_{j != i} L_ij² E_j / (1 - L_ii)²

    where E_j is the second moment of the residual at row j. The mean does not depend on y_i. At n = N - 1, with mu
    equal to the ridge, the mean is the leave-one-out residual. The covariance is that of a sum over n random other rows
    j, with weights L_ij, of residuals as large as those of held-out rows. Let e be the mean of |m_i|² + tr C_i over
    rows, divided by the mean of |m_i|². Assume that E_j is e times the mean of m_i m_i' over rows i in the class of j,
    and that the outputs, which are y_i minus the residual, are Gaussian. For two classes, the probability that the
    right output is larger is Phi(mean / standard deviation) of the difference of the outputs. For more classes, it is
    the share of 128 draws in which the right output is the largest.

    The sum of L_ij² over all rows j is exact. The part of each class of rows j in this sum is estimated by random
    signs.

    Args:
        modes: the eigenvalues and eigenvectors of A.
        y: the classes as one-hot columns.
        sizes: numbers of training rows n, 1 < n <= N.
        mu: the effective ridge at each size (see `deterministic_equivalent`), above 0.
        seed: the seed of draws and signs.

    Returns:
        The predicted accuracy at each size.
    """
    total, classes = y.shape
    values, vectors = np.asarray(modes.eigenvalues), np.asarray(modes.eigenvectors)
    left = mu / (values[:, None] + mu)  # the eigenvalues of I - L, except along the constant, where it is 0 and not 1
    squares = vectors**2
    room = np.maximum(squares @ left - 1 / total, 1e-12)
    others = np.maximum(squares @ left**2 - 1 / total - room**2, 0.0)
    rng = np.random.default_rng([seed, total, classes])
    labels = y.argmax(axis=1)
    signs = rng.choice([-1.0, 1.0], (total, -(-PROBES // classes)))
    probes = (y[:, :, None] * signs[:, None, :]).reshape(total, -1)
    centred = np.concatenate([y, probes], axis=1)
    centred -= centred.mean(axis=0)
    parts = vectors.T @ centred
    half = rng.standard_normal((classes, classes, classes, DRAWS // 2))
    draws = np.concatenate([half, -half], axis=3)
    found = []
    for at, n in enumerate(sizes):
        spread = vectors @ (left[:, at, None] * parts)
        mean = spread[:, :classes] / room[:, at, None]
        variance = others[:, at] / room[:, at] ** 2 * (total / n - 1)
        # (I - L) applied to the signs of a class also contains the row's own sign, which is subtracted because it has
        # no information about other rows.
        felt = spread[:, classes:] - room[:, at, None] * probes
        share = (felt.reshape(total, classes, -1) ** 2).mean(axis=2)
        share *= (variance / np.maximum(share.sum(axis=1), np.finfo(float).tiny))[:, None]
        found.append(_right(y - mean, share * _price(mean, variance), _moments(mean, labels, classes), labels, draws))
    return np.array(found)


def _price(mean: Float[np.ndarray, "N k"], variance: Float[np.ndarray, " N"]) -> float:
    """Return e with e |m|² = |m|² + tr C on average over rows. Here m is `mean`, and tr C = e |m|² `variance`."""
    return 1 / max(1 - float(variance.mean()), 1 / _LARGEST_PRICE)


def _moments(mean: Float[np.ndarray, "N k"], labels: Int[np.ndarray, " N"], classes: int) -> np.ndarray:
    """Return the mean of m m' over the rows of each class."""
    return np.stack([mean[labels == c].T @ mean[labels == c] / (labels == c).sum() for c in range(classes)])


def _right(
    outputs: Float[np.ndarray, "N k"],
    share: Float[np.ndarray, "N k"],
    moments: Float[np.ndarray, "k k k"],
    labels: Int[np.ndarray, " N"],
    draws: Float[np.ndarray, "k k k draws"],
) -> float:
    """Return the mean probability that the right output of a row is the largest.

    The covariance of a row's outputs is the sum over classes of `share` times `moments`.
    """
    if len(moments) == 2:
        ahead = (outputs[:, 1] - outputs[:, 0]) * np.where(labels == 1, 1.0, -1.0)
        between = moments[:, 0, 0] - 2 * moments[:, 0, 1] + moments[:, 1, 1]
        return float(ndtr(ahead / np.sqrt(np.maximum(share @ between, np.finfo(float).tiny))).mean())
    values, axes = np.linalg.eigh(moments)
    roots = axes * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    weights, right = np.sqrt(share), 0.0
    for c, own in enumerate(draws):
        rows = labels == c
        noise = weights[rows] @ (roots @ own).reshape(len(moments), -1)
        drawn = outputs[rows][:, :, None] + noise.reshape(-1, *own.shape[1:])
        right += float((drawn[:, c] >= drawn.max(axis=1)).mean(axis=1).sum())
    return right / len(labels)
