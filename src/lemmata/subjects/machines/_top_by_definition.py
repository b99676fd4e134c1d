"""The fit of a machine with one learned Gram matrix, a ReLU and pooling, computed from its definition."""

import numpy as np
from jaxtyping import Float
from scipy.stats import multivariate_normal

from lemmata.subjects.machines import ConvolutionalGrams

_STEP = 1e-5  # step of the finite differences


def rectified_pairs(
    cross: Float[np.ndarray, "*s"], left: Float[np.ndarray, "*t"], right: Float[np.ndarray, "*u"]
) -> Float[np.ndarray, "*s"]:
    """Return 2 E[max(u, 0) max(v, 0)] for normal pairs u, v with these covariances and variances.

    Args:
        cross: the covariances.
        left: the variances of u.
        right: the variances of v.
    """
    scale = np.sqrt(left * right)
    angle = np.arccos(np.clip(cross / scale, -1.0, 1.0))
    return scale * (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi


def fit_by_definition(
    grams: ConvolutionalGrams, targets: Float[np.ndarray, "n k"], noise: float, factor: Float[np.ndarray, "p p"]
) -> float:
    """Return the lower bound on the log density of targets if the Gram matrix of the inducing points is G = L V V' L'.

    Here L L' = K_ii is the prior of this matrix.

    Args:
        grams: the covariances of the prior, of which K_ii belongs to the inducing points.
        targets: one column per output.
        noise: variance of the labels' noise.
        factor: the matrix V.
    """
    prior, cross, variance = (np.asarray(part) for part in grams)
    half = np.linalg.cholesky(prior) @ factor
    learned = half @ half.T
    along = np.linalg.solve(prior, np.moveaxis(cross, -1, 0).reshape(len(prior), -1)).T.reshape(cross.shape)
    explained = np.einsum("...p,pq,...q->...", along, learned - prior, along)
    own = variance + explained
    inducing = rectified_pairs(learned, np.diagonal(learned)[:, None], np.diagonal(learned))
    sites = rectified_pairs(along @ learned, own[..., None], np.diagonal(learned))
    mean, count = sites.mean(axis=(1, 2)), own[0].size
    seen = mean @ np.linalg.solve(inducing, mean.T)
    of_sites = np.einsum("...p,pq,...q->...", sites, np.linalg.inv(inducing), sites)
    rest = (own - of_sites).mean(axis=(1, 2)) / count  # after pooling, if residuals of sites are independent
    law = multivariate_normal(cov=seen + noise * np.eye(len(seen)))  # pyright: ignore[reportArgumentType]
    return float(np.sum(law.logpdf(np.asarray(targets).T)) - targets.shape[1] * rest.sum() / (2 * noise))


def slope_by_definition(
    grams: ConvolutionalGrams, targets: Float[np.ndarray, "n k"], noise: float, factor: Float[np.ndarray, "p p"],
    stiffness: float,
) -> float:  # fmt: skip
    """Return the length of the gradient of the machine's objective with respect to the lower triangle of V.

    The gradient is computed by finite differences.

    Args:
        grams: the covariances of the prior.
        targets: one column per output.
        noise: variance of the labels' noise.
        factor: the lower triangular matrix V, with G = L V V' L'.
        stiffness: the weight nu of the divergence of N(0, G) from N(0, K_ii), which is subtracted from the bound.
    """

    def objective(own: np.ndarray) -> float:
        ratio = own @ own.T
        divergence = 0.5 * (np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(ratio))
        return fit_by_definition(grams, targets, noise, own) - stiffness * divergence

    found = []
    for place in zip(*np.tril_indices(len(factor)), strict=True):
        move = np.zeros_like(factor)
        move[place] = _STEP
        found.append((objective(factor + move) - objective(factor - move)) / (2 * _STEP))
    return float(np.linalg.norm(found))
