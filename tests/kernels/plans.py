"""Measures the peak of resident memory of a computation, in a process of its own, beside its plan; Linux only.

A job is a pair of functions: one that plans, in bytes beside the points, and one that computes. Both have run once
before the measurement, so that everything is imported and compiled. `python -m tests.kernels.plans GROUP` prints a line
a job: its name, the bytes that are planned, and those that were measured.
"""

import ctypes
import gc
import json
import sys
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

N, D, WORKING_SET = 1600, 20, 24 * 2**20
Job = tuple[Callable[[], int], Callable[[], object]]


def status(name: str) -> int:
    """A number of bytes that the system tells of this process."""
    with open("/proc/self/status") as file:
        return 1024 * int(file.read().split(name + ":")[1].split()[0])


def peak(run: Callable[[], object]) -> int:
    """Bytes by which resident memory grows at most while something runs."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)  # what earlier jobs have freed goes back to the system, or it would be used unseen
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the peak starts again here
    before = status("VmRSS")
    found = jax.block_until_ready(run())
    grown = status("VmHWM") - before
    del found
    return grown


def points(rows: int = N, columns: int = D) -> jax.Array:
    return jnp.asarray(np.random.default_rng(0).normal(size=(rows, columns)))


def grams(kernels: dict, x: jax.Array) -> dict[str, Job]:
    """Gram matrices in tiles: the output and what is planned beside it."""
    from lemmata.kernels import gram, gram_plan

    def job(kernel) -> Job:
        def planned() -> int:
            return gram_plan(kernel, x, working_set=WORKING_SET).peak_bytes

        return planned, lambda: gram(kernel, x, working_set=WORKING_SET)

    return {name: job(kernel) for name, kernel in kernels.items()}


def plain() -> dict[str, Job]:
    from lemmata.kernels import (
        RBF,
        ExponentialDotProduct,
        Laplace,
        Linear,
        Matern,
        OddEvenKernel,
        Periodic,
        PolyharmonicCovariance,
        Polynomial,
        SoftmaxTangent,
        TorusSobolev,
    )

    unit = points() / jnp.linalg.norm(points(), axis=1, keepdims=True)
    kernels = {
        "RBF": RBF(5.0), "Laplace": Laplace(5.0), "Matern": Matern(1.5, 5.0), "Linear": Linear(),
        "Polynomial": Polynomial(3), "OddEvenKernel": OddEvenKernel(), "sum of products": RBF() * Linear() + Laplace(),
        "TorusSobolev": TorusSobolev(2), "Periodic": Periodic(), "PolyharmonicCovariance": PolyharmonicCovariance(),
    }  # fmt: skip
    spheres = {"SoftmaxTangent": SoftmaxTangent(), "ExponentialDotProduct": ExponentialDotProduct()}
    return grams(kernels, points()) | grams(spheres, unit)


def networks() -> dict[str, Job]:
    from lemmata.architectures import (
        Conv,
        Dense,
        Gelu,
        GlobalAveragePool,
        NNGPKernel,
        Relu,
        Serial,
        TangentKernel,
        erf_network,
        fully_connected,
        relu_network,
    )

    kernels = {
        "tangent, ReLU": TangentKernel(relu_network(depth=3)),
        "tangent, ReLU with biases": TangentKernel(relu_network(depth=3, bias_std=0.1)),
        "NNGP, erf with biases": NNGPKernel(erf_network(depth=2, bias_std=0.1)),
        "tangent, GELU with biases": TangentKernel(fully_connected(Gelu(), 2, weight_std=1.4, bias_std=0.1)),
    }
    conv = Serial([Conv(8, (3, 3), 1.4, 0.1), Relu(), GlobalAveragePool(), Dense(1)])
    images = jnp.asarray(np.random.default_rng(0).normal(size=(400, 4, 4, 3)))
    return grams(kernels, points()) | grams({"tangent, convolution": TangentKernel(conv)}, images)


def solvers() -> dict[str, Job]:
    from lemmata.architectures import TangentKernel, relu_network
    from lemmata.kernels import RBF
    from lemmata.networks import EmpiricalKernel
    from lemmata.solvers import centred_regression, centres_plan, subset_of_regressors

    x, kernel = points(6000), RBF(5.0)
    y, z = x[:, 0], x[:300]
    weights = jnp.asarray(np.random.default_rng(1).normal(size=(D, 300)))
    empirical = EmpiricalKernel(
        lambda p, a: jnp.tanh(a @ p["w"]) @ p["v"], {"w": weights, "v": weights[0]}, working_set=WORKING_SET
    )
    few, single, tangent = points(1500), x.astype(jnp.float32), TangentKernel(relu_network(depth=2))
    run = centred_regression(kernel, x, y, 300, jax.random.key(0))
    return {
        "subset_of_regressors": (
            lambda: centres_plan(kernel, x, z, working_set=WORKING_SET).bytes,
            lambda: subset_of_regressors(kernel, x, y, z, 0.1, working_set=WORKING_SET).coefficients,
        ),
        "subset_of_regressors, float32": (
            lambda: centres_plan(kernel, single, single[:300], working_set=WORKING_SET).bytes,
            lambda: subset_of_regressors(kernel, single, y, single[:300], 0.1, working_set=WORKING_SET).coefficients,
        ),
        "subset_of_regressors, tangent": (
            lambda: centres_plan(tangent, x, z, working_set=WORKING_SET).bytes,
            lambda: subset_of_regressors(tangent, x, y, z, 0.1, working_set=WORKING_SET).coefficients,
        ),
        "centred_regression": (
            lambda: run.plan.bytes,
            lambda: centred_regression(kernel, x, y, 300, jax.random.key(0)).coefficients,
        ),
        "EmpiricalKernel.gram": (
            lambda: empirical.plan("kernel", (few, few), "all").bytes,
            lambda: empirical.gram(few),
        ),
    }


GROUPS = {"plain": plain, "networks": networks, "solvers": solvers}


def main(group: str) -> None:
    jax.config.update("jax_enable_x64", True)
    for name, (planned, run) in GROUPS[group]().items():
        expected = planned()
        jax.block_until_ready(run())
        print(json.dumps([name, expected, peak(run)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
