"""Judge claims in separate processes, and end a process if one of its trials takes too long."""

import contextlib
import dataclasses
import multiprocessing
import os
import sys
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from multiprocessing.connection import Connection, wait
from typing import Any

import jax

from lemmata.core import started
from lemmata.errors import DataError, EntryPointWarning, LemmataError, line_of
from lemmata.interruption import ignore_interruption
from lemmata.limits import own_limits
from lemmata.workers import ATTEMPTS, Lost, end_with_parent, finished, share_cores

from ._apart import received, run_came_back, sent, sent_run
from ._claim import Claim, Status
from ._entries import fingerprint_of, trials_print_of
from ._family import LEVEL
from ._trials import Trials, run_trials
from ._verdict import Verdict
from ._verify import verified, verify

# after this number of claims, a new process replaces a process, because compiled functions fill its memory
_A_PROCESS = 40
_START = 600.0  # seconds that a process has to import the claim
_LOOK = 1.0  # seconds between two checks whether a trial has exceeded its time
_PARTING = 20.0  # seconds that a process without a task has to leave its context
_METHOD = "spawn"  # JAX has threads, which a copy of this process would lack
_clock = time.monotonic
Run = Callable[..., Trials]


@dataclasses.dataclass(frozen=True)
class JudgingTask:
    """A claim to judge, with the options of `verify`.

    Args:
        claim: the claim.
        seed, budget, corners, level, setting: as in `verify`.
    """

    claim: Claim
    seed: int = 0
    budget: int | None = None
    corners: int | None = None
    level: float = LEVEL
    setting: dict[str, Any] | None = None

    @property
    def section(self) -> str:
        """The module of the claim."""
        return type(self.claim).__module__

    @property
    def options(self) -> dict[str, Any]:
        """The options that are passed to `verify`."""
        alike = {"seed": self.seed, "budget": self.budget, "corners": self.corners, "level": self.level}
        return {**alike, "setting": self.setting}


@dataclasses.dataclass(frozen=True)
class Judged:
    """A finished task.

    Args:
        task: the claim that was judged, with its options.
        verdict: the verdict on the claim. If a trial was stopped, the status is "failed", and the reason names the
            trial.
        unrecorded: the reason why the trials could not be stored in the ledger; empty if they were stored.
        late: whether the task was stopped because its time limit was exceeded.
    """

    task: JudgingTask
    verdict: Verdict
    unrecorded: str = ""
    late: bool = False


def run_keyed(
    tasks: Iterable[JudgingTask],
    *,
    limit: float | None = None,
    most: float | None = None,
    jobs: int = 1,
    run: Run = run_trials,
    around: Callable[[], contextlib.AbstractContextManager] = contextlib.nullcontext,
    executor: Executor | None = None,
) -> Generator[Judged]:
    """Judge claims in processes. If a trial takes longer than the limit, its process is ended; other claims continue.

    In JAX, a trial is part of a compiled call, so the limit applies to the whole call, including its compilation. If a
    process ends by itself (killed, or out of memory), a new process takes its task, at most twice. If a time limit is
    exceeded, or if all processes of a task end, the verdict is `failed`. The reason of the verdict gives setting, seed
    and trial.

    Args:
        tasks: the tasks. Each task is requested when a process is free, so a generator of tasks may end early if time
            is over. If the tasks are a list, a process first takes tasks of the section that it judged last, whose
            functions it has compiled. Then the process takes tasks of a section without a process.
        limit: seconds for each trial. None means no limit. If `limit` and `most` are None and `jobs` is 1, this process
            itself judges the claims.
        most: seconds for each task, counted from its first trial; None means no limit.
        jobs: the number of processes.
        run: the function that runs trials; it must be picklable. If it raises a `DataError`, for example because a
            ledger's disk is full, trials run without it.
        around: a picklable function that returns a context. Each process enters its context, and leaves it unless the
            process is ended.
        executor: where claims are judged instead of in these processes, without a limit.

    Raises:
        MemoryError: if the memory of this process is limited, and processes repeatedly end before their first claim.
    """
    if executor is not None:
        yield from _apart(tasks, executor, run)
        return
    if limit is None and most is None and jobs == 1:
        for task in tasks:
            yield _judged(task, run)
        return
    known = list(tasks) if isinstance(tasks, list) else None
    waiting, workers = iter(tasks), [_Worker((limit, most), run, around, (number, jobs)) for number in range(jobs)]
    try:
        while True:
            for worker in workers:
                if worker.task is not None:
                    continue
                others = {other.section for other in workers if other.task is not None}
                task = next(waiting, None) if known is None else _taken(known, worker.section, others)
                if task is not None:
                    worker.give(task)
            busy = [worker for worker in workers if worker.task is not None]
            if not busy:
                return
            ready = wait([worker.end for worker in busy], _LOOK)
            for worker in busy:
                done = worker.read() if worker.end in ready else worker.late()
                if done is not None:
                    yield done
    finally:
        for worker in workers:
            worker.dismiss()


def _taken(known: list[JudgingTask], section: str, others: set[str]) -> JudgingTask | None:
    """Remove and return the best task for a process; None if there is no task.

    Tasks of the same section come first, then tasks of a section without a process, and then all other tasks.
    """
    ranks = [0 if own.section == section else 1 + (own.section in others) for own in known]
    return known.pop(ranks.index(min(ranks))) if known else None


def _apart(tasks: Iterable[JudgingTask], executor: Executor, run: Run) -> Iterator[Judged]:
    """Judge claims in an executor, one task for each claim."""
    known: dict[str, JudgingTask] = {}

    def given() -> Iterator[tuple[str, tuple]]:
        for task in tasks:
            known[task.claim.name] = task
            asked = task.options | {"progress": False}
            yield task.claim.name, (sent(task.claim), sent_run(run, task.claim, task.seed), asked)

    for name, found in finished(executor, verified, given()):
        if isinstance(found, Lost):
            yield Judged(known[name], _failure(known[name], {}, None, 0.0, found.error))
            continue
        unrecorded = ""
        try:
            run_came_back(run, found[1])
        except DataError as error:  # an error of the ledger
            unrecorded = str(error)
        yield Judged(known[name], found[0], unrecorded)


class _Worker:
    """A process, its task, and its deadline."""

    def __init__(self, limits: tuple[float | None, float | None], run: Run, around: Callable, place: tuple[int, int]):
        self._limit, self._most = (own or float("inf") for own in limits)
        self._given, self._tries = (run, around, place), 0
        self._process: Any = None
        self._judged, self.task, self._begun = 0, None, 0.0
        self.section = ""
        self.end: Any = None
        self.deadline, self._allowed = 0.0, _START
        self._place: tuple[dict, int | None] = ({}, None)
        self._end: float | None = None

    def give(self, task: JudgingTask) -> None:
        if self._process is not None and self._judged >= _A_PROCESS:
            self.dismiss()
        if self._process is None:
            context = multiprocessing.get_context(_METHOD)
            self.end, there = context.Pipe()
            # not a daemon, because a daemon could not start processes; a thread in it detects the end of this process
            self._process = started(context.Process(target=_serve, args=(there, *self._given)))
            there.close()
            self._judged = 0
        self.task, self._place, self._begun, self._tries, self._end = task, ({}, None), _clock(), 0, None
        self.section = task.section
        self._allow(_START)
        with contextlib.suppress(OSError):  # if the process has ended, `read` will detect this
            self.end.send((sent(task.claim), task.options))

    def read(self) -> Judged | None:
        """Read a message of the process: the start of a trial, or a verdict."""
        assert self.task is not None
        try:
            said, *more = self.end.recv()
        except (EOFError, OSError):
            self._process.join()
            code = self._process.exitcode
            by = f"signal {-code}" if code < 0 else f"exit code {code}"
            # perhaps it was killed from outside; another process takes the task
            if (tries := self._tries + 1) < ATTEMPTS:
                again = self.task
                self.stop()
                self.give(again)
                self._tries = tries
                return None
            if self._end is None and not self._judged and own_limits():  # the other tasks would fail in the same way
                raise MemoryError(
                    "every process that judges claims ended before it judged its first claim; the last one ended by "
                    f"{by}"
                ) from None
            return self._failed(f"the process ended by itself ({by})")
        if said == "trial":
            if self._end is None:
                self._end = _clock() + self._most
            self._place = (more[0], more[1])
            self._allow(self._limit)
            return None
        task, self.task = self.task, None
        self._judged += 1
        if said == "error":
            return Judged(task, _failure(task, *self._place, _clock() - self._begun, more[0]))
        return Judged(task, *more)

    def late(self) -> Judged | None:
        """The verdict "failed", if a trial or the task has exceeded its time limit; otherwise None."""
        now = _clock()
        if self._end is not None and now >= self._end:
            return self._failed(f"stopped after {self._most:g} s", late=True)
        if now < self.deadline:
            return None
        return self._failed(f"stopped after {self._allowed:g} s without a result", late=True)

    def _allow(self, seconds: float) -> None:
        self._allowed, self.deadline = seconds, _clock() + seconds

    def _failed(self, reason: str, late: bool = False) -> Judged:
        task, self.task = self.task, None
        assert task is not None
        self.stop()
        return Judged(task, _failure(task, *self._place, _clock() - self._begun, reason), late=late)

    def dismiss(self) -> None:
        """End the process. If the process has no task, it may leave its context first."""
        if self._process is not None and self.task is None:
            self.end.close()
            self._process.join(_PARTING)
        self.stop()

    def stop(self) -> None:
        """End the process, even if it is busy."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self.end.close()
            self._process = None


def _failure(task: JudgingTask, setting: dict, number: int | None, seconds: float, reason: str) -> Verdict:
    """The verdict `failed` on a claim whose trials were stopped. The reason names trial, seed and setting."""
    setting = setting or task.claim.population.settings().default
    trial = "before the first trial" if number is None else f"in trial {number}"
    if number is not None and task.claim.traced:
        trial = f"in the compiled call that starts with trial {number}"
    values = "".join(f", {name}={value}" for name, value in setting.items())
    reason = f"{reason}, {trial} (seed {task.seed}{values})"
    facts = (task.claim.name, task.claim.source, setting, task.seed, task.level, task.budget or 0, number or 0)
    return Verdict(*facts, seconds, Status.FAILED, reason)


def _judged(task: JudgingTask, run: Run, told: Callable[[dict, int], None] = lambda setting, number: None):
    """Judge a claim in this process. Before each trial or compiled call, pass its setting and number to `told`."""
    amiss = []

    def watched(claim: Claim, setting: dict, trials: int, seed: int, executor: Any, progress: Callable) -> Trials:
        def moved(done: int, total: int) -> None:
            if claim.traced:
                told(setting, done)
            progress(done, total)

        told(setting, 0)
        with _Announced(setting, told) as own:
            given = (claim, setting, trials, seed, None if claim.traced else own, moved)
            try:
                return run(*given)
            except DataError as error:  # errors of the ledger only, because an error of a claim is already a verdict
                amiss.append(str(error))
                return run_trials(*given)

    verdict = verify(task.claim, **task.options, progress=False, run=watched)
    return Judged(task, verdict, amiss[0] if amiss else "")


class _Announced(ThreadPoolExecutor):
    """A thread that announces the number of each trial before it runs the trial."""

    def __init__(self, setting: dict, told: Callable[[dict, int], None]):
        super().__init__(1)
        self._setting, self._told = setting, told

    def submit(self, fn: Callable, /, *args: Any, **options: Any) -> Future:
        """Run one trial, given by claim, setting, seed, number, and whether float64 is on."""

        def announced() -> Any:
            self._told(self._setting, args[3])
            return fn(*args, **options)

        return super().submit(announced)


def _serve(end: Connection, run: Run, around: Callable, place: tuple[int, int]) -> None:
    """Judge claims until the other end of the connection is closed. Text that the claims print goes to stderr."""
    ignore_interruption()
    sys.stdout = sys.stderr
    threading.Thread(target=end_with_parent, daemon=True).start()
    lock = threading.Lock()

    def say(*words: Any) -> None:
        with lock:
            end.send(words)

    share_cores(max(1, (os.cpu_count() or 1) // place[1]), place[0])
    jax.config.update("jax_enable_x64", True)
    with warnings.catch_warnings(), around():
        warnings.simplefilter("ignore", EntryPointWarning)
        while True:
            try:
                found, options = end.recv()  # this imports the section of the claim, and no other section
            except LemmataError:  # an error of the section itself, which may also be an OSError
                raise
            except (EOFError, OSError):
                return
            try:
                claim = received(found)
                for asked in (fingerprint_of, trials_print_of):
                    asked(claim)  # a ledger needs these digests; the time to compute them is not part of a trial
                done = _judged(JudgingTask(claim, **options), run, lambda *place: say("trial", *place))
                say("verdict", done.verdict, done.unrecorded)
            except (Exception, SystemExit) as error:
                say("error", line_of(error))
