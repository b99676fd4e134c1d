"""Draws the picture of chapter 16."""

import sys
from pathlib import Path

import altair as alt
import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1]))
from foundations_pictures import lines
from pictures import log_axis

D, ROWS, SPREAD, LENGTH = 16, 400, 0.5, 6.0  # dimension, rows of a class, deviation in a class, |m|
STEP = 0.9  # of a solver: each step multiplies the time by this
TIMES = np.geomspace(0.02, 3.0, 60)


def variance(t: np.ndarray) -> np.ndarray:
    """Within a class, of x_t = e^-t x_0 + sqrt(1 - e^-2t) z."""
    return 1 + np.exp(-2 * t) * (SPREAD**2 - 1)


def of_a_sample(t: float, rows: np.ndarray, fresh: np.ndarray, noise: np.ndarray) -> tuple[float, float]:
    """The mean weight of the row behind x_t, and the relative squared error of the score of the sample on new data."""
    a, v = np.exp(-t), 1 - np.exp(-2 * t)

    def weights(x: np.ndarray) -> np.ndarray:
        logs = -((x[:, None] - a * rows) ** 2).sum(-1) / (2 * v)
        shares = np.exp(logs - logs.max(1, keepdims=True))
        return shares / shares.sum(1, keepdims=True)

    count = len(noise)
    own = np.diag(weights(a * rows[:count] + np.sqrt(v) * noise)).mean()
    x = a * fresh + np.sqrt(v) * noise
    found = (a * weights(x) @ rows - x) / v
    centre = a * LENGTH * np.tanh(a * LENGTH * x[:, 0] / variance(t))
    exact = -x / variance(t)
    exact[:, 0] += centre / variance(t)
    return own, ((found - exact) ** 2).sum() / (exact**2).sum()


def picture() -> alt.Chart:
    """Times and errors of a diffusion of two classes: speciation, collapse, the sample's score, and one Euler step."""
    rng = np.random.default_rng(0)
    means = np.zeros(D)
    means[0] = LENGTH
    signs = rng.permutation(np.repeat([1.0, -1.0], ROWS))[:, None]
    rows = signs * means + SPREAD * rng.normal(size=(2 * ROWS, D))
    fresh = rng.choice([1.0, -1.0], (200, 1)) * means + SPREAD * rng.normal(size=(200, D))
    noise, nodes = rng.normal(size=(200, D)), np.polynomial.hermite_e.hermegauss(60)
    names, errors = ["two paths agree on the class", "weight of one row"], ["score of the sample", "one Euler step"]
    upper, lower = [], []
    for t in TIMES:
        height = np.exp(-t) * LENGTH / np.sqrt(variance(t))
        agree = 0.5 + np.tanh(height * (height + nodes[0])) @ nodes[1] / nodes[1].sum() / 2
        weight, wrong = of_a_sample(t, rows, fresh, noise)
        euler = 1 - t * (1 - STEP) * (1 / variance(t) - 1)
        moved = (euler * np.sqrt(variance(t) / variance(STEP * t)) - 1) ** 2
        upper += [{"t": t, "value": float(v), "what": n} for n, v in zip(names, (agree, weight), strict=True)]
        lower += [{"t": t, "value": float(v), "what": n} for n, v in zip(errors, (wrong, moved), strict=True)]
    speciation = np.log(LENGTH**2 + 1 - SPREAD**2) / 2
    collapse = np.log1p(SPREAD**2 / np.expm1(2 * np.log(ROWS) / D)) / 2
    marks = [{"t": speciation, "name": "speciation time"}, {"t": collapse, "name": "collapse time"}]
    across = log_axis("t", "time t of the noise")
    across["axis"] = alt.Axis(values=[0.03, 0.1, 0.3, 1, 3], grid=False)
    up = log_axis("value", "relative squared error")
    up["axis"] = alt.Axis(values=[10.0**-k for k in range(0, 10, 2)], format=".0e", grid=False)
    share = {"shorthand": "value:Q", "title": "share", "axis": alt.Axis(grid=False, tickCount=5)}
    rule = alt.Chart(alt.Data(values=marks)).encode(alt.X(**across))
    dashed = rule.mark_rule(strokeDash=[4, 3], color="#999")
    words = rule.mark_text(align="right", dx=-5, color="#777").encode(alt.Y(value=110), text="name:N")
    wide = {"width": 480, "height": 170}
    top = alt.layer(dashed, words, lines(upper, across, share, names, points=False)).properties(**wide)
    bottom = alt.layer(dashed, lines(lower, across, up, errors, points=False)).properties(**wide)
    return alt.vconcat(top, bottom).resolve_scale(color="independent")
