"""Run a command in a separate process if the command runs the user's code or if memory is limited.

`os._exit(0)` in a user's file would end the command with exit code 0 although nothing was done. Libraries also end the
process if they get no memory. The first process waits for the separate process and passes signals on to it. If the
separate process ends before the command is finished, the first process reports this.
"""

import atexit
import contextlib
import math
import os
import re
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import FrameType
from typing import NoReturn

from lemmata.errors import LemmataError
from lemmata.interruption import ONE_CAUSE, end_children, note, say_ended_at_once
from lemmata.limits import lacked_memory, limits, speaks_of_memory

from ._flags import odd_flags, told_to_end
from ._scarce import Listener, descendants, killed_for_memory, no_memory
from ._stdout import lost_stream

REFUSED = 2
FAILED = 4
JUDGING = ("verify", "judge", "refute", "walk", "mutate", "ledger", "calibrate")
"""For these commands, exit code 4 means that a claim failed.

If a program of the user exits during any other command, the exit code is 2.
"""
CLAIMS = "lemmata.claims"
"""The group of entry points in which packages declare their claims."""
_NOT_LOADED = 127
"""The exit code of a program if the loader has no memory for its libraries."""
_LOGGED = re.compile(r"^[IWEF]\d{4} [\d:.]+ +\d+ [^ ]+\] ")
"""A pattern of the text that XLA writes before a message: date, time, thread and line of code."""
_LONGEST = 4096
"""The largest number of bytes that the two processes send each other."""
_PLACE = b"@"
"""The first byte of a message that holds a file and a line instead of an exit code."""
_CLOSED = b"!"
"""The message that the user's code has closed a stream, so that the process itself cannot report its end."""
_OBEYING = 1.0
"""Seconds after the second signal until a command that ignores the signal is killed."""
_LEAVING = 5.0
"""Seconds that exit functions of the user's code may take after a command has finished."""
_NOT_LEFT = (
    f"Warning: The command has finished, but exit functions of your code (atexit) ran for more than {_LEAVING:g} "
    "seconds. lemmata ended them."
)
_PROGRAM = re.compile(r"\.py(:|$)")
_PASSED_ON = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def left(words: list[str], found: str, calls: str = "sys.exit, os._exit and similar calls") -> int:
    """Print that the user's own code ended the command, and return the exit code.

    Args:
        words: the words of the command line.
        found: how the command ended.
        calls: the calls in the user's code that end a command in this way, for the message.
    """
    from ._console import complain

    complain(
        LemmataError(
            "the command was ended by a program that it ran",
            found=found,
            rule="your own code must return or raise an error, and must not end the process",
            remedy=f"remove {calls} from your file",
        )
    )
    return FAILED if words[:1] and words[0] in JUDGING else REFUSED


def guarded(run: Callable[[], None], words: list[str]) -> None:
    """Run the command line, in a separate process if memory is limited or other code may end the process.

    Other code may end the process in three cases: an unknown flag of XLA, a Python file among the words, and a package
    with its own claims. Most commands load the claims of all packages, some only after lemmata itself has changed.

    Args:
        run: the function that runs the command line and ends with SystemExit.
        words: the words of the command line.
    """
    known = limits()
    if not (hasattr(os, "fork") and (known or odd_flags() or _runs_other_code(words))):
        run()
        return
    told, tell = os.pipe()
    lives, live = os.pipe()
    listener = Listener(words) if any(limit.own for limit in known) else None
    before = killed_for_memory()
    child = os.fork()  # before JAX is imported, because JAX starts threads
    if child == 0:
        os.close(told)
        os.close(live)
        if listener is not None:
            listener.heard()
        threading.Thread(target=_follow_parent, args=(lives, os._exit), daemon=True).start()
        _tell_who_leaves(tell)
        _answer(run, tell, words)
    os.close(tell)
    os.close(lives)
    signals = _Signals(child, live)
    status = os.waitpid(child, 0)[1] if listener is None else listener.wait(child)
    said = os.read(told, _LONGEST) if _is_ready(told) else b""
    if signals.killed_by is not None and not said:
        say_ended_at_once()
        raise SystemExit(128 + signals.killed_by)
    raise SystemExit(_ended(os.waitstatus_to_exitcode(status), said, words, listener, killed_for_memory() > before))


def _runs_other_code(words: list[str]) -> bool:
    if any(_PROGRAM.search(word) for word in words):
        return True
    if not words or words[0].startswith("-"):  # without a command, no claims are loaded
        return False
    from importlib.metadata import entry_points

    return any(not point.value.startswith("lemmata.") for point in entry_points(group=CLAIMS))


def _answer(run: Callable[[], None], tell: int, words: list[str]) -> NoReturn:
    """Run the command line in this process, send its exit code to the other process, and end."""
    code, lacked = 1, False
    try:
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:
        code = FAILED  # 1 would mean that a claim is refuted
        if lost_stream(error):
            with contextlib.suppress(OSError):
                os.write(tell, _CLOSED)
            os._exit(code)
        if not (lacked := lacked_memory(error)):  # there may be too little memory to print the error
            sys.excepthook(type(error), error, error.__traceback__)
    except BaseException as error:  # raised only by a user's own code, such as GeneratorExit
        code = left(words, f"that it raised {type(error).__name__}{raised_at(error)}")
    with contextlib.suppress(OSError):
        os.write(tell, bytes([code % 256, lacked]))
    _flush()
    threading.Thread(target=_end_late, args=(code % 256,), daemon=True).start()
    with contextlib.suppress(BaseException):  # errors of the user's exit functions do not count
        atexit._run_exitfuncs()
    _flush()
    os._exit(code % 256)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()


def _end_late(code: int) -> None:
    """End this process if the exit functions of the user's code, which run after the command, do not return."""
    time.sleep(_LEAVING)
    end_children()
    with contextlib.suppress(OSError):
        os.write(2, f"{_NOT_LEFT}\n".encode())
    os._exit(code)


def _follow_parent(lives: int, leave: Callable[[int], NoReturn]) -> None:
    """Record the signals that the waiting process reports. End this process if that process was killed.

    If the waiting process was killed, nobody would read the results.
    """
    while told := os.read(lives, 1):
        note(told[0])
    leave(1)


def _tell_who_leaves(tell: int) -> None:
    """Replace `os._exit`, which cannot be caught, by a function that first reports where it is called."""
    leave, own = os._exit, os.getpid()

    def told(status: int) -> NoReturn:
        if os.getpid() == own:  # child processes of libraries also call it
            with contextlib.suppress(OSError):
                os.write(tell, _PLACE + place(sys._getframe(1)).encode(errors="replace"))
        leave(status)

    os._exit = told


def place(frame: FrameType | None) -> str:
    """The file and line of a frame, as an error prints them; empty if there is no frame.

    Args:
        frame: a frame of a running program.
    """
    return "" if frame is None else _named(frame.f_code.co_filename, frame.f_lineno)


def raised_at(error: BaseException) -> str:
    """The file and line where an exception was raised, as an error prints them; empty if unknown.

    Args:
        error: the exception, with its traceback.
    """
    steps = traceback.extract_tb(error.__traceback__)
    return _named(steps[-1].filename, steps[-1].lineno) if steps else ""


def _named(path: str, line: int | None) -> str:
    return f" ({os.path.basename(path)[:100]}, line {line})"


class _Signals:
    """Passes signals on to the other process, and kills the other process if it ignores the second signal.

    The user's code may ignore signals or catch every exception, or run in a library that never returns to Python. Then
    the other process cannot end itself at the second signal, as `interruption` promises.

    Args:
        child: the number of the process.
        live: the pipe that tells the process of signals, too, because its code may ignore them for a while.
    """

    def __init__(self, child: int, live: int):
        self.child, self.live, self.first = child, live, math.inf
        self.waits = False
        self.killed_by: int | None = None
        for number in _PASSED_ON:
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._arrived)

    def _arrived(self, number: int, frame: FrameType | None) -> None:
        with contextlib.suppress(OSError):
            os.kill(self.child, number)
            os.write(self.live, bytes([number]))
        now = time.monotonic()
        self.first = min(self.first, now)
        if now - self.first > ONE_CAUSE and hasattr(signal, "setitimer") and not self.waits:
            self.waits = True
            signal.signal(signal.SIGALRM, lambda _, frame: self._kill(number))
            signal.setitimer(signal.ITIMER_REAL, _OBEYING)

    def _kill(self, number: int) -> None:
        self.killed_by = number
        for process in descendants(self.child):
            with contextlib.suppress(OSError):
                os.kill(process, signal.SIGKILL)


def _ended(code: int, said: bytes, words: list[str], listener: Listener | None, killed_for_memory: bool) -> int:
    """Return the exit code of a process that has ended; print a message if the process could not report its end.

    Args:
        code: the exit code of that process, or the negative number of a signal.
        said: the exit code that the process sent, and whether the process lacked memory. If the process called
            `os._exit`, the place of the call.
        words: the words of the command line.
        listener: the output of the process, if its memory is limited.
        killed_for_memory: whether the kernel has meanwhile ended a process because memory ran out.
    """
    noise = "" if listener is None else listener.noise
    if listener is not None:
        listener.tell()
    if said[:1] == _CLOSED:
        return left(
            words, "that this program closed sys.stdout or sys.stderr", "sys.stdout.close, os.close and similar calls"
        )
    where = said[1:].decode(errors="replace") if len(said) > 2 and said[:1] == _PLACE else ""
    if said and not where:
        if said[1]:
            return _lacked("that the command ran out of memory" + _last(noise))
        return code if code > 0 else said[0]
    if listener is not None and listener.hangs:
        return _lacked("that the command had no memory left and made no progress, so lemmata ended it")
    if code == -signal.SIGKILL:
        return _lacked("that the operating system's kernel ended the command") if killed_for_memory else _killed(-code)
    if code < 0 and listener is not None:
        return _lacked(f"that the command was ended by signal {-code}{_last(noise)}", speaks_of_memory(noise))
    if code < 0:
        return _killed(-code)
    if code in (128 + number for number in _PASSED_ON):
        return code  # ended at once by a second signal
    if listener is not None and (code == _NOT_LOADED or speaks_of_memory(noise) or not _runs_other_code(words)):
        return _lacked(f"that the command ended with exit code {code}{_last(noise)}", speaks_of_memory(noise))
    if odd_flags() and code == 1 and not where:
        return _refused(told_to_end())
    return left(
        words,
        f"os._exit({code}){where}" if where else f"that this program called os._exit({code}) or a similar function",
    )


def _refused(error: LemmataError) -> int:
    from ._console import complain

    complain(error)
    return REFUSED


def _lacked(found: str, sure: bool = True) -> int:
    from ._console import complain

    complain(no_memory(found, sure))
    return FAILED


def _last(noise: str) -> str:
    """The last line about memory in what a library wrote to standard error."""
    line = next((line.strip() for line in noise.splitlines()[::-1] if speaks_of_memory(line)), "")
    return f" ({_LOGGED.sub('', line)[:160]})" if line else ""


def _is_ready(told: int) -> bool:
    """Whether the other process has sent its exit code. A child of that process may still keep the pipe open."""
    os.set_blocking(told, False)
    import select

    return bool(select.select([told], [], [], 0)[0])


def _killed(number: int) -> int:
    from ._console import err

    err.print(f"The command was ended by signal {number}.", markup=False, highlight=False)
    return 128 + number
