"""What a forked child does before it is `lemmata`: its folder, its streams, its limits, and faults at moments.

A moment is something that the run does and that leaves a trace outside of it: a file of its folder is opened, renamed
or removed, data reach the disk, the database runs a statement, a line is said. Python tells of most of these itself
(`sys.addaudithook`). Moments are counted, so that a fault hits at a place that does not depend on the clock.
"""

import atexit
import ctypes
import errno
import functools
import io
import json
import os
import resource
import shutil
import signal
import sqlite3
import sys
import time
from typing import Any

_TOLD = ("os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink")
WRITES = ("create", *_TOLD, "fsync", "sql", "sql.open")
"""Kinds of moments in which what lies on the disk changes, or may."""
_FAILING = ("create", "os.rename", "os.mkdir", "fsync")
_PATIENCE = 60.0
_CHANGES = ("BEGIN", "INSERT", "COMMIT", "CREATE", "UPDATE", "DELETE", "REPLACE", "SAVEPOINT", "RELEASE", "ROLLBACK")


class Moments:
    """Counts the moments of this process, writes each of them down, and does what is planned at some.

    Args:
        plan: `log`, a file for the moments; `at`, actions by the number of a moment; `folder`, whose files count.
    """

    def __init__(self, plan: dict[str, Any]):
        self.at = {int(number): action for number, action in plan.get("at", {}).items()}
        self.writing = {int(number): action for number, action in plan.get("writing", {}).items()}
        self.full: int | None = plan.get("full")
        self.after, self.over = plan.get("after"), plan.get("over")
        self.folder = os.path.realpath(plan["folder"])
        self.count = self.writes = 0
        self.busy = True
        self.began = time.monotonic()
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        self.log = os.open(plan["log"], flags, 0o666) if plan.get("log") else None
        self.busy = False
        os.register_at_fork(after_in_parent=self.leave_to_child)

    def leave_to_child(self) -> None:
        """A process that only waits for the one that runs the command has no moments."""
        self.busy = self.busy or any(name == "guarded" for name in _callers())

    def __call__(self, kind: str, detail: str) -> None:
        """A moment of this kind."""
        if self.busy:
            return
        self.busy = True
        try:
            number, self.count = self.count, self.count + 1
            write = None
            if kind in WRITES:
                write, self.writes = self.writes, self.writes + 1
            if self.log is not None:
                entry = [round(time.monotonic() - self.began, 4), number, write, kind, detail[:160]]
                os.write(self.log, json.dumps(entry).encode() + b"\n")
            for action in (self.at.get(number), None if write is None else self.writing.get(write)):
                if action is not None:
                    self.act(*action)
        finally:
            self.busy = False
        if write is not None and self.full is not None and write >= self.full and kind in _FAILING:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), detail)

    def act(self, what: str, *given: Any) -> None:
        """Do one thing that is planned."""
        if what == "signal":
            os.kill(os.getpid(), given[0])
        elif what == "wait":  # another run goes first
            _touch(given[0] + ".here")
            _wait(given[0])
        elif what == "copy":  # what a process that is killed here leaves
            shutil.copytree(self.folder, given[0], symlinks=True, dirs_exist_ok=True)

    def within(self, path: Any) -> str:
        """The path, if it lies in the folder; else nothing."""
        if isinstance(path, int) or path is None:
            return ""
        text = os.path.join(os.getcwd(), os.fsdecode(path))
        return text if text.startswith(self.folder) else ""

    def hook(self, event: str, arguments: tuple) -> None:
        """Of Python's audit."""
        if self.busy:
            return
        if event == "open":
            path, mode, flags = arguments
            if place := self.within(path):
                made = (isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) or any(
                    letter in (mode or "") for letter in "wax+"
                )
                self("create" if made else "open", place)
        elif event in _TOLD:
            folders = [number for number in arguments[1:] if isinstance(number, int) and number >= 0]
            above = os.readlink(f"/proc/self/fd/{folders[0]}") if folders and event != "os.mkdir" else ""
            if place := self.within(os.path.join(above, os.fsdecode(arguments[0]))):
                self(event, place)
        elif event == "sqlite3.connect" and (place := self.within(_database(arguments[0]))):
            self("sql.open", place)

    def statement(self, text: str) -> None:
        """Of the database."""
        word = text.lstrip().partition(" ")[0].upper()
        self("sql" if word in _CHANGES else "sql.read", text)


def _callers() -> list[str]:
    """The names of the functions that are running, the innermost first."""
    frame, found = sys._getframe(), []
    while frame is not None:
        found.append(frame.f_code.co_name)
        frame = frame.f_back
    return found


def _database(given: Any) -> str:
    """The file that a connection is asked for, by its path or its address."""
    return os.fsdecode(given).removeprefix("file://").partition("?")[0]


def _wait(path: str) -> None:
    """Until a file is there, or a run that should have made it must have ended."""
    end = time.monotonic() + _PATIENCE
    while not os.path.exists(path) and time.monotonic() < end:
        time.sleep(0.005)


def _touch(path: str) -> None:
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o666))


class _Said(io.TextIOWrapper):
    """A stream whose lines are moments."""

    moments: Moments | None = None

    def write(self, text: str) -> int:
        if self.moments is not None and text.strip():
            self.moments("say", text.strip())
        return super().write(text)


def become(request: dict[str, Any]) -> None:
    """Run `lemmata` with the request's words in its folder, under its faults; ends the process."""
    os.chdir(request["folder"])
    for name, value in request.get("environment", {}).items():
        os.environ[name] = value
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL if number != signal.SIGPIPE else signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    moments = Moments({**request.get("plan", {}), "folder": request["folder"]})
    streams(request, moments)
    if request.get("obeys"):
        _obey_permissions()
    limit(request)
    for patch in request.get("patches", ()):
        PATCHES[patch]()
    sys.argv = ["lemmata", *request["words"]]
    sync = os.fsync

    def fsync(file: Any) -> None:
        moments("fsync", "")
        sync(file)

    os.fsync = fsync
    connect = sqlite3.connect

    def connected(*given: Any, **options: Any) -> sqlite3.Connection:
        connection = connect(*given, **options)
        connection.set_trace_callback(moments.statement)
        return connection

    sqlite3.connect = connected
    if moments.over is not None:
        atexit.register(_touch, moments.over)
    atexit.register(moments, "end", "")
    sys.addaudithook(moments.hook)
    from lemmata.__main__ import main

    if moments.after is not None:
        _wait(moments.after)
    sys.setprofile(functools.partial(_at_its_begin, moments))
    main()


def _at_its_begin(moments: Moments, frame: Any, event: str, argument: Any) -> None:
    """The first moment: `main` hands over to the commands, and has done what it does before."""
    if event == "call" and frame.f_code.co_name == "__call__" and frame.f_globals.get("__name__") == "typer.main":
        sys.setprofile(None)
        moments("start", "")


def streams(request: dict[str, Any], moments: Moments) -> None:
    """Standard streams: a file, none, a pipe that nobody reads, a full disk; with the terminal's encoding."""
    encoding = request.get("encoding", "utf-8")
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    for number, name in ((1, "stdout"), (2, "stderr")):
        what = request[name]
        if what == "closed":
            os.close(number)
            setattr(sys, name, None)
            setattr(sys, f"__{name}__", None)
            continue
        if what == "gone":
            read, write = os.pipe()
            os.close(read)
        else:
            flags = os.O_WRONLY | (0 if what.startswith("/dev/") else os.O_CREAT | os.O_TRUNC)
            write = os.open(what, flags, 0o666)
        os.dup2(write, number)
        os.close(write)
        errors = "strict" if name == "stdout" else "backslashreplace"
        stream = _Said(io.BufferedWriter(io.FileIO(number, "w", closefd=False)), encoding, errors)
        stream.moments = moments
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _obey_permissions() -> None:
    """Give up root's right to write where permissions forbid it."""
    library = ctypes.CDLL(None, use_errno=True)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    rights = (ctypes.c_uint32 * 6)()
    if library.capget(header, rights) == 0:
        for first in (0, 1):  # effective and permitted: DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER
            rights[first] &= ~0b1110
        library.capset(header, rights)


def limit(request: dict[str, Any]) -> None:
    """Limits of memory and of the size of a file."""
    if (memory := request.get("memory")) is not None:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    if (size := request.get("file_size")) is not None:
        sys.dont_write_bytecode = True  # Python would keep halves of what it compiles
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def _few_pages() -> None:
    """The site has five pages, since thousands would take a minute each time."""
    from lemmata.interfaces.site import _build

    _build.site = lambda progress, where: {
        f"{name}.html": f"<!doctype html><p>{name} of {where.base or 'nowhere'}</p></html>\n"
        for name in ("index", "claims", "house", "a/one", "b/two")
    }


def _known_study() -> None:
    """The study is known: what is tried is what comes before and after the computation."""
    from lemmata.workflows import studies
    from lemmata.workflows.records.studies import StudyRecord

    studies.run_study = lambda *given: StudyRecord.load("known/study.json")


def _known_comparison() -> None:
    from lemmata.workflows import comparisons
    from lemmata.workflows.records.comparisons import ComparisonRecord

    comparisons.run_comparison = lambda *given: ComparisonRecord.load("known/compare.json")


PATCHES = {"few pages": _few_pages, "known study": _known_study, "known comparison": _known_comparison}
"""What keeps a run short without touching what the faults are about."""
