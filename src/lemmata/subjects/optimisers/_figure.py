"""The chart of a comparison of optimisers: the expected best loss against the number of trials."""

import html
import io
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

_INK = "#7b828c"


def best_curves(curves: Mapping[str, np.ndarray]) -> Any:
    """Return a chart with a line and a band for each optimiser, without infinite values.

    The axis of losses is logarithmic if all losses are positive and differ by more than a factor of five.

    Args:
        curves: for each optimiser in the order of the legend, rows (value, low, high) for 1, 2, ... trials.
    """
    import altair as alt

    rows = [
        {"optimiser": name, "trials": k, "loss": value, "low": low, "high": high if math.isfinite(high) else None}
        for name, curve in curves.items()
        for k, (value, low, high) in enumerate(curve.tolist(), 1)
        if math.isfinite(value)
    ]
    ends = [row[end] for row in rows for end in ("loss", "low", "high") if row[end] is not None]
    wide = bool(ends) and min(ends) > 0 and max(ends) > 5 * min(ends)
    scale = alt.Scale(type="log" if wide else "linear", zero=False, nice=False)
    names = alt.Color("optimiser:N", sort=list(curves), legend=alt.Legend(title=None, orient="top"))
    trials = alt.X("trials:Q", axis=alt.Axis(title="trials", format="d", tickMinStep=1, grid=False))
    base = alt.Chart(alt.Data(values=rows)).encode(x=trials, color=names)
    tips = [alt.Tooltip("optimiser:N"), alt.Tooltip("trials:Q"), alt.Tooltip("loss:Q", format=".3~g")]
    title = alt.Axis(title="expected best loss", format=".2~g", tickCount=6, grid=False)
    band = base.transform_filter("datum.high !== null").mark_area(opacity=0.15)
    layers = [
        band.encode(y=alt.Y("low:Q", scale=scale, axis=title), y2="high:Q"),
        base.mark_line(strokeWidth=2, point=True).encode(y=alt.Y("loss:Q", scale=scale, axis=title), tooltip=tips),
    ]
    ink: dict[str, Any] = {"labelColor": _INK, "titleColor": _INK}
    chart = alt.layer(*layers).properties(width=420, height=260).configure(background="transparent")
    return chart.configure_axis(**ink, gridOpacity=0.3).configure_legend(**ink).configure_view(stroke=None)


def table_and_picture(table: str, chart: Any) -> str:
    """Return HTML without scripts that contains the text of the table, unchanged, and the chart as SVG.

    Args:
        table: the text of the table, in columns.
        chart: an Altair chart.
    """
    drawn = io.StringIO()
    chart.save(drawn, format="svg")
    return f"<div><pre>{html.escape(table)}</pre>{drawn.getvalue()}</div>"
