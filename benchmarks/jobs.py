"""`verify` of a share of the catalogue on two processes against one, in one run, each with its share of the cores.

`python benchmarks/jobs.py [claims] [jobs] [turns]` prints the ratio of their times, best of the turns: on the clock,
which says on an idle machine how much sooner two processes are done, and of processors, which says on a busy one what
the second process costs. One process has all cores, which JAX and BLAS use where they can, or a single one. All runs
are in processes that have loaded the claims.
"""

import os
import sys
import time

import jax

from lemmata.engine.catalogue import costs
from lemmata.engine.claims import registry, verdicts_of
from lemmata.workers import Processes, finished

CLAIMS, JOBS, TURNS = 40, 2, 2
TOY = {"CLAIMS": 1, "JOBS": 1, "TURNS": 1}


def share(count: int) -> list:
    """A fixed share: claims that are evenly spread over the catalogue, the longest first, as `--jobs` begins them."""
    names = sorted(registry())
    taken = [names[place * len(names) // count] for place in range(count)]
    return [registry()[name] for name in sorted(taken, key=lambda name: -costs()[type(registry()[name]).__name__])]


def warm(number: int) -> int:
    """Load the claims and start JAX."""
    registry()
    jax.numpy.zeros(2).sum().block_until_ready()
    return number


def times(jobs: int, count: int, cores: set[int]) -> tuple[float, float, dict]:
    """Seconds on the clock and of processors, and the verdicts; processes inherit the cores of this one."""
    os.sched_setaffinity(0, cores)
    with Processes(jobs) as executor:
        dict(finished(executor, warm, [(number, (number,)) for number in range(4 * jobs)]))
        begun, used = time.perf_counter(), processor(executor)
        found = {own.name: own.status for own in verdicts_of(share(count), 0, executor)}
        return time.perf_counter() - begun, processor(executor) - used, found


def processor(executor: Processes) -> float:
    """Seconds of processors that the processes have used, from Linux's table."""
    total = 0.0
    for child in executor._children.values():
        with open(f"/proc/{child.process.pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def main(count: int | None = None, jobs: int | None = None, turns: int | None = None) -> list[tuple[str, str, float]]:
    """Rows (what, peer, ratio of seconds: below 1 means that several processes are faster)."""
    count, jobs, turns = count or CLAIMS, jobs or JOBS, turns or TURNS
    jax.config.update("jax_enable_x64", True)
    cores = os.sched_getaffinity(0)
    kinds = {"": (jobs, cores), "one process": (1, cores), "one process on one core": (1, {min(cores)})}
    runs = [{kind: times(own, count, allowed) for kind, (own, allowed) in kinds.items()} for _ in range(turns)]
    verdicts = [own[2] for turn in runs for own in turn.values()]
    assert all(own == verdicts[0] for own in verdicts), "verdicts depend on the number of processes"
    rows = []
    for place, what in enumerate(("clock", "processor")):
        best = {kind: min(turn[kind][place] for turn in runs) for kind in kinds}
        named = f"verify {count} claims on {jobs} processes, {what}"
        rows += [(named, kind, best[""] / own) for kind, own in best.items() if kind]
    return rows


if __name__ == "__main__":
    for what, peer, ratio in main(*map(int, sys.argv[1:])):
        print(f"{what}: {1 / ratio:.2f} times as fast as {peer}")
