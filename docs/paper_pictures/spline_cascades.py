"""Cascades on digits, an epoch after the other, beside kernel ridge regression; gradients by depth before training."""

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import train_test_split

from lemmata.subjects.splines import Hyperoctahedron, Package, SplineCovariance, initial_cascade

COLOURS = ("#4c78c8", "#2f9e77", "#b8962e", "#c2508c", "#777")
BATCH, WIDTH, DRAWS, LAYERS = 325, 20, 24, 100
SEED = 7  # of the split, the cascades and the order of rows; not the one with which settings were tried
RUNS = ((3, (20, 10), 5), (31, (20,) * 30, 5), (101, (20,) * 100, 5))  # packages, widths, epochs


def rows():
    """Digits in their unit range, centred, and targets of one cascade a class; what a kernel misses."""
    x, y = load_digits(return_X_y=True)
    seen, new, labels, truth = train_test_split(x, y, test_size=500, random_state=SEED, stratify=y)
    low, reach = seen.min(axis=0), np.maximum(np.ptp(seen, axis=0), 1e-9)
    mean = ((seen - low) / reach).mean(axis=0)
    z, z_new = ((part - low) / reach - mean for part in (seen, new))
    targets = np.where(labels == np.arange(10)[:, None], 1.0, -1.0)
    return jnp.asarray(z), jnp.asarray(targets), jnp.asarray(z_new), truth, kernel_error(z, targets, z_new, truth)


def kernel_error(z, targets, z_new, truth):
    """Of RBF kernel ridge regression on the same targets, width and ridge those of the least leave-one-out error."""
    found = []
    for gamma in (0.02, 0.05, 0.1, 0.2):
        values, vectors = np.linalg.eigh(rbf_kernel(z, gamma=gamma))
        inside = vectors.T @ targets.T
        for ridge in 10.0 ** np.arange(-4, 1):
            weights = vectors @ (inside / (values + ridge)[:, None])
            left_out = weights / np.sum(vectors**2 / (values + ridge), axis=1)[:, None]
            wrong = np.mean(np.argmax(rbf_kernel(z_new, z, gamma=gamma) @ weights, axis=1) != truth)
            found.append((np.mean(left_out**2), gamma, ridge, float(wrong)))
    print("kernel: leave-one-out, gamma, ridge, error", *min(found), flush=True)
    return min(found)[-1]


def learning():
    """Held-out errors after every epoch."""
    z, y, z_new, truth, tuned = rows()
    found = []
    for hidden, widths, epochs in RUNS:
        cascade, random = initial_cascade(jax.random.key(SEED), (64, *widths), outputs=10), np.random.default_rng(SEED)
        for epoch in range(1, epochs + 1):
            order = np.resize(random.permutation(len(z)), (4, BATCH))
            for taken in order:
                cascade = cascade.step(z[taken], y[:, taken], 5.0)
            error = float(np.mean(np.argmax(np.asarray(cascade(z_new)), axis=0) != truth))
            print(hidden, epoch, error, flush=True)
            found.append({"epoch": epoch, "error": error, "packages": f"{hidden} packages"})
    return found, tuned


def gradients():
    """Medians of |gradient| / |readout| on the way back from the last of a hundred layers."""
    h, random, found = Hyperoctahedron(WIDTH), np.random.default_rng(1), []
    start, readout = random.normal(size=(2, DRAWS, WIDTH))
    start /= np.linalg.norm(start, axis=1, keepdims=True)

    def record(name, layers, g):
        if layers % 5 == 0:
            size = np.median(np.linalg.norm(g, axis=1) / np.linalg.norm(readout, axis=1))
            found.append({"network": name, "layers": layers, "size": float(size)})

    for name, scale in (("cascade", 1.0), ("cascade, scale 0.9", 0.9)):
        package, states, g = (
            Package(h, SplineCovariance(), scale * h.points),
            [jnp.asarray(start)],
            jnp.asarray(readout),
        )
        forward = jax.jit(lambda z, own=package: own(z))
        back = jax.jit(lambda z, g, own=package: own.pull_back(z, g))
        for _ in range(LAYERS):
            states.append(forward(states[-1]))
        record(name, 0, g)
        for layers, z in enumerate(states[-2::-1], 1):
            g = back(z, g)
            record(name, layers, g)
    for name, gain in (("ReLU network, He", 2.0), ("ReLU network, LeCun", 1.0)):
        weights = random.normal(size=(LAYERS, DRAWS, WIDTH, WIDTH)) * (gain / WIDTH) ** 0.5
        z, active, g = start, [], readout
        for own in weights:
            z = np.maximum(np.einsum("nij,nj->ni", own, z), 0.0)
            active.append(z > 0)
        record(name, 0, g)
        for layers, (own, on) in enumerate(zip(weights[::-1], active[::-1], strict=True), 1):
            g = np.einsum("nij,ni->nj", own, g * on)
            record(name, layers, g)
    for row in found:
        if row["layers"] == LAYERS:
            print(row, flush=True)
    return found


def picture() -> alt.HConcatChart:
    """Two panels."""
    found, tuned = learning()
    names = list(dict.fromkeys(row["packages"] for row in found))
    legend = alt.Legend(orient="top", columns=2, labelLimit=260)
    colour = alt.Color("packages:N", sort=names, title=None, scale=alt.Scale(range=list(COLOURS[:3])), legend=legend)
    across = alt.X("epoch:Q", axis=alt.Axis(grid=False, tickMinStep=1), title="epoch")
    up = alt.Y("error:Q", scale=alt.Scale(type="log"), title="held-out error on digits")
    up = up.axis(values=[0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5], format="~%", grid=False)
    lines = alt.Chart(alt.Data(values=found)).mark_line(point=True).encode(across, up, colour)
    level = alt.Chart(alt.Data(values=[{"error": tuned, "text": "RBF kernel ridge"}])).encode(y="error:Q")
    text = level.mark_text(align="right", dx=-4, dy=9, x=280).encode(text="text:N")
    left = (lines + level.mark_rule(strokeDash=[5, 4]) + text).properties(width=280, height=240)
    rows = gradients()
    kinds = list(dict.fromkeys(row["network"] for row in rows))
    scale = alt.Scale(range=["#2f9e77", "#b8962e", "#c2508c", "#777"])
    colour = alt.Color("network:N", sort=kinds, title=None, scale=scale, legend=legend)
    up = alt.Y("size:Q", scale=alt.Scale(type="log"), title="gradient / readout").axis(
        values=[1e-16, 1e-12, 1e-8, 1e-4, 1], format=".0e", grid=False
    )
    chart = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
    right = chart.encode(
        alt.X("layers:Q", axis=alt.Axis(grid=False), title="layers back, width 20, before training"), up, colour
    )
    return alt.hconcat(left, right.properties(width=280, height=240)).resolve_scale(color="independent")
