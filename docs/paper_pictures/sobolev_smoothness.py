"""The power of labels by index, its noise floor, and the two exponents that are read off it."""

import itertools

import altair as alt
import jax.numpy as jnp
import numpy as np

from lemmata.chapters.regression.smoothness import interval_spectrum
from lemmata.problems._labelled_modes import DECAY, LabelledModes, labels_of
from lemmata.spectra import smoothness, target_power

N, S = 2400, 0.6
COLOURS = ("#4c78c8", "#c2508c", "#b8962e")


def picture() -> alt.LayerChart:
    """Averages of the power over bins of indices, and fits with and without the floor."""
    rng = np.random.default_rng(4)
    target = LabelledModes(rng.choice([-1.0, 1.0], size=4096), S, N)
    labels = jnp.asarray(labels_of(target.at_size(N), rng))
    power = np.asarray(target_power(interval_spectrum(N), labels)) / N
    edges = np.unique(np.round(1.35 ** np.arange(1, 23)).astype(int))
    points = [
        {"index": float(np.sqrt(a * (b - 1))), "power": float(power[a - 1 : b - 1].mean())}
        for a, b in itertools.pairwise(edges)
    ]
    found = smoothness(interval_spectrum(N), labels, decay=DECAY)
    plain = smoothness(interval_spectrum(N), labels, decay=DECAY, remove_floor=False)
    drawn = {
        f"power law above the floor: s = {found.estimate:.2f} (truth {S})": (found, 1, 60),
        f"line over 100 indices: s = {plain.estimate:.2f}": (plain, 1, 100),
    }
    rows = [
        {"index": int(i), "power": float(fit.amplitude * i**fit.slope), "line": name}
        for name, (fit, first, last) in drawn.items()
        for i in range(first, last + 1)
    ]
    names = [*drawn, "floor: noise of the labels"]
    rows += [{"index": i, "power": found.floor, "line": names[2]} for i in (1, 700)]
    scale, plain_axis = alt.Scale(type="log", nice=False, padding=8), alt.Axis(grid=False)
    x = alt.X("index:Q", scale=scale, title="index i of the mode", axis=plain_axis)
    axis = alt.Axis(grid=False, format=".0e", values=[1e-4, 1e-3, 1e-2, 1e-1])
    y = alt.Y("power:Q", scale=scale, title="power ⟨u_i, y⟩²/n", axis=axis)
    legend = alt.Legend(orient="top", direction="vertical", labelLimit=400)
    colour = alt.Color("line:N", sort=names, scale=alt.Scale(domain=names, range=COLOURS), title=None, legend=legend)
    dots = alt.Chart(alt.Data(values=points)).mark_point(filled=True, size=45, color="#555", opacity=1).encode(x, y)
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2).encode(x, y, colour)
    return (lines + dots).properties(width=480, height=280)
