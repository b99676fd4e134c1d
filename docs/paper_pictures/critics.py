"""Generated points on eight Gaussians under critics of four kernels, and their distances from the data."""

import altair as alt
import jax.numpy as jnp
import numpy as np

from lemmata.architectures import TangentKernel, relu_network
from lemmata.core import key_from
from lemmata.kernels import RBF
from lemmata.subjects.dynamics import particle_flow, wasserstein2
from lemmata.subjects.dynamics._clouds import EightGaussians

POINTS, STEPS, SEEDS = 64, 200, range(8)
KERNELS = {
    "ReLU with biases": (TangentKernel(relu_network(2, bias_std=1.0)), 1.0),
    "RBF, lengthscale 1": (RBF(1.0), 20.0),
    "RBF, lengthscale 2": (RBF(2.0), 20.0),
    "ReLU without biases": (TangentKernel(relu_network(2)), 1.0),
}


def picture() -> alt.FacetChart:
    """Real points grey, generated ones coloured, one panel a kernel; above each its distances over eight seeds."""
    rows, titles = [], []
    for name, (kernel, rate) in KERNELS.items():
        distances = []
        for seed in SEEDS:
            clouds = EightGaussians(POINTS).sample({"n": POINTS}, key_from(seed, "picture"))
            path = particle_flow(kernel, clouds.real, clouds.fake, steps=STEPS, rate=rate, every=STEPS // 4)
            distances.append([wasserstein2(np.asarray(points), np.asarray(clouds.real)) for points in path.points])
            print(name, seed, np.round(distances[-1], 2), np.round(np.asarray(path.discrepancies), 4), flush=True)
            if seed == SEEDS[0]:
                shown = {"real": clouds.real, "generated": path.points[-1]}
        ends = np.array(distances)[:, -1]
        titles.append(f"{name}: {ends.min():.2f} to {ends.max():.2f}, mean {ends.mean():.2f}")
        rows += [
            {"kernel": titles[-1], "what": what, "x": float(x), "y": float(y)}
            for what, points in shown.items()
            for x, y in np.asarray(jnp.clip(points, -7.5, 7.5))
        ]
    square = {"scale": alt.Scale(domain=[-7.5, 7.5]), "axis": alt.Axis(grid=False, tickCount=4), "title": None}
    scale = alt.Scale(domain=["real", "generated"], range=["#bbbbbb", "#c2508c"])
    dots = alt.Chart(alt.Data(values=rows)).mark_circle(size=22, opacity=0.8)
    colour = alt.Color("what:N", title=None, scale=scale, legend=alt.Legend(orient="bottom"))
    chart = dots.encode(alt.X("x:Q", **square), alt.Y("y:Q", **square), colour).properties(width=210, height=210)
    return chart.facet(alt.Facet("kernel:N", sort=titles, title=None), columns=2)
