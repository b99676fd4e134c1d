"""Peak memory of a Gram matrix of 12,000 points in float64 (1.07 GiB) against its plan.

Each kernel runs in a process of its own, which prints its resident memory once everything is imported and a small
matrix has been computed the same way, and its peak at the end: `python benchmarks/gram_memory.py`.
"""

import subprocess
import sys

ONE = """
import resource, sys
import jax
jax.config.update("jax_enable_x64", True)
import numpy as np
from lemmata.architectures import TangentKernel, relu_network
from lemmata.kernels import RBF, Matern, gram, gram_plan

kernel = {kernel}
x = jax.numpy.asarray(np.random.default_rng(0).normal(size=(12_000, 50)))
working_set = {mebibytes} * 2**20
plan = gram_plan(kernel, x, working_set=working_set)
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
gram(kernel, x[:100], working_set=working_set).block_until_ready()
before = peak()
matrix = gram(kernel, x, working_set=working_set).block_until_ready()
beside = peak() - before - plan.output_bytes
print("{kernel}".ljust(40), f"tiles of {{plan.block}}, planned {{plan.working_bytes / 2**20:.0f}} MiB beside the output, "
      f"measured {{beside / 2**20:.0f}} MiB, allowed {mebibytes} MiB", flush=True)
"""


def main():
    for kernel in ("RBF(7.0)", "Matern(1.5, 7.0)", "TangentKernel(relu_network(depth=3, bias_std=0.1))"):
        subprocess.run([sys.executable, "-c", ONE.format(kernel=kernel, mebibytes=64)], check=True)


if __name__ == "__main__":
    main()
