"""Draw small charts of results with Altair: bars, a line with a band, and a line compared with reference lines."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from lemmata.signatures import shows_public as _shows_public

INK, BLUE, RED = "#7b828c", "#3b6fb6", "#c2562d"
"""Colours that are legible on light and dark pages: for words, for results, and for the baselines of results."""
WHOLE: dict[str, Any] = {"format": "d", "labelExpr": "datum.value == floor(datum.value) ? datum.label : ''"}
"""The settings of an axis of counts. They hide labels with fractions, which Vega's `tickMinStep` does not hide."""
_SIZE = {"width": 240, "height": 200}


def bars(heights: Float[np.ndarray, " k"], across: str, up: str, marked: int | None = None) -> Any:
    """Draw one bar for each of the numbers 0, 1, .... One of the bars may be marked.

    Args:
        heights: the heights of the bars.
        across: title of the axis of the numbers.
        up: title of the axis of the heights.
        marked: the number of the marked bar; None marks no bar.
    """
    import altair as alt

    rows = [{"k": k, "height": value, "marked": k == marked} for k, value in enumerate(heights.tolist())]
    colour = alt.condition("datum.marked", alt.value(RED), alt.value(BLUE))
    chart = alt.Chart(alt.Data(values=rows)).mark_bar()
    x = alt.X("k:O", axis=alt.Axis(title=across, labelAngle=0, grid=False))
    y = alt.Y("height:Q", axis=alt.Axis(title=up, grid=False))
    tips = [alt.Tooltip("k:O", title=across), alt.Tooltip("height:Q", title=up, format=".4g")]
    return chart.encode(x=x, y=y, color=colour, tooltip=tips).properties(**_SIZE)


def band(
    across: Float[np.ndarray, " k"], values: Float[np.ndarray, " k"], limits: Float[np.ndarray, "k 2"],
    titles: Sequence[str],
) -> Any:  # fmt: skip
    """Draw a line with a band.

    Args:
        across: positions on the horizontal axis.
        values: the value at each position.
        limits: the lower and upper end of the band at each position.
        titles: the titles of both axes.
    """
    import altair as alt

    numbers = zip(across.tolist(), values.tolist(), limits.tolist(), strict=True)
    rows = [{"x": x, "value": value, "low": low, "high": high} for x, value, (low, high) in numbers]
    base = alt.Chart(alt.Data(values=rows)).encode(x=alt.X("x:Q", axis=alt.Axis(title=titles[0], grid=False)))
    y = alt.Y("low:Q", axis=alt.Axis(title=titles[1], grid=False))
    tips = [alt.Tooltip("x:Q", title=titles[0]), alt.Tooltip("value:Q", title=titles[1], format=".4g")]
    area = base.mark_area(color=BLUE, opacity=0.35).encode(y=y, y2="high:Q")
    line = base.mark_line(color=BLUE, point={"color": BLUE}).encode(y="value:Q", tooltip=tips)
    return alt.layer(area, line).properties(**_SIZE)


def lines(series: Mapping[str, tuple[Any, Any]], titles: Sequence[str], *, logarithmic: str = "") -> Any:
    """Draw lines: the first with its points, the others dashed. If there are several lines, a legend names them.

    Args:
        series: for each name, the positions and the values. Points with a number that is not finite are left out.
        titles: the titles of both axes.
        logarithmic: the axes with a logarithmic scale: "", "x", "y" or "xy". On such an axis, points with a number that
            is not positive are left out.
    """
    import altair as alt

    least = {axis: 0.0 if axis in logarithmic else -np.inf for axis in "xy"}
    rows = [
        {"x": float(x), "y": float(y), "name": name}
        for name, (across, up) in series.items()
        for x, y in zip(across, up, strict=True)
        if least["x"] < x < np.inf and least["y"] < y < np.inf
    ]
    names = list(series)
    scale = lambda axis: alt.Scale(type="log" if axis in logarithmic else "linear", zero=False, nice=False)
    counts = "x" not in logarithmic and all(row["x"] == int(row["x"]) for row in rows)
    across = alt.Axis(title=titles[0], grid=False, tickCount=6, **(WHOLE if counts else {}))
    x = alt.X("x:Q", scale=scale("x"), axis=across)
    y = alt.Y("y:Q", scale=scale("y"), axis=alt.Axis(title=titles[1], grid=False, tickCount=6))
    colours, dashes = [BLUE, RED, INK][: len(names)], [[1, 0], [5, 4], [2, 3]][: len(names)]
    legend = alt.Legend(title=None, orient="top", direction="vertical", labelLimit=300, symbolType="stroke")
    legend = legend if len(names) > 1 else None
    colour = alt.Color("name:N", scale=alt.Scale(domain=names, range=colours), legend=legend)
    dash = alt.StrokeDash("name:N", scale=alt.Scale(domain=names, range=dashes), legend=None)
    tips = [alt.Tooltip("x:Q", title=titles[0]), alt.Tooltip("y:Q", title=titles[1], format=".4g")]
    base = alt.Chart(alt.Data(values=rows)).encode(x=x, y=y, color=colour, tooltip=tips)
    points = base.transform_filter(alt.datum.name == names[0]).mark_point(filled=True, size=36)
    return alt.layer(base.mark_line().encode(strokeDash=dash), points).properties(**_SIZE)


def styled(*charts: Any) -> Any:
    """Put charts side by side, with text in a colour that is legible on light and dark pages."""
    import altair as alt

    ink: dict[str, Any] = {"labelColor": INK, "titleColor": INK}
    chart = charts[0] if len(charts) == 1 else alt.hconcat(*charts)
    chart = chart.configure(background="transparent").configure_axis(**ink)
    chart = chart.configure_legend(**ink).configure_header(**ink).configure_title(color=INK)
    return chart.configure_view(stroke=None)


_shows_public(__name__)
