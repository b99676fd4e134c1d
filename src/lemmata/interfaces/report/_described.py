"""Describe each picture in words for readers who cannot see it: its axes and its most important values."""

import math
import statistics
from typing import Any

from lemmata.workflows.records.studies import ModelResult, StudyRecord

from ._curves import drawn_models
from ._text import number, told, told_asked, told_interval, told_rows


def described(record: StudyRecord) -> dict[str, str]:
    """The descriptions of a study's pictures by the pictures' names, including pictures that are not drawn."""
    found = {
        "curves": learning_curve(record),
        "all-curves": _all_curves(record),
        "theory": _theory(record),
        "spectra": _spectra(record),
        "residuals": _residuals(record),
    }
    return found | {f"training-{i}": _training(run) for i, run in enumerate(record.training)}


def learning_curve(record: StudyRecord) -> str:
    """Describe the best model's curve, the requested value, and the other models that are drawn."""
    unit, answers, total = record.unit, record.answers, record.data.total
    models = drawn_models(record)
    best = next((model for model in models if model.name == answers.best), None)
    parts = [f"Learning curve: {unit.name} against training rows; {total:,} rows in the table"]
    if best is None:
        parts.append(f"no model is better than guessing, {told(unit.guessing, unit)}")
    else:
        parts += [told_model(best, record), f"guessing has {told(unit.guessing, unit)}"]
        if answers.needed is not None:
            parts.append(f"rows needed to reach {told_asked(answers, unit)}: {told_rows(answers.needed, total)}")
    others = [model.title for model in models if model is not best]
    return "; ".join([*parts, *([f"also drawn: {'; '.join(others)}"] if others else [])]) + "."


def told_model(model: ModelResult, record: StudyRecord) -> str:
    """State a model's measurement at its largest size, its expected value with all rows, and the end of its curve."""
    unit, total = record.unit, record.data.total
    last = max((point for point in model.points if math.isfinite(point.value)), key=lambda p: p.n, default=None)
    parts = [] if last is None else [f"measured {told(last.value, unit)} at {number(round(last.n))} rows"]
    if math.isfinite(model.now.value):
        parts.append(f"expected {told_interval(model.now, unit)} with all rows")
    end = model.band[-1] if model.band else None
    if end is not None and end.n > total and math.isfinite(end.value):
        parts.append(f"{told(end.value, unit)} at {number(round(end.n))} rows")
    return f"{model.title} {', '.join(parts) or 'not measured'}"


def _all_curves(record: StudyRecord) -> str:
    models = "; ".join(told_model(model, record) for model in drawn_models(record))
    return f"Learning curves of all models, one panel for each: {record.unit.name} against training rows; {models}."


def _theory(record: StudyRecord) -> str:
    parts = []
    for model in record.models:
        last = max(model.theory, key=lambda point: point.n, default=None)
        if last is not None:
            values = f"predicted {number(last.predicted)}, measured {number(last.measured)}"
            parts.append(f"{model.title} {values} at {number(round(last.n))} rows")
    return (
        "Squared error against training rows, as predicted from the eigenvalues of each kernel "
        f"and as measured. 1 is the error of guessing. {'; '.join(parts)}."
    )


def _spectra(record: StudyRecord) -> str:
    parts = []
    for model in record.models:
        found = model.spectrum
        if found is not None and found.index:
            middle = len(found.index) // 2
            parts.append(
                f"{model.title}: largest eigenvalue {number(found.eigenvalues[0])}, the first {found.index[middle]:,} "
                f"eigenvectors contain {100 * found.alignment[middle]:.0f} % of the target's variance"
            )
    return (
        "Two panels for the eigenvectors of each kernel, the largest eigenvalue first. They show each eigenvalue, and "
        f"the share of the target's variance in the first eigenvectors: {'; '.join(parts)}."
    )


def _residuals(record: StudyRecord) -> str:
    missed = [
        item.truth - item.said
        for item in record.residuals
        if not isinstance(item.truth, str) and not isinstance(item.said, str)
    ]
    missed = [value for value in missed if math.isfinite(value)]
    if not missed:
        return "True value minus predicted value, against the predicted value."
    return (
        f"True value minus predicted value, against the predicted value, for {len(missed):,} held-out rows. The "
        "differences range from "
        f"{number(float(min(missed)))} to {number(float(max(missed)))}, with median "
        f"{number(float(statistics.median(missed)))}."
    )


def _training(run: dict[str, Any]) -> str:
    gaps = "; ".join(
        f"width {number(width.get('width'))}, largest difference between network and kernel {number(width.get('gap'))}"
        for width in run.get("widths") or []
    )
    return (
        f"{run.get('title') or run.get('name') or 'Network'}: squared error against training time, for the trained "
        f"network and for its kernel, on training and on held-out rows. One panel for each width: {gaps}."
    )
