"""A command that runs a file of the user's runs in a process of its own, so that it cannot end unseen.

`os._exit(0)` in that file would end the command with exit code 0 and nothing done. This process waits for the other
one, passes signals on to it, and says so where it ends before the command has.
"""

import atexit
import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

from lemmata.errors import LemmataError

REFUSED = 2
FAILED = 4
JUDGING = ("verify", "judge", "refute", "walk", "mutate", "ledger", "calibrate")
"""Commands at which 4 says that a claim failed; elsewhere a program that leaves is refused as an input."""
CLAIMS = "lemmata.claims"
"""The group of entry points by which packages name their claims."""
_PROGRAM = re.compile(r"\.py(:|$)")
_PASSED_ON = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def left(words: list[str], found: str) -> int:
    """Say that the user's own code ended the command; the exit code.

    Args:
        words: of the command line.
        found: how it ended.
    """
    from ._console import complain

    complain(
        LemmataError(
            "the command was ended by a program that it ran",
            found=found,
            rule="your own code must return, or raise an error",
            remedy="remove sys.exit, os._exit and the like from your file",
        )
    )
    return FAILED if words[:1] and words[0] in JUDGING else REFUSED


def guarded(run: Callable[[], None], words: list[str]) -> None:
    """Run the command line; in a process of its own if it runs code that is not lemmata's.

    That is a Python file among its words, or a package with claims of its own where claims are judged.

    Args:
        run: the command line, which ends with SystemExit.
        words: of the command line.
    """
    if not (hasattr(os, "fork") and _runs_other_code(words)):
        run()
        return
    told, tell = os.pipe()
    lives, live = os.pipe()
    child = os.fork()  # before JAX is imported, which has threads
    if child == 0:
        os.close(told)
        os.close(live)
        threading.Thread(target=_end_with_parent, args=(lives,), daemon=True).start()
        _answer(run, tell, words)
    os.close(tell)
    os.close(lives)
    raise SystemExit(_waited(child, told, words))


def _runs_other_code(words: list[str]) -> bool:
    if any(_PROGRAM.search(word) for word in words):
        return True
    if not (words[:1] and words[0] in JUDGING):
        return False
    from importlib.metadata import entry_points

    return any(not point.value.startswith("lemmata.") for point in entry_points(group=CLAIMS))


def _answer(run: Callable[[], None], tell: int, words: list[str]) -> NoReturn:
    """Run the command line in this process, tell the other one its exit code, and end."""
    code = 1
    try:
        run()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except Exception as error:
        sys.excepthook(type(error), error, error.__traceback__)
    except BaseException as error:  # what only a user's own code raises, such as GeneratorExit
        code = left(words, f"that it raised {type(error).__name__}")
    with contextlib.suppress(OSError):
        os.write(tell, bytes([code % 256]))
    with contextlib.suppress(BaseException):  # the command has ended, whatever the user's own code does at the end
        atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code % 256)


def _end_with_parent(lives: int) -> None:
    """End where the process that waits was killed: nobody would read what this one finds."""
    os.read(lives, 1)
    os._exit(1)


def _waited(child: int, told: int, words: list[str]) -> int:
    """The exit code of the other process, once it has ended; signals that come here are passed on to it."""
    for number in _PASSED_ON:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: os.kill(child, number))
    _, status = os.waitpid(child, 0)
    said = os.read(told, 1) if _is_ready(told) else b""
    code = os.waitstatus_to_exitcode(status)
    if said:
        return code if code > 0 else said[0]
    if code < 0:
        return _killed(-code)
    if code in (128 + number for number in _PASSED_ON):
        return code  # ended at once by a second signal
    return left(words, f"that it called os._exit({code}), or the like")


def _is_ready(told: int) -> bool:
    """Whether the other process has told its exit code; one that it left behind may hold the pipe open."""
    os.set_blocking(told, False)
    import select

    return bool(select.select([told], [], [], 0)[0])


def _killed(number: int) -> int:
    from ._console import err

    err.print(f"The command was ended by signal {number}.", markup=False, highlight=False)
    return 128 + number
