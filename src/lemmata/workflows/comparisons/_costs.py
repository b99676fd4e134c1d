"""Measure the cost of a mixer as a function of the length of the sequence.

The cost is the number of operations, the memory of the compiled program and the time.
"""

import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from lemmata.core import available_bytes
from lemmata.workflows.records.comparisons import Cost, CostPoint

from ._mixers import BY_NAME, MODES, mixer, one_step

SHORTEST_RUN = 0.01
"""The duration of one timing in seconds. Shorter runs are repeated until they fill this time, but at most 200 times."""


def cost(family: str, lengths: Sequence[int], channels: int, mean: bool) -> Cost | None:
    """Measure, at each length, the cost of a mixer's output at every position of one row, with a linear map after it.

    The compiler reports the numbers of operations and bytes. The compiler counts the body of a loop only once. The step
    of the recurrence is therefore compiled separately and counted T times, where T is the length.

    Args:
        family: the name of the family.
        lengths: at least two lengths. For attention, lengths that need more than a quarter of the memory are left out.
        channels: how many numbers each token consists of.
        mean: whether the comparison averages over all positions instead of reading the last position. `Cost.read` is
            the exponent of the operations for this way of reading.

    Returns:
        The cost, or None if fewer than two lengths fit.
    """
    fitting = [length for length in lengths if 40 * length**2 < available_bytes() // 4 or family != "attention"]
    if len(fitting) < 2:
        return None
    points = [_point(family, length, channels) for length in fitting]
    logs = np.log([point.length for point in points])
    slope = lambda values: float(np.polyfit(logs, np.log(values), 1)[0])
    flops, held, seconds = ([getattr(point, name) for point in points] for name in ("flops", "bytes", "seconds"))
    read = [_compiled(family, length, channels, mean)[1] for length in fitting]
    return Cost(points, slope(flops), slope(held), slope(seconds), slope(read))


def _compiled(family: str, length: int, channels: int, mean: bool) -> tuple[Any, float, tuple[Any, Any]]:
    """Compile the mixer with its readout. Return the compiled function, its number of operations and its arguments."""
    of = mixer(family, BY_NAME[family].values[1], length, channels, mean=mean)
    row = jnp.asarray(np.random.default_rng(length).standard_normal((length, channels)))
    there = jnp.ones(length, bool)

    def read(x: Any, mask: Any) -> Any:
        vector = of(x, mask)
        return vector @ jnp.cos(jnp.arange(len(vector)))

    compiled = jax.jit(read).lower(row, there).compile()
    flops = _flops(compiled)
    if family == "recurrent":
        state = jnp.zeros((MODES, channels), complex)
        decay = jnp.ones((MODES, 1), complex)
        step = jax.jit(one_step).lower(decay, (state, state), (row[0], there[0])).compile()
        flops += (length - 1) * _flops(step)
    return compiled, flops, (row, there)


def _flops(compiled: Any) -> float:
    found = compiled.cost_analysis()
    found = found[0] if isinstance(found, list) else found
    return max(float(found.get("flops", 0.0)), 1.0)


def _point(family: str, length: int, channels: int) -> CostPoint:
    compiled, flops, arguments = _compiled(family, length, channels, True)
    memory = compiled.memory_analysis()
    held = memory.temp_size_in_bytes + memory.argument_size_in_bytes + memory.output_size_in_bytes
    best, runs = np.inf, 1
    for _ in range(4):
        start = time.perf_counter()
        for _ in range(runs):
            compiled(*arguments).block_until_ready()
        took = (time.perf_counter() - start) / runs
        best, runs = min(best, took), max(1, min(200, int(SHORTEST_RUN / max(took, 1e-6))))
    return CostPoint(length, flops, float(held), best)
