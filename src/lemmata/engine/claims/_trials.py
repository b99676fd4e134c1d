"""Run trials: sample a problem, check its hypotheses, predict and measure.

Trials of claims written in JAX run as jit(vmap) over keys. Trials of other claims run through an executor.
"""

import concurrent.futures
import dataclasses
import functools
import importlib.metadata
from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from lemmata.core import float64_enabled, key_from, one_blas_thread
from lemmata.interruption import heed

from ._claim import Claim
from ._hypothesis import Hypothesis

# Trials are small, so most claims spend their time in compilation. This optimisation level nearly halves the
# compilation time, and XLA's older emitter of fused loops shortens it by a quarter. In jaxlib 0.10, two batches of
# linear systems in one program may wait forever for each other's threads. So one batch is solved after the other. Later
# releases may not have these options.
COMPILER: dict[str, int | bool | str] = {"xla_backend_optimization_level": 1}
_RELEASE = tuple(map(int, importlib.metadata.version("jaxlib").split(".")[:2]))
if (0, 8) <= _RELEASE <= (0, 10):
    COMPILER["xla_cpu_use_fusion_emitters"] = False
if _RELEASE == (0, 10):
    COMPILER["xla_cpu_scheduler_type"] = "CPU_SCHEDULER_TYPE_MEMORY_OPTIMIZED"
_BATCH = 128  # the largest number of trials in one compiled call
_TEMPORARIES = 2**29  # the largest number of bytes of temporary arrays in one compiled call
Values = Any  # jax.Array inside a trial, np.ndarray once it is finished


class Outcome(eqx.Module):
    """The result of one trial, or of a batch of trials under vmap."""

    hypotheses: list[Hypothesis]
    holds: Values
    undefined: Values
    predicted: Values
    false: Values
    measured: Values
    condition: Values
    trivial: Values


def hypotheses_of(claim: Claim, problem: Any) -> list[Hypothesis]:
    """The hypotheses of the population, followed by the hypotheses that the claim adds, evaluated on a problem."""
    return [*claim.population.hypotheses(problem), *(claim.hypotheses(problem) if claim.hypotheses else ())]


def measured(claim: Claim, problem: Any, key: jax.Array) -> jax.Array:
    """The measurement of the claim; for a sequence of sizes, one measurement with its own key for each size."""
    if claim.measure is not None:
        return jnp.asarray(claim.measure(problem, key), float)
    rungs = claim.relation.rungs
    keys = jax.random.split(key, len(rungs))
    values = [
        claim.measure_at(problem, own, rung)  # pyright: ignore[reportOptionalCall]  # a claim has one of the two
        for own, rung in zip(keys, rungs, strict=True)
    ]
    return jnp.stack([jnp.asarray(value, float) for value in values])


def _replicated(claim: Claim, problem: Any, key: jax.Array) -> jax.Array:
    """The required number of independent measurements of one problem. The first one uses the trial's own key."""
    count = claim.relation.replicates
    if count == 1:
        return measured(claim, problem, key)
    keys = [key, *(jax.random.fold_in(key, number) for number in range(1, count))]
    if claim.traced:
        return jax.vmap(lambda own: measured(claim, problem, own))(jnp.stack(keys))
    return jnp.stack([measured(claim, problem, own) for own in keys])


def outcome(claim: Claim, problem: Any, key: jax.Array) -> Outcome:
    """Check the hypotheses on a problem, predict, compute the control's false prediction, and measure."""
    hypotheses = hypotheses_of(claim, problem)
    predicted = jnp.asarray(claim.predict(problem), float)
    every = lambda values: jnp.stack(values) if values else jnp.zeros(0, bool)
    return Outcome(
        hypotheses,
        jnp.all(every([hypothesis.holds for hypothesis in hypotheses])),
        jnp.any(every([hypothesis.undefined for hypothesis in hypotheses])),
        predicted,
        jnp.asarray(claim.control.predict(predicted, problem), float),
        _replicated(claim, problem, key),
        jnp.asarray(1.0 if claim.condition is None else claim.condition(problem), float),
        jnp.asarray(claim.trivial(problem) if callable(claim.trivial) else jnp.nan, float),
    )


def root_key(claim: Claim, seed: int) -> jax.Array:
    """The root of the random keys of a claim's trials.

    The root is made from the seed and the name of the claim's class. So trials stay the same if the claim's file moves.
    """
    return key_from(seed, type(claim).__name__)


def trial_key(claim: Claim, seed: int, number: int) -> jax.Array:
    """The random key of a trial, from the seed, the name of the claim's class and the trial's number."""
    return jax.random.fold_in(root_key(claim, seed), number)


def trial(claim: Claim, setting: dict, key: jax.Array) -> Outcome:
    """Run one trial: sample a problem and return its outcome."""
    sample_key, measure_key = jax.random.split(key)
    return outcome(claim, claim.population.sample(setting, sample_key), measure_key)


def _untraced(claim: Claim, setting: dict, seed: int, number: int, x64: bool) -> Outcome | str:
    """Run one trial of a claim in ordinary Python, in any thread or process that the executor uses."""
    with jax.enable_x64(x64):
        try:
            return jax.tree.map(np.asarray, trial(claim, setting, trial_key(claim, seed, number)))
        except Exception as error:  # a claim's own code may raise any error; its failure is a verdict
            return f"trial {number}: {_line(error)}"


def _line(error: Exception) -> str:
    """An exception as one line of text."""
    return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"


@dataclasses.dataclass
class Trials:
    """Finished trials, with their outcomes stacked: each array of `stacked` has one row for each trial."""

    requested: int
    stacked: Outcome | None = None
    numbers: np.ndarray = dataclasses.field(default_factory=lambda: np.zeros(0, int))
    errors: list[str] = dataclasses.field(default_factory=list)
    interrupted: bool = False


def run_trials(
    claim: Claim,
    setting: dict,
    trials: int,
    seed: int,
    executor: concurrent.futures.Executor | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Trials:
    """Run a fixed number of trials. After Ctrl-C, the finished trials are kept."""
    collected: list[Outcome] = []
    finished = Trials(trials)
    source = (
        _traced_batches(claim, setting, trials, seed)
        if claim.traced
        else executed(claim, setting, trials, seed, executor)
    )
    numbers: list[int] = []
    try:
        with one_blas_thread():
            for batch_numbers, result in source:
                if isinstance(result, str):
                    finished.errors.append(result)
                else:
                    collected.append(result)
                    numbers.extend(batch_numbers)
                progress(len(numbers) + len(finished.errors), trials)
    except KeyboardInterrupt:
        finished.interrupted = True
    except Exception as error:  # a claim's own code may raise any error; its failure is a verdict, not a traceback
        finished.errors.append(_line(error))
    finally:
        source.close()
    finished.numbers = np.asarray(numbers, int)
    if collected:
        try:
            finished.stacked = stacked(collected)
        except ValueError as error:  # a claim that is not traced may measure other shapes in each trial
            finished.errors.append(f"trials with different shapes: {_line(error)}")
    return finished


def stacked(outcomes: Sequence[Outcome]) -> Outcome:
    """Join finished outcomes along their leading axis.

    A claim in ordinary Python may end its list of hypotheses at a hypothesis that fails. In trials that lack a
    hypothesis, its value and threshold are NaN. `Outcome.undefined` is not changed by this.
    """
    told = [_numbered(own.hypotheses) for own in outcomes]
    sizes = [len(own.holds) for own in outcomes]
    known = {name: one for own in told for name, one in own.items()}
    together = [_along(one, [own.get(name) for own in told], sizes) for name, one in known.items()]
    rest = [dataclasses.replace(own, hypotheses=[]) for own in outcomes]
    return dataclasses.replace(jax.tree.map(lambda *leaves: np.concatenate(leaves), *rest), hypotheses=together)


def _numbered(hypotheses: list[Hypothesis]) -> dict[tuple[str, int], Hypothesis]:
    """Hypotheses by their name, together with the number of earlier hypotheses of the same name."""
    names = [one.name for one in hypotheses]
    return {
        (name, names[:place].count(name)): one for place, (name, one) in enumerate(zip(names, hypotheses, strict=True))
    }


def _along(one: Hypothesis, parts: list[Hypothesis | None], sizes: list[int]) -> Hypothesis:
    """One hypothesis over all trials. Trials without this hypothesis have NaN."""

    def over(value: Callable[[Hypothesis], Values]) -> np.ndarray:
        own = [
            np.full((size, *np.shape(value(one))[1:]), np.nan) if part is None else np.asarray(value(part))
            for part, size in zip(parts, sizes, strict=True)
        ]
        return np.concatenate(own)

    arrays = over(lambda own: own.value), over(lambda own: own.threshold)
    return eqx.tree_at(lambda own: (own.value, own.threshold), one, arrays)


@functools.lru_cache(maxsize=4)
def compiled(
    claim: Claim, setting: tuple[tuple[str, object], ...], trials: int
) -> tuple[Callable[[jax.Array, np.ndarray], Outcome], int]:
    """Compile trials of a traced claim into a function of root key and trial numbers. Return it with its batch size.

    A call runs up to 128 trials, or fewer if its temporary arrays would need more than 512 MiB.

    Args:
        claim: the claim.
        setting: names and values of the claim's settings.
        trials: the number of trials that will run.
    """

    def run(root: jax.Array, numbers: jax.Array) -> Outcome:
        keys = jax.vmap(lambda number: jax.random.fold_in(root, number))(numbers)
        return jax.vmap(lambda key: trial(claim, dict(setting), key))(keys)

    size = min(_BATCH, trials)
    while True:
        program = jax.jit(run, compiler_options=COMPILER).lower(root_key(claim, 0), np.arange(size)).compile()
        memory = program.memory_analysis()
        held = 0 if memory is None else memory.temp_size_in_bytes
        if held <= _TEMPORARIES or size == 1:
            return program, size
        size = max(1, size * _TEMPORARIES // held)


def _traced_batches(claim: Claim, setting: dict, trials: int, seed: int):
    """Run trials in batches of one compiled shape. Surplus rows of the last batch are discarded."""
    run, size = compiled(claim, tuple(setting.items()), trials)
    root = root_key(claim, seed)
    for start in range(0, trials, size):
        numbers = np.arange(start, start + size)
        kept = min(size, trials - start)
        result = jax.tree.map(lambda leaf, kept=kept: np.asarray(leaf)[:kept], run(root, numbers))
        yield numbers[:kept].tolist(), result


def executed(claim: Claim, setting: dict, trials: int, seed: int, executor: concurrent.futures.Executor | None):
    """Yield trials as they finish, in the caller's executor or one after the other in this thread."""
    x64 = float64_enabled()
    if executor is None:
        for number in range(trials):
            heed()  # the code of the claim may have caught an interruption
            yield [number], _row(_untraced(claim, setting, seed, number, x64))
        heed()
        return
    futures = {executor.submit(_untraced, claim, setting, seed, number, x64): number for number in range(trials)}
    try:
        for future in concurrent.futures.as_completed(futures):
            yield [futures[future]], _row(future.result())
    finally:
        for future in futures:
            future.cancel()


def _row(result: Outcome | str) -> Outcome | str:
    return result if isinstance(result, str) else jax.tree.map(lambda leaf: np.asarray(leaf)[None], result)
