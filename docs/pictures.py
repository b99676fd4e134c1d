"""Draws the pictures of softmax.md: python docs/pictures.py [name ...] writes docs/pictures/*.svg."""

import pathlib
import sys

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np

from lemmata.kernels import SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork, train
from lemmata.solvers import gradient_flow
from lemmata.spectra import spectrum

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
        run = train(
            network, params, x, y, learning_rate=rate / network.width, steps=int(after - before), record_at=[0]
        )
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


PICTURES = {"kernel_drift": kernel_drift, "training_curves": training_curves}


def draw(names: list[str]) -> None:
    """Draws the pictures of these names, all where there is none."""
    FOLDER.mkdir(exist_ok=True)
    for name in names or PICTURES:
        chart = PICTURES[name]().configure(background="white", padding=8).configure_view(stroke="#ccc")
        chart.save(FOLDER / f"{name}.svg")
        print(FOLDER / f"{name}.svg")


if __name__ == "__main__":
    with jax.enable_x64(True):
        draw(sys.argv[1:])
