"""Watch a command that runs in another process with limited memory, and report a lack of memory.

If XLA or another library in C++ or Rust gets no memory, it ends the process or hangs. So this process reads the
standard error of the other process through a pipe and passes the text on, without the last output of such a library.
The other process is ended if its address space is full and it has computed nothing for a minute.
"""

import contextlib
import os
import pathlib
import re
import select
import signal
import sys
import time

from lemmata.errors import MemoryPlanError
from lemmata.limits import Limit, limits, own_limits, speaks_of_memory, used_bytes

_LINE = re.compile(
    rb"<jemalloc>: |OpenBLAS .*pthread_create|OpenBLAS blas_thread_init|[IWE]\d{4} [\d:.]+ .*([Mm]emory|pthread)"
)
"""A pattern of lines that a library repeats if it cannot start a thread."""
_BLOCK = re.compile(
    rb"Traceback \(most recent call last\)|Exception ignored |Exception in thread|Fatal Python error|stack backtrace:"
    rb"|terminate called |memory allocation of \d+ bytes failed|.*Check failed: |.*Check failure|thread '.*panicked"
    rb"|MemoryError|OpenBLAS error|LLVM ERROR|.*out of memory"
)
"""A pattern of the line that begins a library's last output, or an error that lemmata reports in its own words."""
_OWN = re.compile(rb"(\x1b\[[0-9;]*m)*(Error|Warning): |\[ *[0-9.]+ s\]")
"""A pattern of lines that lemmata itself writes after such output."""
_HELD = 2**20  # the largest number of bytes that are kept
_LOOK = 0.2  # seconds between two looks at whether the process has ended
_STILL = 60.0
"""A process counts as hanging if its address space is full and it has computed nothing for this many seconds."""
_FULL = 128 * 2**20
"""An address space with fewer free bytes than this counts as full: a thread or its heap may not fit."""
_WAITS = ("--serve", "--dask")
"""With these options, a command only waits for other processes. Such a command does not count as hanging."""
_ROOM = "most commands need 2 to 3 GiB of address space, although libraries use only a small part of it"


class Listener:
    """Reads what the other process writes to standard error, and waits until that process ends.

    Args:
        words: the words of the command line.
        patience: if a process without memory computes nothing for this many seconds, it is ended.
    """

    def __init__(self, words: list[str], patience: float = _STILL):
        self.hear, self.speak = os.pipe()
        waits = any(word.partition("=")[0] in _WAITS for word in words)
        self.patience = float("inf") if waits else patience
        self.part = b""
        self.held: list[tuple[bool, bytes]] = []
        self.noisy = False
        self.hangs = False

    def heard(self) -> None:
        """Make the pipe this process's standard error. Call this method in the other process, which is watched."""
        os.close(self.hear)
        os.dup2(self.speak, 2)
        os.close(self.speak)

    def wait(self, child: int) -> int:
        """Pass on the lines of the other process until it has ended, and return its status."""
        os.close(self.speak)
        os.set_blocking(self.hear, False)
        watch = _Watch(child, self.patience)
        while True:
            heard = self._listen(_LOOK)
            ended, status = os.waitpid(child, os.WNOHANG)
            if ended:
                while self._listen(0.0):
                    pass
                self._say(self.part, True)
                os.close(self.hear)
                return status
            if not heard and not self.hangs and watch.hangs():
                self.hangs = True
                watch.end()

    def _listen(self, seconds: float) -> bool:
        if not select.select([self.hear], [], [], seconds)[0]:
            if self.part and not self.noisy and not _BLOCK.match(self.part):  # an incomplete line, such as a question
                self._say(self.part, False)
                self.part = b""
            return False
        try:
            text = os.read(self.hear, 65536)
        except OSError:
            return False
        if not text:  # all writers have closed the pipe
            time.sleep(min(seconds, 0.02))
            return False
        *lines, self.part = (self.part + text).split(b"\n")
        for line in lines:
            self._say(line + b"\n", True)
        return True

    def _say(self, line: bytes, whole: bool) -> None:
        if not line or (whole and _LINE.match(line)):
            return
        if whole and _BLOCK.match(line):
            self.noisy = True
        elif whole and _OWN.match(line):
            self.noisy = False
        if not self.noisy and not self.held:
            _pass_on(line)
        elif sum(len(each) for _, each in self.held) < _HELD:
            self.held.append((self.noisy, line))

    @property
    def noise(self) -> str:
        """The lines held back: a library's last output, or an error that lemmata reports in its own words."""
        return b"".join(line for noisy, line in self.held if noisy).decode(errors="replace")

    def tell(self) -> None:
        """Pass on the lines held back, except lines about memory, which the command's last message replaces."""
        silent = self.hangs or speaks_of_memory(self.noise)
        for noisy, line in self.held:
            if not (noisy and silent):
                _pass_on(line)
        self.held = []


def _pass_on(line: bytes) -> None:
    with contextlib.suppress(OSError):
        if sys.stderr is not None:
            os.write(2, line)


class _Watch:
    """Checks whether a process and its children have stopped working because one of them has no memory left."""

    def __init__(self, child: int, patience: float):
        self.child, self.patience = child, patience
        own = own_limits()
        self.most = min((limit.most for limit in own), default=0)
        self.ticks, self.since = -1, time.monotonic()
        self.next = 0.0

    def hangs(self) -> bool:
        """Whether the processes have stopped for too long. The method looks at most once a second."""
        now = time.monotonic()
        if now < self.next or not self.most:
            return False
        self.next = now + min(1.0, self.patience / 4)
        family = descendants(self.child)
        ticks = sum(family.values())
        full = any(self.most - max(used_bytes(number)) < _FULL for number in family)
        if ticks != self.ticks or not full:
            self.ticks, self.since = ticks, now
        return now - self.since > self.patience

    def end(self) -> None:
        """End the process and its descendants."""
        for number in descendants(self.child):
            with contextlib.suppress(OSError):
                os.kill(number, signal.SIGKILL)


def descendants(first: int) -> dict[int, int]:
    """A process and all its descendants, with the ticks of processor time that each has used."""
    parents, ticks = dict[int, int](), dict[int, int]()
    for place in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            fields = (place / "stat").read_text(errors="replace").rpartition(")")[2].split()
            parents[int(place.name)], ticks[int(place.name)] = int(fields[1]), int(fields[11]) + int(fields[12])
    found = {first}
    while more := {number for number, parent in parents.items() if parent in found} - found:
        found |= more
    return {number: ticks.get(number, 0) for number in found}


def killed_for_memory() -> int:
    """The number of processes that the kernel has ended because memory ran out; 0 if the kernel does not report it."""
    with contextlib.suppress(OSError, ValueError):
        for line in pathlib.Path("/proc/vmstat").read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def no_memory(found: str | None, sure: bool = True) -> MemoryPlanError:
    """Return the error about missing memory, with the known limits.

    Args:
        found: a description of the failure.
        sure: whether memory is known to be the cause.
    """
    known: list[Limit] = limits()
    rule = "; ".join(map(str, known)) or None
    if any(limit.own for limit in known):
        rule = f"{rule}; {_ROOM}"
    remedy = "raise the limit" if known else "free memory"
    return MemoryPlanError(
        "there is not enough memory"
        if sure
        else "the command was ended, most likely because there is not enough memory",
        found=found,
        rule=rule,
        remedy=(f"{remedy}, or use less memory: fewer rows, fewer --jobs, or --quick if the command has this option"),
    )
