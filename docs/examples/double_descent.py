"""Bias and variance of one model against its width: the variance is largest with as many features as rows."""

import altair as alt
import numpy as np

from lemmata.subjects.stability import bias_variance


def features(width):
    """Least squares on random ReLU features."""
    lift = lambda inputs: np.maximum(inputs @ np.random.default_rng(1).normal(size=(4, width)), 0.0)

    def fit(x, y):
        readout = np.linalg.lstsq(lift(x), y, rcond=None)[0]
        return lambda new: lift(new) @ readout

    return fit


rng = np.random.default_rng(0)
x = rng.normal(size=(300, 4))
y = np.tanh(2 * x[:, 0]) + 0.5 * rng.normal(size=300)
widths = (5, 10, 20, 40, 60, 90, 110, 130, 160, 240, 400, 600)
found = bias_variance({width: features(width) for width in widths}, x, y, noise=0.25)
print(found)

parts = {"error": found.error, "variance": found.variance}
rows = [{"width": w, "value": float(v), "of": n} for n, own in parts.items() for w, v in zip(widths, own, strict=True)]
axes = alt.X("width:Q", title="features").scale(type="log", nice=False), alt.Y("value:Q", title=None).scale(type="log")
chart = alt.Chart(alt.Data(values=rows)).mark_line(point=True).encode(*axes, color=alt.Color("of:N", title=None))
chart.save("double_descent.svg")
