"""The pictures that the page of a study folds away, as Vega-Lite charts drawn only from the record.

Each function returns None if the record holds nothing to draw.
"""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from lemmata.workflows.records.studies import StudyRecord

from ._curves import COLUMNS, curve_rows, drawn_models, frame, level, size_line
from ._theme import COLOURS, INK, colour, colour_of, linear_ticks, ticks

PANEL = {"width": 250, "height": 180}
"""Size of a panel in pixels, for pictures with one panel for each model."""
Picture = Any | None
CSV = {"curves": COLUMNS, "all-curves": COLUMNS}
"""The columns that are written to CSV for these pictures; other pictures write all columns."""


def _log(values: Sequence[float | int], around: float = 1.15) -> tuple[alt.Scale, list[float]]:
    lower, upper = min(values) / around, max(values) * around
    return alt.Scale(type="log", domain=[lower, upper], nice=False, clamp=True), ticks(lower, upper)


def _facet(panel: Any, rows: list[dict[str, Any]], names: list[str], field: str = "model") -> Any:
    header = alt.Header(labelPadding=2)
    facet = alt.Facet(f"{field}:N", sort=names, title=None, header=header)
    return panel.facet(data=alt.Data(values=rows), facet=facet, columns=3)


def all_curves(record: StudyRecord) -> Picture:
    """One panel for each model: measurements with two standard errors, and expected values with their 90 % band."""
    models = drawn_models(record)
    if not models:
        return None
    around = frame(models, record.unit, [record.answers.asked] if record.answers.needed is not None else [])
    names, total = [model.title for model in record.models], record.data.total
    base = alt.Chart().encode(x=around.x(), color=colour(names))
    expected = base.transform_filter("datum.what === 'expected'")
    points = base.transform_filter("datum.what === 'measured'")
    y = around.y()
    tips = [alt.Tooltip("what:N"), alt.Tooltip("n:Q", format=",.0f"), alt.Tooltip("told:N", title="value")]
    layers = [
        expected.mark_area(opacity=0.2, clip=True).encode(y=around.y("from"), y2="to:Q"),
        expected.mark_line(strokeWidth=2, clip=True).encode(y=y, tooltip=tips),
        points.mark_rule(strokeWidth=1.3, clip=True).encode(y=around.y("from"), y2="to:Q"),
        points.mark_point(filled=True, size=30, opacity=1, clip=True).encode(y=y, tooltip=tips),
    ]
    if record.answers.needed is not None:
        layers += level(around, record.answers.asked, "", left=True, dashed=True)[:1]
    layers += size_line(around, total, "")[:1]
    shown = [model.title for model in models]
    return _facet(alt.layer(*layers).properties(**PANEL), curve_rows(models, around, total), shown)


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
    axis = alt.Axis(title="training rows", values=sizes, format=",d", labelOverlap="greedy")
    base = alt.Chart().encode(x=alt.X("n:Q", scale=across, axis=axis), color=colour(names))
    held = alt.Axis(title="squared error (1: guessing)", values=marks, format=",.4~r")
    told = [name for name in rows[0] if name not in ("model", "lower", "upper")]
    tips = [alt.Tooltip(f"{name}:Q", format=".3~r") for name in told]
    error = alt.Y("predicted:Q", scale=up, axis=held)
    layers = [
        base.mark_area(opacity=0.18, clip=True).encode(y=alt.Y("lower:Q", scale=up), y2="upper:Q"),
        base.mark_line(strokeWidth=2, clip=True).encode(y=error, tooltip=tips),
        base.mark_point(filled=True, size=30, opacity=1, clip=True).encode(
            y=alt.Y("measured:Q", scale=up), tooltip=tips
        ),
    ]
    shown = [name for name in names if any(row["model"] == name for row in rows)]
    return _facet(alt.layer(*layers).properties(**PANEL), rows, shown)


def spectra(record: StudyRecord) -> Picture:
    """Eigenvalues of each kernel's Gram matrix, and the share of the target that its first directions hold."""
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
    legend = alt.Legend(title=None, orient="top", columns=3, labelLimit=220, symbolType="stroke", symbolStrokeWidth=3)
    shades = colour([model.title for model in record.models], legend, [row["model"] for row in rows])
    base = alt.Chart(alt.Data(values=rows)).encode(color=shades)
    across, ranks = _log([row["rank"] for row in rows], 1.0001)
    index = alt.X("rank:Q", scale=across, axis=alt.Axis(title="direction, strongest first", values=ranks, format=",d"))
    up, marks = _log([max(value, max(values) * 1e-12) for value in values], 1.3)
    held = alt.Axis(
        title="eigenvalue", values=marks, labelExpr="format(datum.value, abs(log(datum.value)) < 8 ? ',.3~r' : '.0e')"
    )
    left = base.mark_line(strokeWidth=2, clip=True).encode(x=index, y=alt.Y("eigenvalue:Q", scale=up, axis=held))
    share = alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title="share of the target", format="%"))
    right = base.mark_line(strokeWidth=2, clip=True).encode(x=index, y=share)
    size = {"width": 390, "height": 240}
    return alt.hconcat(left.properties(**size), right.properties(**size), spacing=30)


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

    def axis(field: str, title: str) -> dict[str, Any]:
        values = [row[field] for row in rows] + ([0.0] if field == "residual" else [])
        span = (max(values) - min(values)) or abs(max(values)) or 1.0
        lower, upper = min(values) - 0.05 * span, max(values) + 0.05 * span
        marks = alt.Axis(title=title, values=linear_ticks(lower, upper), format=",.4~r")
        return {"scale": alt.Scale(domain=[lower, upper], nice=False, zero=False), "axis": marks}

    tips = [alt.Tooltip("row:Q", format=",d"), *(alt.Tooltip(f"{n}:Q", format=",.4~r") for n in ("truth", "predicted"))]
    points = alt.Chart().mark_point(filled=True, size=34, opacity=0.65, color=colour_of(place))
    points = points.encode(
        x=alt.X("predicted:Q", **axis("predicted", "predicted")),
        y=alt.Y("residual:Q", **axis("residual", "truth minus predicted")),
        tooltip=tips,
    )
    zero = alt.Chart(alt.Data(values=[{"residual": 0}])).mark_rule(color=INK, strokeDash=[5, 4]).encode(y="residual:Q")
    return alt.layer(zero, points, data=alt.Data(values=rows)).properties(width=640, height=280)


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
    legend: dict[str, Any] = {"title": None, "orient": "top", "labelLimit": 200, "symbolType": "stroke"}
    key, grey = alt.Legend(**legend), alt.Legend(symbolStrokeColor=INK, **legend)
    clock = alt.Axis(title="training time", values=times, format=".3~g", labelOverlap="greedy")
    lines = alt.Chart().mark_line(strokeWidth=2).encode(
        x=alt.X("time:Q", scale=across, axis=clock),
        y=alt.Y("error:Q", scale=up, axis=alt.Axis(title="squared error", values=marks, format=",.3~r")),
        color=alt.Color("on:N", scale=alt.Scale(domain=parts, range=[COLOURS[1], COLOURS[0]]), legend=key),
        strokeDash=alt.StrokeDash(
            "who:N", scale=alt.Scale(domain=who, range=[[1, 0], [5, 4]]), legend=grey,
        ),
    )  # fmt: skip
    return _facet(lines.properties(**PANEL), rows, list(dict.fromkeys(row["width"] for row in rows)), "width")
