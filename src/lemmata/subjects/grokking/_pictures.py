"""Pictures of training histories and of powers per frequency."""

from typing import Any

import numpy as np
from jaxtyping import Float

_BLUE, _RED, _INK = "#3b6fb6", "#c2562d", "#7b828c"
_POINTS = 400


def _thinned(count: int) -> np.ndarray:
    """Return the indices of at most _POINTS of `count` points, including the first and the last point."""
    return np.unique(np.linspace(0, count - 1, min(count, _POINTS)).astype(int))


def history_chart(report: Any) -> Any:
    """Plot the curves of each run. Lines mark the steps t_train and t_test at which the training and the test curve
    reach the highest threshold that is reached.
    """
    import altair as alt

    charts = []
    colour = alt.Color("what:N", title=None, scale=alt.Scale(domain=["training", "validation"], range=[_BLUE, _RED]))
    for run in report.runs:
        rows, marks = [], []
        for what, curve in (("training", run.train), ("validation", run.test)):
            for place in _thinned(len(curve.steps)):
                rows.append({"step": float(curve.steps[place]), "value": float(curve.values[place]), "what": what})
            times = [(own.train if what == "training" else own.test, own.threshold) for own in run.crossings]
            reached = [(time, level) for time, level in times if time is not None and time > 0]
            marks += [{"step": time, "what": what, "threshold": level} for time, level in reached[-1:]]
        across = alt.X("step:Q", title=report.columns[0], scale=alt.Scale(type="symlog", nice=False))
        line = alt.Chart(alt.Data(values=rows)).mark_line()
        line = line.encode(across, alt.Y("value:Q", title=report.metric), colour)
        layers = [line]
        if marks:
            rule = alt.Chart(alt.Data(values=marks)).mark_rule(strokeDash=[4, 3])
            layers.append(rule.encode(across, color=colour, tooltip=["what:N", "step:Q", "threshold:Q"]))
        title = "" if run.weight_decay is None else f"weight decay {run.weight_decay:g}"
        charts.append(alt.layer(*layers).properties(width=260, height=180, title=title))
    return alt.hconcat(*charts).configure_view(stroke=None)


def power_chart(power: Float[np.ndarray, " k"], top: tuple[int, ...]) -> Any:
    """Plot a bar for the share of each frequency, and mark the top frequencies."""
    import altair as alt

    rows = [{"k": k, "share": share, "top": k in top} for k, share in enumerate(power.tolist(), start=1)]
    fill = alt.condition("datum.top", alt.value(_RED), alt.value(_BLUE))
    axis = alt.Axis(labelAngle=0, grid=False, labelOverlap=True)
    bars = alt.Chart(alt.Data(values=rows)).mark_bar()
    x, y = alt.X("k:O", title="frequency", axis=axis), alt.Y("share:Q", title="share of the power")
    return bars.encode(x, y, color=fill, tooltip=["k:O", "share:Q"]).properties(width=360, height=180)


def errors_chart(found: Any) -> Any:
    """Plot both errors against time on logarithmic axes, with lines at `train_time` and `test_time`."""
    import altair as alt

    rows, marks = [], []
    for what, errors, time in (
        ("training", found.train_errors, found.train_time),
        ("validation", found.test_errors, found.test_time),
    ):
        places = [place for place in 1 + _thinned(len(found.times) - 1) if errors[place] > 1e-12 * errors[0]]
        rows += [{"time": float(found.times[at]), "error": float(errors[at]), "what": what} for at in places]
        marks += [{"time": time, "what": what}] if time else []
    scale = alt.Scale(domain=["training", "validation"], range=[_BLUE, _RED])
    colour = alt.Color("what:N", title=None, scale=scale)
    across = alt.X("time:Q", title="steps times learning rate", scale=alt.Scale(type="log", nice=False))
    up = alt.Y("error:Q", title="squared error", scale=alt.Scale(type="log"))
    layers = [alt.Chart(alt.Data(values=rows)).mark_line().encode(across, up, colour)]
    if marks:
        rule = alt.Chart(alt.Data(values=marks)).mark_rule(strokeDash=[4, 3])
        layers.append(rule.encode(across, color=colour, tooltip=["what:N", "time:Q"]))
    return alt.layer(*layers).properties(width=360, height=220).configure_view(stroke=None)
