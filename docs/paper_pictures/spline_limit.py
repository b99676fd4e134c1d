"""How the process with slope b and level c comes near the spline, for three ways of choosing c."""

import altair as alt
import jax
import numpy as np

from lemmata.subjects.regression._scattered_values import ScatteredSamples
from lemmata.subjects.regression.spline_limit import process_minus_spline

LEVELS = {"c = b^1.5": 1.5, "c = b²": 2.0, "c = b³": 3.0}
COLOURS = ("#c2508c", "#b8962e", "#4c78c8")


def picture() -> alt.Chart:
    """The median over 25 problems."""
    population = ScatteredSamples()
    setting = {"n": 20, "d": 3, "noise": 0.03}
    problems = [population.sample(setting, jax.random.key(seed)) for seed in range(25)]
    median = lambda b, e: float(np.median([process_minus_spline(problem, b, b**e) for problem in problems]))
    rows = [
        {"b": float(b), "distance": median(b, e), "level": name}
        for name, e in LEVELS.items()
        for b in np.geomspace(5, 1000, 12)
    ]
    axis = lambda: alt.Scale(type="log", nice=False, padding=10)
    return (
        alt.Chart(alt.Data(values=rows))
        .mark_line(point=True)
        .encode(
            alt.X("b:Q", scale=axis(), title="slope b", axis=alt.Axis(grid=False)),
            alt.Y(
                "distance:Q",
                scale=axis(),
                title="distance from the spline",
                axis=alt.Axis(grid=False, tickCount=5),
            ),
            alt.Color(
                "level:N", sort=list(LEVELS), scale=alt.Scale(domain=list(LEVELS), range=list(COLOURS)), title="level c"
            ),
        )
        .properties(width=480, height=280)
    )
