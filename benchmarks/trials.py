"""Trials per second of `verify`, jit(vmap) over keys, against a Python loop over the same trial, jitted and not."""

import time

import jax

from lemmata.engine.claims import find
from lemmata.engine.claims._trials import run_trials, trial, trial_key

CLAIM, TRIALS, LOOP = "hoeffding_held_out", 8192, 64
TOY = {"TRIALS": 2048, "LOOP": 2}


def rate_of_loop(claim, setting, function) -> float:
    """Trials per second of a Python loop, compilation excluded."""
    jax.block_until_ready(function(trial_key(claim, 0, 0)).measured)
    start = time.perf_counter()
    for number in range(LOOP):
        jax.block_until_ready(function(trial_key(claim, 0, number)).measured)
    return LOOP / (time.perf_counter() - start)


def rate_of_batches(claim, setting) -> float:
    """Trials per second between the first and the last batch, so that compilation is excluded."""
    ticks = []
    run_trials(claim, setting, TRIALS, 0, progress=lambda done, total: ticks.append((time.perf_counter(), done)))
    (start, first), (end, last) = ticks[0], ticks[-1]
    return (last - first) / (end - start)


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, ratio of time per trial: below 1 means that verify is faster)."""
    jax.config.update("jax_enable_x64", True)
    (claim,) = find(CLAIM)
    setting = claim.population.settings().default
    batched = rate_of_batches(claim, setting)
    eager = rate_of_loop(claim, setting, lambda key: trial(claim, setting, key))
    compiled = rate_of_loop(claim, setting, jax.jit(lambda key: trial(claim, setting, key)))
    return [
        (f"one trial of {CLAIM} in verify", "Python loop", eager / batched),
        (f"one trial of {CLAIM} in verify", "Python loop over the jitted trial", compiled / batched),
    ]
