"""Draws the pictures of tools.md: python docs/tools_pictures.py [name ...] writes docs/pictures/*.svg."""

import sys

import altair as alt
import jax
import numpy as np
from pictures import COLOURS, draw, log_axis

from lemmata.subjects.preferences import best_of_n, coverage, divergence_bound, expected_normal_maximum
from lemmata.subjects.scaling import fit_scaling_law, pass_at_k

SIZES = [1e6, 3e6, 1e7, 3e7, 1e8, 3e8, 1e9, 3e9]
LOSSES = [5.354, 4.203, 3.367, 2.854, 2.458, 2.214, 2.046, 1.935]
FITS = {"with a floor": True, "without": False}
ATTEMPTS = 20
BAND = {"opacity": 0.25}


def coloured(what: str, names: list[str]) -> alt.Color:
    """One colour a name, in the order given."""
    scale = alt.Scale(domain=names, range=list(COLOURS[: len(names)]))
    return alt.Color(f"{what}:N", title=None, scale=scale, legend=alt.Legend(orient="top", columns=3))


def extrapolation() -> alt.LayerChart:
    """The law of tools.md with its interval far beyond the points, beside the straight line without a floor."""
    rows = []
    for name, floor in FITS.items():
        law = fit_scaling_law(SIZES, LOSSES, floor=floor)
        for n in np.geomspace(1e6, 1e12, 25):
            found = law.extrapolate(float(n))
            ends = {"low": found.interval[0], "high": found.interval[1]}
            rows.append({"n": float(n), "loss": found.value, "fit": name} | ends)
    across, up = log_axis("n", "size n"), log_axis("loss", "loss")
    across["axis"] = alt.Axis(format=".0e", values=[1e6, 1e8, 1e10, 1e12], grid=False)
    up["axis"] = alt.Axis(values=[0.5, 1, 2, 4], grid=False)
    base = alt.Chart(alt.Data(values=rows)).encode(alt.X(**across), color=coloured("fit", list(FITS)))
    band = base.mark_area(**BAND).encode(alt.Y(**(up | {"shorthand": "low:Q"})), alt.Y2("high:Q"))
    line = base.mark_line().encode(alt.Y(**up))
    points = [{"n": n, "loss": loss} for n, loss in zip(SIZES, LOSSES, strict=True)]
    dots = alt.Chart(alt.Data(values=points)).mark_point(filled=True, color="#333", size=30)
    return alt.layer(band, line, dots.encode(alt.X(**across), alt.Y(**up))).properties(width=260, height=240)


def failures() -> alt.LayerChart:
    """The share of 60 problems that K attempts all fail on: counted, extrapolated, and as if all were alike."""
    rng = np.random.default_rng(1)
    counted = rng.binomial(ATTEMPTS, rng.beta(0.4, 1.2, size=60))
    names = ["counted", "extrapolated", "all problems alike"]
    rows, share = [], counted.mean() / ATTEMPTS
    for k in np.unique(np.append(np.geomspace(1, 2000, 40), [ATTEMPTS, ATTEMPTS + 1]).round().astype(int)):
        found = pass_at_k(counted, ATTEMPTS, int(k))
        ends = {"low": 1 - found.interval[1], "high": 1 - found.interval[0]}
        rows.append({"k": int(k), "fail": 1 - found.value, "what": names[int(k > ATTEMPTS)]} | ends)
        if (1 - share) ** k > 3e-3:
            rows.append({"k": int(k), "fail": (1 - share) ** int(k), "what": names[2]})
    across, up = log_axis("k", "attempts K"), log_axis("fail", "problems that all K fail on")
    across["axis"] = alt.Axis(values=[1, 10, 100, 1000], grid=False)
    up["axis"] = alt.Axis(values=[0.01, 0.03, 0.1, 0.3, 1], grid=False)
    base = alt.Chart(alt.Data(values=rows)).encode(alt.X(**across), color=coloured("what", names))
    known = base.transform_filter("isValid(datum.low)").mark_area(**BAND)
    band = known.encode(alt.Y(**(up | {"shorthand": "low:Q"})), alt.Y2("high:Q"))
    return alt.layer(band, base.mark_line().encode(alt.Y(**up))).properties(width=260, height=240)


def frontier() -> alt.LayerChart:
    """What any policy can gain at a divergence, what the best of n gains, and 400 draws of a policy of one's own."""
    names = ["any policy at most", "best of n", "this policy, by its draws"]
    rows = [{"root": d, "gain": np.sqrt(2) * d, "what": names[0]} for d in np.linspace(0, 2.2, 12)]
    for n in (1, 2, 4, 8, 16, 32, 64, 128, 256):
        gain = float(expected_normal_maximum(n))
        rows.append({"root": float(np.sqrt(divergence_bound(n))), "gain": gain, "what": names[1]})
    # rewards standard normal under the reference; this policy moved by 1 along a proxy that has half of their variance
    rng = np.random.default_rng(0)
    drawn, shift = rng.normal(size=(400, 2)), np.sqrt(0.5)
    drawn = drawn + shift
    logp, ref = (-0.5 * ((drawn - centre) ** 2).sum(axis=1) - np.log(2 * np.pi) for centre in (shift, 0.0))
    found, gain = coverage(logp, ref), drawn[:, 0]
    low, high = found.divergence_interval
    own = {"root": np.sqrt(found.divergence), "gain": gain.mean(), "left": np.sqrt(low), "right": np.sqrt(high)}
    rows.append({key: float(value) for key, value in own.items()} | {"what": names[2]})
    base = alt.Chart(alt.Data(values=rows)).encode(color=coloured("what", names))
    axis = alt.Axis(tickCount=5, grid=False)
    across, up = (
        alt.X("root:Q", title="root of the divergence", axis=axis),
        alt.Y("gain:Q", title="gain in reward", axis=axis),
    )
    line = base.transform_filter(f"datum.what != '{names[2]}'").mark_line(point=True).encode(across, up)
    dot = base.transform_filter(f"datum.what == '{names[2]}'")
    ends = dot.mark_rule().encode(alt.X("left:Q"), up, x2="right:Q")
    return alt.layer(line, ends, dot.mark_point(filled=True, size=70).encode(across, up)).properties(
        width=260, height=240
    )


def selection() -> alt.LayerChart:
    """The proxy and the gold reward of the best of n of tools.md, and where gold peaks."""
    rng = np.random.default_rng(0)
    gold = rng.normal(size=5000)
    found = best_of_n(gold + rng.standard_t(3, size=5000), 512, gold=gold)
    assert found.gold is not None
    assert found.gold_interval is not None
    assert found.peak is not None
    rows = []
    shown = np.unique(np.geomspace(1, 512, 40).round().astype(int)) - 1
    curves = {"proxy": (found.reward, found.reward_interval), "gold": (found.gold, found.gold_interval)}
    for name, (values, ends) in curves.items():
        for at in shown:
            low, high = ends[at].tolist()
            rows.append({"n": int(at + 1), "reward": float(values[at]), "low": low, "high": high, "what": name})
    across = log_axis("n", "n, of which the best is taken")
    across["axis"] = alt.Axis(values=[1, 4, 16, 64, 256], grid=False)
    base = alt.Chart(alt.Data(values=rows)).encode(alt.X(**across), color=coloured("what", ["proxy", "gold"]))
    band = base.mark_area(**BAND).encode(
        alt.Y("low:Q", title="expected reward", axis=alt.Axis(grid=False)), alt.Y2("high:Q")
    )
    line = base.mark_line().encode(alt.Y("reward:Q"))
    peak = alt.Chart(alt.Data(values=[{"n": found.peak}])).mark_rule(strokeDash=[4, 3], color="#333")
    return alt.layer(band, line, peak.encode(alt.X(**across))).properties(width=260, height=240)


PICTURES = {
    "scaling": lambda: alt.hconcat(extrapolation(), failures()).resolve_scale(color="independent"),
    "preferences": lambda: alt.hconcat(frontier(), selection()).resolve_scale(color="independent"),
}


if __name__ == "__main__":
    with jax.enable_x64(True):
        draw(PICTURES, sys.argv[1:])
