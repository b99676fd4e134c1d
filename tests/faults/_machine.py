"""Small memories, terminals of other encodings, streams that take nothing, files beside the data."""

import os
import pathlib
import random
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.faults.commands import Command
from tests.faults.holds import amiss
from tests.faults.world import DEADLINE, ROOT, Ended, World

MEMORY = "The address space is limited (RLIMIT_AS). The run ends with an answer, or says that memory is missing."
TERMINALS = "The terminal has another encoding (cp1252, latin-1, ascii). The answer and the exit code do not change."
STREAMS = (
    "The output has no reader: stdout is closed, stdout and stderr are closed, the reader has left, or the disk is "
    "full. Results are written, and the exit code shows if the answer could not be printed."
)
MODULES = (
    "The current folder contains files with the names of Python's modules. None of them is executed, and the answer "
    "does not change."
)
_SHADOWED = (
    "signal", "threading", "json", "random", "statistics", "queue", "subprocess", "sqlite3", "secrets", "tempfile",
    "numpy", "polars", "jax", "sklearn", "sitecustomize", "usercustomize",
)  # fmt: skip
_MIB = 2**20


def memory(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Limits above what the process has when it starts."""
    draw = random.Random(seed)
    for more in draw.sample((128, 512, 1024, 2048, 3072), min(most, 5)):
        with world.trial(command) as folder:
            ended = world.run(command, folder, memory=_held(world) + more * _MIB)
            yield f"{more} MiB more", amiss(world, command, ended, {command.clean, 2, 4})


def _held(world: World) -> int:
    """Bytes of address space that the server has."""
    pages = pathlib.Path(f"/proc/{world.server.pid}/statm").read_text().split()[0]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def terminals(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Each encoding."""
    draw = random.Random(seed)
    for encoding in draw.sample(("cp1252", "latin-1", "ascii"), min(most, 3)):
        with world.trial(command) as folder:
            ended = world.run(command, folder, encoding=encoding, environment={"PYTHONIOENCODING": encoding})
            yield encoding, amiss(world, command, ended, {command.clean})


def streams(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Each way in which nobody reads."""
    draw = random.Random(seed)
    ways = {
        "stdout closed": ({"stdout": "closed"}, {command.clean}),
        "all closed": ({"stdout": "closed", "stderr": "closed"}, {command.clean}),
        "the reader has left": ({"stdout": "gone"}, {141}),
        "stdout is full": ({"stdout": "/dev/full"}, {2, 4}),
        "stderr is full": ({"stderr": "/dev/full"}, {command.clean, 2, 4}),
    }
    for name in draw.sample([*ways], min(most, len(ways))):
        own, codes = ways[name]
        with world.trial(command) as folder:
            yield name, amiss(world, command, world.run(command, folder, **own), codes, quiet=True)


def modules(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """A start of `lemmata` of its own, since a forked process has imported the modules; with processes where it can."""
    with world.trial(command) as folder:
        for name in _SHADOWED:
            text = (
                f"import pathlib\npathlib.Path({str(folder)!r}, 'fault-{name}').touch()\nraise ImportError('{name}')\n"
            )
            (folder / f"{name}.py").write_text(text)
        words = [*command.words, *command.new, *(("--jobs", "2") if command.jobs else ())]
        if command.patches:
            words = ["map"]
        ended = started(folder, words)
        marks = sorted(path.name for path in folder.glob("fault-*"))
        found = [f"executed {', '.join(marks)}"] if marks else []
        yield "real start", found + amiss(world, command, ended, {command.clean}, quiet=True, whole=False)


def started(folder: pathlib.Path, words: list[str], **environment: str) -> Ended:
    """A start of the installed command in a folder."""
    own = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "LEMMATA_DATA_DIR": str(folder / "data"), **environment}
    program = pathlib.Path(sys.executable).with_name("lemmata")
    began = time.monotonic()
    found = subprocess.run(
        [str(program), *words], cwd=folder, env=own, capture_output=True, text=True, errors="replace", timeout=DEADLINE,
        stdin=subprocess.DEVNULL,
    )  # fmt: skip
    seconds = time.monotonic() - began
    return Ended(folder, found.returncode, False, seconds, 0.0, [], found.stdout, found.stderr, [])
