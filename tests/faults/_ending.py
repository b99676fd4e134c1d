"""Runs that are ended: killed, interrupted, told to stop."""

import random
import shutil
import signal
from collections.abc import Callable, Iterator

from tests.faults.commands import Command
from tests.faults.holds import BY_KILL, INTERRUPTED, amiss, lost, names, torn
from tests.faults.world import Ended, World

KILLED = (
    "The process is killed (SIGKILL) at various moments, half of them while it writes. Each result is complete and "
    "from a single run, no recorded trial or verdict is lost, and the next run removes the drafts of the killed "
    "run."
)
SIGNALLED = (
    "{} reaches the process in each phase: start, loading, computing, writing, ending. The process ends in time, "
    "without a traceback, and leaves no processes behind. Its exit code is 128 plus the number of the signal, "
    "or the code of the work that it has finished."
)
_REAL = 4
"""Every so many kills one is real. The others are copies of the folder at the moment: a killed process leaves that."""


def killed(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """At moments that are drawn, half of them moments of writing where there are so many."""
    clean, draw = world.clean(command.name), random.Random(seed)
    moments = [one for one in clean.moments if one.kind != "end"]
    writing = [one for one in moments if one.write is not None]
    chosen = {one.number for one in draw.sample(writing, min(len(writing), most // 2))}
    others = [one.number for one in moments if one.number not in chosen]
    chosen |= set(draw.sample(others, min(len(others), most - len(chosen))))
    copied = sorted(chosen)
    real = draw.sample(copied, min(len(copied), max(1, most // _REAL)))
    if copied:
        yield from _copied(world, command, copied, draw)
    for number in real:
        with world.trial(command) as folder:
            ended = world.run(command, folder, plan={"at": {number: ["signal", signal.SIGKILL]}})
            yield f"moment {number}", _after_kill(world, command, ended)
    for _ in range(max(0, most - len(copied)) // _REAL):
        after = draw.uniform(0.02, 0.98) * clean.seconds
        with world.trial(command) as folder:
            ended = world.run(command, folder, signals=[[after, signal.SIGKILL]])
            yield f"after {after / clean.seconds:.0%} of its time", _after_kill(world, command, ended)


def _after_kill(world: World, command: Command, ended: Ended) -> list[str]:
    return amiss(world, command, ended, {*BY_KILL, command.clean}, quiet=ended.code in BY_KILL)


def _copied(world: World, command: Command, numbers: list[int], draw: random.Random) -> Iterator[tuple[str, list[str]]]:
    """What a process that is killed at moments would leave: the folder at that moment, copied in a single run.

    One of the copies is run in again: what the killed run left is gone then.
    """
    with world.trial(command) as folder:
        copies = folder.parent / "copies"
        plan = {"at": {number: ["copy", str(copies / str(number))] for number in numbers}}
        ended = world.run(command, folder, plan=plan)
        found = [(number, copies / str(number)) for number in numbers if (copies / str(number)).exists()]
        for number, copy in found:
            yield (
                f"copy at moment {number}",
                torn(world, command, copy) + lost(command, ended._replace(folder=copy, out="")),
            )
        if not found or not (command.results or command.ledger):
            return
        known = names(world.clean(command.name).folder)
        left = [copy for _, copy in found if names(copy) - known] or [draw.choice(found)[1]]
        again = folder.parent / "again"
        shutil.copytree(draw.choice(left), again, symlinks=True)
        ended = world.run(command, again)
        yield "run again", amiss(world, command, ended, (command.clean,))


def signalled(number: signal.Signals) -> Callable[[World, Command, int, int], Iterator[tuple[str, list[str]]]]:
    """Attempts with this signal, one in each phase; a second at some moment of writing."""

    def attempts(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
        clean, draw = world.clean(command.name), random.Random(seed)
        phases = [*phases_of(clean, draw).items()]
        for phase, moment in draw.sample(phases, min(most, len(phases))):
            with world.trial(command) as folder:
                if phase == "computing":
                    own = {"signals": [[moment, number]]}
                else:
                    own = {"plan": {"at": {moment: ["signal", number]}}}
                ended = world.run(command, folder, **own)
                codes = {*INTERRUPTED, command.clean} | ({-number} if phase == "ending" else set())
                yield f"{phase} ({moment:.3g})", amiss(world, command, ended, codes)
        if command.jobs:
            yield "with --jobs 2", _with_processes(world, command, number, draw)

    return attempts


def _with_processes(world: World, command: Command, number: signal.Signals, draw: random.Random) -> list[str]:
    """The signal reaches the first of several processes; the others end as well."""
    words = [*command.words, *command.new, "--jobs", "2"]
    after = draw.uniform(0.2, 0.8) * world.clean(command.name).seconds
    with world.trial(command) as folder:
        ended = world.run(command, folder, words=words, signals=[[after, number]])
        return amiss(world, command, ended, {*INTERRUPTED, command.clean})


def phases_of(clean: Ended, draw: random.Random) -> dict[str, float]:
    """A moment of each phase; of computing, seconds."""
    moments = clean.moments
    number = lambda kinds: [one.number for one in moments if one.kind in kinds]
    opened, said = number(("open",)), number(("say",))
    writing = [one for one in moments if one.write is not None]
    late = [one for one in writing if one.seconds > 0.5 * clean.seconds] or writing
    found: dict[str, float] = {"start": 0}
    if opened:
        found["loading"] = opened[0]
    found["computing"] = draw.uniform(0.2, 0.8) * clean.seconds
    if late:
        found["writing"] = draw.choice(late).number
        found["between writings"] = late[len(late) // 2].number
    if said:
        found["saying"] = said[-1]
    found["ending"] = moments[-1].number
    return found
