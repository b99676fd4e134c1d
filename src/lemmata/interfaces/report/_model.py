"""The page of an examined model: the theory's predictions, the measured values, and checks without a result."""

import math
from collections.abc import Callable
from typing import Any

from lemmata.facts import DOCUMENTS, FACTS
from lemmata.printable import clean
from lemmata.workflows.records.examinations import (
    CHECKS_SHARE,
    ROWS,
    TOO_LATE,
    ExaminationRecord,
    Gauge,
    GaugeInterval,
    ReliabilityBin,
)

from ._actions import action_sentences
from ._letters import axis_of_names, lines_of
from ._model_tables import posterior_words, tables_of
from ._page import drawn, template
from ._text import MISSING, number, percent
from ._theme import COLOURS, INK, Spec, mark, quantity, word

_ROW_COLUMNS = {
    "probability of its class": "probability", "probability of a wrong label": "wrong", "effect without it": "effect",
}  # fmt: skip
_LETTERS = 56  # letters in a line of a label of the strip
_RATIOS = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_SPOKE = ("agrees", "disagrees")
_UNITS = {"classification": "", "language": " (nats per token, mean over documents)"}
_SILENT = ("vacuous", "inapplicable", "unaffordable", "failed")
_ASKED = {  # the missing fact of a check, by the hypothesis that does not hold without it
    **{fact.given: fact.command for fact in FACTS.values() if fact.given},
    DOCUMENTS: "a language model",
}
_AGREES, _MISSES = COLOURS[2], COLOURS[7]


def models_page(first: ExaminationRecord, second: ExaminationRecord) -> str:
    """The text of the page that shows two examinations side by side, with one row for each check.

    Args:
        first: an examination.
        second: another examination, of another model or of the same model at a later time.
    """
    records = [clean(record, lines=True) for record in (first, second)]
    names = dict.fromkeys(own.name for record in records for own in record.gauges)
    found = [[record.gauge(name) for record in records] for name in names]
    rows = [{"title": next(own for own in pair if own).title, "cells": [own and _row(own) for own in pair]}
            for pair in found]  # fmt: skip
    return template("models.html").render(
        records=records, rows=rows, metas=[_meta(record) for record in records], version=records[0].lemmata,
        sentences=[model_sentences(record) for record in records],
    )  # fmt: skip


def model_page(record: ExaminationRecord, beside: bool = False) -> str:
    """The text of the page of an examination.

    Args:
        record: an examination.
        beside: whether rows.csv, the file with all rows, is in the folder of the page.
    """
    record = clean(record, lines=True)
    rows = [_row(own, place) for place, own in enumerate(record.gauges)]
    quiet = [row for row in rows if _is_silent(row["gauge"])]
    return template("model.html").render(
        record=record, strip=_strip(record), sentences=model_sentences(record), tables=tables_of(record),
        theories=_theories([row for row in rows if row not in quiet]), silenced=quiet,
        meta=_meta(record), version=record.lemmata, silence=silence(record), sets=_sets(record),
        actions=action_sentences(record),
        posterior=posterior_words(record),
        bins=[_bin(own) for own in record.reliability], rows_name=ROWS, rows_file=ROWS if beside else "",
        row_columns={title: name for title, name in _ROW_COLUMNS.items()
                     if any(getattr(row, name) is not None for row in record.worst)},
    )  # fmt: skip


def _sets(record: ExaminationRecord) -> str:
    """State in words how many classes a set for a new row has, or how wide the interval for a new row is.

    Empty if there are too few rows.
    """
    own = record.sets
    if own is None:
        return ""
    ends = f"({percent(own.covered.lower)} to {percent(own.covered.upper)})"
    seen = f"contained {percent(own.covered.value)} of the targets of {own.measured:,} other held-out rows {ends}."
    if own.single is None:
        return (
            f"To contain {percent(own.level)} of new targets, an interval around the prediction must be "
            f"{number(own.size)} wide. An interval around the mean of the training targets must be "
            f"{number(own.trivial)} wide. Intervals around the prediction {seen}"
        )
    return (
        f"To contain the right class of {percent(own.level)} of new rows, a set of classes needs {number(own.size)} "
        f"classes on average ({number(own.trivial)} without the model). {percent(own.single)} of these sets have one "
        f"class, and no set is empty. The sets {seen}"
    )


def _bin(own: ReliabilityBin) -> dict[str, Any]:
    ends = own.right
    places = {"sure_at": own.sure, "right_at": ends.value, "low_at": ends.lower, "high_at": ends.upper}
    told = {"sure": own.sure, "right": ends.value, "low": ends.lower, "high": ends.upper}
    verdict = "agrees" if ends.lower <= own.sure <= ends.upper else "disagrees"
    return {
        "rows": f"{own.rows:,}", "verdict": verdict, **{name: round(100 * value, 2) for name, value in places.items()},
        **{name: percent(value) for name, value in told.items()},
    }  # fmt: skip


def model_fragment(record: ExaminationRecord) -> str:
    """A fragment of HTML for a notebook: the answer, and a picture (SVG) of the intervals, without scripts."""
    record = clean(record, lines=True)
    return template("model_fragment.html").render(
        record=record,
        pictures=_pictures(record),
        sentences=model_sentences(record),
        meta=_meta(record),
        actions=action_sentences(record),
    )


def model_sentences(record: ExaminationRecord) -> list[str]:
    """The answer in words, the most important sentence first."""
    failed = [check for check in record.preflight if check.holds is False]
    if failed:
        own = failed[0]
        seen = f"Found: {own.found}." + (f" Remedy: {own.remedy}." if own.remedy else "")
        said = _held(record)
        return [f"Theory does not apply to this model, because this condition does not hold: {own.name}.", seen, *said,
                "Nothing else was checked."]  # fmt: skip
    unit = _UNITS.get(record.model.task, " (mean squared distance)")
    found, task = _held(record), record.model.task
    left_out = record.left_out
    if left_out is not None and left_out.predicted is not None:
        words = "From training rows alone" if found else "Error on new rows, from training rows alone"
        both = {"agrees": "agree", "disagrees": "do not agree"}.get(left_out.status)
        verdict = f" Prediction and measurement {both}." if both else ""
        if left_out.status == "agrees" and _says_little(record, left_out.predicted):
            verdict = " Prediction and measurement agree, but the interval is so wide that the agreement says little."
        if left_out.status == "vacuous" and record.held_error is not None:
            missed = not left_out.predicted.lower <= record.held_error.value <= left_out.predicted.upper
            verdict = " The prediction is no better than the error without the model"
            verdict += ", and the measured error lies outside the predicted interval." if missed else "."
        found.append(_error(words, left_out.predicted, "" if found else unit, task) + verdict)
    if record.held_error is None:
        found.append("The error on new rows was not measured, because no held-out rows were given.")
    if record.score.tested:
        score = record.score
        intervals = "interval contains" if score.tested == 1 else "intervals contain"
        text = f"{score.covered} of {score.tested} predicted {intervals} the measured value."
        if score.median_ratio is not None:
            text += f" The median of predicted / measured is {score.median_ratio:.2f}."
        found.append(text)
    return found + _cut(record)


def _cut(record: ExaminationRecord) -> list[str]:
    """State how many checks the time limit left out, and which time limit would include them."""
    prices = [own.price for own in record.gauges if own.reason.endswith(TOO_LATE) and own.price is not None]
    if not prices:
        return []
    checks = "One check was" if len(prices) == 1 else f"{len(prices)} checks were"
    longer = math.ceil((record.seconds + 1.2 * sum(prices)) / CHECKS_SHARE / 10) * 10
    return [f"{checks} skipped to save time. A time limit of {longer:,} s or more leaves time for all checks."]


def _says_little(record: ExaminationRecord, ends: GaugeInterval) -> bool:
    """Whether an interval is wider than half of the baseline error, the error without the model."""
    return record.baseline is not None and ends.upper - ends.lower > record.baseline.error / 2


def _held(record: ExaminationRecord) -> list[str]:
    """Compare the error on held-out rows with the error of one constant answer. Empty without held-out rows."""
    if record.held_error is None:
        return []
    task, own = record.model.task, record.baseline
    found = [_error("Error on held-out rows", record.held_error, _UNITS.get(task, " (mean squared distance)"), task)]
    if own is None:
        return found
    show = percent if task == "classification" else number
    gain = own.gain
    if own.beaten is None:
        verdict = "The model is not significantly better: the model's error minus the baseline error is "
        verdict += f"{show(0.0 - gain.value)}, {gain.at} interval {show(0.0 - gain.upper)} to {show(0.0 - gain.lower)}."
    else:
        verdict = "The model is significantly better." if own.beaten else "The model is significantly worse."
    if own.explained is not None:
        ends = own.explained
        verdict += f" R² is {ends.value:.3g}{_between(ends, ends.at, lambda end: f'{end:.3g}')}."
        verdict += _outputs(record)
    errs = "have" if task == "language" else "has"
    words = own.words[0].upper() + own.words[1:]
    found.append(f"{words} {errs} an error of {show(own.error)}. {verdict}")
    if own.balanced is not None:
        rare = own.classes[0]
        named = f"it never predicts {rare.label}"
        if rare.precision is not None:
            named = f"of the rows that it predicts as {rare.label}, {percent(rare.precision)} are {rare.label}"
        found.append(
            f"The classes are unbalanced: if each class has the same weight, the error is {percent(own.balanced)}. "
            f"The rarest class is {rare.label}. The model finds {percent(rare.recall)} of its {rare.rows:,} rows, and "
            f"{named}."
        )
    return found


def _outputs(record: ExaminationRecord) -> str:
    """State the root mean squared error and, if there are several outputs, the best and the worst of them."""
    if not record.outputs:
        return ""
    *single, last = record.outputs
    ends = last.rmse
    found = f" RMSE is {number(ends.value)}{_between(ends, '95 %', number)}."
    told = sorted((own for own in single if own.explained), key=lambda own: own.explained.value)  # pyright: ignore
    if len(told) > 1:
        words = [f"{own.explained.value:.3g} ({own.name})" for own in (told[0], told[-1])]  # pyright: ignore
        found += f" The R² of the {len(single)} outputs is between {words[0]} and {words[1]}."
    return found


def silence(record: ExaminationRecord) -> tuple[list[str], list[tuple[str, list[str]]]]:
    """Checks without a result and their reasons, and the titles of checks that need further facts.

    A check needs further facts if the user could supply what is missing for each hypothesis that does not hold.

    Args:
        record: an examination.
    """
    reasons: dict[str, list[Gauge]] = {}
    for own in record.gauges:
        if own.status in _SILENT:
            reasons.setdefault(own.reason, []).append(own)
    waiting: dict[str, list[str]] = {}
    known = set()
    for reason, gauges in reasons.items():
        asked = [_awaited(own) for own in gauges]
        if all(asked):
            titles = [own.title for own in gauges]
            waiting.setdefault(asked[0], []).extend(titles)
            known.add(f"{'; '.join(titles)}: {reason}")
    first = sorted(waiting.items(), key=lambda pair: (pair[0].count(" and "), -len(pair[1])))
    return [line for line in record.silent if line not in known], first


def _is_silent(own: Gauge) -> bool:
    """Whether a check has no result: its status says so, or it has neither a prediction nor a measurement."""
    return own.status in _SILENT or (own.predicted is None and own.measured is None)


def _awaited(own: Gauge) -> str:
    """The facts that the user would have to supply; empty if other hypotheses fail too."""
    failing = [condition.name for condition in own.hypotheses if condition.holds is False]
    if own.status != "inapplicable" or not failing or not all(name in _ASKED for name in failing):
        return ""
    return " and ".join(words for name, words in _ASKED.items() if name in failing)


def _error(words: str, ends: GaugeInterval, unit: str, task: str) -> str:
    show = percent if task == "classification" else number
    constant = ", without an interval, because the errors of the rows do not vary"
    return f"{words}{unit}: {show(ends.value)}{_between(ends, ends.at, show) or constant}."


def _between(ends: Any, at: str, show: Callable[[float], str]) -> str:
    """An interval in words; empty if its ends are equal, because a sample that does not vary has no interval."""
    return f", {f'{at} interval'.lstrip()} {show(ends.lower)} to {show(ends.upper)}" if ends.lower < ends.upper else ""


def _meta(record: ExaminationRecord) -> str:
    held = f"{record.rows.held:,} held out" if record.rows.held else "none held out"
    parameters = f" · {record.model.parameters:,} parameters" if record.model.parameters else ""
    classes = f" · {len(record.rows.classes)} classes" if record.rows.classes else ""
    if len(record.outputs) > 1:
        classes = f" · {len(record.outputs) - 1} outputs"
    return (
        f"{record.model.kind}{parameters} · {record.rows.train:,} training rows, {held}"
        f"{classes} · examined in {max(record.seconds, 1):,.0f} s"
    )


def _pictures(record: ExaminationRecord) -> dict[str, Any]:
    chart = strip_chart(record)
    words = {"strip": "Predicted intervals against measured values: " + "; ".join(model_sentences(record))}
    return drawn({} if chart is None else {"strip": chart}, words)


def _rows(record: ExaminationRecord) -> list[dict[str, Any]]:
    """The predicted intervals divided by the measured values, cut off at the ends of the picture."""
    rows = []
    left_out = record.left_out
    for own in sorted(record.gauges, key=lambda own: own is not left_out):
        if own.label != "estimate" or own.status not in _SPOKE or own.predicted is None or own.measured is None:
            continue
        if own.measured.value <= 0:
            continue
        ends, unit = own.predicted, own.measured.value
        drawn_ends = {name: _inside(getattr(ends, name) / unit) for name in ("lower", "value", "upper")}
        shown = {"predicted": ends.value, "from": ends.lower, "to": ends.upper, "measured": unit, "level": ends.at}
        said = _shown(ends, own.label)
        rows.append(
            {
                "anchor": f"gauge-{record.gauges.index(own)}",
                "gauge": own.title,
                "verdict": own.status,
                "said": said,
                **drawn_ends,
                **shown,
            }
        )
    return rows


def _strip(record: ExaminationRecord) -> dict[str, Any]:
    """The picture of the intervals in HTML. It needs no script, and its positions in percent fit every width."""
    rows = [
        {**row, **{f"{name}_at": _place(row[name]) for name in ("lower", "value", "upper")},
         "seen": number(row["measured"])}
        for row in _rows(record)
    ]  # fmt: skip
    ticks = [(_place(ratio), f"1/{1 / ratio:g}" if ratio < 1 else f"{ratio:g}") for ratio in _RATIOS]
    return {"rows": rows, "ticks": ticks, "left_out": record.score.tested - len(rows)}


def _place(ratio: float) -> float:
    first, last = math.log(_RATIOS[0]), math.log(_RATIOS[-1])
    return round(100 * (math.log(ratio) - first) / (last - first), 2)


def _inside(ratio: float) -> float:
    return min(max(ratio, _RATIOS[0]), _RATIOS[-1])


def strip_chart(record: ExaminationRecord) -> Spec | None:
    """One row for each prediction: interval and value, divided by the measured value. None without predictions."""
    rows = _rows(record)
    if not rows:
        return None
    scale = {"type": "log", "domain": [_RATIOS[0], _RATIOS[-1]], "nice": False}
    axis = {"title": "predicted / measured", "values": list(_RATIOS), "format": "~r"}
    names = [row["gauge"] for row in rows]
    pitch = max(34, 6 + 14 * max(len(lines_of(name, _LETTERS)) for name in names))
    labels = {"labelLimit": 520, "ticks": False, "domain": False, **axis_of_names(names, 12, _LETTERS)}
    y = word("gauge", sort=names, title=None, axis=labels)
    tone = word("verdict", legend=None, scale={"domain": list(_SPOKE), "range": [_AGREES, _MISSES]})
    tips = [word("gauge", title="check"), *(quantity(name, format=".3~r") for name in
            ("predicted", "from", "to", "measured")), word("level")]  # fmt: skip
    base = {"y": y, "color": tone}
    x = lambda name: {"x": quantity(name, scale=scale, axis=axis)}
    layers = [
        mark("rule", base | x("lower") | {"x2": {"field": "upper"}}, strokeWidth=5, opacity=0.45),
        mark("point", base | x("value") | {"tooltip": tips}, size=80, filled=True, opacity=1),
        mark("rule", {"x": {"datum": 1.0}}, strokeDash=[4, 3], color=INK, aria=False),
    ]
    return {"data": {"values": rows}, "layer": layers, "width": 420, "height": pitch * len(rows)}


def _theories(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Checks with a result, grouped by their theory; those without a measurement come last."""
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(row["gauge"].theory, []).append(row)
    spoke = lambda rows: sum(row["gauge"].measured is not None for row in rows)
    parts = [{"theory": theory, "rows": rows, "spoke": spoke(rows)} for theory, rows in found.items()]
    return sorted(parts, key=lambda part: part["spoke"] == 0)


def _row(own: Gauge, place: int = 0) -> dict[str, Any]:
    holding = sum(condition.holds is True for condition in own.hypotheses)
    return {
        "gauge": own, "anchor": f"gauge-{place}", "predicted": _shown(own.predicted, own.label), "measured": _seen(own),
        "conditions": f"{holding} of {len(own.hypotheses)} hold" if own.hypotheses else "none",
        "factor": "" if own.rows_factor is None else f"needs {number(own.rows_factor)} × the rows",
        "failing": [condition for condition in own.hypotheses if condition.holds is False],
    }  # fmt: skip


def _seen(own: Gauge) -> str:
    """The measured value, with the ends of its interval if the claim says what they mean."""
    if own.measured is None or own.ends:
        return _shown(own.measured, "measured", own.ends)
    return number(own.measured.value)


def _shown(ends: GaugeInterval | None, label: str, what: str = "") -> str:
    if ends is None:
        return MISSING
    sign = {"upper": "≤ ", "lower": "≥ "}.get(label, "")
    if ends.lower == ends.upper:
        return f"{sign}{number(ends.value)}"
    at = what or ends.at
    return f"{number(ends.value)} ({at + ': ' if at else ''}{number(ends.lower)} to {number(ends.upper)})"
