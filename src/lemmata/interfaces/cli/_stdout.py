"""The stream for results. A command prints everything else to stderr."""

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from typing import Any

_SIZES = {"COLUMNS": range(20, 1001), "LINES": range(1, 10_001)}
"""For each environment variable, its accepted values. A width of 0 is refused: rich would then print nothing."""
_kept: list[Any] = []  # the stream of results of the command that runs


def forget_odd_sizes() -> None:
    """Remove impossible terminal sizes from the environment, so that the size is read from the terminal itself."""
    for name, sizes in _SIZES.items():
        said = os.environ.get(name, "")
        if not (said.isascii() and said.isdecimal() and len(said) < 9 and int(said) in sizes):
            os.environ.pop(name, None)


def results() -> Any:
    """The stream of results."""
    return _kept[-1] if _kept else sys.stdout


def lost_stream(error: BaseException) -> bool:
    """Whether a command stopped because standard output or standard error is closed. lemmata itself closes neither.

    Args:
        error: the error that stopped the command.
    """
    bad = isinstance(error, OSError) and error.errno == errno.EBADF and error.filename is None
    return bad or not (_is_open(results()) and _is_open(sys.stderr))


def _is_open(stream: Any) -> bool:
    if stream is None or getattr(stream, "closed", False):
        return False
    try:
        os.fstat(stream.fileno())
    except OSError as error:  # also if a stream has no file descriptor, as in a test
        return error.errno != errno.EBADF
    except (AttributeError, ValueError):
        return True
    return True


@contextlib.contextmanager
def results_alone() -> Iterator[None]:
    """Within this context, stdout holds only results. Output of the user's claims and models goes to stderr."""
    _kept.append(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _kept.pop()
