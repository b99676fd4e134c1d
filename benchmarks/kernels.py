"""Gram matrices of kernels of the distance, of the inner product and of wide networks beside the plain matrix product.

Where a kernel is computed from a series in the angle, the recursion over layers that it replaces is a row beside it.
"""

import statistics
import time

import jax
import jax.numpy as jnp

from lemmata.architectures import (
    AngularKernel,
    Conv,
    Dense,
    GlobalAveragePool,
    NNGPKernel,
    Relu,
    Serial,
    TangentKernel,
    erf_network,
    fully_connected,
    relu_network,
)
from lemmata.kernels import RBF, AbstractKernel, Laplace, Linear, Matern, PolyharmonicCovariance, Polynomial, gram

POINTS, DIMENSIONS, FEW_DIMENSIONS, REPEATS, IMAGES = 4000, 784, 20, 7, 100
DEPTHS = (3, 10, 30)
TOY = {"POINTS": 12, "DIMENSIONS": 3, "FEW_DIMENSIONS": 2, "REPEATS": 1, "DEPTHS": (1,), "IMAGES": 2}


def plain_kernels() -> dict[str, AbstractKernel]:
    """Kernels of the distance and of the inner product; the typical distance of the points is the unit."""
    length = (2.0 * DIMENSIONS) ** 0.5
    return {
        "RBF": RBF(length),
        "Laplace": Laplace(length),
        "Matern(1.5)": Matern(1.5, length),
        "Matern(0.8)": Matern(0.8, length),
        "PolyharmonicCovariance": PolyharmonicCovariance(),
        "RBF * Linear + Laplace": RBF(length) * Linear() + Laplace(length),
        "Linear": Linear(),
        "Polynomial": Polynomial(3),
    }


class UnknownRelu(Relu):
    """ReLU under another name: no series stands for a network of an activation that is not known to be homogeneous."""


def alternating(contenders: dict, repeats: int | None = None) -> dict[str, float]:
    """Median seconds of each contender; all are compiled first, then they take turns, so that a slow spell hits all."""
    for run in contenders.values():
        jax.block_until_ready(run())
    seconds = {name: [] for name in contenders}
    for _ in range(repeats or REPEATS):
        for name, run in contenders.items():
            start = time.perf_counter()
            jax.block_until_ready(run())
            seconds[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time of what / time of peer)."""
    x = jax.random.normal(jax.random.key(0), (POINTS, DIMENSIONS), jnp.float32)
    other = jax.random.normal(jax.random.key(1), (POINTS, DIMENSIONS), jnp.float32)
    product, cross_product = jax.jit(lambda a: a @ a.T), jax.jit(lambda a, b: a @ b.T)
    peer, cross_peer = f"x @ x.T, n={POINTS}, d={DIMENSIONS}", f"x @ y.T, n=m={POINTS}, d={DIMENSIONS}"
    contenders = {peer: lambda: product(x), cross_peer: lambda: cross_product(x, other)}
    for name, kernel in plain_kernels().items():
        contenders[f"gram({name}), symmetric"] = lambda kernel=kernel: gram(kernel, x)
        contenders[f"gram({name}), cross"] = lambda kernel=kernel: gram(kernel, x, other)
    few, few_other = x[:, :FEW_DIMENSIONS], other[:, :FEW_DIMENSIONS]
    few_peer = f"x @ x.T, n={POINTS}, d={FEW_DIMENSIONS}"
    short = RBF((2.0 * FEW_DIMENSIONS) ** 0.5)
    contenders[few_peer] = lambda: product(few)
    contenders[f"gram(RBF), {FEW_DIMENSIONS} columns, symmetric"] = lambda: gram(short, few)
    contenders[f"gram(RBF), {FEW_DIMENSIONS} columns, cross"] = lambda: gram(short, few, few_other)
    for depth in DEPTHS:
        for name, kind in (("NNGP", NNGPKernel), ("NTK", TangentKernel)):
            kernel, layers = kind(relu_network(depth)), fully_connected(UnknownRelu(), depth, weight_std=2**0.5)
            contenders[f"{name}, ReLU, depth {depth}, symmetric"] = lambda kernel=kernel: gram(kernel, x)
            contenders[f"{name}, ReLU, depth {depth}, cross"] = lambda kernel=kernel: gram(kernel, x, other)
            recursion = kind(layers)
            contenders[f"{name}, ReLU, depth {depth}, recursion, symmetric"] = lambda kernel=recursion: gram(kernel, x)
    unit = x / jnp.linalg.norm(x, axis=1, keepdims=True)
    erf = TangentKernel(erf_network(10, bias_std=0.1))
    sphere = AngularKernel(erf, norm=1.0, dimension=DIMENSIONS)
    contenders["NTK, erf, depth 10, sphere, symmetric"] = lambda: gram(sphere, unit)
    contenders["NTK, erf, depth 10, recursion, symmetric"] = lambda: gram(erf, unit)
    image = jax.random.normal(jax.random.key(2), (IMAGES, 8, 8, 3), jnp.float32)
    conv = [Conv(8, (3, 3), 2**0.5, 0.1), Relu()]
    pooled = TangentKernel(Serial([*(conv * 3), GlobalAveragePool(), Dense(1)]))
    contenders["NTK, 3 x Conv 3x3, symmetric"] = lambda: gram(pooled, image)
    contenders["NTK, 3 x Conv 3x3, cross"] = lambda: gram(pooled, image, image + 0.0)
    seconds = alternating(contenders)
    peers = {name: cross_peer if name.endswith("cross") else peer for name in contenders}
    peers |= {name: few_peer for name in contenders if "columns" in name}
    rows = [
        (name, peers[name], seconds[name] / seconds[peers[name]])
        for name in contenders
        if "@" not in name and "Conv" not in name
    ]
    halves = [name.removesuffix("cross") for name in contenders if name.endswith("cross")]
    ratio = lambda half: seconds[f"{half}symmetric"] / seconds[f"{half}cross"]
    return rows + [(f"{half}symmetric", "its cross Gram", ratio(half)) for half in halves]
