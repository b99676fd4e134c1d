"""The stream that results go to, while all else that a command prints goes to stderr."""

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

_kept: list[Any] = []  # the stream of results of the command that runs


def results() -> Any:
    """The stream of results."""
    return _kept[-1] if _kept else sys.stdout


@contextlib.contextmanager
def results_alone() -> Iterator[None]:
    """Within this context stdout has the results alone: what claims and models of the user's print goes to stderr."""
    _kept.append(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _kept.pop()
