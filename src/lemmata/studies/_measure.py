"""Measured learning curves: each model fitted on many splits, and whatever is learned from rows is learned there."""

import dataclasses
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from lemmata.errors import SolverError
from lemmata.spectra import Spectrum
from lemmata.workers import Lost, finished

from ._data import Dataset
from ._kernel_fit import centred_fit, chances, without_folds
from ._metrics import METRICS, Metric, surprise
from ._models import Fit, Model, chosen, padded_gram
from ._result import Residual
from ._splits import number_of_splits, split, split_sizes

FEWEST_SIZES = 4
FOLDS = 10


@dataclasses.dataclass(frozen=True)
class Losses:
    """A loss of one model at growing numbers of training rows.

    Args:
        sizes: numbers of training rows.
        mean: mean loss on held-out rows.
        se: standard error of that mean as a statement about new rows: from the spread over splits, and from the number
            of different rows on which it was measured.
        splits: how many splits each size was measured on; 0 for all rows, a kernel's last size, where folds (of one
            row in regression) are left out exactly.
        shared: the relative standard error that all sizes have in common, because all of them are measured on rows of
            one table.
    """

    sizes: Float[np.ndarray, " s"]
    mean: Float[np.ndarray, " s"]
    se: Float[np.ndarray, " s"]
    splits: tuple[int, ...]
    shared: float = 0.0


@dataclasses.dataclass(frozen=True)
class Measured:
    """One model on one table.

    Args:
        model: the model.
        losses: by the name of the metric, the losses.
        learns: whether it learns anything at the largest size (a kernel whose best ridge is the largest does not).
        ridge: for a kernel, the ridge chosen on all rows, else None.
        modes: for a kernel, the eigensystem of its centred Gram matrix on all rows, else None.
    """

    model: Model
    losses: dict[str, Losses]
    learns: bool
    ridge: float | None = None
    modes: Spectrum | None = None


def spread_of(dataset: Dataset) -> float:
    """The variance of the target in its own units, summed over outputs."""
    return float(dataset.targets.var(axis=0).sum())


def baselines(dataset: Dataset) -> dict[str, float]:
    """By metric the loss of who predicts the mean, or the class shares, and knows no inputs."""
    guess = np.repeat(dataset.targets.mean(axis=0, keepdims=True), len(dataset.targets), axis=0)
    spread = spread_of(dataset)
    return {unit.name: float(unit.rows(dataset.targets, guess, spread).mean()) for unit in _units(dataset)}


def measure(
    model: Model,
    dataset: Dataset,
    seed: int,
    quick: bool = False,
    deadline: float = math.inf,
    progress: Callable[[float], None] = lambda share: None,
    executor: Executor | None = None,
) -> Measured:
    """The losses of a model on held-out rows, at sizes in geometric progression.

    Imputation, encoding, scaling and the mean of the target are learned from the training rows of each split, and so is
    a kernel's ridge. After `deadline` (of `time.monotonic`) no split is begun, beyond one at each of four sizes.

    Args:
        model: what is fitted.
        dataset: the table.
        seed: of the splits, which are the same for every model.
        quick: measure on fewer splits.
        deadline: when to stop.
        progress: told the share that is done; what it raises ends the measurement.
        executor: where splits are fitted, each a task; None is here. The losses are the same.

    Raises:
        SolverError: a split was lost with its worker, or could not be sent.
    """
    total = len(dataset.targets)
    sizes = split_sizes(total, quick, model.cost)
    counts = [number_of_splits(total, n, quick, model.cost) for n in sizes]
    done, work = 0.0, sum(n * count for n, count in zip(sizes, counts, strict=True))
    # One split at every size first, the largest sizes last: what a time limit cuts is the precision.
    places = [(r, i) for r in range(max(counts)) for i in range(len(sizes)) if r < counts[i]]

    def tasks() -> Iterator[tuple[tuple[int, int], tuple]]:
        for r, i in places:
            progress(done / work)
            if time.monotonic() <= deadline or not (r or i >= FEWEST_SIZES):
                yield (r, i), (model, dataset, seed, sizes[i], r)

    here = ((place, _one_split(*given)) for place, given in tasks())
    told: dict[tuple[int, int], Any] = {}
    for (r, i), own in here if executor is None else finished(executor, _one_split_apart, tasks()):
        if isinstance(own, Lost):
            raise SolverError(f"split {r} with {sizes[i]} rows of {model.title}", found=own.error, rule="is fitted")
        told[r, i] = own
        done += sizes[i]
    found = [[told[r, k][0] for r, k in places if k == i and (r, k) in told] for i in range(len(sizes))]
    held = [max((own[1] for (_, k), own in told.items() if k == i), default=0) for i in range(len(sizes))]
    learned = [own[2] for (_, i), own in told.items() if i == len(sizes) - 1]
    losses = {unit.name: _losses(found, sizes, held, total, m) for m, unit in enumerate(_units(dataset))}
    return Measured(model, losses, not learned or sum(learned) > len(learned) / 2)


def _one_split(
    model: Model, dataset: Dataset, seed: int, size: int, number: int
) -> tuple[Float[np.ndarray, "2 metrics"], int, bool]:
    """The losses on one split, on how many rows, and whether the model learned anything."""
    train, test = split(len(dataset.targets), size, number, seed, dataset.groups, dataset.order)
    fit = _fitted(model, dataset, train, test)
    groups = None if dataset.groups is None else dataset.groups[test]
    return _row_losses(dataset, dataset.targets[test], fit.outputs, fit.chances, groups), len(test), fit.learns


def _one_split_apart(*given: Any) -> tuple[Float[np.ndarray, "2 metrics"], int, bool]:
    with threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"(?!lemmata\b)")  # of models that people use, as in a study
        return _one_split(*given)


def _losses(found: list, sizes: list[int], held: list[int], total: int, metric: int) -> Losses:
    """Of what was found at each size, in splits where the metric has a value: one class alone has no AUC."""
    tables = [np.array(values)[:, :, metric] if values else np.zeros((0, 2)) for values in found]
    tables = [table[np.isfinite(table).all(axis=1)] for table in tables]
    kept = [i for i, table in enumerate(tables) if len(table)]
    mean = np.array([tables[i][:, 0].mean() for i in kept])
    seen = [min(len(tables[i]) * held[i], total) for i in kept[-1:]]
    return Losses(
        np.array([float(sizes[i]) for i in kept]),
        mean,
        np.array([_standard_error(tables[i], held[i], total) for i in kept]),
        tuple(len(tables[i]) for i in kept),
        _shared(mean[-1], tables[kept[-1]][:, 1].mean(), seen[0]) if kept else 0.0,
    )


def _shared(mean: float, variance: float, rows: int) -> float:
    return math.sqrt(variance / rows) / mean if mean > 0 else 0.0


def with_all_rows(measured: Measured, dataset: Dataset) -> Measured:
    """A kernel's curve with an exact measurement on all rows as its last size, and its eigensystem.

    In regression it is leave-one-out, the error at N - 1 rows. For classes ten folds are left out, each with its share
    of every class: without a row, the mean of the others leans to the other classes, so that leave-one-out puts a
    machine that learned nothing below guessing. Both need rows that are independent, so a table with groups or an order
    has none.
    """
    if not measured.model.kernels:
        return measured
    encoded = np.asarray(dataset.encoder().fit_transform(dataset.inputs), float)
    y, total = dataset.targets, len(dataset.targets)
    matrix = padded_gram(chosen(measured.model.kernels, encoded, y), encoded)
    fit, values, vectors = centred_fit(matrix, matrix[:1], y)
    floor = 16 * total * np.finfo(float).eps * values[-1]
    modes = Spectrum(
        jnp.asarray(values[::-1]), jnp.asarray(vectors[:, ::-1]), jnp.asarray(floor), jnp.asarray(values[0])
    )
    whole = dataclasses.replace(measured, ridge=fit.ridge, modes=modes, learns=measured.learns and fit.learns)
    if dataset.groups is not None or dataset.order is not None:
        return whole
    if dataset.task == "regression":
        size, (means, variances) = total - 1.0, _row_losses(dataset, y, fit.left_out, None)
    else:
        folds = _folds(y)
        outputs = without_folds(values, vectors, fit.ridge, y, folds)
        probable = chances(fit, y, outputs)
        parts = [_row_losses(dataset, y[rows], outputs[rows], probable[rows]) for rows in folds]
        size, (means, variances) = total - float(len(folds[0])), np.nanmean(parts, axis=0)
    losses = {
        unit.name: _with_last(old, size, mean, variance, total)
        for unit, old, mean, variance in zip(_units(dataset), measured.losses.values(), means, variances, strict=True)
    }
    return dataclasses.replace(whole, losses=losses)


def _folds(y: Float[np.ndarray, "n k"]) -> list[np.ndarray]:
    """Ten parts of the rows, each with its share of every class, in the order of the table."""
    order = np.argsort(y.argmax(axis=1), kind="stable")
    return [np.sort(order[start::FOLDS]) for start in range(min(FOLDS, len(y)))]


def _with_last(old: Losses, size: float, mean: float, variance: float, total: int) -> Losses:
    if not math.isfinite(mean) or (len(old.sizes) and size <= old.sizes[-1]):
        return old
    return Losses(
        np.append(old.sizes, size),
        np.append(old.mean, mean),
        np.append(old.se, math.sqrt(variance / total)),
        (*old.splits, 0),
        _shared(mean, variance, total),
    )


def residuals(model: Model, dataset: Dataset, unit: Metric, seed: int) -> list[Residual]:
    """The held-out rows of one split at the largest size, those with the largest loss first."""
    total = len(dataset.targets)
    train, test = split(total, split_sizes(total)[-1], 0, seed, dataset.groups, dataset.order)
    fit = _fitted(model, dataset, train, test)
    outputs = fit.chances if fit.chances is not None else fit.outputs
    rows = unit.rows(dataset.targets[test], outputs, spread_of(dataset))
    if dataset.classes is None:
        told = [(float(a), float(b)) for a, b in zip(dataset.targets[test].sum(1), fit.outputs.sum(1), strict=True)]
    else:
        classes = dataset.classes
        named = lambda table: [classes[i] for i in table.argmax(axis=1)]
        told = list(zip(named(dataset.targets[test]), named(fit.outputs), strict=True))
    found = [
        Residual(int(dataset.index[row]), truth, said, float(loss))
        for row, (truth, said), loss in zip(test, told, rows, strict=True)
    ]
    return sorted(found, key=lambda item: -item.loss)


def _units(dataset: Dataset) -> Sequence[Metric]:
    return [unit for unit in METRICS if unit.task == dataset.task]


def _fitted(model: Model, dataset: Dataset, train: np.ndarray, test: np.ndarray) -> Fit:
    """Fit everything on the training rows alone."""
    encoder = dataset.encoder().fit(dataset.inputs[train])
    rows = encoder.transform(dataset.inputs[np.concatenate([train, test])])
    return model.fit(np.asarray(rows, float), dataset.targets[train], dataset.task)


def _row_losses(dataset: Dataset, y, outputs, probable, groups=None) -> Float[np.ndarray, "2 metrics"]:
    """For each metric the mean of the loss over rows, and m times the variance of that mean.

    For independent rows that is their variance; with groups it is the mean square of the groups' sums, over m.
    """
    spread, found = spread_of(dataset), []
    for unit in _units(dataset):
        rows = unit.rows(y, probable if unit.rows is surprise else outputs, spread)
        apart = rows - rows.mean()
        sums = apart if groups is None else np.bincount(np.unique(groups, return_inverse=True)[1], apart)
        found.append((rows.mean(), float((sums**2).sum()) / len(rows)))
    return np.array(found).T


def _standard_error(table: Float[np.ndarray, "splits 2"], held: int, total: int) -> float:
    """The standard error of the mean over splits: splits share training and held-out rows.

    The variance between splits is that of the training sets and that of the held-out rows, v/m. The first falls with
    the number of splits R, the second with the number of different rows, at most min(R m, N).
    """
    number, (means, variances) = len(table), table.T
    rows = float(variances.mean())
    between = float(means.var(ddof=1)) if number > 1 else 0.0
    trained = max(between - rows / held, 0.0)
    return math.sqrt(trained / number + rows / min(number * held, total))
