"""Flags that are passed to XLA before its first computation."""

import importlib.metadata
import os


def solve_in_turn() -> None:
    """Let jaxlib 0.10 solve one batch of linear systems after the other, unless XLA_FLAGS says how; before JAX starts.

    Of two batches that it solves at once, each waits for the threads of the pool that the other one has: on two cores a
    program with two of them never ended, in the second run out of two hundred or in the first.
    """
    flags, name = os.environ.get("XLA_FLAGS", ""), "--xla_cpu_scheduler_type"
    if importlib.metadata.version("jaxlib").startswith("0.10.") and name not in flags:
        os.environ["XLA_FLAGS"] = f"{flags} {name}=CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED".strip()
