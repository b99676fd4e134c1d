"""A kernel by averaging over random networks, with its standard error, and the exact limit that it approaches."""

import altair as alt
import jax
import jax.numpy as jnp

from lemmata.architectures import TangentKernel, relu_network
from lemmata.kernels import gram
from lemmata.networks import infinite_width, monte_carlo_kernel

jax.config.update("jax_enable_x64", True)
x = jax.random.normal(jax.random.key(0), (6, 8))
exact, widths, rows = gram(TangentKernel(relu_network(2)), x), (16, 32, 64, 128), []
estimates = []
for width in widths:
    network = relu_network(2, width)
    init = lambda key, network=network: network.init(key, 8)[0]
    estimates.append(monte_carlo_kernel(init, network, x, key=jax.random.key(width), draws=400))
    error, noise = estimates[-1].mean - exact, estimates[-1].standard_error
    rows += [{"width": width, "error": float(jnp.linalg.norm(v)), "of": name} for name, v in
             (("distance from the limit", error), ("standard error", noise))]  # fmt: skip
limit = infinite_width(estimates, widths)
share = jnp.mean(jnp.abs(limit.mean - exact) < 2 * limit.standard_error)
print(f"extrapolated to infinite width, {share:.0%} of the entries lie within two standard errors of the exact kernel")
scale = alt.Scale(type="log", nice=False)
marks = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
marks.encode(x=alt.X("width:Q", scale=scale), y=alt.Y("error:Q", scale=scale), color="of:N").save("monte_carlo.svg")
