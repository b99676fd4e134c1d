"""Draws the picture of chapter 18: where two features share a dimension, and how many features can be read out."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import altair as alt
import numpy as np
from foundations_pictures import SIZE, beside, lines, plain
from pictures import log_axis
from scipy import optimize

from lemmata.subjects.features._two_features import descend, one_feature_loss, pair_boundary
from lemmata.subjects.features.stored_features import decoding_share, readout_failure

_FEATURES = 4096


def _phases() -> alt.LayerChart:
    """The part of the loss that an antipodal pair saves, with the bound and the boundary."""
    step, rows = 0.025, []
    for r in np.arange(step, 1, 2 * step):
        for p in np.arange(step, 1, step):
            alone = one_feature_loss(p, r)
            gain = 1 - min(descend(np.array([1.0, -1.0, 0.0, 0.0]), p, r)[0], alone) / alone
            rows.append({"density": p - step / 2, "to": p + step / 2, "r": r - step, "top": r + step, "gain": gain})
    gain = alt.Color("gain:Q", title="loss saved", scale=alt.Scale(scheme="blues", domain=[0, 1]))
    unit = alt.Scale(domain=[0, 1])
    across = alt.X(**plain("density", "density p"), scale=unit), alt.X2("to:Q")
    up = alt.Y(**plain("r", "importance r of the second feature"), scale=unit), alt.Y2("top:Q")
    tiles = alt.Chart(alt.Data(values=rows)).mark_rect().encode(*across, *up, gain)
    edges = []
    for r in np.linspace(0.05, 0.95, 19):
        edges.append({"what": "proved", "density": 4 * r / (2 + 5 * r), "r": r})
        edges.append({"what": "found", "density": pair_boundary(r, 1e-3), "r": r})
    dash = alt.StrokeDash(
        "what:N", title="boundary", sort=["found", "proved"], legend=alt.Legend(orient="bottom-right")
    )
    curves = (
        alt.Chart(alt.Data(values=edges))
        .mark_line(color="#c2562d")
        .encode(alt.X("density:Q"), alt.Y("r:Q"), dash, order="r:Q")
    )
    return (tiles + curves).properties(**SIZE)


def _capacities() -> alt.Chart:
    """Active features that are read with probability 1/2, against the dimension."""
    names, rows = ["l_1 decoder", "threshold"], []
    for d in np.round(np.geomspace(128, 2048, 9)).astype(int):
        decoded = optimize.brentq(lambda k, d=d: _FEATURES * decoding_share(k / _FEATURES) - d, 1, d)
        read = optimize.brentq(lambda k, d=d: float(readout_failure(k, _FEATURES, int(d))) - 0.5, 1.01, d)
        rows += [{"d": int(d), "k": k, "what": name} for k, name in zip((decoded, read), names, strict=True)]
    return lines(rows, log_axis("d", "dimensions"), log_axis("k", "active features that can be read"), names)


def picture() -> alt.Chart:
    """Left, the loss saved by storing two features as a pair; right, how many of 4096 features two readers recover."""
    return beside(_phases(), _capacities()).resolve_scale(color="independent", strokeDash="independent")
