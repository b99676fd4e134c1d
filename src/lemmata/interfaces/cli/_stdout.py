"""The stream for results. All else that a command prints goes to stderr."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any

_SIZES = {"COLUMNS": range(20, 1001), "LINES": range(1, 10_001)}
"""Sizes of a terminal that its variables may say; rich prints nothing at all in 0 columns."""
_kept: list[Any] = []  # the stream of results of the command that runs


def forget_odd_sizes() -> None:
    """Take from the environment what says no size that a terminal can have; the terminal is then asked."""
    for name, sizes in _SIZES.items():
        said = os.environ.get(name, "")
        if not (said.isascii() and said.isdecimal() and len(said) < 9 and int(said) in sizes):
            os.environ.pop(name, None)


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
