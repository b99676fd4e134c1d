"""The main job: a data set in, the record of the study out."""

import datetime
import functools
import math
import resource
import time
from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np

import lemmata
from lemmata.claims import Claim
from lemmata.core import one_blas_thread, require_float64
from lemmata.problems import Regression

from ._answers import answers, coverage, default_error, samples
from ._architectures import Architecture, architectures
from ._claims import bibliography, examinations
from ._curves import Curve, curve_record, curve_sizes, study_architecture
from ._data import Dataset
from ._training import train_networks

PROBLEM_ROWS = 400
TRAINING_ROWS = 300
CURVES_SHARE, TRAINING_SHARE, CLAIMS_SHARE = 0.5, 0.65, 0.9
"""Shares of a time limit after which each stage begins nothing new; the rest is for the report."""

Progress = Callable[[str, float, float], None]


def run_study(
    dataset: Dataset,
    kernels: Sequence[str] | None = None,
    error: float | None = None,
    time_limit: float | None = None,
    seed: int = 0,
    progress: Progress = lambda stage, done, total: None,
) -> dict:
    """Which architecture fits a data set, how much data an error needs, and which theorems speak about it.

    Args:
        dataset: standardised inputs and centred targets.
        kernels: names of architectures; None for the default six.
        error: held-out squared error (summed over outputs) to reach; None chooses one and says how.
        time_limit: about how many seconds the study may take. Each stage has its share, and what is left out is noted;
            the first architecture always runs, with at least four sizes.
        seed: seed of all randomness.
        progress: told the stage and how much of it is done.

    Returns:
        The record that study.json holds and the report shows. After Ctrl-C it holds what was finished, and
        `interrupted` is true.

    Raises:
        UnknownNameError: no architecture of that name.
        PrecisionError: float64 is off.
    """
    require_float64("a study")
    start = time.monotonic()
    chosen = architectures(kernels, dataset.x)
    record = _empty_record(dataset, seed)

    def until(share: float) -> float:
        return math.inf if time_limit is None else start + share * time_limit

    try:
        with one_blas_thread():
            _fill(record, dataset, chosen, error, until, seed, progress)
    except KeyboardInterrupt:
        record["interrupted"] = True
        record["notes"].append("Interrupted: the sections that were not finished are missing.")
    record["seconds"] = time.monotonic() - start
    record["peak_gib"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return record


def _empty_record(dataset: Dataset, seed: int) -> dict:
    return {
        "lemmata": lemmata.__version__,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "command": "",
        "seed": seed,
        "data": {
            "name": dataset.name,
            "rows": dataset.rows,
            "used_rows": len(dataset.x),
            "columns": dataset.columns,
            "kept_columns": dataset.x.shape[1],
            "outputs": dataset.y.shape[1],
            "task": dataset.task,
            "target": dataset.target,
            "classes": None if dataset.classes is None else list(dataset.classes),
            "features": list(dataset.features),
            "notes": list(dataset.notes),
            "duplicates": {
                "rows": dataset.duplicates.rows,
                # Rows of the table as it stands on disk, counted from 0 below the header.
                "examples": [[int(dataset.index[i]) for i in pair] for pair in dataset.duplicates.examples],
            },
            "baseline_error": dataset.baseline_error,
            # The user's value of a target is y * y_scale + y_mean, for each output.
            "y_mean": dataset.y_mean.tolist(),
            "y_scale": dataset.y_scale.tolist(),
        },
        "architectures": [],
        "answers": None,
        "training": [],
        "claims": [],
        "quality": None,
        "bibliography": [],
        "notes": [],
        "interrupted": False,
    }


def _fill(record, dataset, chosen, error, until, seed, progress) -> None:
    """Fill the record piece by piece, so that what is finished stays when a stage is interrupted."""
    curves: list[Curve] = []
    try:
        _curves(record, curves, dataset, chosen, until(CURVES_SHARE), seed, progress)
    finally:
        if curves:  # after Ctrl-C, too, the architectures that are finished have their answers
            _answer(record, curves, error)
    best = next(item for item in chosen if item.name == record["answers"]["best"])
    _train(record, dataset, until(TRAINING_SHARE), seed, progress)
    ridge = next(curve.ridge for curve in curves if curve.name == best.name)
    problem = regression(dataset, best, ridge, seed)
    examined: list[Claim] = []
    for entry, claim in examinations(problem, best.name, seed, until(CLAIMS_SHARE), progress):
        record["claims"].append(entry)
        examined.append(claim)
        record["bibliography"] = bibliography(examined)
    missed = sum(entry["status"] == "not examined" for entry in record["claims"])
    if missed:
        record["notes"].append(f"The time limit was reached before {missed} claims were examined.")


def _curves(record, curves, dataset, chosen, deadline, seed, progress) -> None:
    for i, architecture in enumerate(chosen):
        if i and time.monotonic() > deadline:
            left = ", ".join(other.name for other in chosen[i:])
            record["notes"].append(f"The time limit was reached before these architectures: {left}.")
            break
        told = functools.partial(_within, progress, i, len(chosen))
        curve = study_architecture(architecture, dataset, seed, told, deadline)
        curves.append(curve)
        record["architectures"].append(curve_record(curve, dataset))
        if len(curve.sizes) < len(curve_sizes(curve.total)):
            record["notes"].append(f"The time limit cut the measured curve of {curve.name} at {curve.sizes[-1]} rows.")


def _answer(record, curves, error) -> None:
    error, origin = default_error(curves) if error is None else (error, "given with --error")
    for curve, entry in zip(curves, record["architectures"], strict=False):
        entry["samples"] = samples(curve, error)
    record["answers"] = answers(curves, error, origin)
    record["quality"] = _quality(curves)


def _within(progress: Progress, done: int, total: int, share: float) -> None:
    progress("Learning curves", done + share, total)


def _train(record, dataset, deadline, seed, progress) -> None:
    if time.monotonic() > deadline:
        record["notes"].append("The time limit was reached before networks were trained.")
        return
    order = np.random.default_rng([seed, 1]).permutation(len(dataset.x))
    half = min(TRAINING_ROWS, len(order) // 2)
    train, test = order[:half], order[half : 2 * half]
    parts = dataset.x[train], dataset.y[train], dataset.x[test], dataset.y[test]
    for section in train_networks(*parts, seed, deadline, progress):
        record["training"].append(section)


def regression(dataset: Dataset, architecture: Architecture, ridge: float, seed: int) -> Regression:
    """A regression problem with at most 400 training and 400 held-out rows, drawn at random."""
    order = np.random.default_rng([seed, 2]).permutation(len(dataset.x))
    half = min(PROBLEM_ROWS, len(order) // 2)
    x, y = (jnp.asarray(array[order[: 2 * half]]) for array in (dataset.x, dataset.y))
    return Regression(
        x[:half], y[:half], x[half:], y[half:], architecture.kernel, jnp.asarray(ridge), jnp.asarray(jnp.nan)
    )


def _quality(curves: list[Curve]) -> dict:
    """How good the predictions of this run were, at every measured size and for sample sizes inside the data."""
    logs = np.concatenate([np.abs(np.log(curve.predicted / curve.measured)) for curve in curves])
    covered, asked, factor = coverage(curves)
    largest = int(max(curve.sizes[-1] for curve in curves))
    sentence = (
        f"Over {len(logs)} points with up to {largest} training rows, predicted and measured error differ by a median "
        f"factor of {math.exp(np.median(logs)):.3g}; {np.mean(logs <= 0.4):.0%} of the points agree within a factor "
        f"of {math.exp(0.4):.2g}."
    )
    if asked:
        sentence += (
            f" For {asked} errors inside the measured range, the predicted interval for the number of samples covers "
            f"the measured number {covered} times; its ends are typically a factor of {factor:.2g} from its middle."
        )
    return {
        "points": len(logs),
        "median_abs_log_ratio": float(np.median(logs)),
        "within_0_4": float(np.mean(logs <= 0.4)),
        "sizes_up_to": largest,
        "coverage": {"covered": covered, "asked": asked, "factor": factor},
        "sentence": sentence,
    }
