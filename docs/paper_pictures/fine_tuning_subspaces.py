"""The largest error of a kernel in a random subspace against the dimension, and what the bound says of it."""

import altair as alt
import numpy as np

from lemmata.dynamics import rank_needed

ROWS, SIZE, DRAWS, PROBABILITY = 16, 300, 100, 0.1
DIMENSIONS = (16, 32, 64, 128, 256, 512)
COLOURS = {"the bound": "#c2508c", "measured, 9 of 10 draws are below": "#4c78c8"}


def measured() -> list[dict]:
    """The 0.9 quantile over draws of the largest error, in units of the largest diagonal entry."""
    rng, found = np.random.default_rng(0), []
    shared = rng.normal(size=SIZE)
    for k in DIMENSIONS:
        worst = []
        for _ in range(DRAWS):
            rows = np.sqrt(0.8) * shared + np.sqrt(0.2) * rng.normal(size=(ROWS, SIZE))
            rows /= np.linalg.norm(rows, axis=1, keepdims=True)
            seen = rows @ rng.normal(size=(SIZE, k)) / np.sqrt(k)
            worst.append(np.abs(seen @ seen.T - rows @ rows.T).max())
        found.append({"k": k, "error": float(np.quantile(worst, 1 - PROBABILITY)), "what": list(COLOURS)[1]})
    return found


def picture() -> alt.Chart:
    """Both, with the same probability."""
    errors = np.geomspace(0.16, 0.66, 30)
    bound = [{"k": rank_needed(ROWS, e, PROBABILITY), "error": float(e), "what": list(COLOURS)[0]} for e in errors]
    scale = alt.Scale(type="log", nice=False, padding=8)
    encoding = (
        alt.X("k:Q", title="dimension k of the subspace", scale=scale,
              axis=alt.Axis(grid=False, values=[16, 32, 64, 128, 256, 512, 1024, 2048])),
        alt.Y("error:Q", title="largest error of the kernel / largest diagonal entry", scale=scale,
              axis=alt.Axis(grid=False, values=[0.1, 0.2, 0.4, 0.8])),
        alt.Color("what:N", title=None, sort=list(COLOURS), legend=alt.Legend(orient="top", labelLimit=300),
                  scale=alt.Scale(domain=list(COLOURS), range=list(COLOURS.values()))),
    )  # fmt: skip
    lines = alt.Chart(alt.Data(values=bound)).mark_line(strokeWidth=2).encode(*encoding)
    points = alt.Chart(alt.Data(values=measured())).mark_line(point=True, strokeWidth=2).encode(*encoding)
    return (lines + points).properties(width=460, height=260)
