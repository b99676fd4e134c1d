"""Self-supervised learning of shifted digits by a linear model: eigenvalues of the embeddings, and the loss."""

import altair as alt
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

from lemmata.subjects.dynamics import contrastive_matrix, embedding_flow, stepwise_times

ROWS, OUTPUTS, SCALE, TIMES = 500, 5, 1e-4, 160
LEFT = {"line": "foreseen", "dot": "measured in a flow"}
RIGHT = ("measured", "plateaus that are foreseen")
COLOURS = ("#b8962e", "#2f9e77", "#4c78c8", "#c2508c", "#777777")


def digits() -> tuple[np.ndarray, np.ndarray]:
    """Centred digits and views of them, moved by up to a pixel."""
    images = load_digits().images[:ROWS] / 16
    rng = np.random.default_rng(0)
    views = np.stack([np.roll(image, rng.integers(-1, 2, 2), axis=(0, 1)) for image in images])
    return tuple((kind - kind.mean(axis=0)).reshape(ROWS, -1) for kind in (images, views))


def picture() -> alt.HConcatChart:
    """Left, foreseen curves and the eigenvalues of a flow from a random start; right, its loss and the plateaus."""
    x, views = map(jnp.asarray, digits())
    start = jnp.asarray(SCALE * np.random.default_rng(1).normal(size=(OUTPUTS, x.shape[1])))
    steps = stepwise_times(x, views, OUTPUTS, start)
    gamma = contrastive_matrix(x, views)
    times = np.linspace(0, 1.25 * float(steps.times[-1]), TIMES + 1)[1:]
    path = np.asarray(embedding_flow(gamma, start, jnp.asarray(times), tolerance=1e-7))
    found = path @ np.asarray(gamma) @ path.transpose(0, 2, 1)
    sizes, foreseen = np.linalg.eigvalsh(found)[:, ::-1], np.asarray(steps.sizes(times))
    losses = np.sum((found - np.eye(OUTPUTS)) ** 2, axis=(1, 2))
    at = [float(np.interp(0.5, sizes[:, j], times)) for j in range(OUTPUTS)]
    print("foreseen", np.round(steps.times, 2), "measured", np.round(at, 2), "largest relative difference",
          float(np.abs(np.array(at) / np.asarray(steps.times) - 1).max()))  # fmt: skip
    names = [str(j + 1) for j in range(OUTPUTS)]
    rows = [
        {"time": float(t), "dimension": names[j], "foreseen": float(foreseen[i, j]), "found": float(sizes[i, j])} | LEFT
        for i, t in enumerate(times)
        for j in range(OUTPUTS)
    ]
    colour = alt.Color("dimension:N", sort=names, scale=alt.Scale(domain=names, range=list(COLOURS)))
    across = alt.X("time:Q", title="training time", axis=alt.Axis(grid=False))
    base = alt.Chart(alt.Data(values=rows)).encode(across, color=colour)
    key = alt.Legend(orient="bottom", symbolStrokeColor="#333", symbolFillColor="#333")
    shape = alt.Shape("dot:N", title=None, scale=alt.Scale(domain=[LEFT["dot"]], range=["circle"]), legend=key)
    solid = alt.StrokeDash("line:N", title=None, scale=alt.Scale(domain=[LEFT["line"]], range=[[1, 0]]), legend=key)
    up = {"title": "eigenvalue of the embeddings", "axis": alt.Axis(grid=False)}
    line = base.mark_line(strokeWidth=1.5).encode(alt.Y("foreseen:Q", **up), solid)
    dots = base.mark_point(filled=True, size=14).encode(alt.Y("found:Q", **up), shape)
    loss = [{"time": float(t), "loss": float(value), "kind": RIGHT[0]} for t, value in zip(times, losses, strict=True)]
    ends = np.concatenate([[0.0], np.asarray(steps.times), times[-1:]])
    flat = [
        {"time": float(ends[j]), "to": float(ends[j + 1]), "loss": float(value), "kind": RIGHT[1]}
        for j, value in enumerate(np.asarray(steps.plateaus))
    ]
    height = alt.Y("loss:Q", title="loss", axis=alt.Axis(grid=False))
    scale = alt.Scale(domain=list(RIGHT), range=[[1, 0], [4, 3]])
    style = alt.StrokeDash("kind:N", title=None, scale=scale, legend=key)
    curve = alt.Chart(alt.Data(values=loss)).mark_line(color="#333").encode(across, height, style)
    rests = alt.Chart(alt.Data(values=flat)).mark_rule(color="#c2508c", strokeWidth=1.5)
    right = rests.encode(across, height, style, x2="to:Q") + curve
    panels = (line + dots).properties(width=300, height=230), right.properties(width=260, height=230)
    return alt.hconcat(*panels).resolve_scale(strokeDash="independent", shape="independent")
