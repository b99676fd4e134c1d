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

REPEATS, ROUNDS = 2, 2
STD, BIAS = 2**0.5, 0.1
VECTORS = (4000, 784)
TOY = {"REPEATS": 1, "ROUNDS": 1, "CASES": {"ReLU NTK, depth 2": ("relu", 2, 0.0, (8, 3), "")}}
# For each case: activation, depth, standard deviation of the biases, shape of the points, and what is particular.
CASES = {
    "ReLU NTK, depth 3": ("relu", 3, 0.0, VECTORS, ""),
    "ReLU NTK, depth 10": ("relu", 10, 0.0, VECTORS, ""),
    "ReLU NTK with biases, depth 3": ("relu", 3, BIAS, VECTORS, ""),
    "ReLU NTK with biases, depth 10": ("relu", 10, BIAS, VECTORS, ""),
    "GELU NTK with biases, depth 10": ("gelu", 10, BIAS, VECTORS, ""),
    "erf NTK with biases, depth 10": ("erf", 10, BIAS, VECTORS, ""),
    "GELU NTK with biases, depth 10, normalised inputs": ("gelu", 10, BIAS, VECTORS, "sphere"),
    "erf NTK with biases, depth 10, normalised inputs": ("erf", 10, BIAS, VECTORS, "sphere"),
    "3 x Conv 3x3, global average, NTK": ("relu", 3, BIAS, (100, 8, 8, 3), "mean"),
    "21 x Conv 3x3, flatten, NTK": ("relu", 21, BIAS, (100, 32, 32, 3), "flatten"),
}


def points(shape: tuple, kind: str):
    """The same numbers in both environments, in float32."""
    import numpy as np

    x = np.random.default_rng(0).normal(size=shape)
    if kind == "sphere":
        x = x / np.linalg.norm(x, axis=1, keepdims=True)
    return x.astype(np.float32)


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

    activation, depth, bias, shape, kind = CASES[name]
    layer = {"relu": stax.Relu(), "gelu": stax.Gelu(), "erf": stax.Erf()}[activation]
    bias = bias or None
    if len(shape) == 2:
        hidden, pool = [stax.Dense(512, STD, bias), layer], []
    else:
        hidden = [stax.Conv(512, (3, 3), padding="SAME", W_std=STD, b_std=bias), layer]
        pool = [stax.GlobalAvgPool() if kind == "mean" else stax.Flatten()]
    _, _, kernel = stax.serial(*(hidden * depth), *pool, stax.Dense(1, 1.0, bias))
    x = jax.numpy.asarray(points(shape, kind))
    compiled = jax.jit(lambda x: kernel(x, None, "ntk"))
    return median(lambda: compiled(x).block_until_ready())


def ours(name: str) -> float:
    """Seconds of this library for a case."""
    import jax

    from lemmata.architectures import (
        AngularKernel,
        Conv,
        Dense,
        Erf,
        Flatten,
        Gelu,
        GlobalAveragePool,
        Relu,
        Serial,
        TangentKernel,
        fully_connected,
    )
    from lemmata.kernels import gram

    activation, depth, bias, shape, kind = CASES[name]
    layer = {"relu": Relu(), "gelu": Gelu(), "erf": Erf()}[activation]
    if len(shape) == 2:
        kernel = TangentKernel(fully_connected(layer, depth, weight_std=STD, bias_std=bias))
    else:
        pool = GlobalAveragePool() if kind == "mean" else Flatten()
        kernel = TangentKernel(Serial([*([Conv(512, (3, 3), STD, bias), layer] * depth), pool, Dense(1, 1.0, bias)]))
    if kind == "sphere":
        kernel = AngularKernel(kernel, norm=1.0, dimension=shape[1])
    x = jax.numpy.asarray(points(shape, kind))
    return median(lambda: gram(kernel, x).block_until_ready())


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time of what / time of peer); none where no peer is named."""
    python = os.environ.get("NEURAL_TANGENTS_PYTHON")
    if not python:
        print("set NEURAL_TANGENTS_PYTHON to the Python of the peer's environment; see benchmarks/peer_kernels.py")
        return []
    rows = []
    for name, (*_, shape, _) in CASES.items():
        ratios = []
        for _ in range(ROUNDS):
            found = subprocess.run(
                [python, str(pathlib.Path(__file__)), name], check=True, capture_output=True, text=True
            )
            ratios.append(ours(name) / json.loads(found.stdout.splitlines()[-1]))
        rows.append((f"{name}, {shape}", "Neural Tangents 0.6.5", statistics.median(ratios)))
    return rows


if __name__ == "__main__":
    print(json.dumps(peer(sys.argv[1])))
