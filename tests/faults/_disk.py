"""Disks that are full, and folders that nothing can be written to."""

import contextlib
import pathlib
import random
import shutil
import subprocess
from collections.abc import Iterator

from tests.faults.commands import Command
from tests.faults.holds import amiss
from tests.faults.world import Ended, World

FULL = (
    "The disk becomes full while the command writes, or has only a few kB left (a small file system). Either the "
    "earlier results or the new results are there, the exit code is not 0, and the computed results are printed."
)
CLOSED = "The folder cannot be written to. The run says so, and commands that only read still work."
_ROOM = (0, 4, 16, 64, 256)
"""Kibibytes that are left."""


def writes_nothing(command: Command) -> str:
    """Why no disk can be too full for a command."""
    return "" if command.results or command.ledger else "the command does not write a file"


def touches_nothing(command: Command) -> str:
    """Why a closed folder is nothing to a command."""
    return (
        ""
        if command.results or command.ledger or command.data
        else "the command does not write a file, and does not read a file of the user"
    )


def full(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """From drawn moments of writing on, and on small file systems."""
    clean, draw = world.clean(command.name), random.Random(seed)
    writing = [one.write for one in clean.moments if one.kind in ("create", "os.rename", "os.mkdir", "fsync")]
    for write in draw.sample(writing, min(len(writing), (most + 1) // 2)):
        with world.trial(command) as folder:
            ended = world.run(command, folder, plan={"full": write})
            yield f"from write {write} on", _after(world, command, ended)
    for room in draw.sample(_ROOM, min(len(_ROOM), max(1, most // 2))):
        with world.trial(command) as folder, small_disk(folder, room) as own:
            ended = world.run(command, folder, **own)
            yield f"{room} kB left", _after(world, command, ended)


def _after(world: World, command: Command, ended: Ended) -> list[str]:
    codes = {command.clean, 2, 4}
    found = amiss(world, command, ended, codes)
    computed = "Writing the report" in ended.err
    if computed and ended.code != command.clean and len(ended.out) < 200:
        found.append("what was computed is not printed")
    return found


@contextlib.contextmanager
def small_disk(folder: pathlib.Path, room: int) -> Iterator[dict]:
    """The folder on a file system of its own with so many kibibytes left; else files of at most that size."""
    used = folder.with_name("used")
    folder.rename(used)
    folder.mkdir()
    size = sum(-(-path.stat().st_size // 4096) * 4 for path in used.rglob("*") if path.is_file()) + 4
    command = ["mount", "-t", "tmpfs", "-o", f"size={size + room}k", "tmpfs", str(folder)]
    mounted = bool(shutil.which("mount")) and subprocess.run(command, capture_output=True).returncode == 0
    try:
        shutil.copytree(used, folder, symlinks=True, dirs_exist_ok=True)
        yield {} if mounted else {"file_size": room * 1024}
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=True)


def closed(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Everything below the folder may be read alone."""
    with world.trial(command) as folder:
        for path in (folder, *folder.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o555 if path.is_dir() else 0o444)
        ended = world.run(command, folder, obeys=True)
        reads = not command.results and not command.ledger
        codes = {command.clean} if reads else {2, 4}
        yield "no right to write", amiss(world, command, ended, codes)
        for path in (folder, *folder.rglob("*")):
            if path.is_dir():
                path.chmod(0o755)
