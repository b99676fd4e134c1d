"""The figure of chapter 14: what three distances see, and what recovery from few measurements costs."""

import sys
from pathlib import Path

import altair as alt
import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

sys.path.insert(0, str(Path(__file__).parents[1]))
from foundations_pictures import beside, lines, plain, with_points
from pictures import log_axis

DIMENSION, ROWS, CODE = 10, 300, 10
NAMES = ["W1 of samples", "linear critics on samples", "√JS of distributions"]
OF_SAMPLES = [*NAMES[:2], "√JS of samples"]


def distances(apart: float, rows: int, rng: np.random.Generator) -> tuple[float, float]:
    """W1 and the distance for linear critics of two normal samples whose means are apart."""
    x, y = rng.standard_normal((2, rows, DIMENSION)) / np.sqrt(DIMENSION)
    y[:, 0] += apart
    costs = cdist(x, y)
    return costs[linear_sum_assignment(costs)].mean(), float(np.linalg.norm(x.mean(axis=0) - y.mean(axis=0)))


def root_divergence(apart: float) -> float:
    """The root of the Jensen-Shannon divergence of N(0, I/d) and its shift."""
    t = apart * np.sqrt(DIMENSION)
    x, step = np.linspace(-12, t + 12, 8001, retstep=True)
    p, q = (-((x - mean) ** 2) / 2 for mean in (0.0, t))
    middle = np.logaddexp(p, q) - np.log(2)
    return float(np.sqrt(step * np.sum(np.exp(p) * (p - middle) + np.exp(q) * (q - middle)) / np.sqrt(8 * np.pi)))


def recovery() -> alt.LayerChart:
    """The squared error of recovery, with the curve 1 + k/(m - k - 1)."""
    rng, n = np.random.default_rng(1), 100
    g, x = np.linalg.qr(rng.standard_normal((n, CODE)))[0], rng.standard_normal(n)
    best = np.sum((x - g @ (g.T @ x)) ** 2)
    found = []
    for m in range(14, 61, 2):
        errors = []
        for _ in range(400):
            a = rng.standard_normal((m, n))
            errors.append(np.sum((g @ np.linalg.lstsq(a @ g, a @ x)[0] - x) ** 2) / best)
        found.append({"m": m, "error": float(np.mean(errors))})
    curve = [{"m": float(m), "error": float(1 + CODE / (m - CODE - 1))} for m in np.linspace(13.5, 60, 100)]
    axes = plain("m", "measurements m"), log_axis("error", "error/D²")
    return with_points(curve, found, *axes, ("1 + k/(m - k - 1)", "mean of 400 recoveries"))


def picture() -> alt.Chart:
    """W1 has a floor from sampling, linear critics have a lower floor, and √JS saturates; recovery follows theory."""
    rng = np.random.default_rng(0)
    by_distance, by_rows = [], []
    for apart in np.geomspace(0.02, 10.0, 12).tolist():
        values = *distances(apart, ROWS, rng), root_divergence(apart)
        by_distance += [{"t": apart, "distance": v, "what": name} for name, v in zip(NAMES, values, strict=True)]
    for rows in (25, 50, 100, 200, 400):
        values = *np.mean([distances(0.0, rows, rng) for _ in range(10)], axis=0).tolist(), float(np.sqrt(np.log(2)))
        by_rows += [{"n": rows, "distance": v, "what": name} for name, v in zip(OF_SAMPLES, values, strict=True)]
    axis = log_axis("distance", "distance")
    return beside(
        lines(by_distance, log_axis("t", f"separation, {ROWS} rows each"), axis, NAMES),
        lines(by_rows, log_axis("n", "rows, equal distributions"), axis, OF_SAMPLES),
        recovery(),
    )
