"""Products with a kernel on two processes of one thread each against one such process.

`python benchmarks/processes.py [points]` prints the ratio of their times: above 1 means that two are faster. Runs
alternate, and the best of each counts, so that other work on the machine is not taken for ours.
"""

import sys
import time

POINTS, DIMENSIONS, REPETITIONS = 20_000, 10, 5
TOY = {"POINTS": 200, "REPETITIONS": 1}


def main(points: int | None = None) -> list[tuple[str, str, float]]:
    """A row (what, peer, time on one process over time on two)."""
    import jax
    import jax.numpy as jnp

    from lemmata.kernels import RBF
    from lemmata.solvers import ProcessOperator

    points = points or POINTS
    jax.config.update("jax_enable_x64", True)
    x = jax.random.normal(jax.random.key(0), (points, DIMENSIONS))
    v, best = jnp.sin(x[:, 0]), {1: float("inf"), 2: float("inf")}
    with ProcessOperator(RBF(2.0), x, 1) as one, ProcessOperator(RBF(2.0), x, 2) as two:
        for repetition in range(REPETITIONS + 1):
            for processes, operator in ((1, one), (2, two)):
                start = time.perf_counter()
                operator(v)
                if repetition:  # the first one compiles
                    best[processes] = min(best[processes], time.perf_counter() - start)
    return [(f"product with an RBF kernel on {points} points, two processes", "one process", best[1] / best[2])]


if __name__ == "__main__":
    for what, peer, ratio in main(*map(int, sys.argv[1:2])):
        print(f"{what:<66}{peer:<50}{ratio:>10.3g}")
