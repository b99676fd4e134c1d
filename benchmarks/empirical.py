"""Empirical tangent kernels against the fastest implementation of Neural Tangents 0.6.5, in an environment of its own.

    NEURAL_TANGENTS_PYTHON=peer/bin/python python benchmarks/run.py empirical

See `peer_kernels` for that environment. The two take turns on the same sizes; this file is also what the peer's Python
runs. At this size the peer's structured derivatives are its fastest by far, and the ones measured: its products with
vectors did not end within 100 seconds, its contraction of whole Jacobians would hold 10 GB.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys

from peer_kernels import median

POINTS, INPUTS, HIDDEN, OUTPUTS, ROUNDS = 256, 784, (800, 400), 10, 3
TOY = {"ROUNDS": 1}


def numbers():
    """Points and weights, the same in both environments, in float32."""
    import numpy as np

    random = np.random.default_rng(0)
    widths = (INPUTS, *HIDDEN, OUTPUTS)
    weights = [random.normal(size=shape).astype(np.float32) for shape in zip(widths[1:], widths, strict=False)]
    return random.normal(size=(POINTS, INPUTS)).astype(np.float32), weights


def network(weights, x):
    """A plain function of one point: two hidden ReLU layers with NTK scaling."""
    import jax

    for weight in weights[:-1]:
        x = jax.nn.relu((2.0 / x.shape[-1]) ** 0.5 * (weight @ x))
    return x.shape[-1] ** -0.5 * (weights[-1] @ x)


def peer(faces: str) -> float:
    """Seconds of Neural Tangents."""
    import jax
    import neural_tangents as nt  # pyright: ignore[reportMissingImports]
    from jax._src import source_info_util
    from jax.interpreters import ad

    ad.config, ad.source_info_util = jax.config, source_info_util  # where the peer looks for them; jax 0.5.3 moved them
    x, weights = (jax.tree.map(jax.numpy.asarray, part) for part in numbers())
    batched = lambda params, points: jax.vmap(lambda point: network(params, point))(points)
    which = nt.NtkImplementation.STRUCTURED_DERIVATIVES
    axes = {"trace_axes": () if faces == "all" else (-1,), "vmap_axes": 0, "implementation": which}
    kernel = nt.empirical_ntk_fn(batched, **axes)
    compiled = jax.jit(lambda points, params: kernel(points, None, params))
    return median(lambda: compiled(x, weights).block_until_ready())


def ours(faces: str, form: str) -> float:
    """Seconds of this library, of the network as a plain function or of layers."""
    import jax

    from lemmata.architectures import Dense, Relu, Serial
    from lemmata.networks import EmpiricalKernel

    x, weights = (jax.tree.map(jax.numpy.asarray, part) for part in numbers())
    if form == "function":
        kernel = EmpiricalKernel(network, weights)
    else:
        hidden = [part for width in HIDDEN for part in (Dense(width, 2**0.5), Relu())]
        params = tuple(part for weight in weights[:-1] for part in ({"weight": weight}, ()))
        kernel = EmpiricalKernel(Serial([*hidden, Dense(OUTPUTS)]), (*params, {"weight": weights[-1]}))
    return median(lambda: kernel.gram(x, outputs=faces).block_until_ready())


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time of what / time of the peer's best); none where no peer is named."""
    python = os.environ.get("NEURAL_TANGENTS_PYTHON")
    if not python:
        print("set NEURAL_TANGENTS_PYTHON to the Python of the peer's environment; see benchmarks/peer_kernels.py")
        return []
    script = str(pathlib.Path(__file__))
    rows = []
    for faces in ("all", "mean"):
        ratios = {"layers": [], "function": []}
        for _ in range(ROUNDS):
            found = subprocess.run([python, script, faces], check=True, capture_output=True, text=True)
            seconds = json.loads(found.stdout.splitlines()[-1])
            for form, measured in ratios.items():
                measured.append(ours(faces, form) / seconds)
        for form, measured in ratios.items():
            what = f"empirical NTK, {faces} outputs, {form}, n={POINTS}"
            rows.append((what, "Neural Tangents 0.6.5, structured derivatives", statistics.median(measured)))
    return rows


if __name__ == "__main__":
    print(json.dumps(peer(sys.argv[1])))
