"""Errors of equal networks at following states, rewards and best values of four decision processes."""

import functools
import warnings

import altair as alt
import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPRegressor

from lemmata.subjects.decisions import (
    CONTROLS,
    BitProcess,
    grid_values,
    optimal_values,
    parity_process,
    scrambled_process,
)

BITS, HORIZON, SEEDS, WIDTHS = 10, 15, 3, (8, 32, 128)
ROWS, PASSES = 2000, 100
PARTS = ("following state", "reward", "best value")
KINDS = ("parity of 10 bits", "scrambled 10 bits", "pendulum", "mountain car")


def bits(process: BitProcess, rng: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray]]:
    """Signs of random states with an action, half of them a flip away from a reward, and the three parts."""
    signs = lambda states: 1.0 - 2.0 * (states[:, None] >> np.arange(BITS) & 1)
    states = rng.integers(2**BITS, size=2 * ROWS)
    paid = np.flatnonzero(process.reward > 0)
    states[::2] = rng.choice(paid, ROWS) ^ (1 << rng.integers(BITS, size=ROWS)) * rng.integers(2, size=ROWS)
    actions = rng.integers(len(process.following), size=2 * ROWS)
    quality = optimal_values(process, HORIZON)[1]
    told = np.eye(len(process.following))[actions]
    parts = [signs(process.following[actions, states]), process.reward[states, None], quality[actions, states][:, None]]
    return np.hstack([signs(states), told]), parts


best_values = functools.cache(lambda name: grid_values(CONTROLS[name]))


def control(name: str, rng: np.random.Generator) -> tuple[np.ndarray, list[np.ndarray]]:
    """Random states of the box and forces, scaled, and the three parts."""
    problem = CONTROLS[name]
    low, high = np.array(problem.box).T
    states = rng.uniform(low, high, (2 * ROWS, 2))
    forces = rng.choice(problem.forces, 2 * ROWS)
    after = problem.step(states, forces)
    if problem.period is not None:  # an angle is seen through its sine and cosine
        seen = lambda s: np.stack([np.sin(s[:, 0]), np.cos(s[:, 0]), s[:, 1] / high[1]], axis=1)
    else:
        seen = lambda s: (s - low) / (high - low) * 2 - 1
    best = best_values(name)(states, forces)
    told = forces[:, None] / max(problem.forces)
    return np.hstack([seen(states), told]), [seen(after), problem.reward(states, forces)[:, None], best[:, None]]


def error(x: np.ndarray, y: np.ndarray, width: int, seed: int) -> float:
    """Squared error over the variance, mean over outputs, at rows that the network has not seen."""
    scale = np.maximum(y[:ROWS].std(axis=0), 1e-12)
    y = (y - y[:ROWS].mean(axis=0)) / scale
    network = MLPRegressor(
        hidden_layer_sizes=(width, width), max_iter=PASSES, random_state=seed, alpha=0.0, batch_size=200
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        network.fit(x[:ROWS], y[:ROWS].squeeze())
    found = network.predict(x[ROWS:]).reshape(len(y) - ROWS, -1)
    return float(np.mean(((found - y[ROWS:]) ** 2).mean(axis=0) / y[ROWS:].var(axis=0)))


def rows() -> list[dict]:
    """The median, least and largest error over seeds."""
    found = []
    for kind in KINDS:
        for width in WIDTHS:
            errors = []
            for seed in range(SEEDS):
                rng = np.random.default_rng(seed)
                masks = np.array([0, *rng.choice(np.flatnonzero(np.bitwise_count(np.arange(2**BITS)) > 5), BITS - 1)])
                process = {
                    "parity of 10 bits": parity_process(BITS),
                    "scrambled 10 bits": scrambled_process(BITS, masks),
                }
                x, parts = bits(process[kind], rng) if kind in process else control(kind, rng)
                errors.append([error(x, part, width, seed) for part in parts])
            for part, own in zip(PARTS, np.array(errors).T, strict=True):
                middle, low, high = float(np.median(own)), own.min(), own.max()
                found.append({"kind": kind, "width": width, "part": part, "error": middle, "low": low, "high": high})
                print(f"{kind:18} {width:4} {part:16} {middle:.2g} ({low:.2g} to {high:.2g})", flush=True)
    return found


def picture() -> alt.FacetChart:
    """A panel a process, a line a part."""
    colour = alt.Color("part:N", sort=list(PARTS), title=None, legend=alt.Legend(orient="bottom"))
    x = alt.X(
        "width:Q",
        scale=alt.Scale(type="log", domain=[7, 150]),
        title="width of both layers",
        axis=alt.Axis(values=list(WIDTHS)),
    )
    y = alt.Y("error:Q", scale=alt.Scale(type="log"), title="squared error / variance")
    frame = alt.Chart()
    lines = frame.mark_line().encode(x, y, colour)
    bars = frame.mark_rule().encode(x, alt.Y("low:Q"), alt.Y2("high:Q"), colour)
    dots = frame.mark_point(filled=True, size=50, opacity=1).encode(x, y, colour)
    layers = alt.layer(lines, bars, dots, data=alt.Data(values=rows())).properties(width=210, height=150)
    return layers.facet(alt.Facet("kind:N", sort=list(KINDS), title=None), columns=2)
