"""Handle Ctrl-C and signals with the same meaning. A request to stop is kept until the computation has stopped.

The first signal raises `KeyboardInterrupt` in the main thread. This exception can get lost: Python drops an exception
that is raised during garbage collection, and code of other packages may catch it. Therefore, long computations also
call `heed` at safe places. `heed` raises the exception again as long as the request is pending. If Python dropped the
exception, it is also raised again a moment later.
"""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from types import FrameType
from typing import Any

_MEANT = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
ONE_CAUSE = 0.5
"""Signals within this many seconds count as one request.

The command `timeout`, for example, sends the same signal to a process and to the group of this process."""
_AGAIN = 0.02  # seconds until an exception that Python dropped is raised again
_SHOW_CURSOR = b"\x1b[?25h"


class _Request:
    """The request to stop: the first signal, its time, and whether it is still unanswered.

    `noted` is a signal that another process passed on, even if code of the user ignored it. `process` is the process
    that runs the command; None outside `listening`.
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self.at = 0.0
        self.pending = False
        self.noted: int | None = None
        self.process: int | None = None


_request = _Request()


def heed() -> None:
    """Raise KeyboardInterrupt if a request to stop is pending because Python or other code dropped the exception.

    A user's code may copy the process with `os.fork` and return in the copy, too. The copy ends here, because it would
    run the rest of the command a second time.
    """
    if _request.process not in (None, os.getpid()):
        os._exit(0)
    if _request.number is None and _request.noted is not None:
        _request.number, _request.at, _request.pending = _request.noted, time.monotonic(), True
    if _request.pending:
        raise KeyboardInterrupt


def note(number: int) -> None:
    """Note a signal that another process passed on. If code of the user ignores the signal, `heed` still raises.

    Args:
        number: the number of the signal.
    """
    if _request.process == os.getpid():
        _request.noted = number


def heeded() -> None:
    """Record that the computation has stopped, so that its results can be written without interruption."""
    _request.pending = False


def ignore_interruption() -> None:
    """Ignore Ctrl-C and SIGHUP. A terminal sends these signals to the parent process, too, which handles them."""
    for name in ("SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)


def exit_code() -> int:
    """Return 128 plus the number of the signal that requested the stop: 130 for Ctrl-C or if no signal is known."""
    return 128 + (_request.number or signal.SIGINT)


def end_silently() -> None:
    """Make SIGINT, SIGTERM and SIGHUP end the process at once, before a command begins and after it has ended.

    At these times, no result can be lost. Without this function, Python would print a traceback of the code that it is
    loading or closing.
    """
    if threading.current_thread() is threading.main_thread():
        for number in _MEANT:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                signal.signal(number, _ended)


def _ended(number: int, frame: FrameType | None) -> None:
    with contextlib.suppress(Exception):  # the signal may have come in the middle of a flush
        sys.stdout.flush()
    os._exit(128 + number)


@contextlib.contextmanager
def listening() -> Iterator[None]:
    """Within this context, SIGTERM and SIGHUP act as Ctrl-C, and a second signal ends the process at once.

    A request to stop is never lost. If a signal was ignored when the process started, as under `nohup`, the signal
    stays ignored.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    _request.__init__()
    _request.process = os.getpid()
    before = {number: signal.getsignal(number) for number in _MEANT}
    taken = [number for number, handler in before.items() if handler not in (signal.SIG_IGN, None)]
    for number in taken:
        signal.signal(number, _arrived)
    shown, sys.unraisablehook = sys.unraisablehook, _raised_again
    _raised_again.otherwise = shown  # pyright: ignore[reportFunctionMemberAccess]
    try:
        yield
    finally:
        _request.process, _request.pending = None, False
        sys.unraisablehook = shown
        for number in taken:
            signal.signal(number, before[number])


def _arrived(number: int, frame: FrameType | None) -> None:
    now = time.monotonic()
    if _request.number is None:
        _request.number, _request.at, _request.pending = number, now, True
        raise KeyboardInterrupt
    if now - _request.at > ONE_CAUSE:
        end_at_once(number)


def _raised_again(unraisable: Any) -> None:
    """Raise KeyboardInterrupt again, a moment later, if Python dropped the exception during garbage collection."""
    if not (_request.pending and issubclass(unraisable.exc_type, KeyboardInterrupt)):
        _raised_again.otherwise(unraisable)  # pyright: ignore[reportFunctionMemberAccess]
    elif hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, lambda number, frame: heed())
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)


def end_at_once(number: int) -> None:
    """End this process and the processes that it started, even if they are busy.

    Args:
        number: the number of the signal that requested the end.
    """
    end_children()
    say_ended_at_once()
    os._exit(128 + number)


def end_children() -> None:
    """Kill the processes that this process started with `multiprocessing`."""
    if "multiprocessing" in sys.modules:
        for child in sys.modules["multiprocessing"].active_children():
            child.kill()


def say_ended_at_once() -> None:
    """Say on standard error that the process was ended at once, below a progress display that is still shown."""
    with contextlib.suppress(OSError):
        if os.isatty(2):
            os.write(2, _SHOW_CURSOR)
        os.write(2, b"\nEnded at once. Unfinished results were not written.\n")
