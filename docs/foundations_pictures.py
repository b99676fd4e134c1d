"""Draws the pictures of monograph.md, one a chapter: python docs/foundations_pictures.py [name ...]."""

import itertools
import sys
from typing import Any

import altair as alt
import jax
import jax.numpy as jnp
import numpy as np
from pictures import COLOURS, draw, log_axis
from scipy import optimize
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.tree import DecisionTreeClassifier
from tools_pictures import coloured

from lemmata.functions import cube, walsh_hadamard, weights_by_degree

SIZE = {"width": 260, "height": 240}


def lines(rows: list[dict], x: dict, y: dict, names: list[str], *, points: bool = True) -> alt.Chart:
    """A line for each name in the field `what`."""
    base = alt.Chart(alt.Data(values=rows)).mark_line(point=points)
    return base.encode(alt.X(**x), alt.Y(**y), coloured("what", names)).properties(**SIZE)


def with_points(curve: list[dict], found: list[dict], x: dict, y: dict, names: tuple[str, str]) -> alt.LayerChart:
    """A curve and points, each with a legend of its own mark; the names are those of the curve and of the points."""
    line = lines([row | {"what": names[0]} for row in curve], x, y, [names[0]], points=False)
    colour = coloured("what", [names[1]]).scale(domain=[names[1]], range=[COLOURS[1]])
    points = alt.Chart(alt.Data(values=[row | {"what": names[1]} for row in found]))
    points = points.mark_point(filled=True, opacity=1, size=40).encode(alt.X(**x), alt.Y(**y), colour)
    return alt.layer(line, points).resolve_scale(color="independent")


def plain(name: str, title: str, **axis: Any) -> dict:
    """A linear axis."""
    return {"shorthand": f"{name}:Q", "title": title, "axis": alt.Axis(grid=False, tickCount=5, **axis)}


def beside(*charts: alt.Chart) -> alt.HConcatChart:
    """Charts with colours of their own."""
    return alt.hconcat(*charts).resolve_scale(color="independent")


def least_error(values: np.ndarray, x: np.ndarray, pieces: int) -> float:
    """The least sup error of that many affine pieces, by bisection over the error of a greedy choice of pieces."""

    def needed(error: float) -> int:
        count, start = 0, 0
        while start < len(x) - 1:
            low, high, end = -np.inf, np.inf, start
            # a line through the tube around the graph exists while the slopes from some first value do not contradict
            for first in np.linspace(values[start] - error, values[start] + error, 41):
                lower = (values[start + 1 :] - error - first) / (x[start + 1 :] - x[start])
                upper = (values[start + 1 :] + error - first) / (x[start + 1 :] - x[start])
                low, high = np.maximum.accumulate(lower), np.minimum.accumulate(upper)
                wrong = np.nonzero(low > high)[0]
                end = max(end, start + (wrong[0] if len(wrong) else len(lower)))
            count, start = count + 1, max(end, start + 1)
        return count

    return float(10 ** optimize.bisect(lambda e: needed(10**e) - pieces - 0.5, -7, 0.5, xtol=0.01))


def approximation() -> alt.HConcatChart:
    """The sup error of x² and of a cosine against the number of units, shallow and deep."""
    x = np.linspace(0, 1, 1201)
    names = [
        "x², best affine pieces",
        "cos(4πx), best affine pieces",
        "x², deep network",
        "x², trained shallow network",
    ]
    rows = [{"units": n, "error": 1 / (8 * n**2), "what": names[0]} for n in (2, 4, 8, 16, 32, 64)]
    rows += [
        {"units": n, "error": least_error(np.cos(4 * np.pi * x), x, n), "what": names[1]} for n in (4, 8, 16, 32, 64)
    ]
    rows += [{"units": 3 * m, "error": 4.0 ** -(m + 1), "what": names[2]} for m in range(1, 9)]
    for n in (2, 4, 8, 16, 32, 64):
        tries = [
            MLPRegressor(
                hidden_layer_sizes=(n,), solver="lbfgs", max_iter=4000, alpha=0, tol=1e-12, random_state=seed
            ).fit(x[:, None], x**2)
            for seed in range(4)
        ]
        error = min(np.abs(model.predict(x[:, None]) - x**2).max() for model in tries)
        rows.append({"units": n, "error": float(error), "what": names[3]})
    across, up = log_axis("units", "units"), log_axis("error", "largest error on [0, 1]")
    across["axis"] = alt.Axis(values=[2, 4, 8, 16, 32, 64], grid=False)
    up["axis"] = alt.Axis(values=[10.0**-k for k in range(7)], format=".0e", grid=False)
    return beside(lines(rows, across, up, names).properties(width=420))


def depth() -> alt.HConcatChart:
    """Keeping k units of a wide network, by greedy choice and by sampling; the error of few pieces on sawtooths."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 6))
    w, b, sign = rng.normal(size=(6, 1000)), rng.normal(size=1000), rng.choice([-1.0, 1.0], 1000)
    atoms = sign * np.maximum(x @ w + b, 0)  # the network is the mean of these columns
    mean, scale = atoms.mean(1), np.sqrt((atoms.mean(1) ** 2).mean())
    names = ["greedy", "sampled", "bound"]
    largest = (atoms**2).mean(0).max()
    rows, kept = [], np.zeros(400)
    for k in range(1, 129):
        gap = ((k - 1) / k * kept[:, None] + atoms / k - mean[:, None]) ** 2
        kept = (k - 1) / k * kept + atoms[:, gap.mean(0).argmin()] / k
        if k & (k - 1) == 0:
            drawn = [atoms[:, rng.integers(0, 1000, k)].mean(1) for _ in range(200)]
            sampled = np.sqrt(np.mean([((d - mean) ** 2).mean() for d in drawn]))
            found = (np.sqrt(((kept - mean) ** 2).mean()), sampled, np.sqrt((largest - scale**2) / k))
            rows += [{"k": k, "error": float(e / scale), "what": name} for e, name in zip(found, names, strict=True)]
    across, up = log_axis("k", "units kept of 1,000"), log_axis("error", "relative error")
    across["axis"] = alt.Axis(values=[1, 4, 16, 64], grid=False)
    pieces = []
    for k in (3, 4, 5):
        teeth = f"{2 ** (k - 1)} teeth"
        pieces += [
            {"pieces": p, "error": max((2**k - 1 - 2 * p) / 2 ** (k + 3), 0.0), "what": teeth}
            for p in range(1, 2**k // 2)
        ]
    names_right = [f"{2 ** (k - 1)} teeth" for k in (3, 4, 5)]
    right = lines(pieces, plain("pieces", "affine pieces"), plain("error", "L1 error is at least"), names_right)
    return beside(lines(rows, across, up, names), right)


def tangent() -> alt.HConcatChart:
    """How far tangent kernels move against width; loss and sharpness of descent with a large step."""
    units = {"tanh": jnp.tanh, "gelu": lambda t: jax.nn.gelu(t, approximate=False), "relu": jax.nn.relu}
    rows = []
    for (name, unit), m in itertools.product(units.items(), (64, 256, 1024, 4096)):
        moved = [kernel_moved(unit, m, jax.random.key(seed)) for seed in range(8)]
        rows.append({"width": m, "moved": float(np.sqrt(np.mean(np.square(moved)))), "what": name})
    guides = [
        {"width": m, "moved": top * (m / 64) ** power, "slope": name}
        for name, power, top in (("slope -1", -1.0, 0.05), ("slope -1/2", -0.5, 0.25)) for m in (64, 4096)
    ]  # fmt: skip
    across, up = log_axis("width", "width"), log_axis("moved", "relative change of the kernel")
    across["axis"] = alt.Axis(values=[64, 256, 1024, 4096], grid=False)
    base = alt.Chart(alt.Data(values=guides)).encode(alt.X(**across), alt.Y(**up), alt.Detail("slope:N"))
    texts = base.transform_filter("datum.width == 64").mark_text(align="left", dx=10, dy=16, color="#777")
    dashed = base.mark_line(strokeDash=[4, 3], color="#999") + texts.encode(text="slope:N")
    left = alt.layer(dashed, lines(rows, across, up, list(units))).properties(**SIZE)
    sharp = sharpness_in_training()
    right = lines(
        sharp, plain("step", "steps"), plain("value", "largest curvature"), ["curvature", "2 / step size"], points=False
    )
    return beside(left, right)


def kernel_moved(unit: Any, m: int, key: jax.Array, n: int = 16, d: int = 8, steps: int = 60) -> float:
    """|K_t - K_0| / |K_0| of a two-layer network after steps of 1/tr K, in the tangent parameterisation."""
    keys = jax.random.split(key, 4)
    x, y = jax.random.normal(keys[0], (n, d)) / np.sqrt(d), jax.random.normal(keys[1], (n,))
    params = (jax.random.normal(keys[2], (m, d)), jax.random.rademacher(keys[3], (m,), float))
    out = lambda p: unit(x @ p[0].T) @ p[1] / np.sqrt(m)

    @jax.jit
    def kernel(p: Any) -> jax.Array:
        rows = jax.jacobian(out)(p)
        return sum(j.reshape(n, -1) @ j.reshape(n, -1).T for j in jax.tree.leaves(rows))

    first = kernel(params)
    rate = 1 / jnp.trace(first)

    @jax.jit
    def step(p: Any) -> Any:
        slope = jax.grad(lambda p: jnp.sum((out(p) - y) ** 2) / 2)(p)
        return jax.tree.map(lambda a, g: a - rate * g, p, slope)

    for _ in range(steps):
        params = step(params)
    return float(jnp.linalg.norm(kernel(params) - first) / jnp.linalg.norm(first))


def sharpness_in_training(rate: float = 0.25, steps: int = 3000) -> list[dict]:
    """The largest curvature of a small tanh network along full-batch descent, and 2 over the step size."""
    key = jax.random.split(jax.random.key(3), 4)
    x = jax.random.normal(key[0], (60, 4))
    y = jnp.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2]
    params = jnp.concatenate([jax.random.normal(key[1], (4 * 12,)) / 2, jax.random.normal(key[2], (12,)) / np.sqrt(12)])
    loss = lambda p: jnp.mean((jnp.tanh(x @ p[:48].reshape(4, 12)) @ p[48:] - y) ** 2) / 2
    step = jax.jit(lambda p: p - rate * jax.grad(loss)(p))
    top = jax.jit(lambda p: jnp.linalg.eigvalsh(jax.hessian(loss)(p))[-1])
    rows = []
    for t in range(steps + 1):
        if t % 50 == 0:
            rows += [
                {"step": t, "value": float(top(params)), "what": "curvature"},
                {"step": t, "value": 2 / rate, "what": "2 / step size"},
            ]
        params = step(params)
    return rows


def implicit() -> alt.HConcatChart:
    """Where flows from different starts end on the line x_1 + 2 x_2 = 1; three margins against log time."""
    rows = []
    for a in np.logspace(-6, 1, 29):
        e = (np.sqrt(1 + 8 / a) - 1) / 4
        rows += [
            {"start": float(a), "value": a * e, "what": "x1"},
            {"start": float(a), "value": a * e**2, "what": "x2"},
        ]
    rows += [
        {"start": a, "value": v, "what": w}
        for a in (1e-6, 10.0)
        for v, w in ((0.2, "x1 of plain descent"), (0.4, "x2 of plain descent"))
    ]
    across = log_axis("start", "start a of the squared flow, x = y² and x(0) = a (1, 1)")
    across["axis"] = alt.Axis(values=[1e-6, 1e-4, 1e-2, 1, 10], format=".0e", grid=False)
    left = lines(
        rows, across, plain("value", "limit"), ["x1", "x2", "x1 of plain descent", "x2 of plain descent"], points=False
    )
    rng = np.random.default_rng(4)
    z = rng.normal(size=(30, 5)) + 0.9
    rows = []
    for name, norm in (("descent, l2", 2), ("coordinate descent, l1", 1), ("sign descent, l-infinity", np.inf)):
        best = max_margin(z, norm)
        w = np.zeros(5)
        for t in range(1, 100_001):
            margins = z @ w
            p = np.exp(-(margins - margins.min()))
            g = p @ z / p.sum()
            move = {
                2: g / np.linalg.norm(g),
                1: np.eye(5)[np.abs(g).argmax()] * np.sign(g[np.abs(g).argmax()]),
                np.inf: np.sign(g),
            }[norm]
            w = w + 0.5 / np.sqrt(t) * move
            if t in (3, 10, 30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000):
                reached = (z @ w).min() / np.linalg.norm(w, norm)
                rows.append({"step": t, "value": float(reached / best), "what": name})
    across = log_axis("step", "steps")
    across["axis"] = alt.Axis(values=[10, 1000, 100_000], grid=False)
    right = lines(
        rows,
        across,
        plain("value", "margin / largest margin in the same norm"),
        ["descent, l2", "coordinate descent, l1", "sign descent, l-infinity"],
    )
    return beside(left, right)


def max_margin(z: np.ndarray, norm: float) -> float:
    """The largest min_i <z_i, w> over |w| <= 1, in the l_1, the l_2 or the l_inf norm."""
    n, d = z.shape
    if norm == 2:
        least = optimize.minimize(
            lambda w: w @ w / 2, z.mean(0), jac=lambda w: w, method="SLSQP",
            constraints={"type": "ineq", "fun": lambda w: z @ w - 1, "jac": lambda w: z}, options={"ftol": 1e-14},
        )  # fmt: skip
        return float(1 / np.linalg.norm(least.x))
    doubled = np.hstack([-z, z, np.ones((n, 1))])
    size = np.append(np.ones(2 * d), 0.0)[None] if norm == 1 else np.hstack([np.eye(d), np.eye(d), np.zeros((d, 1))])
    found = optimize.linprog(
        np.append(np.zeros(2 * d), -1.0), np.vstack([doubled, size]), np.append(np.zeros(n), np.ones(len(size))),
        bounds=[(0, None)] * (2 * d) + [(None, None)],
    )  # fmt: skip
    return float(-found.fun)


def high_dimension(n: int = 60, snr: float = 5.0) -> alt.HConcatChart:
    """Ridgeless risk against the number of parameters; errors of three learners of a planted formula."""
    rng, rows = np.random.default_rng(0), []
    names = ["exact, finite size", "limit", "measured"]
    sizes = [6, 12, 20, 30, 40, 48, 52, 68, 75, 90, 120, 180, 260, 400, 600]
    for p in sizes:
        under = p < n
        exact = p / (n - p - 1) if under else n / (p - n - 1) + snr * (1 - n / p)
        limit = p / (n - p) if under else n / (p - n) + snr * (1 - n / p)
        draws = []
        for _ in range(100):
            x, b = rng.normal(size=(n, p)), rng.normal(size=p) * np.sqrt(snr / p)
            fit = np.linalg.lstsq(x, x @ b + rng.normal(size=n), rcond=None)[0]
            draws.append(((fit - b) ** 2).sum())
        found = (exact, limit, np.mean(draws))
        rows += [{"size": p / n, "risk": float(r), "what": w} for r, w in zip(found, names, strict=True)]
    across, up = log_axis("size", "parameters / rows"), log_axis("risk", "excess risk / noise variance")
    across["axis"] = alt.Axis(values=[0.1, 0.3, 1, 3, 10], grid=False)
    up["axis"] = alt.Axis(values=[0.1, 0.3, 1, 3, 10, 30], grid=False)
    return beside(lines(rows, across, up, names), formulas())


def formulas(n: int = 12) -> alt.Chart:
    """The error of a tree, of a network and of deletion over clauses on a planted formula of three terms."""
    points = (np.asarray(cube(n)) < 0).astype(float)
    literals = np.hstack([points, 1 - points])
    clauses = [c for k in (1, 2, 3) for c in itertools.combinations(range(2 * n), k)]
    rng, names, rows = np.random.default_rng(1), ["deletion over clauses", "tree", "network"], []
    for m in (16, 32, 64, 128, 256, 512, 1024):
        errors = []
        for _ in range(5):
            terms = [rng.choice(n, 4, replace=False) + n * rng.integers(0, 2, 4) for _ in range(3)]
            y = np.any([literals[:, t].all(1) for t in terms], axis=0)
            half = np.where(y, 0.5 / max(y.sum(), 1), 0.5 / (~y).sum())  # both answers are equally frequent
            chosen = rng.choice(len(y), m, p=half / half.sum())
            positive = literals[chosen][y[chosen]]
            kept = [c for c in clauses if positive[:, c].any(1).all()]
            says = np.all([literals[:, c].any(1) for c in kept], axis=0)
            tree = DecisionTreeClassifier(random_state=0).fit(points[chosen], y[chosen]).predict(points)
            net = MLPClassifier((64,), max_iter=600, random_state=0).fit(points[chosen], y[chosen]).predict(points)
            errors.append([(half * (guess != y)).sum() / half.sum() for guess in (says, tree, net)])
        rows += [{"m": m, "error": float(e), "what": w} for e, w in zip(np.mean(errors, 0), names, strict=True)]
    across = log_axis("m", "examples")
    across["axis"] = alt.Axis(values=[16, 64, 256, 1024], grid=False)
    return lines(rows, across, plain("error", "error", format="%"), names)


def boolean(d: int = 9) -> alt.HConcatChart:
    """The weight by degree of four functions, and their sensitivity to noise."""
    x = np.asarray(cube(d))
    rng = np.random.default_rng(0)
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(x, rng.integers(0, 2, len(x)))
    some = rng.choice(len(x), 200, replace=False)
    target = np.sign(x[:, 0] + x[:, 1] + x[:, 2] * x[:, 3] * 1.5)
    net = MLPClassifier((32,), max_iter=2000, random_state=0).fit(x[some], target[some])
    functions = {
        "majority": np.sign(x.sum(1)), "tree": 2.0 * tree.predict(x) - 1, "trained network": net.predict(x),
        "parity of 4": x[:, :4].prod(1),
    }  # fmt: skip
    bars, curves = [], []
    for name, values in functions.items():
        weight = np.asarray(weights_by_degree(walsh_hadamard(jnp.asarray(values, float))))
        bars += [{"degree": k, "weight": float(w), "what": name} for k, w in enumerate(weight)]
        for eta in np.linspace(0, 0.5, 26):
            noise = 0.5 - 0.5 * ((1 - 2 * eta) ** np.arange(d + 1) @ weight)
            curves.append({"eta": float(eta), "noise": float(noise), "what": name})
    left = lines(bars, plain("degree", "degree"), plain("weight", "weight"), list(functions))
    right = lines(
        curves, plain("eta", "share of inputs flipped"), plain("noise", "share of answers changed"),
        list(functions), points=False,
    )  # fmt: skip
    return beside(left, right)


def queries(d: int = 30, n: int = 1_000_000) -> alt.HConcatChart:
    """Eigenvalues of E y (x x' - I) for a cubic target, without and with a filter; what a gradient sees of parities."""
    rng = np.random.default_rng(0)
    x, w = rng.normal(size=(n, d)), np.eye(d)[0]
    t = x @ w
    y = (t**3 - 3 * t) / np.sqrt(6)
    rows = []
    for name, filtered in {
        "y itself": y,
        "the largest tenth of |y|": (np.abs(y) > np.quantile(np.abs(y), 0.9)) * 1.0,
    }.items():
        values = np.linalg.eigvalsh((x * filtered[:, None]).T @ x / n - filtered.mean() * np.eye(d))[::-1]
        rows += [{"rank": i + 1, "value": float(v), "what": name} for i, v in enumerate(values)]
    names = ["y itself", "the largest tenth of |y|"]
    left = lines(rows, plain("rank", "rank"), plain("value", "eigenvalue"), names)
    signal = []
    for size in (4, 6, 8, 10, 12, 14):
        points = np.asarray(cube(size))
        weights = rng.normal(size=(64, size)) / np.sqrt(size)
        slopes = (points @ weights.T + 0.3 * rng.normal(size=64) > 0) * points[:, :1]  # one gradient coordinate a unit
        over = np.asarray(walsh_hadamard(jnp.asarray(slopes.T)))
        spread = np.sqrt((over**2).mean())
        signal += [{"d": size, "log": float(np.log2(spread)), "what": "measured"}]
        signal += [{"d": size, "log": float(np.log2(np.sqrt((slopes**2).mean())) - size / 2), "what": "slope -1/2"}]
    right = lines(
        signal, plain("d", "inputs d"), plain("log", "log2 of the gradient's signal"), ["measured", "slope -1/2"]
    )  # the two are equal: larger points show the first one beneath the second
    measured = alt.Chart(alt.Data(values=[row for row in signal if row["what"] == "measured"]))
    under = measured.mark_point(size=110, filled=True).encode(alt.X("d:Q"), alt.Y("log:Q"), alt.Color("what:N"))
    return beside(left, alt.layer(under, right))


PICTURES = {
    "approximation": approximation,
    "depth": depth,
    "tangent": tangent,
    "implicit": implicit,
    "high_dimension": high_dimension,
    "boolean": boolean,
    "queries": queries,
}


if __name__ == "__main__":
    with jax.enable_x64(True):
        draw(PICTURES, sys.argv[1:])
