"""Softmax networks: a training step, products with H, and lambda, each against the work that it cannot avoid."""

import time

import jax
import jax.numpy as jnp
import scipy.linalg

from kernels import alternating
from lemmata.kernels import SoftmaxTangent, gram
from lemmata.networks import SoftmaxNetwork

ROWS, COLUMNS, WIDTH = 1024, 64, 16384
BLOCK_ROWS, OUTPUTS, LIMIT_ROWS, VECTORS, NARROW = 400, 10, 4000, 256, 4096
TOY = {
    "ROWS": 16, "COLUMNS": 4, "WIDTH": 32, "BLOCK_ROWS": 6, "OUTPUTS": 2, "LIMIT_ROWS": 8, "VECTORS": 4, "NARROW": 32,
}  # fmt: skip


def problem(n: int, d: int, m: int, k: int) -> tuple[SoftmaxNetwork, dict, jax.Array, jax.Array]:
    keys = jax.random.split(jax.random.key(0), 3)
    network = SoftmaxNetwork(m, k)
    params, _ = network.init(keys[0], d)
    x = jax.random.normal(keys[1], (n, d))
    return network, params, x / jnp.linalg.norm(x, axis=1, keepdims=True), jax.random.normal(keys[2], (n, k))


def products(params: dict, x: jax.Array, y: jax.Array) -> jax.Array:
    logits = x @ params["weight"]
    outputs = logits @ params["sign"].T
    return x.T @ (logits + (outputs - y) @ params["sign"])


@jax.jit
def blocked_products(params: dict, x: jax.Array, y: jax.Array) -> jax.Array:
    blocks = (x.reshape(8, -1, COLUMNS), y.reshape(8, -1, y.shape[1]))
    add = lambda total, rows: (total + products(params, *rows), None)
    return jax.lax.scan(add, jnp.zeros_like(params["weight"]), blocks)[0]


def steps() -> list[tuple[str, str, float]]:
    rows = []
    for k in (1, COLUMNS):
        network, params, x, y = problem(ROWS, COLUMNS, WIDTH, k)
        step = jax.jit(lambda p, x, y, network=network: network.step(p, x, y, jnp.asarray(1e-9)))
        runs = {
            "step": step,
            "its four matrix products": jax.jit(products),
            "the same, in blocks of rows": blocked_products,
        }
        seconds = alternating({what: lambda run=run, a=(params, x, y): run(*a) for what, run in runs.items()})
        name = f"training step, n={ROWS}, d={COLUMNS}, m={WIDTH}, k={k}"
        rows += [(name, peer, seconds["step"] / seconds[peer]) for peer in list(runs)[1:]]
    return rows


def tangent() -> list[tuple[str, str, float]]:
    network, params, x, y = problem(VECTORS, COLUMNS, NARROW, OUTPUTS)
    size = VECTORS * OUTPUTS
    matrix = lambda: network.tangent(params, x).reshape(size, size) @ y.T.reshape(-1)
    name, peer = "H times a vector, H not formed", f"H formed, then times the vector (nk={size})"
    seconds = alternating({name: lambda: network.tangent_product(params, x, y), peer: matrix})
    gradient = lambda p: 0.5 * jnp.sum((network.predict(p, x) - y) ** 2)
    automatic = jax.jit(jax.grad(gradient))
    pair = ("gradient in closed form", "the same by automatic differentiation")
    times = alternating({pair[0]: lambda: network.gradient(params, x, y), pair[1]: lambda: automatic(params)})
    return [(name, peer, seconds[name] / seconds[peer]), (*pair, times[pair[0]] / times[pair[1]])]


def smallest_eigenvalue() -> list[tuple[str, str, float]]:
    """The finite route at n=4000, k=10 (a matrix of 12 GiB) is too large to run: its blocks are timed and counted."""
    smallest = lambda matrix: scipy.linalg.eigvalsh(matrix, subset_by_index=[0, 0], overwrite_a=True)
    network, params, x, _ = problem(BLOCK_ROWS, COLUMNS, NARROW, OUTPUTS)
    size = BLOCK_ROWS * OUTPUTS
    limit = lambda: smallest(jax.device_get(gram(SoftmaxTangent(), x)))
    finite = lambda: smallest(jax.device_get(network.tangent(params, x).reshape(size, size)))
    names = (f"lambda of the limit, n={BLOCK_ROWS}", f"lambda of H, nk={size}, m={NARROW}")
    seconds = alternating({names[0]: limit, names[1]: finite}, repeats=3)
    rows = [(*names, seconds[names[0]] / seconds[names[1]])]
    network, params, x, _ = problem(LIMIT_ROWS, COLUMNS, NARROW, 1)
    jax.block_until_ready((gram(SoftmaxTangent(), x), network.tangent(params, x)))
    start = time.perf_counter()
    smallest(jax.device_get(gram(SoftmaxTangent(), x)))
    limit_seconds = time.perf_counter() - start
    start = time.perf_counter()
    jax.block_until_ready(network.tangent(params, x))
    blocks = OUTPUTS * (OUTPUTS + 1) // 2 * (time.perf_counter() - start)
    eigen = OUTPUTS**3 * limit_seconds  # (nk)³ against n³, for the same routine
    peer = f"H, nk={LIMIT_ROWS * OUTPUTS}: 55 blocks + eigenvalue"
    name = f"lambda of the limit, n={LIMIT_ROWS}"
    counted = (name, peer + " (counted)", limit_seconds / (blocks + eigen))
    return [*rows, counted, (name, "forming the 55 blocks of H alone", limit_seconds / blocks)]


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time of what / time of peer), in float64."""
    with jax.enable_x64(True):
        return [*steps(), *tangent(), *smallest_eigenvalue()]
