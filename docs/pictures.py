"""Draws the pictures of softmax.md and papers.md: python docs/pictures.py [name ...] writes docs/pictures/*.svg.

A picture of papers.md is the function `picture` of the file with its name in docs/paper_pictures. In the same way,
docs/monograph_pictures has pictures of monograph.md.
"""

import pathlib
import runpy
import sys

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

from lemmata.engine.problems.schedules import Schedule
from lemmata.engine.problems.targets import GaussianMixture
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork, train
from lemmata.solvers import gradient_flow
from lemmata.spectra import spectrum
from lemmata.subjects.diffusion._diffusion import FIRST, HORIZON, training_set
from lemmata.subjects.diffusion.reverse_sampling import energy_interval, learn_score, sample_reverse, train_score
from lemmata.subjects.softmax_training.activations_compared import width_table

FOLDER = pathlib.Path(__file__).parent / "pictures"
COLOURS = ("#b8962e", "#2f9e77", "#4c78c8", "#c2508c")
WIDTHS = (32, 128, 512, 2048)


def points(n: int, d: int, seed: int) -> tuple[jax.Array, jax.Array]:
    """Inputs on the unit sphere and a smooth target of unit root mean square."""
    x = jax.random.normal(jax.random.key(seed), (n, d))
    x = x / jnp.linalg.norm(x, axis=1, keepdims=True)
    y = jnp.sin(3 * x[:, :1]) + x[:, 1:2] * x[:, 2:3]
    return x, y / jnp.sqrt(jnp.mean(y**2))


def by_width(rows: list[dict]) -> alt.Color:
    """One colour a width, in the order of the rows."""
    names = list(dict.fromkeys(row["width"] for row in rows))
    return alt.Color("width:N", sort=names, title="width m", scale=alt.Scale(domain=names, range=list(COLOURS)))


def log_axis(name: str, title: str) -> dict:
    """An axis of powers of ten, with room around the marks."""
    scale = alt.Scale(type="log", nice=False, padding=12)
    return {"shorthand": f"{name}:Q", "title": title, "scale": scale, "axis": alt.Axis(tickCount=6, grid=False)}


def checkpoints(network: SoftmaxNetwork, x: jax.Array, y: jax.Array, times: np.ndarray):
    """The parameters of a network in training at times of the flow df/dt = -K (f - y), K the kernel of one output."""
    params, _ = network.init(jax.random.key(7), x.shape[1])
    rate = float(0.5 / jnp.linalg.eigvalsh(gram(SoftmaxTangent(network.sigma), x))[-1])
    steps = np.unique(np.round(times / rate).astype(int))
    for before, after in zip(np.append(0, steps), steps, strict=False):
        run = train(network, params, x, y, learning_rate=rate / network.width, steps=int(after - before), record_at=[0])
        params = run.params
        yield rate * after, params


def kernel_drift() -> alt.Chart:
    """How far the tangent kernel moves in training, for four widths."""
    x, y = points(24, 5, 0)
    rows = []
    for width in WIDTHS:
        network = SoftmaxNetwork(width, 1, 0.5)
        start, _ = network.init(jax.random.key(7), 5)
        first = network.tangent(start, x)
        for time, params in checkpoints(network, x, y, np.geomspace(1, 3000, 25)):
            moved = jnp.linalg.norm(network.tangent(params, x) - first) / jnp.linalg.norm(first)
            rows.append({"width": str(width), "time": time, "moved": float(moved)})
    frame = alt.Chart(alt.Data(values=rows)).mark_line(point=True, clip=True)
    return frame.encode(
        alt.X(**log_axis("time", "training time (flow of the kernel of one output)")),
        alt.Y(**log_axis("moved", "|H(t) - H(0)| / |H(0)|")),
        by_width(rows),
    ).properties(width=480, height=280)


def training_curves() -> alt.Chart:
    """Held-out error of networks in training beside that of kernel regression at the same times."""
    x, y = points(48, 5, 0)
    x_test, y_test = points(400, 5, 1)
    times = np.geomspace(0.5, 3000, 30)
    kernel = SoftmaxTangent(0.5)
    flow = gradient_flow(spectrum(gram(kernel, x)), y, times, gram(kernel, x_test, x))
    error = lambda outputs: float(jnp.mean((outputs - y_test) ** 2))
    exact = [{"time": t, "error": error(f)} for t, f in zip(times, flow.test, strict=True)]
    rows = []
    for width in WIDTHS:
        network = SoftmaxNetwork(width, 1, 0.5)
        for time, params in checkpoints(network, x, y, times):
            rows.append({"width": str(width), "time": time, "error": error(network.predict(params, x_test))})
    across = alt.X(**log_axis("time", "training time (flow of the kernel of one output)"))
    up = alt.Y(**log_axis("error", "held-out squared error"))
    networks = alt.Chart(alt.Data(values=rows)).mark_point(filled=True, size=30).encode(across, up, by_width(rows))
    line = alt.Chart(alt.Data(values=exact)).mark_line(color="#555", strokeWidth=2).encode(across, up)
    return (line + networks).properties(width=480, height=280)


def digits(n: int) -> tuple[jax.Array, jax.Array]:
    """The first n handwritten digits in the unit ball, with centred one-hot targets in the unit ball."""
    table = load_digits()
    y = np.eye(10)[table.target[:n]] - 0.1
    scaled = lambda rows: jnp.asarray(rows / np.linalg.norm(rows, axis=1).max())
    return scaled(table.data[:n] - table.data.mean(axis=0)), scaled(y)


def required_widths() -> alt.Chart:
    """The width that theorems ask for beside the smallest of a ladder that was enough, on two sets of data."""
    rows = []
    for n in (2, 4, 6, 8, 12, 16):
        for data, (x, y) in (("sphere", points(n, 16, 3)), ("digits", digits(n))):
            y = y / jnp.maximum(1.0, jnp.linalg.norm(y, axis=1).max())
            for row in width_table(x, y):
                if row.statement.startswith("softmax"):
                    asked = "Theorem 4.2" if "Theorem" in row.statement else "Table 1"
                    rows.append({"n": n, "data": data, "width": row.required_width, "what": f"asked for: {asked}"})
                    if asked == "Table 1" and np.isfinite(row.sufficient_width):
                        rows.append({"n": n, "data": data, "width": row.sufficient_width, "what": "enough"})
    names = ["asked for: Theorem 4.2", "asked for: Table 1", "enough"]
    what = alt.Color("what:N", sort=names, title=None, scale=alt.Scale(domain=names, range=list(COLOURS[:3])))
    up = log_axis("width", "width m")
    up["axis"] = alt.Axis(tickCount=6, grid=False, format=".0e")
    frame = alt.Chart(alt.Data(values=rows)).mark_line(point=True)
    panel = frame.encode(alt.X("n:Q", title="rows n"), alt.Y(**up), what).properties(width=260, height=260)
    return panel.facet(alt.Facet("data:N", title=None), columns=2)


def arrows(t: float, scores: dict) -> list[dict]:
    """Short lines along each score at the points of a grid."""
    rows = []
    for what, score in scores.items():
        for a in np.linspace(-1.2, 1.2, 13):
            for b in np.linspace(-1.2, 1.2, 13):
                u, v = np.asarray(score(jnp.asarray(t), jnp.array([a, b])))
                length = 0.15 * np.hypot(u, v) / (2 + np.hypot(u, v)) / max(np.hypot(u, v), 1e-9)
                rows.append({"what": what, "x": a, "y": b, "x2": a + u * length, "y2": b + v * length})
    return rows


def learned_scores() -> alt.Chart:
    """Scores at t = 0.3, exact, of the kernel and of a network, and samples drawn with each.

    Above every cloud stands its unbiased energy distance from 400 draws of the data at the last time, with an interval
    of three jackknife standard errors.
    """
    turn = 2 * jnp.pi * jnp.arange(3) / 3
    target = GaussianMixture(0.8 * jnp.stack([jnp.cos(turn), jnp.sin(turn)], axis=1), jnp.ones(3) / 3, 0.12)
    schedule, keys = Schedule(1.0, 2.0), jax.random.split(jax.random.key(5), 4)
    data = training_set(keys[0], target, schedule, 1500, HORIZON, FIRST)
    scores = {
        "exact": lambda t, x: target.score(schedule, t, x),
        "kernel, 1500 pairs": learn_score(schedule, *data),
        "network, 1500 pairs, m = 512": train_score(keys[1], schedule, *data),
    }
    start = jax.random.normal(keys[2], (400, 2))
    data_key, noise_key = jax.random.split(jax.random.key(6))
    true = schedule.noised(noise_key, jnp.full(400, FIRST), target.sample(data_key, 400))
    drawn, titles = [], []
    for what, score in scores.items():
        points = sample_reverse(keys[3], score, schedule, start)
        distance, low, high = (float(value) for value in energy_interval(points, true))
        titles.append(f"distance {distance:.3f} ({low:.3f} to {high:.3f})")
        print(f"{what}: {titles[-1]}")
        drawn += [{"what": titles[-1], "x": float(x), "y": float(y)} for x, y in np.asarray(points)]
    square = {"scale": alt.Scale(domain=[-1.5, 1.5], clamp=True), "axis": alt.Axis(grid=False, tickCount=4)}
    x, y = alt.X("x:Q", title=None, **square), alt.Y("y:Q", title=None, **square)
    lines = alt.Chart(alt.Data(values=arrows(0.3, scores))).mark_rule(color=COLOURS[2]).encode(x, y, x2="x2", y2="y2")
    dots = alt.Chart(alt.Data(values=drawn)).mark_circle(size=9, color=COLOURS[3], opacity=0.6).encode(x, y)
    rows = [
        chart.properties(width=230, height=230).facet(alt.Facet("what:N", sort=names, title=None), columns=3)
        for chart, names in ((lines, list(scores)), (dots, titles))
    ]
    return alt.vconcat(*rows)


PICTURES = {
    "kernel_drift": kernel_drift,
    "training_curves": training_curves,
    "required_widths": required_widths,
    "learned_scores": learned_scores,
}
PICTURES |= {
    path.stem: lambda path=path: runpy.run_path(str(path))["picture"]()
    for folder in ("paper_pictures", "monograph_pictures")
    for path in sorted((pathlib.Path(__file__).parent / folder).glob("*.py"))
}


def draw(pictures: dict, names: list[str]) -> None:
    """Draws the pictures of these names, all where there is none."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or pictures:
        chart = pictures[name]().configure(background="white", padding=8).configure_view(stroke="#ccc")
        chart.save(FOLDER / f"{name}.svg")
        print(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    with jax.enable_x64(True):
        draw(PICTURES, sys.argv[1:])
