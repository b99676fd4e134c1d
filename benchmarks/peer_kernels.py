"""Kernels of wide networks against Neural Tangents 0.6.5, which runs in an environment of its own.

    python3 -m venv peer && peer/bin/pip install jax==0.5.3 jaxlib==0.5.3 neural-tangents==0.6.5 tensorflow-cpu
    NEURAL_TANGENTS_PYTHON=peer/bin/python python benchmarks/run.py peer_kernels

The two take turns on the same sizes, so that a slow spell hits both. This file is also what the peer's Python runs.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

POINTS, DIMENSIONS, REPEATS, ROUNDS = 4000, 784, 3, 3
STD, BIAS = 2**0.5, 0.1
CASES = {
    "ReLU NTK, depth 3": ("relu", 3, 0.0),
    "ReLU NTK, depth 10": ("relu", 10, 0.0),
    "ReLU NTK with biases, depth 3": ("relu", 3, BIAS),
    "ReLU NTK with biases, depth 10": ("relu", 10, BIAS),
    "GELU NTK with biases, depth 10": ("gelu", 10, BIAS),
    "erf NTK with biases, depth 10": ("erf", 10, BIAS),
}


def points():
    """The same numbers in both environments, in float32."""
    import numpy as np

    return np.random.default_rng(0).normal(size=(POINTS, DIMENSIONS)).astype(np.float32)


def median(run) -> float:
    """Median seconds of a few runs, after one that compiles."""
    run()
    seconds = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def peer(name: str) -> float:
    """Seconds of Neural Tangents for a case."""
    import jax
    from neural_tangents import stax  # pyright: ignore[reportMissingImports]

    activation, depth, bias = CASES[name]
    layer = {"relu": stax.Relu(), "gelu": stax.Gelu(), "erf": stax.Erf()}[activation]
    hidden = [stax.Dense(512, STD, bias or None), layer]
    _, _, kernel = stax.serial(*(hidden * depth), stax.Dense(1, 1.0, bias or None))
    x = jax.numpy.asarray(points())
    compiled = jax.jit(lambda x: kernel(x, None, "ntk"))
    return median(lambda: compiled(x).block_until_ready())


def ours(name: str) -> float:
    """Seconds of this library for a case."""
    import jax

    from lemmata.architectures import Erf, Gelu, Relu, TangentKernel, fully_connected
    from lemmata.kernels import gram

    activation, depth, bias = CASES[name]
    layer = {"relu": Relu(), "gelu": Gelu(), "erf": Erf()}[activation]
    kernel = TangentKernel(fully_connected(layer, depth, weight_std=STD, bias_std=bias))
    x = jax.numpy.asarray(points())
    return median(lambda: gram(kernel, x).block_until_ready())


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time of what / time of peer); none where no peer is named."""
    python = os.environ.get("NEURAL_TANGENTS_PYTHON")
    if not python:
        print("set NEURAL_TANGENTS_PYTHON to the Python of the peer's environment; see benchmarks/peer_kernels.py")
        return []
    rows = []
    for name in CASES:
        ratios = []
        for _ in range(ROUNDS):
            found = subprocess.run(
                [python, str(pathlib.Path(__file__)), name], check=True, capture_output=True, text=True
            )
            ratios.append(ours(name) / json.loads(found.stdout.splitlines()[-1]))
        rows.append((f"{name}, n={POINTS}, d={DIMENSIONS}", "Neural Tangents 0.6.5", statistics.median(ratios)))
    return rows


if __name__ == "__main__":
    print(json.dumps(peer(sys.argv[1])))
