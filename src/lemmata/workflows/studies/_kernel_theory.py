"""Predict a kernel's learning curve by theory, from its eigenvalues and the target's share in each eigenvector."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from lemmata.spectra import (
    EquivalentCurve,
    Spectrum,
    condition_number,
    effective_dimension,
    measured_curve,
    target_power,
)
from lemmata.workflows.records.studies import Spectral, TheoryPoint

from ._data import Dataset
from ._gaussian_outputs import predicted_accuracy
from ._kernel_fit import RIDGES
from ._measure import Measured, spread_of

SHOWN_MODES = 80
ALLOWANCE = 0.12
"""Half the width of the band of the log error, without noise. The noise of a mean over `SPLITS` splits is added."""
SPLITS = 8


def theory(measured: Measured, dataset: Dataset) -> list[TheoryPoint]:
    """Return predicted and measured squared error at a kernel's measured sizes, divided by the target's variance.

    The prediction is the deterministic equivalent for the centred Gram matrix of all rows, with an intercept. At each
    size, the ridge with the smallest predicted error is used, because leave-one-out chooses a ridge again in each
    split. For classes, the accuracy at this ridge is also returned (see `predicted_accuracy`). The page compares the
    prediction with the measurements. So that this comparison is a test, the measurements do not enter the prediction,
    and the width of a band around the prediction is fixed in advance. The page counts the measurements inside the band.
    """
    if measured.modes is None or measured.ridge is None:
        return []
    spread = spread_of(dataset)
    losses = measured.losses["squared" if dataset.task == "classification" else "unexplained"]
    scale = spread if dataset.task == "classification" else 1.0
    kept = losses.sizes <= len(dataset.targets)
    if not kept.any():
        return []
    y = jnp.asarray((dataset.targets - dataset.targets.mean(axis=0)) / np.sqrt(spread))
    sizes = losses.sizes[kept]
    ridges = float(measured.modes.eigenvalues.mean()) * RIDGES[::2]
    pairs = np.tile(sizes, len(ridges)), np.repeat(ridges, len(sizes))
    curve = measured_curve(measured.modes, y, *pairs, intercept=True, solves=0)
    ends = curve.error, *_band(curve.equivalent, len(y))
    error, lower, upper = (np.asarray(end).reshape(len(ridges), -1) for end in ends)
    best = error.argmin(axis=0), np.arange(len(sizes))
    columns = [sizes, error[best], lower[best], upper[best], losses.mean[kept] / scale]
    if dataset.task == "classification":
        mu = np.asarray(curve.equivalent.mu).reshape(len(ridges), -1)[best]
        columns += [
            predicted_accuracy(measured.modes, dataset.targets, sizes, mu),
            1 - measured.losses["wrong"].mean[kept],
        ]
    return [TheoryPoint(*map(float, row)) for row in zip(*columns, strict=True)]


def _band(curve: EquivalentCurve, total: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends of the band, whose width is due to the allowance, two standard errors and the drift."""
    sizes, error, spread, drift = map(np.asarray, (curve.sizes, curve.error, curve.spread, curve.drift))
    others = np.maximum(total - sizes, 1)
    sampling = spread * np.sqrt((1 / sizes + 1 / others) / SPLITS)
    width = np.sqrt(ALLOWANCE**2 + (2 * sampling) ** 2)
    return error * np.exp(np.minimum(drift, 0) - width), error * np.exp(np.maximum(drift, 0) + width)


def spectral(measured: Measured, dataset: Dataset) -> Spectral | None:
    """Return the eigenvalues of a kernel, and the share of the target in its first eigenvectors."""
    if measured.modes is None or measured.ridge is None:
        return None
    total = len(dataset.targets)
    shown = np.unique(np.geomspace(1, total, SHOWN_MODES).astype(int))
    y = jnp.asarray(dataset.targets - dataset.targets.mean(axis=0))
    power, dimension, condition = _facts(measured.modes, y, jnp.asarray(measured.ridge))
    aligned = np.cumsum(np.asarray(power))  # NumPy, because JAX takes long to compile a cumulative sum
    return Spectral(
        shown.tolist(),
        np.asarray(measured.modes.eigenvalues)[shown - 1].tolist(),
        (aligned[shown - 1] / max(float(aligned[-1]), np.finfo(float).tiny)).tolist(),
        float(dimension),
        float(condition),
    )


@eqx.filter_jit
def _facts(modes: Spectrum, y: Float[Array, "n k"], ridge: Float[Array, ""]) -> tuple[Array, Array, Array]:
    """Return the target's squared norm in each eigenvector, the effective dimension and the condition number.

    All three are compiled together: once for each number of rows, instead of once for each operation.
    """
    return target_power(modes, y), effective_dimension(modes, ridge), condition_number(modes)
