"""The faults of the table. Each gives attempts on a command: a label, and what does not hold."""

import dataclasses
import signal
from collections.abc import Callable, Iterator

from tests.faults import _code, _disk, _ending, _inputs, _machine, _together
from tests.faults.commands import Command
from tests.faults.world import World

Attempts = Iterator[tuple[str, list[str]]]


@dataclasses.dataclass(frozen=True)
class Fault:
    """A column of the table.

    Args:
        name: its head.
        what: what is done, and what must hold, for the page.
        attempts: of a command; with how many are asked for and a seed, where they are drawn.
        parts: into how many tests the attempts on a command are divided.
        most: attempts of a part.
        spared: why the fault does not apply to a command; empty where it does.
    """

    name: str
    what: str
    attempts: Callable[[World, Command, int, int], Attempts]
    spared: Callable[[Command], str] = lambda command: ""
    parts: int = 1
    most: int = 8


TABLE = (
    Fault("killed", _ending.KILLED, _ending.killed, parts=5, most=10),
    Fault("Ctrl-C", _ending.SIGNALLED.format("SIGINT"), _ending.signalled(signal.SIGINT)),
    Fault("SIGTERM", _ending.SIGNALLED.format("SIGTERM"), _ending.signalled(signal.SIGTERM)),
    Fault("SIGHUP", _ending.SIGNALLED.format("SIGHUP"), _ending.signalled(signal.SIGHUP)),
    Fault("full disk", _disk.FULL, _disk.full, _disk.writes_nothing),
    Fault("read-only", _disk.CLOSED, _disk.closed, _disk.touches_nothing),
    Fault("memory", _machine.MEMORY, _machine.memory),
    Fault("terminals", _machine.TERMINALS, _machine.terminals),
    Fault("streams", _machine.STREAMS, _machine.streams),
    Fault("modules", _machine.MODULES, _machine.modules),
    Fault("links", _inputs.LINKS, _inputs.links, _inputs.names_no_file),
    Fault("pipes", _inputs.PIPES, _inputs.pipes, _inputs.names_no_file),
    Fault("names", _inputs.NAMES, _inputs.odd_names, _inputs.names_no_file),
    Fault("damaged", _inputs.DAMAGED, _inputs.damaged, _inputs.reads_nothing, parts=4, most=5),
    Fault("user's code", _code.CODE, _code.leaving, _code.runs_none, parts=4, most=5),
    Fault("nothing to do", _code.NOTHING, _code.nothing),
    Fault("two at once", _together.TOGETHER, _together.together, _together.alone),
)
FAULTS = {fault.name: fault for fault in TABLE}
