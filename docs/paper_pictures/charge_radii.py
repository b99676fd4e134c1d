"""Charge radii: calcium with each isotope left out, and left-out errors by base model and kernel."""

import altair as alt
import numpy as np

from lemmata.subjects.regression._charge_radii import BASES, radii_table
from lemmata.subjects.regression._radii_fits import CHOSEN, inverse, left_out, matrix

NAMES = {"smooth": "one length scale", "odd-even": "odd-even", "two scales": "two length scales"}
COLOURS = {"one length scale": "#b8962e", "odd-even": "#c2508c", "two length scales": "#4c78c8"}


def colour(title: str | None) -> alt.Color:
    """The kernels' colours."""
    scale = alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    return alt.Color("kernel:N", title=title, sort=list(COLOURS), scale=scale)


def calcium() -> alt.LayerChart:
    """Measured radii of calcium beside the three predictions, the isotope itself left out."""
    table = radii_table("isospin")
    rows = [row for row, point in enumerate(table.points) if point[0] == 20]
    mass = [int(table.points[row].sum()) for row in rows]
    measured = [{"A": a, "radius": table.radius[row]} for a, row in zip(mass, rows, strict=True)]
    predicted = []
    for kind in ("smooth", "odd-even"):
        own = inverse(matrix(kind, CHOSEN[kind], table.points), CHOSEN[kind][-1])
        radius = table.radius - own @ table.rest / np.diagonal(own)
        predicted += [{"A": a, "radius": radius[row], "kernel": NAMES[kind]} for a, row in zip(mass, rows, strict=True)]
    x = alt.X(
        "A:Q", title="mass number of calcium", scale=alt.Scale(zero=False), axis=alt.Axis(grid=False, tickCount=6)
    )
    y = alt.Y("radius:Q", title="charge radius (fm)", scale=alt.Scale(zero=False), axis=alt.Axis(grid=False))
    lines = alt.Chart(alt.Data(values=predicted)).mark_line(point=True, opacity=0.85).encode(x, y, colour(None))
    dots = alt.Chart(alt.Data(values=measured)).mark_point(size=70, color="black", strokeWidth=1.5).encode(x, y)
    return alt.layer(lines, dots).properties(width=300, height=260, title="calcium: measured (circles) and left out")


def errors() -> alt.Chart:
    """Left-out errors over the table."""
    rows = []
    for base in BASES:
        for kind in CHOSEN:
            error = np.sqrt(np.min(np.mean(left_out(radii_table(base), kind) ** 2, axis=1)))
            rows.append({"base": base, "kernel": NAMES[kind], "error": 1000 * error})
            print(base, kind, round(float(error), 4))
    y = alt.Y("error:Q", title="left-out error, root mean square (fm / 1000)", axis=alt.Axis(grid=False))
    bars = alt.Chart(alt.Data(values=rows)).mark_bar()
    x = alt.X("base:N", sort=list(BASES), title="base model", axis=alt.Axis(labelAngle=0))
    offset = alt.XOffset("kernel:N", sort=list(COLOURS))
    return bars.encode(x, y, offset, colour("kernel")).properties(width=340, height=260, title="all nuclei")


def picture() -> alt.HConcatChart:
    """Both."""
    return alt.hconcat(calcium(), errors())
