"""Measure a kernel machine on all rows. An exact formula gives the predictions for left-out rows without new fits."""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from lemmata.spectra import Spectrum

from ._data import Dataset
from ._gram import padded_gram
from ._kernel_fit import centred_fit, chances, without_folds
from ._losses import Losses, bounded, upper_gain
from ._measure import Measured, guess_losses, row_losses, units_of
from ._metrics import Metric
from ._models import chosen, within
from ._plan import left_out
from ._scorers import FINE

FOLDS = 10
SPECTRAL_ROWS = 1500
"""The number of random rows used for eigenvalues if a table has more than `MOST_LEFT_OUT` rows."""


def with_all_rows(measured: Measured, dataset: Dataset) -> Measured:
    """Add an exact measurement on all rows to a kernel's learning curve as its last size, and compute its eigensystem.

    In regression, the measurement is leave-one-out, the error at N - 1 training rows. For classes, the rows are divided
    into ten folds with equal shares of every class, and one fold at a time is left out. Leave-one-out is not used for
    classes, because a left-out row's class is rarer among the other rows. A machine that learned nothing would then
    have a larger error than guessing. The measurement needs independent rows. For a table with groups, with rows in
    time order, or with more than 2,500 rows, only the eigensystem of the given rows is computed. If mean targets of
    texts are among the columns, neither is computed, because the columns of a row then depend on the targets of other
    rows.

    Args:
        measured: the kernel with its learning curve on splits.
        dataset: the table, or some rows of it (see `spectral_rows`).
    """
    if not measured.model.kernels or dataset.texts:
        return measured
    encoded = dataset.x
    y, total = dataset.targets, len(dataset.targets)
    matrix = padded_gram(chosen(measured.model.kernels, encoded, y), encoded)
    fit, values, vectors = centred_fit(matrix, matrix[:1], y)
    rounding = 16 * total * np.finfo(float).eps * values[-1]
    modes = Spectrum(
        jnp.asarray(values[::-1]), jnp.asarray(vectors[:, ::-1]), jnp.asarray(rounding), jnp.asarray(values[0])
    )
    whole = dataclasses.replace(measured, ridge=fit.ridge, modes=modes)
    if not left_out(dataset) or measured.most > total:
        return whole
    if dataset.task == "regression":
        size, rows = total - 1.0, row_losses(dataset, y, within(fit.left_out, y), None, None, FINE)
        means, variances, largest = rows.mean(axis=1), rows.var(axis=1), rows.max(axis=1)
        apart = rows - guess_losses(dataset, y, y, None, FINE)
    else:
        folds = _folds(y)
        outputs = without_folds(values, vectors, fit.ridge, y, folds)
        probable = chances(fit, y, outputs)
        parts = [row_losses(dataset, y[rows], outputs[rows], probable[rows]) for rows in folds]
        size = total - float(len(folds[0]))
        means = np.nanmean([rows.mean(axis=1) for rows in parts], axis=0)
        variances = np.nanmean([rows.var(axis=1) for rows in parts], axis=0)
        largest = np.zeros(len(means))
        guessed = [guess_losses(dataset, y, y[rows]) for rows in folds]
        apart = np.concatenate([own - other for own, other in zip(parts, guessed, strict=True)], axis=1)
    losses = {
        unit.name: _with_last(measured.losses[unit.name], size, (mean, variance, most), own, dataset, unit)
        for unit, mean, variance, most, own in zip(units_of(dataset), means, variances, largest, apart, strict=True)
    }
    return dataclasses.replace(whole, losses=losses, learns=measured.learns and fit.learns, reach=size)


def spectral_rows(dataset: Dataset, seed: int, most: int) -> Dataset:
    """Return the table or, if it has more than `most` rows, 1,500 random rows of it, for eigenvalues and theory."""
    total = len(dataset.targets)
    if total <= most:
        return dataset
    rows = np.random.default_rng([seed, 4]).choice(total, SPECTRAL_ROWS, replace=False)
    return dataset.some(np.sort(rows))


def _folds(y: Float[np.ndarray, "n k"]) -> list[np.ndarray]:
    """Divide the rows into ten parts, each with its share of every class, in the order of the table."""
    order = np.argsort(y.argmax(axis=1), kind="stable")
    return [np.sort(order[start::FOLDS]) for start in range(min(FOLDS, len(y)))]


def _with_last(
    old: Losses,
    size: float,
    found: tuple[float, float, float],
    apart: Float[np.ndarray, " N"],
    dataset: Dataset,
    unit: Metric,
) -> Losses:
    """Return the learning curve extended by one size.

    Args:
        old: the learning curve so far.
        size: the number of training rows of the new size.
        found: the mean, the variance and the maximum of the rows' losses at the new size.
        apart: for each row, the model's loss minus the loss of guessing on the same row.
        dataset: the table.
        unit: the metric of the losses.
    """
    mean, variance, largest = map(float, found)
    if not math.isfinite(mean) or (len(old.sizes) and size <= old.sizes[-1]):
        return old
    error = math.sqrt(variance / len(dataset.targets))
    value, error, bounds = bounded(mean, error, float(len(dataset.targets)), dataset, unit)
    return Losses(
        np.append(old.sizes, size),
        np.append(old.mean, value),
        np.append(old.se, error),
        (*old.splits, 0),
        error / value if value > 0 else 0.0,
        np.append(old.measured, mean),
        *bounds,
        largest / (len(dataset.targets) * mean) if mean > 0 else 0.0,
        gain=upper_gain(float(apart.mean()), float(apart.var()), float((apart**2).mean()), len(apart), unit),
        rows=float(len(dataset.targets)),
    )
