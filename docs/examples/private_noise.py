"""How much normal noise does privacy need? The exact curve, compared with the classical formula."""

import altair as alt
import numpy as np

from lemmata.subjects.privacy import gaussian_sigma

delta, grid = 1e-5, np.geomspace(0.1, 20, 40)
exact = [gaussian_sigma(float(eps), delta) for eps in grid]
classical = np.sqrt(2 * np.log(1.25 / delta)) / grid  # stated for eps below 1
for eps in (0.1, 1.0, 10.0):
    print(f"eps {eps:g}: {gaussian_sigma(eps, delta):.3f}, classical {np.sqrt(2 * np.log(1.25 / delta)) / eps:.3f}")
print(f"the classical formula is too little from eps = {grid[np.array(exact) > classical].min():.1f} on")

rows = [{"eps": float(e), "noise": float(s), "of": "exact"} for e, s in zip(grid, exact, strict=True)]
rows += [{"eps": float(e), "noise": float(s), "of": "classical"} for e, s in zip(grid, classical, strict=True)]
noise = alt.Y("noise:Q", title="standard deviation of the noise").scale(type="log")
axes = alt.X("eps:Q").scale(type="log", nice=False), noise
chart = alt.Chart(alt.Data(values=rows)).mark_line().encode(*axes, color=alt.Color("of:N", title=None))
chart.save("private_noise.svg")
