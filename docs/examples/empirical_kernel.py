"""The tangent kernel of a module of your own, and how much this kernel changes in training."""

import altair as alt
import equinox as eqx
import jax
import jax.numpy as jnp

from lemmata.networks import EmpiricalKernel, equinox_function, train

jax.config.update("jax_enable_x64", True)
x = jax.random.normal(jax.random.key(0), (24, 4))
y, rows = jnp.sin(3 * x[:, :1]), []
for width in (16, 64, 256, 1024):
    module = eqx.nn.MLP(4, 1, width, 2, activation=jnp.tanh, key=jax.random.key(1))
    f, start = equinox_function(module)
    kernel = EmpiricalKernel(f, start)
    rate, params = 0.1 / float(jnp.linalg.eigvalsh(kernel.gram(x, outputs="mean"))[-1]), start
    for step in range(0, 500, 50):
        rows.append({"step": step, "change": float(kernel.relative_change(params, x)), "width": width})
        params = train(f, params, x, y, learning_rate=rate, steps=50, record_at=[0]).params
    print(f"width {width}: |K - K_0| / |K_0| = {rows[-1]['change']:.3f}")
change = alt.Y("change:Q", title="relative change of the kernel")
marks = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
marks.encode(x="step:Q", y=change, color="width:O").save("empirical_kernel.svg")
