"""Time to the first kernel: a fresh process, imports and compilation included, against Neural Tangents 0.6.5.

    NEURAL_TANGENTS_PYTHON=peer/bin/python python benchmarks/run.py cold

See `peer_kernels` for that environment. Processes of the two take turns, none finds a compilation cache, and the
fastest of each counts. This file is also what both run.
"""

import itertools
import os
import subprocess
import sys
import time

ROUNDS = 5
CASES = ("dense, ReLU, erf and GELU", "three convolutions and a pool", "empirical kernel of a module")
STD, BIAS = 2**0.5, 0.1
MLP = (32, 10, 256, 2)  # inputs, outputs, width, hidden layers
TOY = {"ROUNDS": 1}


def points(shape: tuple[int, ...]):
    """The same numbers in both environments, in float32."""
    import numpy as np

    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def ours(case: int) -> None:
    """The kernel by this library."""
    import jax
    import jax.numpy as jnp

    if case == 2:
        import equinox as eqx

        from lemmata.networks import EmpiricalKernel, equinox_function

        shapes = eqx.filter_eval_shape(eqx.nn.MLP, *MLP, key=jax.random.key(0))
        # Its weights are given, as those of a trained module are.
        given = lambda leaf: jnp.asarray(points(leaf.shape)) / 16 if isinstance(leaf, jax.ShapeDtypeStruct) else leaf
        module = jax.tree.map(given, shapes)
        EmpiricalKernel(*equinox_function(module)).gram(jnp.asarray(points((64, 32)))).block_until_ready()
        return
    from lemmata.architectures import Conv, Dense, Erf, Gelu, GlobalAveragePool, Relu, Serial, TangentKernel
    from lemmata.kernels import gram

    dense, conv = Dense(512, STD, BIAS), Conv(512, (3, 3), STD, BIAS)
    networks = (
        [dense, Relu(), dense, Erf(), dense, Gelu(), Dense(1)],
        [conv, Relu(), conv, Relu(), conv, Relu(), GlobalAveragePool(), Dense(1)],
    )
    x = jnp.asarray(points(((64, 32), (16, 8, 8, 3))[case]))
    gram(TangentKernel(Serial(networks[case])), x).block_until_ready()


def peer(case: int) -> None:
    """The kernel by Neural Tangents, compiled as a whole."""
    import jax
    import jax.numpy as jnp
    import neural_tangents as nt  # pyright: ignore[reportMissingImports]
    from neural_tangents import stax  # pyright: ignore[reportMissingImports]

    dense = stax.Dense(512, STD, BIAS)
    conv = stax.Conv(512, (3, 3), padding="SAME", W_std=STD, b_std=BIAS)
    networks = (
        [dense, stax.Relu(), dense, stax.Erf(), dense, stax.Gelu(), stax.Dense(1)],
        [conv, stax.Relu(), conv, stax.Relu(), conv, stax.Relu(), stax.GlobalAvgPool(), stax.Dense(1)],
    )
    if case < 2:
        _, _, kernel = stax.serial(*networks[case])
        x = jnp.asarray(points(((64, 32), (16, 8, 8, 3))[case]))
        jax.jit(lambda x: kernel(x, None, "ntk"))(x).block_until_ready()
        return
    inputs, outputs, width, depth = MLP
    apply = stax.serial(*([stax.Dense(width), stax.Relu()] * depth), stax.Dense(outputs))[1]
    fans = (inputs, *[width] * depth, outputs)
    layers = [(jnp.asarray(points(fan)) / 16, None) for fan in itertools.pairwise(fans)]
    params = [layer for part in layers for layer in (part, ())][:-1]
    kernel = nt.empirical_ntk_fn(apply, trace_axes=(), vmap_axes=0)
    jax.jit(lambda x, p: kernel(x, None, p))(jnp.asarray(points((64, 32))), params).block_until_ready()


def seconds(python: str, who: str, case: int) -> float:
    """Wall time of one process."""
    environment = {**os.environ, "LEMMATA_CACHE_DIR": "", "JAX_PLATFORMS": "cpu"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    start = time.perf_counter()
    subprocess.run([python, __file__, who, str(case)], check=True, capture_output=True, env=environment)
    return time.perf_counter() - start


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time of what / time of peer); none where no peer is named."""
    python = os.environ.get("NEURAL_TANGENTS_PYTHON")
    if not python:
        print("set NEURAL_TANGENTS_PYTHON to the Python of the peer's environment; see benchmarks/peer_kernels.py")
        return []
    rows = []
    for case, name in enumerate(CASES):
        both = [(seconds(sys.executable, "ours", case), seconds(python, "peer", case)) for _ in range(ROUNDS)]
        fastest = [min(times) for times in zip(*both, strict=True)]
        rows.append((f"first kernel: {name}", "Neural Tangents 0.6.5", fastest[0] / fastest[1]))
    return rows


if __name__ == "__main__":
    {"ours": ours, "peer": peer}[sys.argv[1]](int(sys.argv[2]))
