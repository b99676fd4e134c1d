"""A bound on the error of a rule from the length of its description, for weights rounded more and more coarsely."""

import zlib

import altair as alt
import numpy as np

from lemmata.subjects.bounds import occam_bound

draw = np.random.default_rng(0)
x = draw.normal(size=(4000, 20))
y = x[:, 0] + x[:, 1] > 0.3 * draw.normal(size=4000)
x, y, new, truth = x[:2000], y[:2000], x[2000:], y[2000:]
exact = x.T @ (2.0 * y - 1) / 2000
rows = []
for scale in (1, 2, 4, 8, 16, 32, 64, 127):
    weights = np.round(scale * exact / np.abs(exact).max()).astype(np.int8)
    rule = lambda inputs, weights=weights: inputs @ weights > 0
    found = occam_bound(rule, x, y, zlib.compress(weights.tobytes()))
    print(f"{scale:3d} levels: {found}")
    rows.append({"levels": scale, "error": float(found.bound), "of": "bound"})
    rows.append({"levels": scale, "error": float((rule(new) != truth).mean()), "of": "new rows"})
axes = alt.X("levels:Q", title="levels of a weight").scale(type="log", nice=False), alt.Y("error:Q")
chart = alt.Chart(alt.Data(values=rows)).mark_line(point=True).encode(*axes, color=alt.Color("of:N", title=None))
chart.save("short_rules.svg")
