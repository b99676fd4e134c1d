"""Fit ridge regression to many rows: linear models exactly, and kernel machines in the span of some centres."""

import numpy as np
from jaxtyping import Float

from lemmata.kernels import AbstractKernel

from ._gram import blocks_of
from ._kernel_fit import RIDGES, ROUNDING, KernelFit, without_the_mean
from ._validation import Groups, group_parts, last_rows, parted

CENTRES = 1000
"""If there are more rows than this number, a kernel machine is fitted with this number of centres."""
VALIDATED, VALIDATION_SHARE = 2000, 0.1
"""A tenth of the training rows, at most 2000, is left out to choose the ridge of a kernel machine on centres."""
BLOCK = 2**15
SMALLEST = 1e-10
"""Eigenvalues of the centres' Gram matrix below this share of the largest are dropped as rounding error."""


def column_fit(
    x: Float[np.ndarray, "n d"], cross: Float[np.ndarray, "m d"], y: Float[np.ndarray, "n k"], groups: Groups = None
) -> KernelFit:
    """Return the result of `kernel_fit` for the linear kernel <a, b> of rows, in time n d² for n rows of d columns.

    Let X = U S V' be the singular value decomposition of the centred columns. The leverage of row i, the derivative of
    its prediction by its own target, is sum_j (X V)_ij² / (S_j² + ridge) + 1/n. Rows are processed in blocks, so that
    no n x n matrix is formed. If no column varies, the fit is the mean of the targets.

    Args:
        x: the training rows.
        cross: the held-out rows.
        y: the targets of the training rows.
        groups: the group of each training row, or None. With groups, whole groups are left out instead of single rows.
    """
    n, columns, mean = len(x), x.mean(axis=0), y.mean(axis=0)
    starts = range(0, n, BLOCK)
    square, product = np.zeros((x.shape[1],) * 2), np.zeros((x.shape[1], y.shape[1]))
    for start in starts:
        rows = x[start : start + BLOCK] - columns
        square += rows.T @ rows
        product += rows.T @ (y[start : start + BLOCK] - mean)
    values, vectors = np.linalg.eigh(square)
    values, turned = np.maximum(values, 0.0), vectors.T @ product
    if _constant(x, values):
        values, turned = np.zeros_like(values), np.zeros_like(turned)
    size = float(values.sum()) / n or 1.0
    ridges = RIDGES * size
    # Directions outside the span of the rows contain only rounding errors, so no denominator is below rounding error.
    inverse = 1.0 / np.maximum(values[:, None] + ridges, n * np.finfo(float).eps * max(values[-1], size))
    if parted(groups):
        assert groups is not None
        parts = group_parts(groups)
        best, least, left = _without_groups(x, y, ridges, parts)
        alone = without_the_mean(y, parts)
    else:
        losses = np.zeros(len(ridges))
        for start in starts:
            for r, errors in enumerate(_errors(x, y, columns, mean, vectors, inverse, turned, start)):
                losses[r] += float((errors**2).sum()) / n
        best = int(np.argmin(losses))
        again = [next(_errors(x, y, columns, mean, vectors, inverse[:, [best]], turned, start)) for start in starts]
        least, left = float(losses[best]), y - np.concatenate(again)
        alone = float(((y - mean) ** 2).sum(axis=1).mean()) * (n / (n - 1)) ** 2
    return KernelFit(
        outputs=mean + (cross - columns) @ (vectors @ (turned * inverse[:, [best]])),
        left_out=left,
        ridge=float(ridges[best]),
        relative=float(RIDGES[best]),
        learns=best < len(RIDGES) - 1 and least < (1 - ROUNDING) * alone,
    )


def _without_groups(
    x: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n k"], ridges: np.ndarray, parts: list[np.ndarray]
) -> tuple[int, float, Float[np.ndarray, "n k"]]:
    """Return the position of the ridge with the smallest error on the parts, this error, and the predictions.

    Each part is predicted by the fit to the other parts.
    """
    losses, left = np.zeros(len(ridges)), np.empty((len(ridges), *y.shape))
    for rows in parts:
        rest = np.setdiff1d(np.arange(len(x)), rows)
        columns, mean = x[rest].mean(axis=0), y[rest].mean(axis=0)
        square, product = np.zeros((x.shape[1],) * 2), np.zeros((x.shape[1], y.shape[1]))
        for start in range(0, len(rest), BLOCK):
            block = x[rest[start : start + BLOCK]] - columns
            square += block.T @ block
            product += block.T @ (y[rest[start : start + BLOCK]] - mean)
        weights = _weights(square, product, ridges)
        if _constant(x[rest], np.diag(square)):
            weights = [np.zeros_like(product)] * len(ridges)
        for r, weight in enumerate(weights):
            left[r, rows] = mean + (x[rows] - columns) @ weight
            losses[r] += float(((left[r, rows] - y[rows]) ** 2).sum()) / len(x)
    best = int(np.argmin(losses))
    return best, float(losses[best]), left[best]


def _constant(x: Float[np.ndarray, "n d"], variances: Float[np.ndarray, " d"]) -> bool:
    """Whether all columns are constant up to rounding; the fit is then the mean of the targets.

    Args:
        x: the rows.
        variances: numbers whose sum is the sum of squares of the centred columns.
    """
    rounding = 2 * np.finfo(float).eps * float(np.abs(x).max(initial=0.0))
    return bool(variances.sum() <= x.size * rounding**2)


def _errors(x, y, columns, mean, vectors, inverse, turned, start: int):
    """Yield, for each ridge, the leave-one-out errors of a block of rows."""
    scores = (x[start : start + BLOCK] - columns) @ vectors
    leverage = (scores**2) @ inverse + 1 / len(x)
    for r in range(inverse.shape[1]):
        fitted = mean + scores @ (turned * inverse[:, [r]])
        yield (y[start : start + BLOCK] - fitted) / np.maximum(1 - leverage[:, [r]], 1e-12)


def centres_fit(
    kernel: AbstractKernel,
    x: Float[np.ndarray, "n d"],
    cross: Float[np.ndarray, "m d"],
    y: Float[np.ndarray, "n k"],
    most: int = CENTRES,
    groups: Groups = None,
) -> tuple[KernelFit, Float[np.ndarray, "v k"]]:
    """Fit kernel ridge regression in the span of 1000 training rows. Also return the targets of the validation rows.

    The last tenth of the rows (at most 2000) are validation rows, which choose the ridge: `left_out` contains the
    predictions for these rows by the fit to the other rows. All rows are then fitted with this ridge. Let z be the
    centres, and let the Gram matrix of the centres have eigenvectors U and eigenvalues w. The features of a row x are
    K(x, z) U / sqrt(w). The covariance of the features is accumulated over blocks of rows, and its eigenvalues give the
    fit at all ridges at once. The objective is that of `lemmata.solvers.subset_of_regressors`, with an intercept.
    `subset_of_regressors` is not used. That function compiles again for every number of rows, and each compilation
    takes longer than the fits of this function.

    Args:
        kernel: the kernel of the regression.
        x: the training rows, in random order or in the order of time.
        cross: the held-out rows.
        y: the targets of the training rows.
        most: the largest number of centres.
        groups: the group of each training row, or None. With groups, the last whole groups choose the ridge.
    """
    kept = last_rows(len(x), VALIDATED, VALIDATION_SHARE, groups)
    chosen = np.sort(np.random.default_rng(len(x)).choice(kept, min(most, kept), replace=False))
    centres, mean = x[chosen], y[:kept].mean(axis=0)
    own = np.concatenate([rows for _, rows in blocks_of(kernel, centres, centres)])
    whitened, diagonal = _whitening(own), float(np.trace(own)) / len(centres)
    first = _moments(kernel, x[:kept], y[:kept], centres)
    covariance, product, shift = _centred(first, whitened)
    ridges = RIDGES * max(diagonal, np.finfo(float).tiny)
    weights = whitened @ np.concatenate(_weights(covariance, product, ridges), axis=1)
    shown = _said(kernel, x[kept:], centres, weights, shift)
    shown = mean + np.moveaxis(shown.reshape(len(shown), len(ridges), -1), 1, 0)
    losses = ((shown - y[kept:]) ** 2).sum(axis=(1, 2))
    best = int(np.argmin(np.where(np.isfinite(losses), losses, np.inf)))
    alone = float(((y[kept:] - mean) ** 2).sum())
    rest = _moments(kernel, x[kept:], y[kept:], centres)
    covariance, product, shift = _centred(tuple(a + b for a, b in zip(first, rest, strict=True)), whitened)
    (weight,) = _weights(covariance, product, ridges[[best]])
    fit = KernelFit(
        outputs=y.mean(axis=0) + _said(kernel, cross, centres, whitened @ weight, shift),
        left_out=shown[best],
        ridge=float(ridges[best]),
        relative=float(RIDGES[best]),
        learns=best < len(ridges) - 1 and float(losses[best]) < alone,
    )
    return fit, y[kept:]


def _moments(kernel, x, y, centres) -> tuple[np.ndarray, ...]:
    """Return the sums over rows x, with centres z, of K(x, z), its products with itself and with y, y, and 1."""
    sums, square = np.zeros(len(centres)), np.zeros((len(centres),) * 2)
    product = np.zeros((len(centres), y.shape[1]))
    for place, rows in blocks_of(kernel, x, centres):
        sums += rows.sum(axis=0)
        square += rows.T @ rows
        product += rows.T @ y[place]
    return sums, square, product, y.sum(axis=0), np.array([float(len(y))])


def _centred(moments: tuple[np.ndarray, ...], whitened: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the covariance of the features, their covariance with y, and the mean of K(x, z)."""
    sums, square, product, targets, number = moments
    inner = whitened.T @ (square - np.outer(sums, sums) / number) @ whitened
    return inner, whitened.T @ (product - np.outer(sums, targets) / number), sums / number


def _weights(covariance: np.ndarray, product: np.ndarray, ridges: np.ndarray) -> list[np.ndarray]:
    """Return (C + ridge)^-1 b for each ridge, with C = `covariance`, b = `product`. Negative eigenvalues become 0."""
    values, vectors = np.linalg.eigh(covariance)
    turned = vectors.T @ product
    return [vectors @ (turned / (np.maximum(values, 0.0) + ridge)[:, None]) for ridge in ridges]


def _whitening(matrix: Float[np.ndarray, "p p"]) -> Float[np.ndarray, "p r"]:
    """Return U / sqrt(w) for the eigenvalues w of a Gram matrix that are above rounding error."""
    values, vectors = np.linalg.eigh(matrix)
    kept = values > SMALLEST * values[-1]
    return vectors[:, kept] / np.sqrt(values[kept])


def _said(kernel, x, centres, weights, shift) -> Float[np.ndarray, "m k"]:
    """Return the predictions minus the mean of the targets, computed block by block."""
    return np.concatenate([(rows - shift) @ weights for _, rows in blocks_of(kernel, x, centres)])
