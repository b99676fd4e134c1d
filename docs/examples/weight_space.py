"""A network and its linearisation in the parameters, trained alike: how far apart they end, for four widths."""

import altair as alt
import jax
import jax.numpy as jnp

from lemmata.architectures import relu_network
from lemmata.networks import EmpiricalKernel, linearize, train
from lemmata.solvers import largest_learning_rate

jax.config.update("jax_enable_x64", True)
x = jax.random.normal(jax.random.key(0), (30, 5))
y, new = jnp.sin(2 * x[:, :1]), jax.random.normal(jax.random.key(1), (200, 5))
rows = []
for width in (32, 128, 512, 2048):
    network = relu_network(2, width)
    params, _ = network.init(jax.random.key(2), 5)
    rate = 0.3 * float(largest_learning_rate(EmpiricalKernel(network, params).gram(x, outputs="mean")))
    how = {"learning_rate": rate, "steps": 400, "record_at": range(0, 401, 20), "x_test": new}
    full, line = (train(f, params, x, y, **how) for f in (network, linearize(network, params)))
    gap = jnp.sqrt(jnp.mean((full.test - line.test) ** 2, axis=(1, 2)))
    print(f"width {width}: the outputs end {gap[-1]:.3f} apart")
    rows += [{"step": s, "gap": float(g), "width": width} for s, g in zip(how["record_at"], gap, strict=True) if s]
marks = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
scale = alt.Scale(type="log", nice=False)
gap = alt.Y("gap:Q", scale=scale, title="root mean square distance of the outputs")
marks.encode(x="step:Q", y=gap, color="width:O").save("weight_space.svg")
