"""The figure of chapter 19: training histories with the steps of fitting and of generalising."""

import sys
from pathlib import Path

import altair as alt
import numpy as np

from lemmata.subjects.grokking import grokking_report, predict_delay

sys.path.insert(0, str(Path(__file__).parents[1]))
from foundations_pictures import SIZE, beside
from tools_pictures import coloured

LOG = Path(__file__).parents[2] / "tests" / "subjects" / "grokking" / "modular_addition.csv"
DECAYS = (0.03, 0.01, 0.003)
RATE, STEPS = 0.05, 60_000


def picture() -> alt.HConcatChart:
    """Left, the accuracy of a network on addition modulo 31 on training pairs (dashed) and new pairs, with the steps at
    which it reaches 0.9. Right, the errors of descent of a linear model, with the steps that lemmata predicts. Colours
    are weight decays, each with its two steps.
    """  # noqa: D205
    right = _panel("squared error", *_linear(), place="bottom-left", scale="log", format=".0e")
    return beside(_panel("accuracy", *_network(), place="top-left"), right)


def _network() -> tuple[list[dict], list[dict]]:
    rows, marks = [], []
    for run in grokking_report(LOG).runs:
        at = run.crossings[1]
        name = f"decay {run.weight_decay:g}: {at.train:g}, {at.test:g}"
        marks += [{"step": time, "what": name} for time in (at.train, at.test)]
        for part, curve in (("training", run.train), ("validation", run.test)):
            pairs = zip(curve.steps.tolist(), curve.values.tolist(), strict=True)
            rows += [{"step": step, "value": value, "what": name, "part": part} for step, value in pairs]
    return rows, marks


def _linear() -> tuple[list[dict], list[dict]]:
    rng = np.random.default_rng(0)
    x, truth, start = rng.normal(size=(20, 80)), rng.normal(size=80), 20 * rng.normal(size=80)
    new, rows, marks = rng.normal(size=(400, 80)), [], []
    shown = set(np.unique(np.geomspace(1, STEPS, 60).astype(int)).tolist())
    for decay in DECAYS:
        found = predict_delay(x, x @ truth, decay, start, new=(new, new @ truth))
        times = [time / RATE for time in (found.train_time, found.test_time) if time is not None]
        name = f"decay {decay:g}: " + ", ".join(f"{time:.0f}" for time in times)
        marks += [{"step": time, "what": name} for time in times]
        weights, gram, moment = start.copy(), x.T @ x / 20, x.T @ (x @ truth) / 20
        for step in range(1, STEPS + 1):
            weights -= RATE * (gram @ weights - moment + decay * weights)
            for part, own in (("training", x), ("validation", new)) if step in shown else ():
                error = float(np.mean((own @ (weights - truth)) ** 2))
                rows.append({"step": step, "value": error, "what": name, "part": part})
    return rows, marks


def _panel(
    title: str, rows: list[dict], marks: list[dict], *, place: str, scale: str = "linear", **axis: str
) -> alt.LayerChart:
    colour = coloured("what", list(dict.fromkeys(row["what"] for row in rows)))
    across = alt.X("step:Q", scale=alt.Scale(type="log", nice=False), axis=alt.Axis(grid=False, tickCount=5))
    up = alt.Y("value:Q", title=title, scale=alt.Scale(type=scale), axis=alt.Axis(grid=False, tickCount=5, **axis))
    styles = alt.Scale(domain=["validation", "training"], range=[[1, 0], [4, 3]])
    part = alt.StrokeDash("part:N", legend=alt.Legend(title=None, orient=place, offset=8), scale=styles)
    line = alt.Chart(alt.Data(values=rows)).mark_line().encode(across, up, colour, part)
    rule = alt.Chart(alt.Data(values=marks)).mark_rule(strokeWidth=1).encode(across, color=colour)
    return alt.layer(line, rule).properties(**SIZE)
