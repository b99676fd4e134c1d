"""The second route: the learning curve that theory predicts from a kernel's eigenvalues and the target's share in each."""

import jax.numpy as jnp
import numpy as np

from lemmata.spectra import condition_number, cumulative_alignment, effective_dimension, learning_curve

from ._data import Dataset
from ._measure import Measured, spread_of
from ._result import Spectral, TheoryPoint

SHOWN_MODES = 80


def theory(measured: Measured, dataset: Dataset) -> list[TheoryPoint]:
    """Predicted and measured squared error, relative to the target's variance, at the measured sizes of a kernel.

    The prediction is `lemmata.spectra.learning_curve` of the centred Gram matrix of all rows, at the ridge that
    leave-one-out chose on all rows.
    """
    if measured.modes is None or measured.ridge is None:
        return []
    spread = spread_of(dataset)
    losses = measured.losses["squared" if dataset.task == "classification" else "unexplained"]
    scale = spread if dataset.task == "classification" else 1.0
    kept = losses.sizes <= len(dataset.targets)
    y = jnp.asarray((dataset.targets - dataset.targets.mean(axis=0)) / np.sqrt(spread))
    found = learning_curve(measured.modes, y, losses.sizes[kept], measured.ridge)
    columns = (losses.sizes[kept], found.error, found.lower, found.upper, losses.mean[kept] / scale)
    return [TheoryPoint(*map(float, row)) for row in zip(*columns, strict=True)]


def spectral(measured: Measured, dataset: Dataset) -> Spectral | None:
    """The spectrum of a kernel, and how much of the target its first eigenvectors carry."""
    if measured.modes is None or measured.ridge is None:
        return None
    total = len(dataset.targets)
    shown = np.unique(np.geomspace(1, total, SHOWN_MODES).astype(int))
    y = jnp.asarray(dataset.targets - dataset.targets.mean(axis=0))
    return Spectral(
        shown.tolist(),
        np.asarray(measured.modes.eigenvalues)[shown - 1].tolist(),
        np.asarray(cumulative_alignment(measured.modes, y))[shown - 1].tolist(),
        float(effective_dimension(measured.modes, measured.ridge)),
        float(condition_number(measured.modes)),
    )
