"""Forty wide networks in training, and the normal distribution that theory predicts for them without training."""

import altair as alt
import jax
import jax.numpy as jnp

from lemmata.architectures import NNGPKernel, TangentKernel, erf_network
from lemmata.kernels import gram
from lemmata.networks import train
from lemmata.solvers import OtherPoints, gradient_flow_ensemble
from lemmata.spectra import spectrum

jax.config.update("jax_enable_x64", True)
x, grid = jnp.array([[-2.0], [-1.0], [0.0], [0.5], [1.5]]), jnp.linspace(-3, 3, 61)[:, None]
y, network = jnp.sin(2 * x), erf_network(2, width=256, weight_std=1.5, bias_std=0.3)
ntk, nngp = TangentKernel(network), NNGPKernel(network)
found, rate, steps = spectrum(gram(ntk, x)), 0.02, 500
others = OtherPoints(gram(ntk, grid, x), gram(nngp, grid, x), gram(nngp, grid))
law = gradient_flow_ensemble(found, gram(nngp, x), y, [rate * steps], others)
mean, deviation = law.mean.test[0, :, 0], jnp.sqrt(jnp.diagonal(law.test[0]))

run = lambda p: train(network, p, x, y, learning_rate=rate, steps=steps, record_at=[steps], x_test=grid).test
draws = jax.vmap(lambda key: run(network.init(key, 1)[0]))(jax.random.split(jax.random.key(0), 40))[:, 0, :, 0]
print(f"standard deviation, mean over the line: {draws.std(axis=0).mean():.3f}, by theory {deviation.mean():.3f}")

across = grid[:, 0].tolist()
rows = [{"x": a, "f": float(b), "i": i} for i, f in enumerate(draws) for a, b in zip(across, f, strict=True)]
band = [
    {"x": a, "low": float(m - 2 * s), "high": float(m + 2 * s)} for a, m, s in zip(across, mean, deviation, strict=True)
]
lines = alt.Chart(alt.Data(values=rows)).mark_line(opacity=0.3, color="#c2508c").encode(x="x:Q", y="f:Q", detail="i:N")
area = alt.Chart(alt.Data(values=band)).mark_area(opacity=0.5).encode(x="x:Q", y=alt.Y("low:Q", title="f"), y2="high:Q")
(area + lines).save("function_space.svg")
