"""Peak memory of a Gram matrix of 12,000 points in float64 (1.07 GiB) against its plan.

Each kernel runs in a process of its own, where everything is imported and compiled before the peak of resident memory
is measured (Linux only): `python benchmarks/gram_memory.py`.
"""

import subprocess
import sys

ONE = """
import gc
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
from lemmata.architectures import TangentKernel, relu_network
from lemmata.kernels import RBF, Matern, gram, gram_plan

kernel = {kernel}
x = jax.numpy.asarray(np.random.default_rng(0).normal(size=(12_000, 50)))
working_set = {mebibytes} * 2**20
plan = gram_plan(kernel, x, working_set=working_set)
status = lambda name: 1024 * int(open("/proc/self/status").read().split(name + ":")[1].split()[0])
gram(kernel, x[:3000], block=plan.block).block_until_ready()
gc.collect()
open("/proc/self/clear_refs", "w").write("5")  # the peak starts again here
before = status("VmRSS")
matrix = gram(kernel, x, working_set=working_set).block_until_ready()
beside = status("VmHWM") - before - plan.output_bytes
print("{kernel}:", f"tiles of {{plan.block}}; beside the output {{plan.working_bytes / 2**20:.0f}} MiB planned, "
      f"{{beside / 2**20:.0f}} MiB measured, {mebibytes} MiB allowed", flush=True)
"""


def main():
    for kernel in ("RBF(7.0)", "Matern(1.5, 7.0)", "TangentKernel(relu_network(depth=3, bias_std=0.1))"):
        subprocess.run([sys.executable, "-c", ONE.format(kernel=kernel, mebibytes=64)], check=True)


if __name__ == "__main__":
    main()
