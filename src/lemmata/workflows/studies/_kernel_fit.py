"""Kernel ridge regression with an intercept on one split. Leave-one-out on the training rows chooses the ridge."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from ._validation import Groups, group_parts, parted

RIDGES = np.logspace(-9, 3, 19)
"""The ridges to try, as multiples of the mean diagonal of the centred Gram matrix. The last one fits only the mean."""
ROUNDING = 1e-9
_SHARPNESS = np.logspace(-1, 2, 31)


@dataclasses.dataclass(frozen=True)
class KernelFit:
    """A fitted kernel machine.

    Args:
        outputs: the predictions on the held-out rows, in the units of y.
        left_out: for each training row, the prediction of the machine fitted without this row, at the chosen ridge.
            With groups, the machine is fitted without the row's group and some other groups.
        ridge: the chosen ridge on the diagonal of the Gram matrix.
        relative: the chosen ridge divided by the mean diagonal of the centred Gram matrix.
        learns: whether the chosen ridge is below the largest ridge tried, and its leave-one-out error is below that of
            predicting the mean.
    """

    outputs: Float[np.ndarray, "m k"]
    left_out: Float[np.ndarray, "n k"]
    ridge: float
    relative: float
    learns: bool


def kernel_fit(
    matrix: Float[np.ndarray, "n n"],
    cross: Float[np.ndarray, "m n"],
    y: Float[np.ndarray, "n k"],
    groups: Groups = None,
) -> KernelFit:
    """Fit ridge regression with an unpenalised intercept in the space of a kernel.

    The mean of the training rows is subtracted from targets and features. Let K be the Gram matrix of the n training
    rows, 1 the vector of ones, and H = I - 11'/n. The centred Gram matrix is H K H, with eigenvectors u_k and
    eigenvalues lambda_k. Let f_i be the prediction for row i by the fit to all rows. Let the leverage h_ii be the
    derivative of f_i with respect to the target y_i of the same row. This leverage includes the intercept. The
    prediction for row i by the fit to all other rows differs from y_i by r_i, and

        r_i = (y_i - f_i) / (1 - h_ii),   1 - h_ii = sum_k u_ik² ridge / (lambda_k + ridge) - 1/n.

    Here u_ik is entry i of u_k. The sum is over all n eigenvectors, and the constant eigenvector has lambda = 0.

    Args:
        matrix: the Gram matrix K of the training rows.
        cross: the kernel between held-out and training rows.
        y: the targets of the training rows.
        groups: the group of each training row, or None. With groups, whole groups are left out, in up to five parts,
            instead of single rows.
    """
    return centred_fit(matrix, cross, y, groups)[0]


def centred_fit(
    matrix: Float[np.ndarray, "n n"],
    cross: Float[np.ndarray, "m n"],
    y: Float[np.ndarray, "n k"],
    groups: Groups = None,
) -> tuple[KernelFit, Float[np.ndarray, " n"], Float[np.ndarray, "n n"]]:
    """Return the result of `kernel_fit`, the eigenvalues of H K H in ascending order, and its eigenvectors."""
    n = len(matrix)
    columns = matrix.mean(axis=0)
    centred = matrix - columns - columns[:, None] + columns.mean()
    values, vectors = np.linalg.eigh(centred)  # SciPy's function holds Python's lock, so other threads would wait
    values = np.maximum(values, 0.0)
    mean, size = y.mean(axis=0), max(float(values.sum()) / n, np.finfo(float).tiny)
    coefficients = vectors.T @ (y - mean)
    shrink = RIDGES * size / (values[:, None] + RIDGES * size)
    errors = (vectors @ (shrink[:, :, None] * coefficients[:, None, :]).reshape(n, -1)).reshape(n, len(RIDGES), -1)
    alone = float(((y - mean) ** 2).sum(axis=1).mean()) * (n / (n - 1)) ** 2
    if parted(groups):
        assert groups is not None
        parts = group_parts(groups)
        errors = np.stack([_without(vectors, shrink[:, r], errors[:, r], parts) for r in range(len(RIDGES))], axis=1)
        alone = without_the_mean(y, parts)
    else:
        errors /= np.maximum(vectors**2 @ shrink - 1 / n, 1e-12)[:, :, None]
    losses = np.einsum("nrk,nrk->r", errors, errors) / n
    best = int(np.argmin(losses))
    ridge = float(RIDGES[best]) * size
    dual = vectors @ (coefficients / (values + ridge)[:, None])
    shifted = cross - columns - cross.mean(axis=1, keepdims=True) + columns.mean()
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
    """Return the predictions for the rows of each fold by the machine that is fitted to the other folds.

    The ridge is the same for all folds. Let M be the matrix that maps the targets y to the residuals of the fit to all
    rows. Then the residuals of the fold F by the fit without F are M_FF^-1 (M y)_F.

    Args:
        values: the eigenvalues of the centred Gram matrix, as `centred_fit` returns them.
        vectors: the eigenvectors of the centred Gram matrix.
        ridge: the ridge on the diagonal of this matrix.
        y: the targets.
        folds: the rows that are left out together.
    """
    shrink = ridge / (values + ridge)
    residuals = vectors @ (shrink[:, None] * (vectors.T @ (y - y.mean(axis=0))))
    return y - _without(vectors, shrink, residuals, folds)


def _without(
    vectors: Float[np.ndarray, "n n"],
    shrink: Float[np.ndarray, " n"],
    residuals: Float[np.ndarray, "n k"],
    parts: Sequence[np.ndarray],
) -> Float[np.ndarray, "n k"]:
    """Return the residuals on each part F by the fit without F: M_FF^-1 (M y)_F, with M as in `without_folds`."""
    found = np.empty_like(residuals)
    for rows in parts:
        own = vectors[rows]
        keeps = (own * shrink) @ own.T - 1 / len(vectors)
        keeps[np.diag_indices(len(rows))] += 1e-12
        found[rows] = np.linalg.solve(keeps, residuals[rows])
    return found


def without_the_mean(y: Float[np.ndarray, "n k"], parts: Sequence[np.ndarray]) -> float:
    """Return the mean squared error per row if each part is predicted by the mean of the other parts."""
    n, total = len(y), y.sum(axis=0)
    lost = [((y[rows] - (total - y[rows].sum(axis=0)) / (n - len(rows))) ** 2).sum() for rows in parts]
    return float(sum(lost)) / n


def chances(
    fit: KernelFit, y: Float[np.ndarray, "n k"], outputs: Float[np.ndarray, "m k"] | None = None
) -> Float[np.ndarray, "m k"]:
    """Return class probabilities: the softmax of b times the outputs, with the b of least log loss on left-out rows."""
    outputs = fit.outputs if outputs is None else outputs
    losses = [_surprise(b * fit.left_out, y) for b in _SHARPNESS]
    scores = _SHARPNESS[int(np.argmin(losses))] * outputs
    return np.exp(scores - _logsumexp(scores)[:, None])


def _surprise(scores: Float[np.ndarray, "n k"], y: Float[np.ndarray, "n k"]) -> float:
    return float((_logsumexp(scores) - (scores * y).sum(axis=1)).mean())


def _logsumexp(scores: Float[np.ndarray, "n k"]) -> Float[np.ndarray, " n"]:
    top = scores.max(axis=1)
    return top + np.log(np.exp(scores - top[:, None]).sum(axis=1))


def best_of(matrices: list[Float[np.ndarray, "n n"]], y: Float[np.ndarray, "n k"], groups: Groups = None) -> int:
    """Return the position of the Gram matrix with the smallest leave-one-out error or, with groups, group error."""
    losses = [float(((y - kernel_fit(matrix, matrix[:1], y, groups).left_out) ** 2).sum()) for matrix in matrices]
    return int(np.argmin([loss if math.isfinite(loss) else math.inf for loss in losses]))
