"""Which inputs keep their answer under every small change? Two methods certify shares, an attack bounds them."""

import altair as alt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

from lemmata.subjects.robustness import certify

x, y = load_digits(return_X_y=True)
model = MLPClassifier((12,), alpha=1.0, max_iter=1000, random_state=0).fit(x[:1500] / 16, y[:1500])
layers = [(w.T, b) for w, b in zip(model.coefs_, model.intercepts_, strict=True)]
images, rows = x[1500:1520] / 16, []
for size in (0.01, 0.02, 0.04, 0.06, 0.08):
    shares = {}
    for method in ("interval", "crown"):
        found = [certify(layers, image, size, method=method) for image in images]
        shares[method] = np.mean([str(own).startswith("robust") for own in found])
    shares["attack fails"] = np.mean([not str(own).startswith("attacked") for own in found])
    rows += [{"size": size, "share": float(share), "by": name} for name, share in shares.items()]
    print(f"within {size:g}: " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items()))
axes = alt.X("size:Q", title="change of a pixel"), alt.Y("share:Q", title="share of inputs").axis(format="%")
chart = alt.Chart(alt.Data(values=rows)).mark_line(point=True).encode(*axes, color=alt.Color("by:N", title=None))
chart.save("certified.svg")
