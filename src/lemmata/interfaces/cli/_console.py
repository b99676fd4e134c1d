"""Where the command line writes: results to stdout, everything else to stderr."""

import contextlib
import os
import sys
import warnings
from collections.abc import Iterator
from typing import Any

from rich.console import Console

from lemmata.errors import EntryPointWarning, ForeignResultWarning

from ._stdout import results

_LONGEST = 2000
"""The largest number of characters in a line of a message. Longer lines are shortened."""
PIPE_WIDTH = 120
"""Width in columns if the output is not a terminal; rich would cut tables at 80."""


def _width(stream) -> int | None:
    return None if stream.isatty() or "COLUMNS" in os.environ else PIPE_WIDTH


class _Spelled:
    """A stream that accepts every text: characters that its encoding lacks are escaped.

    Without the escapes, rich would print a text with such characters again and again.
    """

    def __init__(self, stream: Any):
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write the text."""
        try:
            return self._stream.write(text)
        except UnicodeEncodeError as error:
            return self._stream.write(text.encode(error.encoding, "backslashreplace").decode(error.encoding))


class _Own(Console):
    """A console that can print every text, whatever its encoding."""

    @property
    def file(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The stream."""
        return _Spelled(super().file)

    @file.setter
    def file(self, new_file: Any) -> None:
        Console.file.fset(self, new_file)  # pyright: ignore


class _Results(_Own):
    """A console for results. The program that reads its output may stop early, as in `lemmata list | head`."""

    @property
    def file(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The stream."""
        return _Spelled(self._file or results())

    @file.setter
    def file(self, new_file: Any) -> None:
        Console.file.fset(self, new_file)  # pyright: ignore

    def on_broken_pipe(self) -> None:
        """Raise an error that the application handles, because rich would end the program with exit code 1."""
        raise BrokenPipeError


out = _Results(width=_width(sys.stdout))
err = _Own(stderr=True, width=_width(sys.stderr))


def plain(text: str) -> None:
    """Print one line on stdout exactly as it is, without markup or wrapping."""
    stream = results()
    stream.write(text + "\n")
    stream.flush()


def plain_json(text: str) -> None:
    """Print JSON on stdout, with escapes for characters that the encoding of the terminal lacks."""
    from lemmata.printable import json_for

    plain(json_for(text, results().encoding))


def complain(error: Exception) -> None:
    """Print an error on stderr: what is wrong, the value found, the rule and the remedy, each on its own line."""
    from lemmata.errors import shortened
    from lemmata.printable import clean

    err.print("Error: ", style="bold red", end="")
    err.print(
        clean(shortened(str(getattr(error, "what", error)), _LONGEST)), markup=False, highlight=False, soft_wrap=True
    )
    for title in ("found", "rule", "remedy"):
        value = getattr(error, title, None)
        if value is not None:
            err.print(
                f"  {title}: {clean(shortened(str(value), _LONGEST))}", markup=False, highlight=False, soft_wrap=True
            )


@contextlib.contextmanager
def plain_warnings() -> Iterator[None]:
    """Within this context, a warning of lemmata's own is one line on stderr, without the code that raised it."""
    shown = warnings.showwarning

    def show(message, category, *rest, **options):
        if not issubclass(category, (EntryPointWarning, ForeignResultWarning)):
            shown(message, category, *rest, **options)
            return
        from lemmata.printable import clean

        err.print("Warning: ", style="bold yellow", end="")
        err.print(clean(str(message)), markup=False, highlight=False, soft_wrap=True)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = shown
