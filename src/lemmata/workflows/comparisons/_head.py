"""The head that all families share: one kernel on the mixed vectors, ridge regression with an intercept."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

RIDGES = np.logspace(-7, 2, 15)
"""Ridges relative to the mean diagonal of the centred Gram matrix. At the last, little but the mean is learned."""


def standardised(vectors: Float[np.ndarray, "n q"], training: Int[np.ndarray, " m"]) -> Float[np.ndarray, "n r"]:
    """Each coordinate with mean 0 and variance 1 on the training rows; those that do not vary there are left out."""
    own = vectors[training]
    mean, deviation = own.mean(axis=0), own.std(axis=0)
    varies = deviation > 1e-9 * np.maximum(np.abs(own).max(axis=0), np.finfo(float).tiny)
    return (vectors[:, varies] - mean[varies]) / deviation[varies]


def head_kernel(z: Float[np.ndarray, "n q"], other: Float[np.ndarray, "m q"], width: float) -> Float[np.ndarray, "n m"]:
    """Half linear, half RBF: <z, z'> / (2 q) + exp(-|z - z'|² / (2 width² q)) / 2.

    For standardised coordinates, both halves have mean diagonal ½, so the trace is the number of rows. Without any
    coordinate the kernel is constant.
    """
    dimension = max(z.shape[1], 1)
    product = z @ other.T / dimension
    squares = (z**2).sum(axis=1)[:, None] / dimension, (other**2).sum(axis=1)[None] / dimension
    distances = np.maximum(squares[0] + squares[1] - 2 * product, 0.0)
    return 0.5 * product + 0.5 * np.exp(-distances / (2 * width**2))


@dataclasses.dataclass(frozen=True)
class Fit:
    """Ridge regression on one split. Leave-one-out on the training rows chooses its ridge.

    Args:
        outputs: predictions of the held-out rows.
        left_out: mean leave-one-out error of the training rows at the chosen ridge.
        uncertainty: its standard error over the rows, relative to it.
        ridge: its place in `RIDGES`.
    """

    outputs: Float[np.ndarray, "m k"]
    left_out: float
    uncertainty: float
    ridge: int


def fits(
    inner: Float[np.ndarray, "n n"],
    cross: Float[np.ndarray, "m n"],
    targets: Sequence[Float[np.ndarray, "n k"]],
) -> list[Fit]:
    """One fit for each target, all from one eigensystem of the training rows' centred Gram matrix.

    Let H = I - 11'/n, H K H = U diag(a) U' and shrink_i = ridge / (a_i + ridge). The leave-one-out residual of row i is
    (U shrink U' (y - mean))_i / (sum_k u_ik² shrink_k - 1/n), because the constant is learned and not penalised.

    Args:
        inner: kernel between training rows.
        cross: kernel between held-out and training rows.
        targets: of the training rows, one array per problem.
    """
    n, columns = len(inner), inner.mean(axis=0)
    centred = inner - columns - columns[:, None] + columns.mean()
    values, vectors = np.linalg.eigh(centred)
    values = np.maximum(values, 0.0)
    ridges = RIDGES * max(float(values.sum()) / n, np.finfo(float).tiny)
    shrink = ridges / (values[:, None] + ridges)
    room = np.maximum(vectors**2 @ shrink - 1 / n, 1e-12)
    shifted = (cross - columns - cross.mean(axis=1, keepdims=True) + columns.mean()) @ vectors
    found = []
    for own in targets:
        mean = own.mean(axis=0)
        coefficients = vectors.T @ (own - mean)
        losses = np.empty((len(ridges), n))
        for r in range(len(ridges)):
            residuals = vectors @ (shrink[:, r, None] * coefficients) / room[:, r, None]
            losses[r] = (residuals**2).sum(axis=1)
        errors = losses.mean(axis=1)
        best = int(np.argmin(errors))
        uncertainty = float(losses[best].std() / max(errors[best], np.finfo(float).tiny)) / math.sqrt(n)
        outputs = mean + shifted @ (coefficients / (values + ridges[best])[:, None])
        found.append(Fit(outputs, float(errors[best]), uncertainty, best))
    return found
