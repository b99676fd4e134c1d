"""Writes neural_tangents_graphs.json: kernels of networks on graphs by Neural Tangents 0.6.5; see the script beside it.

python tests/oracles/neural_tangents_graphs_numbers.py
"""

import json
import pathlib

import jax
import numpy as np
from neural_tangents import stax  # pyright: ignore[reportMissingImports]

STD, BIAS = 1.3, 0.4
SIZES = (5, 3, 4)


def features() -> np.ndarray:
    """Three graphs with 5 nodes of 2 features."""
    return np.sin(np.arange(1.0, 31.0) ** 2).reshape(3, 5, 2)


def adjacencies() -> np.ndarray:
    """Directed edges with weights, about half of all; row p holds the edges that arrive at node p."""
    weights = np.sin(np.arange(2.0, 77.0) ** 2).reshape(3, 5, 5)
    return np.where(weights > 0, weights, 0.0)


def seen(adjacency: np.ndarray, normalisation: str, loops: float) -> np.ndarray:
    """What is summed, edge by edge."""
    looped = adjacency + loops * np.eye(len(adjacency))
    found = np.zeros_like(looped)
    for p, row in enumerate(looped):
        for q, weight in enumerate(row):
            if weight == 0.0:
                continue
            divisor = {"none": 1.0, "row": sum(row), "symmetric": (sum(row) * sum(looped[q])) ** 0.5}[normalisation]
            found[p, q] = weight / divisor if divisor else 0.0
    return found


def networks() -> dict:
    """Layers by name, and how their sums are normalised."""
    dense, relu, mean = stax.Dense(512, STD, BIAS), stax.Relu(), stax.GlobalAvgPool()
    out, aggregate = stax.Dense(1, STD, BIAS), stax.Aggregate(aggregate_axis=1)
    standard = stax.Dense(512, STD, BIAS, parameterization="standard")
    block = stax.serial(aggregate, dense, relu)
    branch = stax.serial(relu, aggregate, dense)
    residual = stax.serial(stax.FanOut(2), stax.parallel(stax.Identity(), branch), stax.FanInSum())
    return {
        "sum": (stax.serial(block, block, stax.GlobalSumPool(), out), "none", 0.0),
        "loops": (stax.serial(block, block, mean, out), "none", 0.7),
        "row": (stax.serial(block, block, mean, out), "row", 0.0),
        "symmetric": (stax.serial(block, block, mean, out), "symmetric", 1.0),
        "symmetric_without_loops": (stax.serial(block, block, mean, out), "symmetric", 0.0),
        "flatten": (stax.serial(block, block, stax.Flatten(), out), "none", 1.0),
        "erf": (stax.serial(dense, stax.Erf(), aggregate, standard, stax.Erf(), mean, out), "none", 1.0),
        "norm": (stax.serial(dense, aggregate, stax.LayerNorm(), relu, block, mean, out), "none", 1.0),
        "residual": (stax.serial(dense, residual, relu, aggregate, mean, dense, relu, out), "row", 1.0),
    }


def pair(kernel, settings: tuple, x: np.ndarray, a: np.ndarray, face: str) -> np.ndarray:
    """A kernel of all pairs of graphs of one size."""
    pattern = np.stack([seen(one, *settings).T for one in a])  # there columns hold what a node sums
    return np.asarray(kernel(x, x, face, pattern=(pattern, pattern)))


def main() -> None:
    """Write both kernels of every network in float64: of whole graphs, and of the first nodes of each alone."""
    jax.config.update("jax_enable_x64", True)
    x, a, numbers, parts = features(), adjacencies(), {}, {}
    for name, ((_, _, kernel), *settings) in networks().items():
        numbers[name] = {face: pair(kernel, settings, x, a, face).tolist() for face in ("nngp", "ntk")}
        parts[name] = {
            face: [float(pair(kernel, settings, x[i : i + 1, :s], a[i : i + 1, :s, :s], face)[0, 0])
                   for i, s in enumerate(SIZES)]
            for face in ("nngp", "ntk")
        }  # fmt: skip
    file = pathlib.Path(__file__).parent / "neural_tangents_graphs.json"
    values = {"features": x.tolist(), "adjacencies": a.tolist(), "sizes": SIZES, "kernels": numbers, "parts": parts}
    file.write_text(json.dumps(values) + "\n")


if __name__ == "__main__":
    main()
