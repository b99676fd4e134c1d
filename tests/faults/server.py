"""A process that has imported what commands need, and forks one child for each run of a command.

A start of `lemmata` takes seconds, nearly all of them imports. The server pays for these once. It has no thread: it
imports nothing that starts one, so that a forked child is as good as a new process. The child becomes `lemmata WORDS`
and ends as any Python program ends.

Requests and answers are lines of JSON. A request names the words of the command, its folder, its environment, what its
streams are, and what `planted` is to do.
"""

import contextlib
import gc
import importlib
import json
import os
import select
import signal
import sys
import time
from typing import Any

PRELOADED = (
    "numpy", "scipy.linalg", "scipy.stats", "scipy.optimize", "scipy.special", "jax", "jax.numpy", "jax.scipy.special",
    "sqlite3", "multiprocessing", "sklearn.pipeline", "sklearn.linear_model", "sklearn.ensemble", "sklearn.svm",
    "sklearn.neighbors", "vl_convert", "altair", "optuna", "rich.table", "rich.progress", "filelock", "platformdirs",
    "safetensors.numpy", "lemmata.interfaces.cli", "lemmata.engine.claims", "lemmata.engine.ledger",
    "lemmata.engine.catalogue", "lemmata.workflows.studies", "lemmata.interfaces.report",
    "lemmata.workflows.comparisons", "lemmata.engine.refutations", "tests.faults.planted",
)  # fmt: skip
"""Modules after whose import the process has one thread, besides one of Polars that sleeps until there are files of its
own to remove. What computes with JAX when it is imported is not among them."""
_SLEEPS = "polars-ooc"


def serve() -> dict[str, Any]:
    """Answer requests in the parent; return the request in each child."""
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()  # children neither look at what the server holds nor copy it
    threads = _threads()
    answers = os.dup(1)
    os.dup2(2, 1)
    os.write(answers, json.dumps({"threads": threads}).encode() + b"\n")
    for line in sys.stdin:
        request = json.loads(line)
        began = time.monotonic()
        children = []
        for one in request["runs"]:
            children.append(_Child(one))
            if children[-1].pid == 0:
                os.close(answers)
                return one
        found = [child.answer(began) for child in children]
        os.write(answers, json.dumps(found).encode() + b"\n")
    sys.exit(0)


class _Child:
    """A forked process: what it was asked, and how it ended."""

    def __init__(self, request: dict[str, Any]):
        self.request = request
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid:
            with contextlib.suppress(OSError):
                os.setpgid(self.pid, self.pid)

    def answer(self, began: float) -> dict[str, Any]:
        """How the child ended, after the signals that the request asks for at times of the clock."""
        end = began + self.request["deadline"]
        signals = sorted(self.request.get("signals", []))
        began = self._start() if signals else began
        watch = os.pidfd_open(self.pid)
        late = False
        while True:
            now = time.monotonic()
            while signals and now >= began + signals[0][0]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signals.pop(0)[1])
            due = min([began + signals[0][0]] if signals else [end], default=end)
            if select.select([watch], [], [], max(0.0, due - time.monotonic()))[0]:
                break
            if time.monotonic() >= end:
                late = True
                with contextlib.suppress(ProcessLookupError):
                    os.kill(self.pid, signal.SIGKILL)
                break
        _, status, used = os.wait4(self.pid, 0)
        os.close(watch)
        return {
            "code": os.waitstatus_to_exitcode(status), "late": late, "seconds": time.monotonic() - began,
            "cpu": used.ru_utime + used.ru_stime, "orphans": self._end_orphans(),
        }  # fmt: skip

    def _start(self) -> float:
        """When the child became the command: the time from which signals are counted. It writes that down."""
        log = self.request["plan"]["log"]
        end = time.monotonic() + self.request["deadline"]
        while not (os.path.exists(log) and os.path.getsize(log)) and time.monotonic() < end:
            time.sleep(0.002)
        return time.monotonic()

    def _end_orphans(self) -> list[str]:
        """Processes of the child's group that are still there a moment after it has ended; they are ended."""
        end = time.monotonic() + self.request.get("patience", 10.0)
        while found := _members(self.pid):
            if time.monotonic() >= end:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self.pid, signal.SIGKILL)
                return found
            time.sleep(0.01)
        return []


def _threads() -> list[str]:
    """The names of this process's threads besides the main one."""
    found = []
    for task in os.listdir("/proc/self/task"):
        with open(f"/proc/self/task/{task}/comm", encoding="utf-8") as file:
            name = file.read().strip()
        if int(task) != os.getpid() and not name.startswith(_SLEEPS):
            found.append(name)
    return found


def _members(group: int) -> list[str]:
    """The words with which each living process of a group was begun."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdecimal():
            continue
        with contextlib.suppress(OSError, IndexError, ValueError):
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            if int(fields[2]) == group and fields[0] not in "ZX":
                with open(f"/proc/{name}/cmdline", encoding="utf-8", errors="replace") as file:
                    found.append(" ".join(file.read().split("\0"))[:200])
    return found


def main() -> None:
    """Serve; in a child, become the command."""
    request = serve()
    from tests.faults.planted import become

    become(request)


if __name__ == "__main__":
    main()
