"""Show two studies side by side: the same table before and after a change, two tables, or two targets."""

import dataclasses
from typing import Any

from lemmata.printable import clean
from lemmata.workflows.records.studies import ModelResult, StudyRecord

from . import _views as views
from ._curves import Frame, curve_layers, curve_rows, drawn_models, frame, learning_curve_chart, level
from ._described import learning_curve
from ._page import drawn, shipped, template
from ._text import MISSING, told, told_asked, told_interval, told_rows
from ._theme import Spec, colour


def comparison(first: StudyRecord, second: StudyRecord) -> str:
    """The HTML of a page that shows the answers, the learning curves and the models of two studies side by side.

    The curves of the two best models are in one picture if both studies have the same metric.

    Args:
        first: a study.
        second: another study.
    """
    records = [clean(first, lines=True), clean(second, lines=True)]
    pictures = drawn(_pictures(records), _described(records))
    return template("comparison.html").render(
        records=records,
        names=_names(records),
        facts=_facts(records),
        models=[views.models(record) for record in records],
        warnings=[views.warnings(record) for record in records],
        pictures=pictures,
        version=records[1].lemmata,
        **shipped(pictures),
    )


def _names(records: list[StudyRecord]) -> list[str]:
    """The names of the two studies: the names of their tables, or numbers if both tables have the same name."""
    names = [record.data.name or "a table" for record in records]
    if names[0] != names[1]:
        return names
    if records[0].data.target != records[1].data.target:
        return [f"{name}, {record.data.target}" for name, record in zip(names, records, strict=True)]
    return [f"{name} ({place})" for place, name in zip(("first", "second"), names, strict=True)]


def _facts(records: list[StudyRecord]) -> list[tuple[str, str, str]]:
    """One row for each fact: its name, and its value in the first and in the second study."""
    columns = [_told(record) for record in records]
    return [(what, columns[0][what], columns[1][what]) for what in columns[0]]


def _told(record: StudyRecord) -> dict[str, str]:
    answers, unit = record.answers, record.unit
    best = next((model for model in record.models if model.name == answers.best), None)
    asked = answers.needed is not None
    return {
        "rows": f"{record.data.used_rows:,}",
        "signal": f"{'yes' if record.signal.found else 'no'} (p = {record.signal.p_value:.2g})",
        "best model": best.title if best else MISSING,
        "expected with all rows": f"{unit.name} {told_interval(answers.now, unit)}" if answers.now else MISSING,
        "value to reach": f"{unit.name} {told_asked(answers, unit)}" if asked else MISSING,
        "rows for that value": told_rows(answers.needed, record.data.total) if answers.needed else MISSING,
        "guessing": f"{unit.name} {told(unit.guessing, unit)}",
    }


def _pictures(records: list[StudyRecord]) -> dict[str, Any]:
    kept = [record for record in records if drawn_models(record)]
    units = {(record.unit.name, record.unit.percent) for record in kept}
    if len(kept) == 2 and len(units) == 1 and all(record.answers.best for record in kept):
        return {"curves": _together(kept)}
    names = ("first", "second")
    return {name: learning_curve_chart(r, 420, 260) for name, r in zip(names, records, strict=True) if r in kept}


def _described(records: list[StudyRecord]) -> dict[str, str]:
    """The description of each picture in words."""
    each = [f"{name}: {learning_curve(record)}" for name, record in zip(_names(records), records, strict=True)]
    return {"first": each[0], "second": each[1], "curves": " ".join(each)}


def _together(records: list[StudyRecord]) -> Spec:
    """Draw the best models of both studies in one chart."""
    titles = [f"{name}: {model.title}" for name, model in zip(_names(records), _best(records), strict=True)]
    found = [dataclasses.replace(model, title=title) for model, title in zip(_best(records), titles, strict=True)]
    marks = {record.answers.asked for record in records if record.answers.needed is not None}
    around: Frame = frame(found, records[0].unit, sorted(marks))
    rows = [
        row
        for model, record in zip(found, records, strict=True)
        for row in curve_rows([model], around, record.data.total)
    ]
    legend = {"title": None, "orient": "top", "columns": 1, "labelLimit": 700, "symbolType": "stroke",
              "symbolStrokeWidth": 3}  # fmt: skip
    layers = curve_layers(titles, around, colour(titles, legend))
    for mark in sorted(marks):
        layers += level(around, mark, f"to reach: {told(mark, records[0].unit)}", left=True, dashed=True)
    return {"data": {"values": rows}, "layer": layers, "width": 760, "height": 300}


def _best(records: list[StudyRecord]) -> list[ModelResult]:
    return [next(model for model in record.models if model.name == record.answers.best) for record in records]
