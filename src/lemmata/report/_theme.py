"""The look that all charts share: one colour an architecture, greys that read on white and on black."""

from typing import Any

import altair as alt

INK = "#7b828c"
GRID = "#8884"
COLOURS = ("#4c78c8", "#e07b39", "#2f9e77", "#c2508c", "#8a67c9", "#b8962e", "#3aa3b5", "#c94f4f", "#6b8e23", "#7f6a5a")
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def colour(titles: list[str], legend: bool = True) -> alt.Color:
    """The colour of an architecture, by its place in the record, so that it is the same in every chart."""
    domain = [COLOURS[i % len(COLOURS)] for i in range(len(titles))]
    key = alt.Legend(title=None, orient="top", columns=3, labelLimit=300, symbolStrokeWidth=3) if legend else None
    return alt.Color("architecture:N", scale=alt.Scale(domain=titles, range=domain), legend=key)


def themed(chart: Any) -> dict[str, Any]:
    """The Vega-Lite specification with the shared configuration."""
    axis = {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": INK,
        "tickColor": INK,
        "gridColor": GRID,
        "gridOpacity": 0.5,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "labelLimit": 220,
    }
    text = {"labelColor": INK, "titleColor": INK, "labelFontSize": 12, "titleFontSize": 12}
    configured = chart.configure(background="transparent", font=FONT, padding=8).configure_axis(**axis)
    configured = configured.configure_legend(**text).configure_header(**text, labelFontWeight="bold", labelLimit=260)
    return configured.configure_view(stroke=None).configure_title(color=INK, fontSize=13).to_dict()
