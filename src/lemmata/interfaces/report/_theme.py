"""The look of all charts: one colour for each model, greys that can be read on white and on black, and round ticks.

The charts of pages are Vega-Lite specifications, written as dictionaries. Loading altair and building the same charts
with it would take half of the time of a page.
"""

import copy
import math
from collections.abc import Sequence
from typing import Any

from ._vega import VEGA_LITE

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

INK = "#7b828c"
GRID = "#8884"
COLOURS = (
    "#4c78c8", "#e07b39", "#2f9e77", "#c2508c", "#8a67c9", "#b8962e", "#3aa3b5", "#c94f4f", "#6b8e23", "#7f6a5a",
    "#1f4e8c", "#a8541c", "#1b6b4f", "#8c2f62", "#5a3f94", "#7d6417",
)  # fmt: skip
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
MOST_TICKS = 8


def colour_of(place: int) -> str:
    """The colour of a model, by its place in the record, so that all charts and tables use the same colour."""
    return COLOURS[place % len(COLOURS)]


def quantity(field: str, **more: Any) -> Spec:
    """A Vega-Lite channel that shows the numbers of a field."""
    return {"field": field, "type": "quantitative", **more}


def word(field: str, **more: Any) -> Spec:
    """A Vega-Lite channel that shows the words of a field."""
    return {"field": field, "type": "nominal", **more}


def mark(kind: str, encoding: Spec, *kept: Any, **look: Any) -> Spec:
    """A layer of marks.

    Args:
        kind: the kind of mark, such as "line".
        encoding: the Vega-Lite channels of the layer, such as x and colour.
        kept: the conditions that rows of the data must meet to be drawn.
        look: the properties of the mark, such as its size.
    """
    filters: Spec = {"transform": [{"filter": condition} for condition in kept]} if kept else {}
    return {"mark": {"type": kind, **look}, "encoding": encoding, **filters}


def colour(titles: Sequence[str], legend: Spec | None = None, shown: Sequence[str] | None = None) -> Spec:
    """The Vega-Lite channel that gives each model its colour.

    Args:
        titles: the titles of all models of the record, in its order.
        legend: the legend; None draws no legend.
        shown: the models in the chart; None for all.
    """
    kept = [(title, colour_of(i)) for i, title in enumerate(titles) if shown is None or title in shown]
    scale = {"domain": [title for title, _ in kept], "range": [shade for _, shade in kept]}
    return word("model", scale=scale, legend=legend)


def ticks(lower: float | int, upper: float | int) -> list[float]:
    """Three to eight round numbers for a logarithmic axis: 1, 2 and 5 in each decade, or a finer or coarser choice.

    >>> ticks(10, 600), ticks(52, 81)
    ([10.0, 20.0, 50.0, 100.0, 200.0, 500.0], [55.0, 60.0, 65.0, 70.0, 75.0, 80.0])
    """
    first, last = math.floor(math.log10(lower)), math.ceil(math.log10(upper))
    for steps in ((1, 2, 5), (1, 3), (1,)):
        found = [float(f"{step}e{power}") for power in range(first, last + 1) for step in steps]
        found = [value for value in found if lower <= value <= upper]
        if len(found) < 3:
            break
        if len(found) <= MOST_TICKS:
            return found
    else:
        return found[:: math.ceil(len(found) / MOST_TICKS)]
    return linear_ticks(lower, upper)


def linear_ticks(lower: float | int, upper: float | int) -> list[float]:
    """Three to eight multiples of 1, 2 or 5 times a power of ten."""
    rough = (upper - lower) / (MOST_TICKS - 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough)
    count = range(math.ceil(lower / step), math.floor(upper / step) + 1)
    return [float(f"{k * step:.12g}") for k in count]


PADDING = {"left": 6, "top": 6, "bottom": 6, "right": 22}
"""The margins of a picture in pixels. On the right, there is room for names in a wider font than the measured font."""


SCHEMA = f"https://vega.github.io/schema/vega-lite/v{VEGA_LITE}.json"
_TEXT: Spec = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12}
_CONFIGURATION: Spec = {
    "background": "transparent", "font": FONT, "padding": PADDING,
    "axis": {
        "labelColor": INK, "titleColor": INK, "domainColor": INK, "tickColor": INK, "gridColor": GRID,
        "gridOpacity": 0.5, "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal", "labelLimit": 220,
    },
    "legend": _TEXT, "header": {**_TEXT, "labelFontWeight": "bold", "labelLimit": 260},
    "view": {"stroke": None}, "title": {"color": INK, "fontSize": 13},
}  # fmt: skip


def themed(chart: Any) -> Spec:
    """The Vega-Lite specification of a chart, with the shared configuration.

    The specification is not validated here, because validation takes long; the tests validate all charts.

    Args:
        chart: a specification, or an altair chart.
    """
    spec = chart if isinstance(chart, dict) else chart.to_dict(validate=False)
    return {"$schema": SCHEMA, **spec, "config": copy.deepcopy(_CONFIGURATION)}


def plotted(spec: Spec | None) -> Any:
    """A specification, with the shared configuration, as an altair chart; None remains None.

    Args:
        spec: the specification.
    """
    import altair as alt

    return None if spec is None else alt.Chart.from_dict(themed(spec))
