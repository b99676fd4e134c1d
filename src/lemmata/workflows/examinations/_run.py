"""Run an examination of a trained model, and return a record of the results."""

import contextlib
import copy
import dataclasses
import hashlib
import math
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from scipy import stats

from lemmata.answers import share_interval
from lemmata.core import available_bytes, one_blas_thread, one_torch_thread, require_float64
from lemmata.errors import MemoryPlanError, words_of
from lemmata.interruption import heeded
from lemmata.subjects.trained_models import (
    AbstractGauge,
    Trained,
    held_influence,
    held_influence_passes,
    held_outputs,
    held_rows,
    is_known,
    keep,
    objective_of,
    training_outputs,
)
from lemmata.workflows.records.examinations import (
    CHECKS_SHARE,
    LEFT_OUT,
    TOO_LATE,
    Check,
    ExaminationRecord,
    Gauge,
    GaugeInterval,
    Model,
    Rows,
    Score,
)

from ._as_values import classes_as_values
from ._baseline import held_baseline
from ._blind_spots import loss_told
from ._findings import blind_spots, findings, unexplained
from ._gauges import entry, foreign, gauge, gauges_of, inapplicable, memory, price, refused
from ._held_classes import confusion, reliability
from ._next_steps import next_steps
from ._other_quantities import is_mean
from ._prediction_sets import prediction_sets
from ._preflight import preflight
from ._row_names import PLACES, RowNames
from ._row_table import SPOKE, row_table, worst_rows
from ._tables import add_tables

Progress = Callable[[str, float, float], None]
_SHARE = 0.9  # share of the time limit after which nothing new is started
_WEIGHING = 10.0  # seconds
_LEVEL = 0.95  # level of the intervals of errors
_ONE_THREAD = 2e7  # rows times parameters; with fewer, two threads of PyTorch are slower than one
_SILENT = ("vacuous", "inapplicable", "unaffordable", "failed")


def run_examination(
    trained: Trained, *, name: str = "model", rows_name: str = "rows", time_limit: float | None = None,
    user: Callable[[np.ndarray], np.ndarray] | None = None, progress: Progress = lambda stage, done, total: None,
    started: float | None = None, names: RowNames = PLACES,
) -> ExaminationRecord:  # fmt: skip
    """Run every check (a test of a statement of theory) that applies to a trained model.

    Args:
        trained: the model with its rows.
        name: the name of the model, for the record.
        rows_name: the name of the rows, for the record.
        time_limit: the time limit in seconds; None means no limit. Checks start in the first 75 % of this time.
        user: the user's own function of rows, which calls the model. The function must return the model's outputs.
        progress: a function that is called with the stage, the finished amount and the total amount.
        started: the `time.monotonic()` at which the time limit began; None means now.
        names: the names of rows, inputs and targets, if they have names.

    Returns:
        The record. If a first test of the model fails (see `preflight`), the record has no checks. After Ctrl-C, it
        contains the finished checks, and `interrupted` is true.

    Raises:
        PrecisionError: if float64 is not enabled in JAX.
    """
    require_float64("an examination")
    begun = time.monotonic() if started is None else started
    limit = math.inf if time_limit is None else time_limit
    deadline = begun + _SHARE * limit
    progress("Preflight", 0, 1)
    checks = preflight(trained, user)
    found: list[Gauge] = []
    plan: list[str] = []
    tables: dict[str, Any] = {}
    notes: list[str] = []
    interrupted = False
    second, whole = 0.0, all(check.holds is not False for check in checks)
    if whole:
        try:
            with one_blas_thread(), one_torch_thread() if _is_small(trained) else contextlib.nullcontext():
                second = _gradient_seconds(trained)
                _gauges(trained, found, plan, second, begun + CHECKS_SHARE * limit, progress)
                _weigh_rows(trained, found, second, deadline)
                progress("What to do next", 0, 1)
                tables |= _next_steps(trained, found, names, second, deadline)
                notes = add_tables(trained, names, deadline, tables)
        except KeyboardInterrupt:
            heeded()
            interrupted = True
    late = time.monotonic() + second > deadline
    unknown = not whole or (late and not is_known(objective_of, trained))
    decay = trained.decay if unknown else _decay(trained)
    seconds = time.monotonic() - begun
    record = _record(trained, checks, found, plan, name, rows_name, decay, seconds, interrupted, names)
    return dataclasses.replace(record, notes=[*record.notes, *notes], **tables)


def _is_small(trained: Trained) -> bool:
    """Whether a gradient is so small that several threads do not make it faster."""
    return trained.model.differentiable and len(trained.x) * len(trained.model.theta) < _ONE_THREAD


def _gauges(
    trained: Trained, found: list[Gauge], plan: list[str], second: float, deadline: float, progress: Progress
) -> None:
    """Run every check for which there is enough time and memory, and record the cost of the other checks.

    The cheapest checks come first. Bounds come last, because they are usually vacuous.
    """
    posed = gauges_of(trained)
    own = [claim for claim in posed if foreign(claim, trained) is None]
    found.extend(inapplicable(claim, str(foreign(claim, trained))) for claim in posed if claim not in own)
    prices = {claim.name: price(claim, trained, second) for claim in own}
    bounds = lambda claim: claim.relation.label in ("upper", "lower")
    order: list[AbstractGauge] = sorted(own, key=lambda claim: (bounds(claim), prices[claim.name]))
    lines, total = _planned(trained, order, second)
    plan.extend(lines)
    progress(f"{len(order)} checks, which will take about {_seconds(total)} in total", 0, 1)
    left: list[Any] = []  # shared computations of checks without time; the first of them has the whole price
    for place, claim in enumerate(order):
        progress(claim.title, place, len(order))
        expected = price(claim, trained, second)  # results that another check has computed cost nothing
        reason = None if refused(claim, trained) else _too_much(claim, trained, expected, deadline)
        if reason is not None:
            ahead = _knowing(copy.copy(trained), left)
            found.append(entry(claim, "unaffordable", reason, price=price(claim, ahead, second)))
            left += claim.shared
            continue
        found.append(dataclasses.replace(gauge(claim, trained, trained.seed), price=expected))


def _weigh_rows(trained: Trained, found: list[Gauge], second: float, deadline: float) -> None:
    """Compute the effect of each training row on held-out rows, if leaving rows out has a result and is cheap."""
    left_out = _left_out(found)
    if trained.held is None or trained.task.is_language or left_out is None or left_out.status not in SPOKE:
        return
    seconds = held_influence_passes(trained) * second
    if seconds <= _WEIGHING and time.monotonic() + seconds <= deadline:
        with contextlib.suppress(Exception, SystemExit):  # after an error of the user's function, there is no column
            held_influence(trained)


def _next_steps(
    trained: Trained, found: list[Gauge], names: RowNames, second: float, deadline: float
) -> dict[str, Any]:
    """Return the actions to do next, and sentences on the other actions, under their names in the record."""
    try:
        actions, tried = next_steps(trained, _left_out(found), names, second, deadline)
    except (Exception, SystemExit) as error:  # an error of the user's own function; the other results remain valid
        actions, tried = [], [f"No action was tried, because of {type(error).__name__}: {words_of(error, 200)}"]
    return {"actions": actions, "tried": tried}


def _left_out(found: list[Gauge]) -> Gauge | None:
    return next((own for own in found if own.name.endswith(LEFT_OUT)), None)


def _planned(trained: Trained, order: list[AbstractGauge], second: float) -> tuple[list[str], float]:
    """Return each check with its cost, and the total cost.

    Work that several checks share counts for the first of them.
    """
    ahead, lines, total = copy.copy(trained), [], 0.0
    for claim in order:
        seconds = price(claim, ahead, second)
        lines.append(f"{claim.title}: {_seconds(seconds)}")
        total += seconds
        _knowing(ahead, claim.shared)
    return lines, total


def _knowing(trained: Trained, questions: Iterable[Any]) -> Trained:
    """Mark computations that checks share as done for the model, without doing them.

    These marks are enough to estimate the costs of later checks, which depend only on which of these computations are
    done.
    """
    for question in questions:
        if not is_known(question, trained):
            keep(question, trained, None)
    return trained


def _too_much(claim: AbstractGauge, trained: Trained, seconds: float, deadline: float) -> str | None:
    """Return the reason why a check is not started, in words; None if the check is started."""
    try:
        size, left = memory(claim, trained), available_bytes()
    except MemoryPlanError as error:
        return str(error)
    if size > left:
        return f"it needs {size / 2**30:.2g} GiB of memory, but only {left / 2**30:.2g} GiB are free"
    if time.monotonic() + seconds > deadline:
        return f"it takes {_seconds(seconds)}, {TOO_LATE}"
    return None


def _gradient_seconds(trained: Trained) -> float:
    """Return the time of one gradient over all training rows after compilation, from the shortest of three runs."""
    if not trained.model.differentiable:
        return 0.0
    few = slice(0, min(len(trained.x), trained.model.batch))
    slope = np.zeros(trained.model.outputs(trained.x[few]).shape)
    trained.model.vjp(slope, trained.x[few])
    taken = []
    for _ in range(3):
        begun = time.monotonic()
        trained.model.vjp(slope, trained.x[few])
        taken.append(time.monotonic() - begun)
    return min(taken) * len(trained.x) / len(slope)


def _seconds(value: float) -> str:
    return "less than a second" if value < 1 else f"{value:,.0f} s"


def error_interval(trained: Trained, f: np.ndarray, y: np.ndarray) -> GaugeInterval:
    """Return the error with its interval: the share of wrong classes, mean squared distance, or nats per token.

    The interval is exact for classes, and normal for the other errors.
    """
    errors = trained.task.errors(f, y)
    value = float(errors.mean())
    if trained.task.is_classification:
        low, high = share_interval(float(errors.sum()), float(len(errors) - errors.sum()), _LEVEL)
        return GaugeInterval(value, low, high, _LEVEL)
    spread = (
        float(stats.norm.ppf((1 + _LEVEL) / 2)) * float(errors.std(ddof=1)) / len(errors) ** 0.5
        if len(errors) > 1
        else 0.0
    )
    return GaugeInterval(value, max(value - spread, 0.0), value + spread, _LEVEL)


def _record(
    trained: Trained, checks: list[Check], found: list[Gauge], plan: list[str], name: str, rows_name: str,
    decay: float | None, seconds: float, interrupted: bool, names: RowNames,
) -> ExaminationRecord:  # fmt: skip
    whole = all(check.holds is not False for check in checks)
    seen, held, beside = error_interval(trained, training_outputs(trained), trained.y), None, None
    if trained.held is not None and np.isfinite(held_outputs(trained)).all():
        held = error_interval(trained, held_outputs(trained), held_rows(trained)[1])
        beside = held_baseline(trained) if is_mean(trained) else None
    scored = [own for own in found if own.label == "estimate" and own.status in ("agrees", "disagrees")]
    ratios = [own.ratio for own in scored if own.ratio is not None]
    return ExaminationRecord(
        **ExaminationRecord.head(),
        model=_model(trained, name, decay), rows=_rows(trained, rows_name),
        train_error=seen, held_error=held, preflight=checks, gauges=found,
        findings=findings(trained, found, held, names) if whole else classes_as_values(trained), plan=plan,
        score=Score(len(scored), sum(own.status == "agrees" for own in scored),
                    float(np.median(ratios)) if ratios else None),
        silent=_silent(found), open=unexplained(trained, found), notes=blind_spots(trained, found), seconds=seconds,
        interrupted=interrupted, baseline=beside,
        **(_of_rows(trained, found, names) if whole else {}),
    )  # fmt: skip


def _of_rows(trained: Trained, found: list[Gauge], names: RowNames) -> dict[str, Any]:
    """Return the part of the record about classes and single rows."""
    sets, table = prediction_sets(trained), row_table(trained, _left_out(found), names)
    return {
        "confusion": confusion(trained),
        "reliability": reliability(trained),
        "sets": None if sets is None else sets.summary,
        "worst": worst_rows(table),
    }


def _silent(found: list[Gauge]) -> list[str]:
    """Return sentences on the checks without a result, grouped by the reason."""
    reasons: dict[str, list[str]] = {}
    for own in found:
        if own.status in _SILENT:
            reasons.setdefault(own.reason, []).append(own.title)
    return [f"{'; '.join(titles)}: {reason}" for reason, titles in reasons.items()]


def _model(trained: Trained, name: str, decay: float | None) -> Model:
    model = trained.model
    origin = "stated" if trained.decay is not None else "unknown" if decay is None else "inferred from the weights"
    return Model(
        kind=model.kind, name=name, parameters=len(model.theta),
        layers=[f"{layer.name} {'x'.join(map(str, layer.shape))}" for layer in model.layers],
        dtype=str(model.theta.dtype), digest=_digest(model.theta), outputs=trained.task.outputs, task=trained.task.name,
        decay=decay, decay_from=origin, loss=loss_told(trained),
    )  # fmt: skip


def _digest(theta: np.ndarray) -> str:
    return hashlib.sha256(np.ascontiguousarray(theta).data.cast("B")).hexdigest()[:16]


def _decay(trained: Trained) -> float | None:
    """Return the stated decay, or otherwise the decay that the weights imply; None if it is unknown."""
    known = trained.decay is not None or not trained.model.differentiable or not trained.task.loss_known
    return trained.decay if known or not np.isfinite(training_outputs(trained)).all() else objective_of(trained).decay


def _rows(trained: Trained, name: str) -> Rows:
    held = 0 if trained.held is None else len(trained.held[0])
    classes = [str(label) for label in trained.task.labels]
    return Rows(name, len(trained.x), held, list(trained.x.shape[1:]), classes)
