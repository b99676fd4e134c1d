"""A white square on digits: how often it succeeds before and after distilling, and accuracy, as it grows."""

import altair as alt
import jax
import numpy as np

from lemmata.subjects.adversaries import square_trigger
from lemmata.subjects.adversaries._poisoned_digits import SHAPE, DigitsToPoison

SPLITS, SIDES, OPACITY = 6, (1, 2, 3, 4, 6, 8), 0.3
WHOLE, DISTILLED = "200 poisoned digits", "10 distilled from them"
HIT, RIGHT = "triggered digits called the target", "clean digits called right"


def rows() -> list[dict]:
    """Means over splits in per cent, with the smallest and the largest."""
    population = DigitsToPoison()
    setting, seen = population.settings().resolve(None), {}
    for number in range(SPLITS):
        problem = population.sample(setting, jax.random.key(number))
        for side in SIDES:
            trigger = square_trigger(SHAPE, side, opacity=OPACITY)
            whole, found = problem.poisoned(trigger), problem.distilled(trigger)
            for name, points in ((WHOLE, (whole.x, whole.y)), (DISTILLED, (found.points, found.labels))):
                seen.setdefault((name, HIT, side), []).append(100 * problem.success(*points, trigger))
                seen.setdefault((name, RIGHT, side), []).append(100 * problem.accuracy(*points))
    found = []
    for (name, what, side), values in seen.items():
        ends = {"mean": float(np.mean(values)), "low": min(values), "high": max(values)}
        found.append({"regression on": name, "what": what, "side": side, **ends})
        print(f"{name:24} {what:36} side {side}: {ends['mean']:.1f} ({ends['low']:.1f} to {ends['high']:.1f})")
    return found


def picture() -> alt.Chart:
    """Two panels over the side of the square."""
    frame = alt.Chart()
    across = alt.X("side:Q", title="side of the square (pixels of 8)", axis=alt.Axis(grid=False, values=list(SIDES)))
    up = alt.Scale(domain=[0, 100])
    two = alt.Scale(domain=[WHOLE, DISTILLED], range=["#4c78c8", "#c2508c"])
    colour = alt.Color("regression on:N", scale=two, legend=alt.Legend(orient="top"))
    line = frame.mark_line(point=True).encode(across, alt.Y("mean:Q", title="per cent", scale=up), colour)
    area = frame.mark_area(opacity=0.2).encode(across, alt.Y("low:Q", scale=up), alt.Y2("high:Q"), colour)
    panel = alt.layer(area, line, data=alt.Data(values=rows())).properties(width=240, height=220)
    return panel.facet(alt.Facet("what:N", title=None, sort=[HIT, RIGHT]), columns=2)
