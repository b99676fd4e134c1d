"""Peak memory of a Gram matrix of 12,000 points in float64 (1.07 GiB) against its plan.

Each kernel runs in a process of its own, where everything is imported and compiled before the peak of resident memory
is measured (Linux only). A ratio is what was measured beside the output over what was planned: at most 1 where the plan
holds.
"""

import json
import subprocess
import sys

POINTS, COLUMNS, MEBIBYTES = 12_000, 50, 64
TOY = {"POINTS": 1500, "MEBIBYTES": 16, "KERNELS": ("RBF(7.0)",)}
KERNELS = (
    "RBF(7.0)",
    "Matern(1.5, 7.0)",
    "Linear() + Polynomial(2)",
    "TangentKernel(relu_network(depth=3, bias_std=0.1))",
    "NNGPKernel(erf_network(depth=3, bias_std=0.1))",
)

ONE = """
import gc, json
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
from lemmata.architectures import NNGPKernel, TangentKernel, erf_network, relu_network
from lemmata.kernels import RBF, Linear, Matern, Polynomial, gram, gram_plan

kernel = {kernel}
x = jax.numpy.asarray(np.random.default_rng(0).normal(size=({points}, {columns})))
working_set = {mebibytes} * 2**20
plan = gram_plan(kernel, x, working_set=working_set)
status = lambda name: 1024 * int(open("/proc/self/status").read().split(name + ":")[1].split()[0])
gram(kernel, x[: {points} // 4], block=plan.block).block_until_ready()
gc.collect()
open("/proc/self/clear_refs", "w").write("5")  # the peak starts again here
before = status("VmRSS")
matrix = gram(kernel, x, working_set=working_set).block_until_ready()
beside = status("VmHWM") - before - plan.output_bytes
print(json.dumps([plan.block, plan.working_bytes, beside]))
"""


def measured(kernel: str) -> tuple[int, int, int]:
    """Rows of a tile, and the bytes that were planned and measured beside the output."""
    code = ONE.format(kernel=kernel, points=POINTS, columns=COLUMNS, mebibytes=MEBIBYTES)
    done = subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.PIPE, text=True)
    block, planned, beside = json.loads(done.stdout)
    return block, planned, beside


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, bytes measured / bytes planned)."""
    rows = []
    for kernel in KERNELS:
        block, planned, beside = measured(kernel)
        print(
            f"{kernel}: tiles of {block}; beside the output {planned / 2**20:.0f} MiB planned, "
            f"{beside / 2**20:.0f} MiB measured, {MEBIBYTES} MiB allowed",
            flush=True,
        )
        rows.append((f"gram({kernel}), {POINTS} points: memory", "its plan", beside / planned))
    return rows
