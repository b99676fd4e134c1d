"""Sigmoid and softmax attention in tiles against the whole matrix of weights: time and memory, same run.

float32, compilation excluded, one program after the other in turn and the best of the repetitions of each. Memory is
what the compiler reports of temporaries and results; it reports none of the temporaries of the whole softmax forward,
which it hands to a library in one piece.
"""

import time

import jax
import jax.numpy as jnp

from lemmata.subjects.attention import KINDS, sigmoid_attention, softmax_attention, tiled_attention

LENGTH, DIMENSION, BLOCK, REPEATS = 4096, 64, 128, 7
TOY = {"LENGTH": 16, "DIMENSION": 4, "BLOCK": 4, "REPEATS": 1}
DENSE = {"sigmoid": sigmoid_attention, "softmax": softmax_attention}


def programs(kind: str, heads: tuple[jax.Array, ...], block: int, backward: bool) -> list:
    """The whole matrix, and tiles; outputs alone, or outputs and derivatives of the sum of their squares."""

    def derived(attend):
        def squares(q, k, v):
            out = attend(q, k, v)
            return jnp.sum(out**2), out

        return jax.value_and_grad(squares, argnums=(0, 1, 2), has_aux=True)

    tiled = lambda q, k, v: tiled_attention(q, k, v, kind=kind, block=block)
    both = (DENSE[kind], tiled)
    return [jax.jit(derived(attend) if backward else attend).lower(*heads).compile() for attend in both]


def seconds(compiled: list, heads: tuple[jax.Array, ...], repeats: int) -> list[float]:
    """The best of several runs of each program, in turn."""
    best = [float("inf")] * len(compiled)
    for _ in range(repeats):
        for at, program in enumerate(compiled):
            begun = time.perf_counter()
            jax.block_until_ready(program(*heads))
            best[at] = min(best[at], time.perf_counter() - begun)
    return best


def held(program) -> int:
    """Bytes of temporaries and results."""
    found = program.memory_analysis()
    return found.temp_size_in_bytes + found.output_size_in_bytes


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, time or memory of what / that of peer), forward and with derivatives, for both kinds."""
    heads = tuple(jax.random.normal(jax.random.key(0), (3, LENGTH, DIMENSION), jnp.float32))
    rows = []
    for kind in KINDS:
        for backward in (False, True):
            compiled = programs(kind, heads, BLOCK, backward)
            times, sizes = seconds(compiled, heads, REPEATS), [held(program) for program in compiled]
            what = f"tiled {kind}, n={LENGTH}, d={DIMENSION}, {'with derivatives' if backward else 'forward'}"
            told = f"{1e3 * times[1]:.0f} ms for {1e3 * times[0]:.0f}, "
            print(f"{what}: {told}{sizes[1] / 2**20:.1f} MiB for {sizes[0] / 2**20:.1f}", flush=True)
            rows.append((f"{what}: time", "the whole matrix of weights", times[1] / times[0]))
            rows.append((f"{what}: memory", "the whole matrix of weights", sizes[1] / sizes[0]))
    return rows
