"""Reduce kernel ridge regression with an intercept to contrasts: weighted sums of rows, with weights of sum 0."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ._eigensystem import Spectrum, spectrum
from ._equivalent import EquivalentCurve

# A Gram matrix counts as centred if at most this part of the constant vector is in modes above the rounding error.
_OVERLAP = 1e-6


def with_the_mean(curve: EquivalentCurve) -> EquivalentCurve:
    """Convert the curve for contrasts between rows into the curve of a fit with an unpenalised constant.

    A contrast is a weighted sum of rows with weights of sum 0. The fit only uses contrasts of training rows. These form
    an (n-1)-dimensional part of the (N-1)-dimensional space orthogonal to the vector of ones. This part is treated as a
    random subspace that is free of the eigenvectors, in the sense of free probability. Then the error along a direction
    orthogonal to this part is the error of training on n - 1 of N - 1 rows with the Gram matrix between contrasts. A
    held-out row contributes the direction e_h - 1_T / n, where e_h is the unit vector of the row, and 1_T is 1 for
    training rows and 0 for other rows. The squared length of each of these directions is 1 + 1/n, where 1/n is the cost
    of estimating the mean. If the kernel is 0, the error is exactly (1 + 1/n) times the variance of the targets. At n =
    N, the error is generalised cross-validation up to O(1/N).

    Args:
        curve: the `deterministic_equivalent` for n - 1 of the N - 1 contrasts.
    """
    sizes = curve.sizes + 1
    return eqx.tree_at(lambda c: (c.sizes, c.error), curve, (sizes, curve.error * (1 + 1 / sizes)))


def between_contrasts(of: Spectrum, y: Float[Array, "rows *k"]) -> tuple[Spectrum, Float[Array, "contrasts k"]]:
    """The eigensystem and targets in an orthonormal basis of the N - 1 directions orthogonal to the vector of ones.

    A reflection maps the vector of ones to the first unit vector, and the other unit vectors to this basis. If the Gram
    matrix is centred already (the vector of ones is in its null space), its eigensystem is used. Otherwise, a new
    eigensystem is computed.
    """
    values, vectors = np.asarray(of.resolved), np.asarray(of.eigenvectors)
    total = len(values)
    overlap = vectors.sum(axis=0) / np.sqrt(total)
    axis = np.full(total, 1 / np.sqrt(total))
    targets = jnp.asarray(_reflected(np.asarray(y).reshape(total, -1), axis)[1:])
    null = values <= 0
    if not null.any() or np.linalg.norm(overlap[~null]) > _OVERLAP:
        scaled = _reflected(vectors * np.sqrt(values), axis)[1:]
        return spectrum(scaled @ scaled.T), targets
    part = overlap[null] / np.linalg.norm(overlap[null])
    rest = _reflected(vectors[:, null].T, part)[1:].T  # null modes orthogonal to the ones
    kept = _reflected(np.concatenate([vectors[:, ~null], rest], axis=1), axis)[1:]
    eigenvalues = np.concatenate([values[~null], np.zeros(rest.shape[1])])
    return Spectrum(jnp.asarray(eigenvalues), jnp.asarray(kept), of.floor, of.most_negative, of.clipped), targets


def _reflected(rows: np.ndarray, axis: np.ndarray) -> np.ndarray:
    """Reflect rows so that the unit vector `axis` goes to the first axis or its negative, whichever is stable."""
    normal = axis.copy()
    normal[0] += 1.0 if axis[0] >= 0 else -1.0
    return rows - np.outer(normal, (2 / (normal @ normal)) * (normal @ rows))
