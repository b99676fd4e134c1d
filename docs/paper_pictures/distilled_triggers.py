"""A white square on digits: how often it succeeds before and after distilling, and accuracy, as it grows."""

import altair as alt
import jax
import numpy as np

from lemmata.adversaries import square_trigger
from lemmata.problems._poisoned_digits import SHAPE, DigitsToPoison

SPLITS, SIDES, OPACITY = 6, (1, 2, 3, 4, 6, 8), 0.3


def rows() -> list[dict]:
    """Means over splits, with the smallest and the largest."""
    population = DigitsToPoison()
    setting = population.settings().resolve(None)
    seen: dict = {}
    for number in range(SPLITS):
        problem = population.sample(setting, jax.random.key(number))
        for side in SIDES:
            trigger = square_trigger(SHAPE, side, opacity=OPACITY)
            whole, found = problem.poisoned(trigger), problem.distilled(trigger)
            for name, points in (
                ("200 poisoned digits", (whole.x, whole.y)),
                ("10 distilled from them", (found.points, found.labels)),
            ):
                seen.setdefault((name, "triggered digits called the target", side), []).append(
                    problem.success(*points, trigger)
                )
                seen.setdefault((name, "clean digits called right", side), []).append(problem.accuracy(*points))
    found = []
    for (name, what, side), values in seen.items():
        found.append(
            {
                "regression on": name,
                "what": what,
                "side": side,
                "mean": 100 * np.mean(values),
                "low": 100 * min(values),
                "high": 100 * max(values),
            }
        )
        print(
            f"{name:24} {what:36} side {side}: {100 * np.mean(values):.1f} ({100 * min(values):.1f} to {100 * max(values):.1f})"
        )
    return found


def picture() -> alt.Chart:
    """Two panels over the side of the square."""
    frame = alt.Chart(alt.Data(values=rows()))
    across = alt.X("side:Q", title="side of the square (pixels of 8)", axis=alt.Axis(grid=False, values=list(SIDES)))
    up = alt.Scale(domain=[0, 100])
    colour = alt.Color(
        "regression on:N", scale=alt.Scale(range=["#4c78c8", "#c2508c"]), legend=alt.Legend(orient="top")
    )
    line = frame.mark_line(point=True).encode(
        across, alt.Y("mean:Q", title="per cent, mean over splits", scale=up), colour
    )
    area = frame.mark_area(opacity=0.2).encode(across, alt.Y("low:Q", scale=up), alt.Y2("high:Q"), colour)
    return (
        (area + line)
        .properties(width=240, height=220)
        .facet(
            alt.Facet("what:N", title=None, sort=["triggered digits called the target", "clean digits called right"]),
            columns=2,
        )
    )
