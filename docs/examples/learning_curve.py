"""The learning curve of kernel ridge regression, predicted from one spectrum and measured on random splits."""

import altair as alt
import jax
import jax.numpy as jnp
from sklearn.datasets import load_diabetes

from lemmata.kernels import RBF, gram
from lemmata.spectra import learning_curve, measured_curve, spectrum

jax.config.update("jax_enable_x64", True)
x, y = load_diabetes(return_X_y=True)
x, y = jnp.asarray(x) * 20, (jnp.asarray(y) - y.mean()) / y.std()
modes, sizes = spectrum(gram(RBF(3.0), x)), [20, 40, 80, 160, 320]
predicted = learning_curve(modes, y, sizes, 0.5).error
found = measured_curve(modes, y, sizes, 0.5)
rows = []
for size, one, other in zip(sizes, predicted, found.error, strict=True):
    print(f"{size:3d} rows: predicted {float(one):.3f}, measured {float(other):.3f}")
    rows += [{"rows": size, "error": float(v), "of": n} for n, v in (("predicted", one), ("measured", other))]
axes = alt.X("rows:Q").scale(type="log", nice=False), alt.Y("error:Q", title="mean squared error").scale(zero=False)
chart = alt.Chart(alt.Data(values=rows)).mark_line(point=True).encode(*axes, color=alt.Color("of:N", title=None))
chart.save("learning_curve.svg")
