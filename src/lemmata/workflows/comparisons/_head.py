"""The head of all families: ridge regression, with an intercept, with one kernel of the mixers' output vectors."""

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int

RIDGES = np.logspace(-7, 2, 15)
"""The ridge penalties that are tried, as multiples of the mean diagonal entry of the centred Gram matrix.

The largest ridge fits little more than the mean of the targets.
"""


def standardised(vectors: Float[np.ndarray, "n q"], training: Int[np.ndarray, " m"]) -> Float[np.ndarray, "n r"]:
    """Scale coordinates to mean 0 and variance 1 on training rows. Leave out coordinates that are constant there."""
    own = vectors[training]
    mean, deviation = own.mean(axis=0), own.std(axis=0)
    varies = deviation > 1e-9 * np.maximum(np.abs(own).max(axis=0), np.finfo(float).tiny)
    return (vectors[:, varies] - mean[varies]) / deviation[varies]


def head_kernel(z: Float[np.ndarray, "n q"], other: Float[np.ndarray, "m q"], width: float) -> Float[np.ndarray, "n m"]:
    """The kernel <z, z'> / (2 q) + exp(-|z - z'|² / (2 width² q)) / 2 of vectors z with q coordinates.

    For standardised coordinates, each of the two terms has a diagonal of mean ½, so the trace of the kernel matrix is
    the number of rows. If there are no coordinates, the kernel is constant.
    """
    dimension = max(z.shape[1], 1)
    product = z @ other.T / dimension
    squares = (z**2).sum(axis=1)[:, None] / dimension, (other**2).sum(axis=1)[None] / dimension
    distances = np.maximum(squares[0] + squares[1] - 2 * product, 0.0)
    return 0.5 * product + 0.5 * np.exp(-distances / (2 * width**2))


@dataclasses.dataclass(frozen=True)
class Fit:
    """Ridge regression on one split. The ridge with the smallest leave-one-out error on the training rows is chosen.

    Args:
        outputs: the predictions for the held-out rows.
        left_out: the mean squared leave-one-out error of the training rows at the chosen ridge.
        uncertainty: the standard error of `left_out` over the rows, divided by `left_out`.
        ridge: the position of the chosen ridge in `RIDGES`.
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
    """Fit each target by ridge regression. All fits share one eigensystem of the centred Gram matrix.

    Let K be the kernel between the n training rows, H = I - 11'/n, H K H = U diag(a) U' and
    shrink_i = ridge / (a_i + ridge). The leave-one-out residual of row i is
    (U shrink U' (y - mean))_i / (sum_k u_ik² shrink_k - 1/n). The term 1/n stands for the unpenalised intercept.

    Args:
        inner: the kernel between training rows.
        cross: the kernel between held-out and training rows.
        targets: the targets of the training rows, one array per problem.
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
