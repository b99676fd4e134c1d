"""Files that are links, pipes or devices, have names of other encodings, or are damaged."""

import json
import os
import pathlib
import random
import shutil
from collections.abc import Iterator
from typing import Any

from tests.faults.commands import Command
from tests.faults.holds import amiss
from tests.faults.world import World

LINKS = (
    "Results, the ledger or an input are links: to another user's file, to themselves, or to nothing. The other "
    "user's file does not change."
)
PIPES = "An input, the ledger or a result is a folder, /dev/zero, or a pipe that nobody writes to. The run ends."
NAMES = "Inputs, the folder and --out have names that are not UTF-8."
DAMAGED = (
    "The input is damaged: some bytes are changed, the file is cut short, or a field has another type or is null, huge "
    "or nested 100,000 deep."
)
_PRECIOUS = b"the work of somebody else\n"
_ODD = b"f\xff\xfe \xe9"


def names_no_file(command: Command) -> str:
    """Why no file of the user's can be of another kind."""
    if command.results or command.ledger or command.data or command.program:
        return ""
    return "the command does not read or write a file of the user"


def reads_nothing(command: Command) -> str:
    """Why nothing can be damaged."""
    return "" if command.data or command.program or command.ledger else "the command does not read a file of the user"


def _files(command: Command) -> list[str]:
    """What a command reads."""
    found = [name for name in (command.data, command.program) if name]
    return [*found, *(["kept/ledger.sqlite"] if command.ledger else [])]


def links(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Each place where a link may stand."""
    draw = random.Random(seed)
    places = [(name, "results") for name in command.results[:2]] + [(name, "loop") for name in _files(command)]
    if command.ledger:
        places += [("kept/ledger.sqlite", "other"), ("kept/ledger.sqlite", "nothing")]
    for name, kind in draw.sample(places, min(most, len(places))):
        with world.trial(command) as folder:
            other, path = folder.parent / "other", folder / name
            other.write_bytes(_PRECIOUS)
            path.unlink(missing_ok=True)
            path.symlink_to({"loop": path.name, "nothing": "fault-absent"}.get(kind, other))
            ended = world.run(command, folder)
            codes = {"loop": {2}, "nothing": {command.clean, 2}, "other": {2}}.get(kind, {command.clean, 2})
            found = amiss(world, command, ended, codes, whole=kind == "results" and ended.code == command.clean)
            if other.read_bytes() != _PRECIOUS:
                found.append("the file behind the link was changed")
            yield f"{name}: {kind}", found


def pipes(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Each kind of thing in the place of each file."""
    draw = random.Random(seed)
    kinds = ("pipe", "zero", "folder")
    places = [(name, kind) for name in _files(command) for kind in kinds]
    places += [(name, kind) for name in command.results[:2] for kind in ("pipe", "folder")]
    for name, kind in draw.sample(places, min(most, len(places))):
        with world.trial(command) as folder:
            path = folder / name
            path.unlink(missing_ok=True)
            {"pipe": os.mkfifo, "folder": pathlib.Path.mkdir}.get(kind, lambda one: one.symlink_to("/dev/zero"))(path)
            ended = world.run(command, folder)
            replaced = name in command.results and kind == "pipe"
            codes = {command.clean, 2, 4} if name in command.results else {2}
            found = amiss(world, command, ended, codes, whole=replaced and ended.code == command.clean)
            yield f"{name}: {kind}", found


def odd_names(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """The folder, and every word that names a file in it."""
    with world.trial(command, name=_ODD) as folder:
        yield "folder", amiss(world, command, world.run(command, folder), {command.clean})
    with world.trial(command) as folder:
        odd = os.fsdecode(_ODD)
        words = []
        for word in (*command.words, *command.new):
            name, colon, rest = word.partition(":")
            path = folder / name
            if word in ("out", "site"):
                word = odd
            elif path.is_file():
                shutil.copy(path, folder / f"fault{odd}{path.suffix}")
                word = f"fault{odd}{path.suffix}{colon}{rest}"
            words.append(word)
        ended = world.run(command, folder, words=words)
        shutil.rmtree(folder / odd, ignore_errors=True)
        yield "words", amiss(world, command, ended, {command.clean, 2}, whole=False)


def damaged(world: World, command: Command, most: int, seed: int) -> Iterator[tuple[str, list[str]]]:
    """Drawn edits of each file that is read."""
    draw = random.Random(seed)
    files = _files(command)
    for number in range(most):
        name = files[number % len(files)]
        with world.trial(command) as folder:
            path = folder / name
            edit, content = damage(path.read_bytes(), path.suffix, draw)
            path.write_bytes(content)
            ended = world.run(command, folder)
            codes = {command.clean, *command.codes} - ({0} if command.clean else set())
            found = amiss(world, command, ended, codes, quiet=True, whole=False)
            yield f"{name}: {edit}", found


_VALUES = ("null", "1e999", "-1e308", "9" * 400, '"\\ud800"', "[]", "{}", "true", '"' + "x" * 10**5 + '"', "DEEP")


def damage(content: bytes, suffix: str, draw: random.Random) -> tuple[str, bytes]:
    """An edit in words, and what it makes of a file."""
    if suffix == ".json" and draw.random() < 0.8:
        record = json.loads(content)
        holder, key = draw.choice(list(_places(record)))
        value = draw.choice(_VALUES)
        was = holder[key]
        holder[key] = "\0here"
        text = json.dumps(record).replace('"\\u0000here"', "[" * 10**5 + "]" * 10**5 if value == "DEEP" else value, 1)
        return f"{key!r} from {str(was)[:20]!r} to {value[:12]}", text.encode()
    kind = draw.choice(("cut short", "bytes", "empty", "doubled", "zeros"))
    if kind == "cut short":
        return kind, content[: draw.randrange(len(content))]
    if kind == "empty":
        return kind, b""
    if kind == "doubled":
        return kind, content + content
    changed = bytearray(content)
    for _ in range(8):
        changed[draw.randrange(len(changed))] = 0 if kind == "zeros" else draw.randrange(256)
    return kind, bytes(changed)


def _places(record: Any) -> Iterator[tuple[Any, Any]]:
    """Every place in a record of JSON that holds a value."""
    items = record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    for key, value in list(items):
        yield record, key
        yield from _places(value)
