"""Measure learning curves: each model is fitted on many splits, each time to the training rows of the split only."""

import dataclasses
import functools
import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import nullcontext
from typing import Any

import numpy as np
import sklearn
from jaxtyping import Float
from threadpoolctl import threadpool_limits

from lemmata.errors import LemmataError, SolverError
from lemmata.spectra import Spectrum
from lemmata.workers import Lost, finished

from ._data import Dataset
from ._estimators import fault_of
from ._losses import LeftOut, Losses, Split, curve_of
from ._metrics import METRICS, Metric
from ._models import Fit, Model, seasoned
from ._plan import FEWEST_SIZES, planned
from ._row_losses import unexplained
from ._scorers import PARTS, Scored
from ._splits import BLOCKS, before_stretches, split, split_sizes
from ._units import constant

KEPT_BYTES = 100_000
"""The largest size of the held-out targets, in bytes, up to which the losses of guessing are cached."""
MOST_AGAIN = 1000
"""The largest number of training rows on which the training error of a model is measured."""


class UnmeasuredError(SolverError):
    """Raised if the requested metric has no value for a model."""


@dataclasses.dataclass(frozen=True)
class Measured:
    """The measured losses of one model on one table.

    Args:
        model: the model that was measured.
        losses: the losses by the name of the metric.
        learns: whether the model learns anything at the largest size, in most splits. A kernel for which the largest
            ridge is best does not learn.
        reach: the largest number of training rows on which the model was measured.
        most: the largest number of training rows that the table allows.
        ridge: for a kernel, the ridge chosen on all rows; otherwise None.
        modes: for a kernel, the eigensystem of its centred Gram matrix on all rows; otherwise None.
        notes: remarks on splits that were left out, in sentences.
        wild: the splits that were left out because the fit broke down; None if there are none.
        fitted: by the name of the metric, the loss on the training rows of one split of the last size.
        seconds: the seconds that a fit at the last size and its predictions took, as a median over splits.
    """

    model: Model
    losses: dict[str, Losses]
    learns: bool
    reach: float = math.inf
    most: float = math.inf
    ridge: float | None = None
    modes: Spectrum | None = None
    notes: tuple[str, ...] = ()
    wild: LeftOut | None = None
    fitted: dict[str, float] = dataclasses.field(default_factory=dict)
    seconds: float = math.nan


def spread_of(dataset: Dataset) -> float:
    """Return the variance of the target in its own units, summed over outputs."""
    return float(dataset.targets.var(axis=0).sum())


def baselines(dataset: Dataset) -> dict[str, float]:
    """Return, for each metric, the loss of guessing: the same prediction for every row, such as the mean.

    If rows are ordered in time, guessing is measured in the same way as models: on later stretches of rows, where the
    guess is learned from all rows before each stretch.
    """
    in_time = {} if dataset.order is None else _baselines_in_time(dataset)
    losses = guess_losses(dataset, dataset.targets, dataset.targets, dataset.groups).mean(axis=1)
    # The unexplained variance of guessing is 1 by definition. A sum over rows would give an R² of 2e-16 instead of 0.
    return {
        unit.name: in_time.get(unit.name, 1.0 if unit.rows is unexplained else float(loss))
        for unit, loss in zip(units_of(dataset), losses, strict=True)
    }


def _before(dataset: Dataset, number: int) -> Float[np.ndarray, "n k"]:
    """Return the targets of all rows before the stretch with this number. The table must have an order."""
    total = len(dataset.targets)
    return dataset.targets[split(total, total, number, 0, dataset.groups, dataset.order)[0]]


def _baselines_in_time(dataset: Dataset) -> dict[str, float]:
    """Return the mean losses of guessing over the stretches that have a value. An AUC has no value with one class."""
    total, y, losses = len(dataset.targets), dataset.targets, []
    for number in range(BLOCKS):
        before, test = split(total, total, number, 0, dataset.groups, dataset.order)
        members = None if dataset.groups is None else dataset.groups[test]
        losses.append(guess_losses(dataset, y[before], y[test], members).mean(axis=1))
    means = zip(units_of(dataset), np.transpose(losses), strict=True)
    return {unit.name: float(np.nanmean(own)) for unit, own in means if np.isfinite(own).any()}


def measure(
    model: Model,
    dataset: Dataset,
    seed: int,
    quick: bool = False,
    deadline: float = math.inf,
    progress: Callable[[float], None] = lambda share: None,
    executor: Executor | None = None,
    encoded: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> Measured:
    """Measure the losses of a model on held-out rows, at sizes in geometric progression.

    Imputation, encoding, scaling, the mean of the target and a kernel's ridge are learned from the training rows of
    each split. After `deadline` (of `time.monotonic`), no split is begun except one at each of three sizes. A size at
    which no split could be fitted is left out, and a remark says so.

    Args:
        model: the model to fit.
        dataset: the table.
        seed: the seed of the splits, which are the same for every model.
        quick: whether to measure at fewer sizes and on fewer splits.
        deadline: the `time.monotonic` at which to stop.
        progress: a function that is called with the finished share. An error from this function ends the measurement.
        executor: an executor that fits each split as a task; None means this process. The losses do not depend on it.
        encoded: a function that encodes training and held-out rows, such as a cache that all models share; None means
            `Dataset.encoded`.

    Raises:
        SolverError: if a split was lost with its worker or could not be sent, or if fewer than three sizes could be
            fitted.
    """
    model = in_season(model, dataset)
    plan = planned(model, dataset, quick)
    sizes = [n for n, _ in plan]
    done, work = 0.0, sum(n * len(numbers) for n, numbers in plan)
    # The first splits of all sizes come first, the smallest size first. So a time limit only lowers the precision.
    places = [(i, numbers[r]) for r in range(max(len(numbers) for _, numbers in plan))
              for i, (_, numbers) in enumerate(plan) if r < len(numbers)]  # fmt: skip

    def tasks() -> Iterator[tuple[tuple[int, int], tuple]]:
        for place, (i, r) in enumerate(places):
            progress(done / work)
            if time.monotonic() <= deadline or place < FEWEST_SIZES:
                last = i == len(sizes) - 1 and r == plan[i][1][0] and not model.naive
                yield (i, r), (model, dataset, seed, sizes[i], r, last, encoded if executor is None else None)

    told: dict[tuple[int, int], Split | str] = {}
    one = functools.partial(_one_split_apart, executor is not None)
    here = ((place, one(*given)) for place, given in tasks())
    for (i, r), own in here if executor is None else finished(executor, one, tasks()):
        if isinstance(own, Lost):
            raise SolverError(f"{model.title} could not be fitted to split {r} with {sizes[i]} rows", found=own.error)
        told[i, r] = own
        done += sizes[i]
    most = max(split_sizes(len(dataset.targets), False, dataset.groups, dataset.order))
    return _measured(model, dataset, sizes, told, most)


def in_season(model: Model, dataset: Dataset) -> Model:
    """Return the last-season model with a season chosen on rows before the first stretch; other models unchanged."""
    if dataset.order is None:
        return model
    rows = np.argsort(dataset.order, kind="stable")
    first, ahead = before_stretches(dataset.order)
    return seasoned(model, dataset.targets[rows[:first]], dataset.order[rows[:first]], ahead)


def _measured(model: Model, dataset: Dataset, sizes: list[int], told: dict, most: int) -> Measured:
    """Return the learning curve from the results of the splits, with remarks on splits that failed."""
    told = dict(sorted(told.items()))  # in an order that does not depend on which worker finished first
    fitted = [[own for (k, _), own in told.items() if k == i and not isinstance(own, str)] for i in range(len(sizes))]
    failed = {i: own for (i, _), own in told.items() if isinstance(own, str)}
    kept = [i for i, splits in enumerate(fitted) if splits]
    notes = [
        f"{model.title} could not be fitted to {sizes[i]:,} rows in {'some splits' if i in kept else 'any split'} "
        f"({why}). These splits are left out of its curve."
        for i, why in sorted(failed.items())
    ]
    if len(kept) < min(FEWEST_SIZES, len(sizes)):
        raise SolverError(next(iter(failed.values()), "no split was finished"))
    notes += _about_unit(model, dataset, [own for i in kept for own in fitted[i]])
    losses, wild, guesses = {}, None, baselines(dataset)
    for m, unit in enumerate(units_of(dataset)):
        known = guesses[unit.name] if unit.averaged else None
        losses[unit.name], said = curve_of([fitted[i] for i in kept], m, len(dataset.targets), dataset, unit, known)
        wild = wild or said
    learned = [own.learns for own in fitted[kept[-1]]]
    reach = float(np.mean([own.trained for own in fitted[kept[-1]]]))
    names, seen = [unit.name for unit in units_of(dataset)], [own.fitted for own in fitted[kept[-1]]]
    seen = next((dict(zip(names, own.tolist(), strict=True)) for own in seen if own is not None), {})
    return Measured(
        model, losses, sum(learned) > len(learned) / 2, reach, float(most), notes=tuple(notes), wild=wild, fitted=seen,
        seconds=float(np.median([own.seconds for own in fitted[kept[-1]]])),
    )  # fmt: skip


def _about_unit(model: Model, dataset: Dataset, splits: list[Split]) -> list[str]:
    """Return a sentence if the requested metric has no value in some splits. These splits are left out of the curves.

    Raises:
        UnmeasuredError: if the metric has no value in any split, if it has no value for predictions of the largest
            training sets, or if it needs probabilities that the model does not give.
    """
    unit, notes = dataset.unit, []
    if unit is None:
        return notes
    place = units_of(dataset).index(unit)
    without = [own for own in splits if not math.isfinite(own.means[place])]
    # A constant prediction has a value on every split, unless the metric needs two classes.
    lonely = unit.task == "classification" and not any(math.isfinite(own.guessed[place]) for own in without)
    one_class = f"the held-out rows contain a single class, so {unit.title} has no value"
    why = one_class if lonely else (
        f"the {unit.title} of the model's predictions is not a finite number (one cause is the logarithm of a negative "
        "prediction)"
    )  # fmt: skip
    if len(without) == len(splits):
        raise UnmeasuredError(f"in every split {why}")
    if without and not lonely and max(own.trained for own in without) >= max(own.trained for own in splits):
        raise UnmeasuredError(
            f"in {len(without)} of {len(splits)} splits {why}, and the errors on the other splits would look too small"
        )
    if without:
        less = "" if lonely else " The errors at small training sizes may therefore look too small."
        notes.append(f"In some splits {why}. These splits are left out of all curves.{less}")
    if any(own.certain for own in splits) and unit.probable:
        raise UnmeasuredError(f"the model predicts classes without probabilities, which {unit.title} needs")
    return notes


def _one_split(model: Model, dataset: Dataset, seed: int, size: int, number: int, last: bool = False,
               encoded: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None) -> Split:  # fmt: skip
    """Return the losses of the model and of guessing on one split, whether the model learned anything, and the time.

    If `last` is true, the result also contains the model's loss on its training rows.
    """
    train, test = split(len(dataset.targets), size, number, seed, dataset.groups, dataset.order)
    again = train[:MOST_AGAIN] if last else train[:0]
    began = time.perf_counter()
    whole = fitted(model, dataset, train, np.concatenate([test, again]), encoded)
    seconds = time.perf_counter() - began
    fit, seen = whole.some(slice(len(test))), whole.some(slice(len(test), None))
    y = dataset.targets[test]
    members = None if dataset.groups is None else dataset.groups[test]
    rows = row_losses(dataset, y, fit.outputs, fit.chances, members)
    guessed = guess_losses(dataset, dataset.targets if dataset.order is None else _before(dataset, number), y, members)
    means, known = rows.mean(axis=1), guessed.mean(axis=1)
    common = ((rows - means[:, None]) * (guessed - known[:, None])).mean(axis=1)
    slope = common / np.maximum(guessed.var(axis=1), np.finfo(float).tiny)
    apart = rows - guessed
    gain = np.stack([apart.mean(axis=1), apart.var(axis=1)])
    found = Split(len(train), len(test), means, rows.var(axis=1), known, slope, gain, fit.learns, rows.max(axis=1),
                  certain=fit.certain, seconds=seconds)  # fmt: skip
    if last:
        known = None if dataset.groups is None else dataset.groups[again]
        lost = row_losses(dataset, dataset.targets[again], seen.outputs, seen.chances, known).mean(axis=1)
        found = dataclasses.replace(found, fitted=lost)
    if dataset.groups is None:
        return found
    members, place = np.unique(dataset.groups[test], return_inverse=True)
    sums = np.stack([np.bincount(place, own) for own in rows])
    return dataclasses.replace(found, members=members, counts=np.bincount(place), sums=sums)


def _one_split_apart(apart: bool, *given: Any) -> Split | str:
    """Fit one split, in this process or in a worker process. If the model cannot be fitted, return the reason."""
    try:
        if not apart:
            return _one_split(*given)
        with threadpool_limits(1, user_api="openmp"), warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"(?!lemmata\b)")  # warnings of other libraries, as in a study
            return _one_split(*given)
    except (ValueError, ArithmeticError, np.linalg.LinAlgError, LemmataError) as error:
        return fault_of(error)


def units_of(dataset: Dataset) -> Sequence[Metric]:
    """Return the metrics of the task and the requested metric. For numbers, the first one is the squared error."""
    known = [unit for unit in METRICS if unit.task == dataset.task and unit.always]
    asked = dataset.unit
    return known if asked is None or asked.always else [*known, asked]


def fitted(
    model: Model,
    dataset: Dataset,
    train: np.ndarray,
    test: np.ndarray,
    encoded: Callable[[np.ndarray, np.ndarray], np.ndarray] | None = None,
) -> Fit:
    """Return the model's outputs for the rows `test`. Model and encoding are fitted to the training rows only."""
    if model.raw:
        rows = dataset.as_given(np.concatenate([train, test]))
    else:
        rows = (encoded if encoded is not None and not model.own else dataset.encoded)(train, test)
    groups = None if dataset.groups is None else dataset.groups[train]
    # For few rows, scikit-learn's checks take as long as its fits. Finite encoded arrays do not need the checks.
    checked = model.own or not np.isfinite(rows).all()
    with nullcontext() if checked else sklearn.config_context(skip_parameter_validation=True, assume_finite=True):
        fit = model.fit(rows, dataset.targets[train], dataset.task, groups)
    if not np.isfinite(fit.outputs).all():
        raise ValueError("its predictions are not finite")
    return fit


def row_losses(dataset: Dataset, y, outputs, probable, members=None, parts=PARTS) -> Float[np.ndarray, "metrics m"]:
    """Return, for each metric, the contribution of each row to the loss.

    Args:
        dataset: the table.
        y: the targets of the rows.
        outputs: the predictions for the rows.
        probable: the predicted probabilities of classes, or None.
        members: the groups of the rows, or None.
        parts: the number of parts of the rows that are left out in turn to estimate the variance of a score.
    """
    spread = spread_of(dataset)
    return np.stack([_rows(unit, y, probable if unit.probable else outputs, spread, members, parts)
                     for unit in units_of(dataset)])  # fmt: skip


def guess_losses(dataset: Dataset, known, y, members=None, parts=PARTS) -> Float[np.ndarray, "metrics m"]:
    """Return the losses of `row_losses` for a constant prediction, which is computed from the known targets."""
    spread, losses = spread_of(dataset), []
    for unit in units_of(dataset):
        said = constant(unit.guess, known)
        if isinstance(unit.rows, Scored) and y.nbytes <= KEPT_BYTES:  # all models have the same splits
            groups = None if members is None else members.tobytes()
            losses.append(_scored_guess(unit.rows, tuple(said.tolist()), y.tobytes(), groups, parts))
        else:
            losses.append(_rows(unit, y, np.repeat(said[None], len(y), axis=0), spread, members, parts))
    return np.stack(losses)


@functools.lru_cache(maxsize=2048)
def _scored_guess(
    rows: Scored, said: tuple[float, ...], y: bytes, members: bytes | None, parts: int
) -> Float[np.ndarray, " m"]:
    """Return each row's contribution to the score of a constant prediction, cached for the next model."""
    truth = np.frombuffer(y).reshape(-1, len(said))
    groups = None if members is None else np.frombuffer(members, np.int64)
    return rows(truth, np.repeat(np.array(said)[None], len(truth), axis=0), 1.0, groups, parts)


def _rows(unit: Metric, y, said, spread: float, members, parts: int) -> Float[np.ndarray, " m"]:
    """Return the contribution of each row to the loss of a metric.

    For a score that is not a mean over rows, one part of the rows at a time is left out to estimate the variance. All
    rows of a group are in one part.
    """
    if isinstance(unit.rows, Scored):
        return unit.rows(y, said, spread, members, parts)
    return unit.rows(y, said, spread)
