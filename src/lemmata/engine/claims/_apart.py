"""Run trials in other processes and on other machines: send the claims there and read the results."""

import dataclasses
import warnings
from collections.abc import Callable
from concurrent.futures import BrokenExecutor, Executor, Future
from typing import Any

import jax
import numpy as np

from lemmata.errors import EntryPointWarning, words_of
from lemmata.workers import Lost, finished, submitted

from ._claim import Claim
from ._registry import file_of, find
from ._trials import Outcome, Trials, _untraced

Run = Callable[..., Trials]
_LOST = 2  # trials of a claim that may lose their processes before its other trials are cancelled


def sent(claim: Claim) -> Claim | str:
    """The object to send for a claim: the claim itself, or, if it was loaded from a file, its file and class name."""
    file = file_of(claim)
    return claim if file is None else f"{file}:{type(claim).__name__}"


def received(claim: Claim | str) -> Claim:
    """The claim that was sent. Warnings about other packages are not shown, because the sender has shown them."""
    if isinstance(claim, Claim):
        return claim
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", EntryPointWarning)
        return find(claim)[0]


def sent_run(run: Run, claim: Claim, seed: int) -> Run:
    """The object that runs trials on a worker: `run` itself, or the result of its method `sent`."""
    own = getattr(run, "sent", None)
    return run if own is None else own(claim, seed)


def run_came_back(run: Run, other: Run) -> None:
    """Pass the object that a worker returned to the method `add` of `run`, if `run` has this method."""
    if hasattr(run, "add"):
        run.add(other)  # pyright: ignore[reportFunctionMemberAccess]


def trials_apart(
    executor: Executor, run: Run, claim: Claim, wanted: list[tuple[dict, int]], seed: int, report: Callable[[int], None]
) -> list[Trials]:
    """Run the trials of a claim in JAX at several settings, with one task for each setting.

    If a task is lost, one error stands in place of its trials.

    Args:
        executor: where the trials run.
        run: the function that runs trials, with the interface of `run_trials`.
        claim: the claim.
        wanted: pairs of a setting and its number of trials.
        seed: the seed of all randomness.
        report: a function that is called with the number of trials that have returned.
    """
    own = sent_run(run, claim, seed)
    tasks = [(place, (sent(claim), setting, trials, seed, own)) for place, (setting, trials) in enumerate(wanted)]
    found, done = [Trials(trials, interrupted=True) for _, trials in wanted], 0
    try:
        for place, back in finished(executor, _trials_at, tasks):
            setting, trials = wanted[place]
            if isinstance(back, Lost):
                found[place] = Trials(
                    trials, errors=[f"trials 0 to {trials - 1} at the setting {setting}: {back.error}"]
                )
            else:
                found[place] = back[0]
                run_came_back(run, back[1])
            done += trials
            report(done)
    except KeyboardInterrupt:  # settings whose trials have not returned stay marked as interrupted
        pass
    return found


def _trials_at(claim: Claim | str, setting: dict, trials: int, seed: int, run: Run) -> tuple[Trials, Run]:
    return run(received(claim), setting, trials, seed), run


def in_order(found: Trials) -> Trials:
    """Sort the trials by their numbers, because the rounding of sums depends on the order of the terms."""
    order = np.argsort(found.numbers, kind="stable")
    rows = None if found.stacked is None else jax.tree.map(lambda leaf: leaf[order], found.stacked)
    errors = sorted(found.errors, key=lambda said: (len(said.partition(":")[0]), said))
    return dataclasses.replace(found, stacked=rows, numbers=found.numbers[order], errors=errors)


class TrialExecutor(Executor):
    """An executor for single trials of a claim that is not written in JAX. A lost trial becomes a text about the error.

    If two trials have lost their processes, the trials that have not begun are cancelled.

    Args:
        executor: where the trials run.
    """

    def __init__(self, executor: Executor):
        self._executor, self._lost = executor, 0
        self._inner: list[Future] = []

    def submit(self, fn: Callable[..., Outcome | str], /, *args: Any, **kwargs: Any) -> Future:
        """Submit one trial, given by claim, setting, seed, number, and whether float64 is on."""
        assert fn is _untraced
        claim, *rest = args
        outer: Future = Future()
        outer.set_running_or_notify_cancel()

        def told(inner: Future) -> None:
            if inner.cancelled():
                why = "earlier trials lost their processes" if self._lost >= _LOST else "its executor was shut down"
                outer.set_result(f"trial {args[3]}: cancelled because {why}")
            elif (error := inner.exception()) is not None:
                outer.set_result(f"trial {args[3]}: {type(error).__name__}: {words_of(error)}")
                self._lost += isinstance(error, BrokenExecutor)
                if self._lost >= _LOST:
                    for other in self._inner:
                        other.cancel()
            else:
                outer.set_result(inner.result())

        try:
            self._inner.append(inner := submitted(self._executor, _one_trial, sent(claim), *rest))
            inner.add_done_callback(told)
        # the executor died, perhaps because of a trial like this one; so this trial is not run in this process
        except RuntimeError as error:
            outer.set_result(f"trial {args[3]}: could not be started, {type(error).__name__}: {words_of(error)}")
        return outer


def _one_trial(claim: Claim | str, *rest: Any) -> Outcome | str:
    return _untraced(received(claim), *rest)
