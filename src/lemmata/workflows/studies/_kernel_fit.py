"""Kernel ridge regression with an intercept on one split, its ridge chosen by leave-one-out on the training rows."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

RIDGES = np.logspace(-9, 3, 19)
"""Ridges relative to the mean diagonal of the centred Gram matrix. At the last, nothing but the mean is learned."""
ROUNDING = 1e-9
_SHARPNESS = np.logspace(-1, 2, 31)


@dataclasses.dataclass(frozen=True)
class KernelFit:
    """A fitted kernel machine.

    Args:
        outputs: predictions on the held-out rows, in the units of y.
        left_out: for each training row the prediction of the machine without it (at the chosen ridge).
        ridge: the chosen ridge on the diagonal of the Gram matrix.
        relative: that ridge over the mean diagonal of the centred Gram matrix.
        learns: whether leave-one-out is better than predicting the mean at some ridge below the largest.
    """

    outputs: Float[np.ndarray, "m k"]
    left_out: Float[np.ndarray, "n k"]
    ridge: float
    relative: float
    learns: bool


def kernel_fit(
    matrix: Float[np.ndarray, "n n"], cross: Float[np.ndarray, "m n"], y: Float[np.ndarray, "n k"]
) -> KernelFit:
    """Ridge regression with an unpenalised intercept in the space of a kernel.

    The mean of the training rows is taken off targets and features: with H = I - 11'/n the Gram matrix is H K H, whose
    eigenvectors u_i other than the constant one carry the prediction. The prediction for row i without row i differs
    from its target by

        (y - f)_i / (1 - h_ii),   1 - h_ii = sum_k u_ik² ridge / (lambda_k + ridge) - 1/n,

    the sum over all n eigenvectors, of which the constant one has lambda = 0; h includes the intercept.

    Args:
        matrix: Gram matrix K of the training rows.
        cross: kernel between held-out and training rows.
        y: targets of the training rows.
    """
    return centred_fit(matrix, cross, y)[0]


def centred_fit(
    matrix: Float[np.ndarray, "n n"], cross: Float[np.ndarray, "m n"], y: Float[np.ndarray, "n k"]
) -> tuple[KernelFit, Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
    """The same with the eigenvalues of H K H, ascending, and its eigenvectors."""
    n = len(matrix)
    columns = matrix.mean(axis=0)
    centred = matrix - columns - columns[:, None] + columns.mean()
    values, vectors = np.linalg.eigh(centred)  # SciPy's holds the lock that keeps other threads waiting
    values = np.maximum(values, 0.0)
    mean, size = y.mean(axis=0), max(float(values.sum()) / n, np.finfo(float).tiny)
    coefficients = vectors.T @ (y - mean)
    squares = vectors**2
    shrink = RIDGES * size / (values[:, None] + RIDGES * size)
    room = np.maximum(squares @ shrink - 1 / n, 1e-12)
    errors = (vectors @ (shrink[:, :, None] * coefficients[:, None, :]).reshape(n, -1)).reshape(n, len(RIDGES), -1)
    errors /= room[:, :, None]
    losses = np.einsum("nrk,nrk->r", errors, errors) / n
    best = int(np.argmin(losses))
    ridge = float(RIDGES[best]) * size
    dual = vectors @ (coefficients / (values + ridge)[:, None])
    shifted = cross - columns - cross.mean(axis=1, keepdims=True) + columns.mean()
    alone = float(((y - mean) ** 2).sum(axis=1).mean()) * (n / (n - 1)) ** 2
    fit = KernelFit(
        outputs=mean + shifted @ dual,
        left_out=y - errors[:, best],
        ridge=ridge,
        relative=float(RIDGES[best]),
        learns=best < len(RIDGES) - 1 and float(losses[best]) < (1 - ROUNDING) * alone,
    )
    return fit, values, vectors


def without_folds(
    values: Float[np.ndarray, " n"],
    vectors: Float[np.ndarray, "n n"],
    ridge: float,
    y: Float[np.ndarray, "n k"],
    folds: Sequence[np.ndarray],
) -> Float[np.ndarray, "n k"]:
    """For the rows of each fold, the predictions of the machine that is fitted to the others, at the same ridge.

    With M = I - 11'/n - (what the kernel fits), the residuals without the fold F are M_FF^-1 (M y)_F.

    Args:
        values: eigenvalues of the centred Gram matrix, as `centred_fit` gives them.
        vectors: its eigenvectors.
        ridge: on its diagonal.
        y: targets.
        folds: rows that are left out together.
    """
    keeps = (vectors * (ridge / (values + ridge))) @ vectors.T - 1 / len(y)
    residuals, found = keeps @ y, np.empty_like(y)
    for rows in folds:
        found[rows] = y[rows] - np.linalg.solve(keeps[np.ix_(rows, rows)], residuals[rows])
    return found


def chances(
    fit: KernelFit, y: Float[np.ndarray, "n k"], outputs: Float[np.ndarray, "m k"] | None = None
) -> Float[np.ndarray, "m k"]:
    """Probabilities of classes: softmax of b times the outputs, b the best for the rows' own leave-one-out outputs."""
    outputs = fit.outputs if outputs is None else outputs
    losses = [_surprise(b * fit.left_out, y) for b in _SHARPNESS]
    scores = _SHARPNESS[int(np.argmin(losses))] * outputs
    return np.exp(scores - _logsumexp(scores)[:, None])


def _surprise(scores: Float[np.ndarray, "n k"], y: Float[np.ndarray, "n k"]) -> float:
    return float((_logsumexp(scores) - (scores * y).sum(axis=1)).mean())


def _logsumexp(scores: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
    top = scores.max(axis=1)
    return top + np.log(np.exp(scores - top[:, None]).sum(axis=1))


def best_of(matrices: list[Float[np.ndarray, "n n"]], y: Float[np.ndarray, "n k"]) -> int:
    """Which Gram matrix has the smallest leave-one-out error."""
    losses = [float(((y - kernel_fit(matrix, matrix[:1], y).left_out) ** 2).sum()) for matrix in matrices]
    return int(np.argmin([loss if math.isfinite(loss) else math.inf for loss in losses]))
