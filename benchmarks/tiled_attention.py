"""Sigmoid and softmax attention in tiles against the whole matrix of weights: time and memory, same run.

    python -m benchmarks.tiled_attention [--n 4096] [--d 64] [--block 128] [--repeats 7]

float32, compilation excluded, one program after the other in turn and the best of the repetitions of each. Memory is
what the compiler reports of temporaries and results; it reports none of the temporaries of the whole softmax forward,
which it hands to a library in one piece. To be run from the repository's root.
"""

import argparse
import time

import jax
import jax.numpy as jnp

from lemmata.subjects.attention import KINDS, sigmoid_attention, softmax_attention, tiled_attention

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("n", 4096), ("d", 64), ("block", 128), ("repeats", 7)):
        parser.add_argument(f"--{name}", type=int, default=default)
    own = parser.parse_args()
    heads = tuple(jax.random.normal(jax.random.key(0), (3, own.n, own.d), jnp.float32))
    print("| kind | pass | whole, ms | tiles, ms | ratio of times | whole, MiB | tiles, MiB | ratio of memories |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in KINDS:
        for backward in (False, True):
            compiled = programs(kind, heads, own.block, backward)
            times, sizes = seconds(compiled, heads, own.repeats), [held(program) for program in compiled]
            figures = f"{1e3 * times[0]:.0f} | {1e3 * times[1]:.0f} | {times[1] / times[0]:.2f} | "
            figures += f"{sizes[0] / 2**20:.1f} | {sizes[1] / 2**20:.1f} | {sizes[1] / sizes[0]:.3f}"
            print(f"| {kind} | {'forward and backward' if backward else 'forward'} | {figures} |", flush=True)


if __name__ == "__main__":
    main()
