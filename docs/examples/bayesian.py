"""Bayesian inference with an infinitely wide network: mean, uncertainty, and the noise that the evidence prefers."""

import altair as alt
import jax
import jax.numpy as jnp

from lemmata.architectures import NNGPKernel, erf_network
from lemmata.kernels import gram
from lemmata.solvers import kernel_ridge, log_evidence, posterior

jax.config.update("jax_enable_x64", True)
key, noise_key = jax.random.split(jax.random.key(0))
x = jnp.concatenate([jax.random.uniform(key, (20, 1), minval=-3, maxval=0), jnp.array([[2.0], [2.2], [2.5]])])
y = jnp.sin(2 * x[:, 0]) + 0.2 * jax.random.normal(noise_key, (23,))
grid, kernel = jnp.linspace(-4, 4, 161)[:, None], NNGPKernel(erf_network(2, weight_std=3.0, bias_std=2.0))

noises = jnp.geomspace(1e-3, 1.0, 25)  # variances
evidence = [float(log_evidence(gram(kernel, x), y, noise)) for noise in noises]
noise = float(noises[evidence.index(max(evidence))])
found = posterior(kernel_ridge(gram(kernel, x), y, noise), gram(kernel, grid, x), gram(kernel, grid))
print(f"noise of standard deviation {noise**0.5:.2f} explains the data best; 0.20 made them")

mean, spread = found.mean.reshape(-1), jnp.sqrt(jnp.diagonal(found.covariance))
rows = [
    {"x": float(a), "mean": float(m), "low": float(m - 2 * s), "high": float(m + 2 * s)}
    for a, m, s in zip(grid[:, 0], mean, spread, strict=True)
]
base = alt.Chart(alt.Data(values=rows)).encode(x="x:Q")
band = base.mark_area(opacity=0.3).encode(y=alt.Y("low:Q", title="f"), y2="high:Q")
data = [{"x": float(a), "y": float(b)} for a, b in zip(x[:, 0], y, strict=True)]
dots = alt.Chart(alt.Data(values=data)).mark_point(filled=True, color="black").encode(x="x:Q", y="y:Q")
(band + base.mark_line().encode(y="mean:Q") + dots).save("bayesian.svg")
