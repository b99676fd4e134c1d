"""A scaling law fitted to losses at eight sizes, and its predictions for larger sizes, with an interval."""

import altair as alt
import numpy as np

from lemmata.subjects.scaling import fit_scaling_law

n = [1e6, 3e6, 1e7, 3e7, 1e8, 3e8, 1e9, 3e9]
loss = [5.354, 4.203, 3.367, 2.854, 2.458, 2.214, 2.046, 1.935]
law = fit_scaling_law(n, loss)
print(law)
print("at 1e11:", str(law.extrapolate(1e11)).splitlines()[0])

grid = np.logspace(6, 12, 60)
found = [law.extrapolate(size) for size in grid]
rows = [
    {"n": float(size), "loss": own.value, "low": own.interval[0], "high": own.interval[1]}
    for size, own in zip(grid, found, strict=True)
]
x = alt.X("n:Q", title="parameters").scale(type="log").axis(format="e")
base = alt.Chart(alt.Data(values=rows)).encode(x=x)
band = base.mark_area(opacity=0.3).encode(y=alt.Y("low:Q", title="loss").scale(zero=False), y2="high:Q")
seen = alt.Chart(alt.Data(values=[{"n": a, "loss": b} for a, b in zip(n, loss, strict=True)]))
dots = seen.mark_point(filled=True, color="black").encode(x="n:Q", y="loss:Q")
(band + base.mark_line().encode(y="loss:Q") + dots).save("scaling_law.svg")
