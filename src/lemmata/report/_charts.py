"""The pictures of a study as Vega-Lite specifications, drawn from the record alone.

Each function returns None where the record holds nothing to draw.
"""

from typing import Any

import altair as alt

from ._theme import INK, colour, themed

Study = dict[str, Any]
Spec = dict[str, Any] | None


def titles(study: Study) -> list[str]:
    """The human name of each architecture, in the order of the record."""
    return [architecture.get("title") or architecture.get("name") or "?" for architecture in study["architectures"]]


def _positive(value: Any) -> Any:
    """A logarithmic axis cannot show zero or less."""
    return value if value is not None and value > 0 else None


def _log(lower: float | int, upper: float | int) -> alt.Scale:
    return alt.Scale(type="log", domain=[lower, upper], nice=False, clamp=True)


def _ticks(title: str | None, **more: Any) -> alt.Axis:
    # Only 1, 2, 5 of each decade carry a label: the ten of Vega's default collide on a small panel.
    label = "indexof(['1','2','5'], slice(format(datum.value, '.1e'), 0, 1)) >= 0 ? format(datum.value, '~g') : ''"
    return alt.Axis(title=title, labelExpr=label, labelOverlap="greedy", labelSeparation=5, **more)


def _curve_rows(study: Study) -> list[dict[str, Any]]:
    rows = []
    for title, architecture in zip(titles(study), study["architectures"], strict=True):
        for point in architecture.get("curve") or []:
            measured, error = _positive(point.get("measured")), point.get("measured_se") or 0.0
            predicted = _positive(point.get("predicted"))
            rows.append(
                {
                    "architecture": title,
                    "n": _positive(point.get("n")),
                    "predicted": predicted,
                    "lower": _positive(point.get("lower")) and predicted and min(point["lower"], predicted),
                    "upper": _positive(point.get("upper")),
                    "measured": measured,
                    "low": None if measured is None else max(measured - 2 * error, measured / 10),
                    "high": None if measured is None else measured + 2 * error,
                    "ratio": point.get("ratio"),
                    "extrapolated": bool(point.get("extrapolated")),
                }
            )
    return [row for row in rows if row["n"] is not None]


def _frame(rows: list[dict[str, Any]]) -> tuple[alt.Scale, alt.Scale]:
    """Scales for n and the error that hold every line and point; a wide band is cut at the frame."""
    sizes = [row["n"] for row in rows]
    errors = [row[name] for row in rows for name in ("predicted", "measured") if row[name] is not None] or [1.0]
    return _log(min(sizes) / 1.15, max(sizes) * 1.15), _log(min(errors) / 1.5, max(errors) * 1.4)


def learning_curves(study: Study) -> Spec:
    """A panel an architecture: predicted error with its band, measured error with two standard errors."""
    rows = _curve_rows(study)
    if not rows:
        return None
    across, up = _frame(rows)
    names = titles(study)
    base = alt.Chart().encode(
        x=alt.X("n:Q", scale=across, axis=_ticks("training rows n", tickCount=6)), color=colour(names, legend=False)
    )
    tip = [
        alt.Tooltip("architecture:N"),
        alt.Tooltip("n:Q"),
        alt.Tooltip("predicted:Q", format=".3~g"),
        alt.Tooltip("measured:Q", format=".3~g"),
        alt.Tooltip("ratio:Q", format=".3~g", title="predicted / measured"),
    ]
    error = alt.Y("predicted:Q", scale=up, axis=_ticks("held-out squared error", tickCount=6))
    band = base.mark_area(opacity=0.18).encode(y=alt.Y("lower:Q", scale=up), y2="upper:Q")
    line = base.mark_line(strokeWidth=2).encode(y=error)
    bars = base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q", scale=up), y2="high:Q")
    points = base.mark_point(filled=True, size=26, opacity=1).encode(y=alt.Y("measured:Q", scale=up), tooltip=tip)
    panel = alt.layer(band, line, bars, points).properties(width=258, height=200)
    shown = [name for name in names if any(row["architecture"] == name for row in rows)]
    facet = alt.Facet("architecture:N", sort=shown, title=None, header=alt.Header(labelPadding=2))
    return themed(panel.facet(data=alt.Data(values=rows), facet=facet, columns=3))


def overview(study: Study) -> Spec:
    """All predicted curves in one frame, beside the error asked for and the error of predicting the mean."""
    rows = _curve_rows(study)
    if not rows:
        return None
    across, up = _frame(rows)
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("n:Q", scale=across, axis=_ticks("training rows n")), color=colour(titles(study))
    )
    layers = [
        base.mark_line(strokeWidth=2).encode(y=alt.Y("predicted:Q", scale=up, axis=_ticks("held-out squared error"))),
        base.mark_point(filled=True, size=40, opacity=1).encode(y=alt.Y("measured:Q", scale=up)),
    ]
    marks = [
        {"level": (study.get("answers") or {}).get("error"), "label": "target error"},
        {"level": (study.get("data") or {}).get("baseline_error"), "label": "predicting the mean"},
    ]
    errors = [row["predicted"] for row in rows if row["predicted"] is not None] or [1.0]
    marks = [mark for mark in marks if mark["level"] and min(errors) / 1.4 <= mark["level"] <= max(errors) * 1.3]
    if marks:
        rule = alt.Chart(alt.Data(values=marks)).encode(y=alt.Y("level:Q", scale=up))
        layers += [
            rule.mark_rule(color=INK, strokeDash=[5, 4]),
            rule.mark_text(color=INK, align="right", dx=-4, dy=-7, fontSize=11).encode(
                x=alt.value(850), text="label:N"
            ),
        ]
    return themed(alt.layer(*layers).properties(width=850, height=360))


def _needed_rows(study: Study) -> list[dict[str, Any]]:
    """One row an architecture and route: the number, the ends of its interval (None for no upper end)."""
    rows = []
    for title, architecture in zip(titles(study), study["architectures"], strict=True):
        samples = architecture.get("samples") or {}
        for key, route in (("theory", "theory"), ("power_law", "fitted power law")):
            answer = samples.get(key) or {}
            if _positive(answer.get("n")):
                n = answer["n"]
                rows.append(
                    {
                        "architecture": title,
                        "route": route,
                        "n": n,
                        "lower": _positive(answer.get("lower")) or n,
                        "upper": _positive(answer.get("upper")),
                        "extrapolates": bool(answer.get("extrapolates")),
                    }
                )
        if _positive(samples.get("measured")):
            n = samples["measured"]
            rows.append(
                {"architecture": title, "route": "measured", "n": n, "lower": n, "upper": n, "extrapolates": False}
            )
    return rows


def samples_needed(study: Study) -> Spec:
    """Rows needed for the target error by each route, with intervals, and the measured number."""
    rows = _needed_rows(study)
    if not rows:
        return None
    have = (study.get("data") or {}).get("used_rows")
    top = max([row["n"] for row in rows] + ([have] if have else []))
    scale = _log(max(min(row["lower"] for row in rows) / 1.3, 1), top * 4)
    for row in rows:
        row["end"] = row["upper"] or top * 4
    routes = ["theory", "fitted power law", "measured"]
    base = alt.Chart(alt.Data(values=rows)).encode(
        x=alt.X("n:Q", scale=scale, axis=_ticks("training rows needed")),
        y=alt.Y("architecture:N", sort=titles(study), title=None, axis=alt.Axis(ticks=False, domain=False)),
        yOffset=alt.YOffset("route:N", sort=routes, scale=alt.Scale(domain=routes, paddingOuter=0.2)),
        color=alt.Color(
            "route:N",
            scale=alt.Scale(domain=routes, range=["#4c78c8", "#e07b39", "#2f9e77"]),
            legend=alt.Legend(title=None, orient="top", labelLimit=300),
        ),
        tooltip=[
            alt.Tooltip("architecture:N"),
            alt.Tooltip("route:N"),
            alt.Tooltip("n:Q", format=",.0f"),
            alt.Tooltip("lower:Q", format=",.0f"),
            alt.Tooltip("upper:Q", format=",.0f"),
            alt.Tooltip("extrapolates:N"),
        ],
    )
    layers = [
        base.mark_bar(height=3, clip=True).encode(x=alt.X("lower:Q", scale=scale), x2="end:Q"),
        base.mark_point(filled=True, size=60, opacity=1, clip=True).encode(),
    ]
    if any(row["upper"] is None for row in rows):
        arrow = base.transform_filter("datum.upper === null").mark_point(
            shape="triangle-right", filled=True, size=70, opacity=1, xOffset=-4
        )
        layers.append(arrow.encode(x=alt.X("end:Q", scale=scale)))
    if have:
        edge = alt.Chart(alt.Data(values=[{"rows": have, "label": f"{have:,} rows of data"}])).encode(
            x=alt.X("rows:Q", scale=scale)
        )
        layers += [
            edge.mark_rule(color=INK, strokeDash=[5, 4]),
            edge.mark_text(color=INK, align="right", dx=-5, fontSize=11).encode(y=alt.value(-7), text="label:N"),
        ]
    return themed(alt.layer(*layers).properties(width=700, height=alt.Step(13)))


def spectra(study: Study) -> Spec:
    """Eigenvalues of each Gram matrix, and the share of the target that its first modes hold."""
    rows = []
    for title, architecture in zip(titles(study), study["architectures"], strict=True):
        spectrum = architecture.get("spectrum") or {}
        values, shares = spectrum.get("eigenvalues") or [], spectrum.get("alignment") or []
        for j, index in enumerate(spectrum.get("index") or []):
            rows.append(
                {
                    "architecture": title,
                    "index": index,
                    "eigenvalue": _positive(values[j]) if j < len(values) else None,
                    "share": shares[j] if j < len(shares) else None,
                }
            )
    if not rows:
        return None
    largest = max([row["eigenvalue"] for row in rows if row["eigenvalue"] is not None] or [1.0])
    smallest = min([row["eigenvalue"] for row in rows if row["eigenvalue"] is not None] or [1.0])
    floor = max(smallest, largest * 1e-16)
    base = alt.Chart(alt.Data(values=rows)).encode(color=colour(titles(study)))
    index = alt.X(
        "index:Q",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(title="index of the mode", tickCount=5, format="~g"),
    )
    decade = "log(datum.value) / LN10"
    exponent = f"abs({decade} - round({decade})) < 1e-6 ? '1e' + round({decade}) : ''"
    power = alt.Axis(title="eigenvalue of the Gram matrix", labelExpr=exponent, labelOverlap="greedy")
    left = base.mark_line(strokeWidth=2, clip=True).encode(
        x=index, y=alt.Y("eigenvalue:Q", scale=_log(floor, largest * 1.5), axis=power)
    )
    right = base.mark_line(strokeWidth=2).encode(
        x=index,
        y=alt.Y("share:Q", scale=alt.Scale(domain=[0, 1]), axis=alt.Axis(title="share of the target", format="%")),
    )
    return themed(
        alt.hconcat(left.properties(width=388, height=280), right.properties(width=388, height=280), spacing=28)
    )


def training(run: dict[str, Any]) -> Spec:
    """A panel a width: error of the network and of its kernel through training time, on training and held-out rows."""
    rows = []
    for width in run.get("widths") or []:
        for point in width.get("points") or []:
            for who in ("network", "kernel"):
                for part, name in (("train", "training rows"), ("test", "held-out rows")):
                    value = _positive(point.get(f"{who}_{part}"))
                    if value is not None and _positive(point.get("time")):
                        rows.append(
                            {
                                "width": f"width {width['width']:,}",
                                "order": width["width"],
                                "time": point["time"],
                                "error": value,
                                "who": who,
                                "on": name,
                            }
                        )
    if not rows:
        return None
    bounds = _log(min(row["error"] for row in rows) / 1.3, max(row["error"] for row in rows) * 1.3)
    lines = (
        alt.Chart()
        .mark_line(strokeWidth=2)
        .encode(
            x=alt.X(
                "time:Q",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(title="training time", tickCount=4, format="~g"),
            ),
            y=alt.Y("error:Q", scale=bounds, axis=_ticks("squared error", tickCount=6)),
            color=alt.Color(
                "on:N",
                scale=alt.Scale(domain=["training rows", "held-out rows"], range=["#e07b39", "#4c78c8"]),
                legend=alt.Legend(title=None, orient="top", labelLimit=200),
            ),
            strokeDash=alt.StrokeDash(
                "who:N",
                scale=alt.Scale(domain=["network", "kernel"], range=[[1, 0], [5, 4]]),
                legend=alt.Legend(title=None, orient="top", symbolStrokeColor=INK),
            ),
        )
        .properties(width=258, height=200)
    )
    panels = [f"width {width['width']:,}" for width in run["widths"]]
    return themed(
        lines.facet(
            data=alt.Data(values=rows),
            columns=3,
            facet=alt.Facet("width:N", sort=panels, title=None, header=alt.Header(labelPadding=2)),
        )
    )
