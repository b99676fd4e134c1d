"""The power of labels by index, its noise floor, and the two exponents that are read off it, once and over draws."""

import itertools

import altair as alt
import jax.numpy as jnp
import numpy as np

from lemmata.spectra import smoothness, target_power
from lemmata.subjects.regression._labelled_modes import DECAY, LabelledModes, labels_of
from lemmata.subjects.regression.smoothness import interval_spectrum

N, S, DRAWS = 2400, 0.6, 40
COLOURS = ("#4c78c8", "#c2508c", "#b8962e")
FLOOR = "floor: noise of the labels"
LOG = alt.Scale(type="log", nice=False, padding=8)


def estimates(seed: int) -> tuple[np.ndarray, dict]:
    """Power of one draw of target and labels, and both fits to it."""
    rng = np.random.default_rng(seed)
    target = LabelledModes(rng.choice([-1.0, 1.0], size=4096), S, N)
    labels = jnp.asarray(labels_of(target.at_size(N), rng))
    power = np.asarray(target_power(interval_spectrum(N), labels)) / N
    fits = {
        "above the floor": smoothness(interval_spectrum(N), labels, decay=DECAY),
        "over 100 indices": smoothness(interval_spectrum(N), labels, decay=DECAY, remove_floor=False),
    }
    return power, fits


def powers(power: np.ndarray, fits: dict, names: dict, colour: alt.Color) -> alt.LayerChart:
    """Averages of the power over bins of indices, and the fits to one draw."""
    edges = np.unique(np.round(1.35 ** np.arange(1, 23)).astype(int))
    points = [
        {"index": float(np.sqrt(a * (b - 1))), "power": float(power[a - 1 : b - 1].mean())}
        for a, b in itertools.pairwise(edges)
    ]
    rows = [
        {"index": int(i), "power": float(fit.amplitude * i**fit.slope), "line": names[name]}
        for (name, fit), last in zip(fits.items(), (60, 100), strict=True)
        for i in range(1, last + 1)
    ]
    rows += [{"index": i, "power": fits["above the floor"].floor, "line": FLOOR} for i in (1, 700)]
    x = alt.X("index:Q", scale=LOG, title="index i of the mode, one draw", axis=alt.Axis(grid=False))
    axis = alt.Axis(grid=False, format=".0e", values=[1e-4, 1e-3, 1e-2, 1e-1])
    y = alt.Y("power:Q", scale=LOG, title="power ⟨u_i, y⟩²/n", axis=axis)
    dots = alt.Chart(alt.Data(values=points)).mark_point(filled=True, size=45, color="#555", opacity=1).encode(x, y)
    lines = alt.Chart(alt.Data(values=rows)).mark_line(strokeWidth=2).encode(x, y, colour)
    return alt.layer(lines, dots).properties(width=360, height=280)


def picture() -> alt.HConcatChart:
    """Left, one draw and its fits; right, the estimates of both methods over draws beside the truth."""
    drawn = [estimates(seed) for seed in range(DRAWS)]
    found = {name: np.array([fits[name].estimate for _, fits in drawn]) for name in drawn[0][1]}
    words = {"above the floor": "power law above the floor", "over 100 indices": "line over 100 indices"}
    names = {
        name: f"{words[name]}: s = {own.mean():.2f} ± {own.std(ddof=1):.2f} in {DRAWS} draws (truth {S})"
        for name, own in found.items()
    }
    print(names)
    domain = [*names.values(), FLOOR]
    legend = alt.Legend(orient="top", direction="vertical", labelLimit=480)
    colour = alt.Color("line:N", sort=domain, scale=alt.Scale(domain=domain, range=COLOURS), title=None, legend=legend)
    rows = [{"method": name, "s": float(value), "line": names[name]} for name, own in found.items() for value in own]
    x = alt.X("method:N", title=None, sort=list(found), axis=alt.Axis(labelAngle=0, labelLimit=120))
    y = alt.Y("s:Q", title="estimated smoothness", axis=alt.Axis(grid=False))
    ticks = alt.Chart(alt.Data(values=rows)).mark_tick(thickness=1.5, width=34, opacity=0.7).encode(x, y, colour)
    truth = alt.Chart(alt.Data(values=[{"s": S}])).mark_rule(color="#333", strokeDash=[4, 3]).encode(y)
    return alt.hconcat(powers(*drawn[0], names, colour), (truth + ticks).properties(width=230, height=280))
