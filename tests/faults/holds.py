"""What must hold after a fault, whatever the fault is."""

import contextlib
import json
import pathlib
import re
import sqlite3
from collections.abc import Collection

from lemmata.results import finish
from tests.faults.commands import Command
from tests.faults.world import Ended, World

UNTOLD = ("Traceback (most recent call last)", "Fatal Python error", "Exception ignored in", "Exception in thread")
"""What no user is to read."""
INTERRUPTED = (130, 143, 129)
"""After Ctrl-C; after SIGTERM and SIGHUP, as shells count."""
BY_KILL = (-9, 137)
"""Of a process that was killed, and of one that waited for it."""
_LEFT_OUT = 3
"""The exit code that says that claims were left out, or that nothing is decided."""
_SIGNALS = (1, 2, 15)
"""Of these a process may die that has done everything and only has to leave."""
_UNFINISHED = re.compile(r"(^|/)(data|kept|__pycache__)(/|$)|-(wal|shm|journal)$|\.lemmata-[^/]*\.lock$")
"""Files that are neither results nor drafts: those of Python and of the ledger, and locks, which end with their process
whether or not the file is removed."""


def amiss(
    world: World, command: Command, ended: Ended, codes: Collection[int], quiet: bool = False, whole: bool = True
) -> list[str]:
    """What does not hold, in words.

    Args:
        world: knows what the command does without a fault.
        command: what was run.
        ended: how it ended.
        codes: exit codes that are right after this fault.
        quiet: whether nothing needs to be read, since nothing can be written there.
        whole: whether the results are looked at.
    """
    found = []
    if ended.late:
        found.append("did not end")
    over = bool(ended.moments) and ended.moments[-1].kind == "end"
    if ended.code not in codes and not (over and -ended.code in _SIGNALS):
        found.append(f"exit code {ended.code} instead of {' or '.join(map(str, sorted(codes)))}")
    found += [f"says {words!r}: {_around(ended.err, words)}" for words in UNTOLD if words in ended.err + ended.out]
    if ended.orphans:
        found.append(f"left {len(ended.orphans)} processes: {ended.orphans[0]}")
    done = ended.code == command.clean
    unanswered = command.says not in ended.out and (ended.code < _LEFT_OUT or not (ended.out + ended.err).strip())
    if done and not quiet and unanswered:
        found.append(f"exit code {ended.code} without an answer")
    if not done and ended.code >= 0 and not quiet and not (ended.err.strip() or ended.out.strip()):
        found.append(f"exit code {ended.code} without a word")
    if whole:
        found += torn(world, command, ended.folder, new=done)
        found += lost(command, ended)
        if ended.code not in BY_KILL:
            found += drafts(world, command, ended.folder)
    return found


def _around(text: str, words: str) -> str:
    last = [line for line in text[text.find(words) :].splitlines() if line.strip()][-1:]
    return last[0][:150] if last else ""


def version(command: Command, path: pathlib.Path, world: World) -> str:
    """Of which run a result is: "old", "new", "none" where there is no file, "torn" where it is of neither."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return "none"
    if command.marks is None:
        return "new" if content else "torn"
    with contextlib.suppress(UnicodeDecodeError, ValueError):
        text = content.decode()
        if path.suffix == ".json":
            json.loads(text)
        if path.suffix == ".html" and "</html>" not in text[-40:]:
            return "torn"
        if path.suffix == ".py":
            compile(text, path.name, "exec")
        for name, mark in zip(("old", "new"), command.marks, strict=True):
            if mark in text:
                return name
    return "torn"


def torn(world: World, command: Command, folder: pathlib.Path, new: bool = False) -> list[str]:
    """Results that are not whole, or not of one run; that are not new although the run says that it is done."""
    settle(folder)
    versions = {name: version(command, folder / name, world) for name in command.results}
    kinds = set(versions.values())
    told = ", ".join(f"{name} {kind}" for name, kind in versions.items())
    if "torn" in kinds or (command.together and len(kinds) > 1):
        return [f"results of several runs: {told}"]
    return [f"done, but: {told}"] if new and kinds - {"new"} else []


def settle(folder: pathlib.Path) -> None:
    """What the next command that reads or writes a result does: it finishes one whose files were being moved."""
    for path in folder.rglob(".lemmata-*.whole"):
        finish(path.parent, path.name.removeprefix(".lemmata-").rpartition("-")[0])


def lost(command: Command, ended: Ended) -> list[str]:
    """Rows of the ledger that are lost: those of the first run, and the verdict that this one has told."""
    path = ended.folder / "kept/ledger.sqlite"
    if not command.ledger:
        return []
    if not path.exists():
        return ["the ledger is gone"]
    with contextlib.closing(sqlite3.connect(path)) as connection:
        try:
            if (state := connection.execute("PRAGMA integrity_check").fetchone()[0]) != "ok":
                return [f"the ledger is damaged: {state}"]
            count = lambda table: dict(connection.execute(f"SELECT seed, count(*) FROM {table} GROUP BY seed"))
            trials, verdicts = count("trials"), count("verdicts")
        except sqlite3.DatabaseError as error:
            return [f"the ledger cannot be read: {error}"]
    found = []
    if not trials.get(5):
        found.append("the first run's trials are lost")
    judges = command.verb in ("verify", "judge")
    if judges and not verdicts.get(5):
        found.append("the first run's verdict is lost")
    told = "square" in ended.out and command.says in ended.out
    if judges and told and not verdicts.get(7) and "not recorded" not in ended.out + ended.err:
        found.append("a verdict that was told is not in the ledger")
    return found


def names(folder: pathlib.Path) -> set[str]:
    """The files of a folder, without those of the ledger and Python's own."""
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir())
    return {name for name in found if not _UNFINISHED.search(name)}


def drafts(world: World, command: Command, folder: pathlib.Path) -> list[str]:
    """Files that neither stood there before nor are results."""
    known = names(world.before(command.name)) | names(world.clean(command.name).folder)
    left = sorted(name for name in names(folder) - known if not name.startswith("fault"))
    return [f"left {len(left)} files: {', '.join(left[:3])}"] if left else []
