"""The processes of `--jobs` against loky and Dask's LocalCluster, on the same tasks in one run.

`python benchmarks/engines.py [turns]` prints ratios of times, of medians over turns in which the engines take their
turns one after the other: below 1 means that `lemmata.workers.Processes` is faster. Every time includes the start and
the end of the processes, as a command has it; this file imports no claims at its head, as the command does not. It also
prints what each engine loses where a task ends its process once.
"""

import contextlib
import dataclasses
import os
import pathlib
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator

from lemmata.workers import Lost, Processes, finished, share_cores

JOBS, TURNS, CLAIMS, SMALL = 2, 3, 4, 2000


@contextlib.contextmanager
def processes():
    """Those of `--jobs`."""
    with Processes(JOBS) as executor:
        yield executor


@contextlib.contextmanager
def loky():
    """Those of joblib's loky, with as many threads each."""
    from joblib.externals.loky import ProcessPoolExecutor

    with ProcessPoolExecutor(JOBS, initializer=share_cores, initargs=(threads(), 0)) as executor:
        yield executor


@contextlib.contextmanager
def cluster():
    """Dask's workers on this machine, each with a nanny, and with as many threads each for JAX."""
    from distributed import Client, LocalCluster

    own = LocalCluster(n_workers=JOBS, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50)
    with own, Client(own) as client, client.get_executor(pure=False) as executor:
        client.run(share_cores, threads(), 0)
        executor._max_workers = JOBS
        yield executor


ENGINES = {"": processes, "loky": loky, "LocalCluster": cluster}


def threads() -> int:
    return max(1, (os.cpu_count() or 1) // JOBS)


def started(executor) -> list:
    return [dict(finished(executor, divmod, [(number, (number, 7)) for number in range(JOBS)]))]


def small(executor) -> list:
    return [dict(finished(executor, divmod, [(number, (number, 7)) for number in range(SMALL)]))]


def judged(executor) -> list:
    """Claims as `lemmata judge --dask` and `verify --jobs` send them: spread over the catalogue, the longest first."""
    from lemmata.engine.catalogue import costs
    from lemmata.engine.claims import registry, verdicts_of

    names = sorted(registry())
    taken = [names[place * len(names) // CLAIMS] for place in range(CLAIMS)]
    taken.sort(key=lambda name: -costs()[type(registry()[name]).__name__])
    found = verdicts_of([registry()[name] for name in taken], 0, executor, progress=False)
    return sorted((own.name, str(own.status)) for own in found)


def studied(executor) -> list:
    """The learning curve of a study's model, split by split."""
    from lemmata.interfaces.python import load
    from lemmata.options import StudyOptions
    from lemmata.workflows.studies._measure import measure
    from lemmata.workflows.studies._models import models

    dataset = load("diabetes", StudyOptions(quick=True))
    (model,) = models(["relu-1"], dataset.x, dataset.task)
    found = measure(model, dataset, 0, True, executor=executor)
    return sorted((str(unit), losses.sizes.tolist()) for unit, losses in found.losses.items())


def ends_once(number: int, mark: str) -> int:
    """The square; the fourth task ends its process where none has done so before."""
    if number == 3 and not pathlib.Path(mark).exists():
        pathlib.Path(mark).touch()
        os._exit(1)
    return number**2


def lost(engine) -> int:
    """How many of forty tasks an engine loses where one of them ends its process."""
    with tempfile.TemporaryDirectory() as folder, engine() as executor:
        given = [(number, (number, f"{folder}/mark")) for number in range(40)]
        return sum(isinstance(value, Lost) for _, value in finished(executor, ends_once, given))


LOADS = {
    f"start and end of {JOBS} processes": started, f"{SMALL} tasks of no length": small,
    f"verify {CLAIMS} claims": judged, "a learning curve": studied,
}  # fmt: skip


TOY = {
    "TURNS": 1, "SMALL": 4, "ENGINES": {"": processes, "loky": loky}, "LOADS": {"4 tasks of no length": small},
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Took:
    """Seconds on the clock and of processors, of this process and those that it waited for."""

    clock: float
    processor: float
    answer: list


def used() -> float:
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(own.ru_utime + own.ru_stime for own in both)


def took(engine: Callable, load: Callable) -> Took:
    begun, before = time.perf_counter(), used()
    with engine() as executor:
        answer = load(executor)
    return Took(time.perf_counter() - begun, used() - before, answer)


def rows(turns: int | None = None) -> Iterator[tuple[str, str, float]]:
    """What, peer, ratio of median seconds, load by load."""
    import jax

    jax.config.update("jax_enable_x64", True)
    with contextlib.suppress(ImportError):
        import distributed  # noqa: F401  (its import is no part of the times; that in the workers is)
    for what, load in LOADS.items():
        runs = [{name: took(engine, load) for name, engine in ENGINES.items()} for _ in range(turns or TURNS)]
        assert all(own.answer == runs[0][""].answer for turn in runs for own in turn.values()), what
        for measured in ("clock", "processor"):
            median = {name: statistics.median(getattr(turn[name], measured) for turn in runs) for name in ENGINES}
            for name in filter(None, ENGINES):
                yield f"{what}, {measured}, {median['']:.2f} s", name, median[""] / median[name]


def main() -> list[tuple[str, str, float]]:
    """Rows (what, peer, ratio of median seconds: below 1 means that `Processes` is faster)."""
    return list(rows())


if __name__ == "__main__":
    for what, peer, ratio in rows(*map(int, sys.argv[1:])):
        print(f"{what}: {ratio:.2f} of the time of {peer}", flush=True)
    for name, engine in ENGINES.items():
        print(f"{lost(engine)} of 40 tasks lost with {name or 'Processes'} where one ends its process once", flush=True)
