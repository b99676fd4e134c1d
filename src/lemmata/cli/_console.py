"""Where the command line writes: results to stdout, everything else to stderr."""

import os
import sys

from rich.console import Console

PIPE_WIDTH = 120
"""Columns where no terminal says its own; rich would cut tables at 80."""


def _width(stream) -> int | None:
    return None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH


class _Results(Console):
    """A console whose reader may leave: `lemmata list | head`."""

    def on_broken_pipe(self) -> None:
        """Let the application end the program, where rich would end it with exit code 1."""
        raise BrokenPipeError


out = _Results(width=_width(sys.stdout))
err = Console(stderr=True, width=_width(sys.stderr))


def plain(text: str) -> None:
    """One line on stdout exactly as it is: no markup, no wrapping."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def complain(error: Exception) -> None:
    """An error of lemmata on stderr: what, value, rule and remedy on lines of their own, controls made visible."""
    from lemmata.report import clean

    err.print("Error: ", style="bold red", end="")
    err.print(clean(str(getattr(error, "what", error))), markup=False, highlight=False, soft_wrap=True)
    for title in ("found", "rule", "remedy"):
        value = getattr(error, title, None)
        if value is not None:
            err.print(f"  {title}: {clean(str(value))}", markup=False, highlight=False, soft_wrap=True)
