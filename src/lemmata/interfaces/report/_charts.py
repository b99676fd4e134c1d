"""The pictures in the folded sections of the page of a study, as Vega-Lite charts drawn only from the record.

Each function returns None if the record holds nothing to draw.
"""

import math
from collections.abc import Sequence
from typing import Any

from lemmata.workflows.records.studies import StudyRecord

from ._curves import COLUMNS, curve_rows, drawn_models, frame, level, size_line
from ._theme import COLOURS, INK, Spec, colour, colour_of, linear_ticks, mark, quantity, ticks, word

PANEL = {"width": 250, "height": 180}
"""Size of a panel in pixels, for pictures with one panel for each model."""
Picture = Spec | None
CSV = {"curves": COLUMNS, "all-curves": COLUMNS}
"""The columns that are written to CSV for these pictures; other pictures write all columns."""


def _log(values: Sequence[float | int], around: float = 1.15) -> tuple[Spec, list[float]]:
    lower, upper = min(values) / around, max(values) * around
    return {"type": "log", "domain": [lower, upper], "nice": False, "clamp": True}, ticks(lower, upper)


def _facet(layers: list[Spec], rows: list[dict[str, Any]], names: list[str], field: str = "model") -> Spec:
    facet = word(field, sort=names, title=None, header={"labelPadding": 2})
    return {"data": {"values": rows}, "facet": facet, "columns": 3, "spec": {"layer": layers, **PANEL}}


def all_curves(record: StudyRecord) -> Picture:
    """One panel for each model: its measurements with two standard errors, and its forecasts with their 90 % band."""
    models = drawn_models(record)
    if not models:
        return None
    around = frame(models, record.unit, [record.answers.asked] if record.answers.needed is not None else [])
    names, total = [model.title for model in record.models], record.data.total
    base = {"x": around.x(), "color": colour(names)}
    expected, measured = "datum.what === 'expected'", "datum.what === 'measured'"
    tips = [word("what"), quantity("n", format=",.0f"), word("told", title="value")]
    line, between = {**base, "y": around.y(), "tooltip": tips}, {**base, **around.between()}
    layers = [
        mark("area", between, expected, opacity=0.2, clip=True),
        mark("line", line, expected, strokeWidth=2, clip=True),
        mark("rule", between, measured, strokeWidth=1.3, clip=True),
        mark("point", line, measured, filled=True, size=30, opacity=1, clip=True),
    ]
    if record.answers.needed is not None:
        layers += level(around, record.answers.asked, "", left=True, dashed=True)[:1]
    layers += size_line(around, total, "")[:1]
    shown = [model.title for model in models]
    return _facet(layers, curve_rows(models, around, total), shown)


def theory(record: StudyRecord) -> Picture:
    """One panel for each kernel: the predicted squared error with its band, and the measured error."""
    rows = [
        {"model": model.title, "n": point.n, **{
            name: value if math.isfinite(value) and value > 0 else None
            for name, value in (("predicted", point.predicted), ("lower", point.lower), ("upper", point.upper),
                                ("measured", point.measured))
        }, **({} if point.accuracy is None else {
            "accuracy predicted": point.accuracy, "accuracy measured": point.measured_accuracy
        })}
        for model in record.models for point in model.theory
    ]  # fmt: skip
    heights = [row[name] for row in rows for name in ("predicted", "measured") if row[name]]
    if not heights:
        return None
    names = [model.title for model in record.models]
    across, sizes = _log([row["n"] for row in rows])
    up, marks = _log(heights, 1.3)
    axis = {"title": "training rows", "values": sizes, "format": ",d", "labelOverlap": "greedy"}
    base = {"x": quantity("n", scale=across, axis=axis), "color": colour(names)}
    held = {"title": "squared error (1: guessing)", "values": marks, "format": ",.4~r"}
    told = [name for name in rows[0] if name not in ("model", "lower", "upper")]
    tips = {"tooltip": [quantity(name, format=".3~r") for name in told]}
    error = base | tips | {"y": quantity("predicted", scale=up, axis=held)}
    layers = [
        mark("area", base | {"y": quantity("lower", scale=up), "y2": {"field": "upper"}}, opacity=0.18, clip=True),
        mark("line", error, strokeWidth=2, clip=True),
        mark("point", error | {"y": quantity("measured", scale=up)}, filled=True, size=30, opacity=1, clip=True),
    ]
    shown = [name for name in names if any(row["model"] == name for row in rows)]
    return _facet(layers, rows, shown)


def spectra(record: StudyRecord) -> Picture:
    """Eigenvalues of each kernel's Gram matrix, and the target's share in the first eigenvectors of this matrix."""
    rows = [
        {"model": model.title, "rank": rank, "eigenvalue": value if value > 0 else None, "share": share}
        for model in record.models if model.spectrum is not None
        for rank, value, share in zip(
            model.spectrum.index, model.spectrum.eigenvalues, model.spectrum.alignment, strict=False
        )
    ]  # fmt: skip
    values = [row["eigenvalue"] for row in rows if row["eigenvalue"]]
    if not values:
        return None
    legend = {"title": None, "orient": "top", "columns": 3, "labelLimit": 220, "symbolType": "stroke",
              "symbolStrokeWidth": 3}  # fmt: skip
    shades = colour([model.title for model in record.models], legend, [row["model"] for row in rows])
    across, ranks = _log([row["rank"] for row in rows], 1.0001)
    axis = {"title": "direction, strongest first", "values": ranks, "format": ",d"}
    base = {"color": shades, "x": quantity("rank", scale=across, axis=axis)}
    up, marks = _log([max(value, max(values) * 1e-12) for value in values], 1.3)
    label = "format(datum.value, abs(log(datum.value)) < 8 ? ',.3~r' : '.0e')"
    held = {"title": "eigenvalue", "values": marks, "labelExpr": label}
    shares = {"title": "share of the target", "format": "%"}
    heights = quantity("eigenvalue", scale=up, axis=held), quantity("share", scale={"domain": [0, 1]}, axis=shares)
    parts = [
        mark("line", base | {"y": height}, strokeWidth=2, clip=True) | {"width": 390, "height": 240}
        for height in heights
    ]
    return {"data": {"values": rows}, "hconcat": parts, "spacing": 30}


def residuals(record: StudyRecord) -> Picture:
    """For a regression: the error of each prediction on a held-out row, drawn against the prediction."""
    rows = [
        {"row": item.row, "truth": item.truth, "predicted": item.said, "residual": item.truth - item.said}
        for item in record.residuals
        if not isinstance(item.truth, str) and not isinstance(item.said, str)
    ]
    rows = [row for row in rows if all(math.isfinite(value) for value in row.values())]
    if not rows:
        return None
    place = next((i for i, model in enumerate(record.models) if model.name == record.answers.best), 0)

    def axis(field: str, title: str) -> Spec:
        values = [row[field] for row in rows] + ([0.0] if field == "residual" else [])
        span = (max(values) - min(values)) or abs(max(values)) or 1.0
        lower, upper = min(values) - 0.05 * span, max(values) + 0.05 * span
        marks = {"title": title, "values": linear_ticks(lower, upper), "format": ",.4~r"}
        return quantity(field, scale={"domain": [lower, upper], "nice": False, "zero": False}, axis=marks)

    tips = [quantity("row", format=",d"), *(quantity(name, format=",.4~r") for name in ("truth", "predicted"))]
    places = {
        "x": axis("predicted", "predicted"), "y": axis("residual", "truth minus predicted"), "tooltip": tips,
    }  # fmt: skip
    points = mark("point", places, filled=True, size=34, opacity=0.65, color=colour_of(place))
    zero = mark("rule", {"y": quantity("residual")}, color=INK, strokeDash=[5, 4])
    zero["data"] = {"values": [{"residual": 0}]}
    return {"data": {"values": rows}, "layer": [zero, points], "width": 640, "height": 280}


def training(run: dict[str, Any]) -> Picture:
    """One panel for each width: the errors of network and kernel over training time, on training and held-out rows."""
    rows = [
        {"width": f"width {width['width']:,}", "time": point["time"], "error": point[f"{who}_{part}"], "who": who,
         "on": name}
        for width in run.get("widths") or []
        for point in width.get("points") or []
        for who in ("network", "kernel")
        for part, name in (("train", "training rows"), ("test", "held-out rows"))
        if (point.get(f"{who}_{part}") or 0) > 0 and (point.get("time") or 0) > 0
    ]  # fmt: skip
    if not rows:
        return None
    across, times = _log([row["time"] for row in rows], 1.0001)
    up, marks = _log([row["error"] for row in rows], 1.2)
    parts, who = ["training rows", "held-out rows"], ["network", "kernel"]
    legend = {"title": None, "orient": "top", "labelLimit": 200, "symbolType": "stroke"}
    clock = {"title": "training time", "values": times, "format": ".3~g", "labelOverlap": "greedy"}
    dashes = {"domain": who, "range": [[1, 0], [5, 4]]}
    lines = {
        "x": quantity("time", scale=across, axis=clock),
        "y": quantity("error", scale=up, axis={"title": "squared error", "values": marks, "format": ",.3~r"}),
        "color": word("on", scale={"domain": parts, "range": [COLOURS[1], COLOURS[0]]}, legend=legend),
        "strokeDash": word("who", scale=dashes, legend={"symbolStrokeColor": INK, **legend}),
    }
    return _facet([mark("line", lines, strokeWidth=2)], rows, list(dict.fromkeys(row["width"] for row in rows)),
                  "width")  # fmt: skip
