"""Find the rows that a fit misses because its Gram matrix is singular up to rounding, and not because of its ridge."""

import math

import numpy as np
from jaxtyping import Float

from lemmata.spectra import Spectrum

from ._rows import MISSED, root_mean_square


def beyond_the_ridge(
    product: Float[np.ndarray, "n *k"],
    coefficients: Float[np.ndarray, "n *k"],
    targets: Float[np.ndarray, "n *k"],
    ridge: float | None,
    jitter: float,
) -> Float[np.ndarray, "n *k"] | None:
    """Return the part of the residuals that is not due to the ridge; None if the fit does not interpolate the rows.

    With exact arithmetic, (K + ridge) alpha = y, so the ridge explains the residual -ridge alpha. The exact fit counts
    as interpolation if the ridge is below the jitter, or if all these residuals are at most `MISSED`, in units of the
    root mean square of the targets.

    Args:
        product: the fitted values K alpha.
        coefficients: the coefficients alpha.
        targets: the centred targets y.
        ridge: the ridge, at least 0. None means a ridge that was chosen by errors; the result is then None.
        jitter: the number that was added to the diagonal besides the ridge.
    """
    if ridge is None:
        return None
    explained = ridge * coefficients
    return product + explained - targets if ridge < jitter or _small(explained, targets) else None


def beyond_the_time(
    spectrum: Spectrum, targets: Float[np.ndarray, "n *k"], time: float
) -> Float[np.ndarray, "n *k"] | None:
    """Return the residuals that the time of training does not explain; None if the time stops the fit before the rows.

    The time explains the residual exp(-a t) in each eigenvector whose eigenvalue a is above the rounding error. If the
    time is so long that these residuals are at most `MISSED`, and 1 / t is below the rounding error, the exact fit
    counts as interpolation. The exact fit then misses the parts of the targets along the other eigenvectors.

    Args:
        spectrum: the eigensystem of the Gram matrix.
        targets: the centred targets.
        time: the time, at least 0.
    """
    if time < math.inf and not time * float(spectrum.floor) > 1:
        return None
    values, vectors = np.asarray(spectrum.eigenvalues), np.asarray(spectrum.eigenvectors)
    seen = values > float(spectrum.floor)
    flat = targets.reshape(len(targets), -1)
    parts = lambda which, factors: vectors[:, which] @ (factors[:, None] * (vectors[:, which].T @ flat))
    if time < math.inf and not _small(parts(seen, np.exp(-np.maximum(values[seen] * time, 0.0))), flat):
        return None
    return -parts(~seen, np.ones(int(np.sum(~seen)))).reshape(targets.shape)


def within_rounding(added: float, eigenvalues: Float[np.ndarray, " q"]) -> bool:
    """Return whether a ridge, or 1 / time, cannot be distinguished from 0 beside these eigenvalues.

    Args:
        added: the ridge or the inverse of the time.
        eigenvalues: the eigenvalues of the problem.
    """
    return bool(added <= np.finfo(float).eps * np.sum(eigenvalues))


def _small(residuals: Float[np.ndarray, "n *k"], targets: Float[np.ndarray, "n *k"]) -> bool:
    size = np.asarray(root_mean_square(targets, np.ones(len(targets))))
    return bool(np.all(np.abs(residuals) <= MISSED * np.where(size > 0, size, 1.0)))
