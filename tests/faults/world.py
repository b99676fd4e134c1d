"""Folders in which commands run, the server that runs them, and what they do without any fault."""

import contextlib
import functools
import itertools
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from typing import Any, NamedTuple

from tests.faults.commands import COMMANDS, Command
from tests.faults.inputs import write_inputs

ROOT = pathlib.Path(__file__).parents[2]
DEADLINE = 240.0
"""Seconds after which a run counts as one that hangs: on a busy machine the slowest takes a quarter of that."""


class Moment(NamedTuple):
    """Something that a run did: seconds since its start, numbers among all and among those that write, kind, words."""

    seconds: float
    number: int
    write: int | None
    kind: str
    detail: str


class Ended(NamedTuple):
    """How a run ended, and what it left.

    Args:
        folder: where it ran.
        code: exit code, or the negative number of a signal.
        late: whether it had to be ended.
        seconds: how long it took.
        cpu: seconds of processor.
        orphans: processes of its own that it left behind.
        out: what it wrote to stdout.
        err: what it wrote to stderr.
        moments: what it did.
    """

    folder: pathlib.Path
    code: int
    late: bool
    seconds: float
    cpu: float
    orphans: list[str]
    out: str
    err: str
    moments: list[Moment]


class World:
    """A server and folders; a context manager."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="lemmata-faults-"))
        self.place.chmod(0o755)
        self._stack.callback(shutil.rmtree, self.place, ignore_errors=True)
        self._numbers = itertools.count()
        self._server: subprocess.Popen | None = None
        self.inputs = self.place / "inputs"
        self.inputs.mkdir()
        write_inputs(self.inputs)

    def __enter__(self) -> "World":
        """The world itself."""
        return self

    def __exit__(self, *given: object) -> None:
        """End the server and remove the folders."""
        self._stack.close()

    @functools.cached_property
    def server(self) -> subprocess.Popen:
        """The process that forks."""
        environment = {**os.environ, "LEMMATA_CACHE_DIR": str(self.place / "cache"), "OMP_NUM_THREADS": "1"}
        environment["_RJEM_MALLOC_CONF"] = "background_thread:false"  # of Polars
        environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src")])
        process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "tests.faults.server"], cwd=ROOT, env=environment,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        self._stack.callback(_end, process)
        assert process.stdout is not None
        threads = json.loads(process.stdout.readline())["threads"]
        assert not threads, f"the server has threads, so that a forked child may wait for ever: {threads}"
        return process

    def folder(self, command: Command | None = None, name: str | bytes = "run") -> pathlib.Path:
        """A new folder with the inputs, and with the results of the command's first run."""
        above = self.place / str(next(self._numbers))
        above.mkdir()
        found = above / os.fsdecode(name)
        shutil.copytree(self.inputs if command is None else self.before(command.name), found, symlinks=True)
        return found

    @functools.cache  # noqa: B019 (a world lasts as long as its cache)
    def before(self, name: str) -> pathlib.Path:
        """The folder after the first run."""
        command = COMMANDS[name]
        found = self.folder()
        if command.verb == "report":
            for source, target in (("before", "old.json"), ("clean", "new.json")):
                study = self.before("study") if source == "before" else self.clean("study").folder
                shutil.copy(study / "out/study.json", found / target)
        if command.verb == "ledger":
            shutil.copytree(self.before("verify") / "kept", found / "kept", dirs_exist_ok=True)
        if command.results or command.ledger:
            ended = self.run(command, found, words=(*command.words, *command.old))
            assert ended.code == command.clean, f"{name}: {ended.code}\n{ended.out}\n{ended.err}"
        return found

    @functools.cache  # noqa: B019
    def clean(self, name: str) -> Ended:
        """The second run without any fault."""
        command = COMMANDS[name]
        ended = self.run(command, self.folder(command))
        assert ended.code == command.clean, f"{name}: {ended.code}\n{ended.out}\n{ended.err}"
        assert command.says in ended.out, ended.out
        return ended

    def request(self, command: Command, folder: pathlib.Path, **own: Any) -> dict[str, Any]:
        """What the server is asked: by default the command's second run."""
        beside = folder.parent / f"streams-{next(self._numbers)}"
        beside.mkdir()
        beside.chmod(0o777)
        plan = {"log": str(beside / "moments"), **own.pop("plan", {})}
        environment = {"LEMMATA_DATA_DIR": str(folder / "data"), "TMPDIR": str(beside), **own.pop("environment", {})}
        return {
            "words": list(own.pop("words", (*command.words, *command.new))), "folder": str(folder), "plan": plan,
            "stdout": str(beside / "out"), "stderr": str(beside / "err"), "deadline": DEADLINE, "beside": str(beside),
            "environment": environment, "patches": list(command.patches), **own,
        }  # fmt: skip

    def run(self, command: Command, folder: pathlib.Path, **own: Any) -> Ended:
        """Run a command once."""
        return self.together([self.request(command, folder, **own)])[0]

    def together(self, requests: list[dict[str, Any]]) -> list[Ended]:
        """Run commands at the same time."""
        server = self.server
        assert server.stdin is not None
        assert server.stdout is not None
        server.stdin.write(json.dumps({"runs": requests}) + "\n")
        server.stdin.flush()
        answers = json.loads(server.stdout.readline())
        return [_ended(request, answer) for request, answer in zip(requests, answers, strict=True)]

    @contextlib.contextmanager
    def trial(self, command: Command, **own: Any) -> Iterator[pathlib.Path]:
        """A folder for one attempt, which is removed afterwards."""
        folder = self.folder(command, **own)
        try:
            yield folder
        finally:
            shutil.rmtree(folder.parent, ignore_errors=True)


def _ended(request: dict[str, Any], answer: dict[str, Any]) -> Ended:
    beside = pathlib.Path(request["beside"])
    texts = []
    for name in ("stdout", "stderr"):
        path = pathlib.Path(request[name])
        texts.append(path.read_bytes().decode(request.get("encoding", "utf-8"), "replace") if path.is_file() else "")
    log = beside / "moments"
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if log.exists() else []
    moments = []
    for line in lines:
        with contextlib.suppress(ValueError):  # the last may be cut short
            moments.append(Moment(*json.loads(line)))
    folder = pathlib.Path(request["folder"])
    return Ended(
        folder, answer["code"], answer["late"], answer["seconds"], answer["cpu"], answer["orphans"], *texts, moments
    )


def _end(process: subprocess.Popen) -> None:
    assert process.stdin is not None
    process.stdin.close()
    process.wait(60)
    assert process.stdout is not None
    process.stdout.close()
