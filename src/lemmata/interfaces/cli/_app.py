"""The application: how a command ends when it is refused or interrupted."""

import contextlib
import os
import sys
from typing import Any

import typer
import typer.core

from lemmata.errors import DataError, LemmataError

REFUSED = 2
INTERRUPTED = 130
UNREAD = 141
"""As of a program that the signal of a closed pipe ends; 1 would say that a claim is refuted."""

at_end = contextlib.ExitStack()
"""What a command enters here is left when it ends, however it ends."""


class Commands(typer.core.TyperGroup):
    """A group of commands whose errors of lemmata become one message and exit code 2, and Ctrl-C exit code 130."""

    def invoke(self, ctx: Any) -> object:
        """Run the command that the context names."""
        from ._console import complain, err, plain_warnings

        try:
            with at_end, plain_warnings():
                return super().invoke(ctx)
        except LemmataError as error:
            complain(error)
            raise typer.Exit(REFUSED) from None
        except KeyboardInterrupt:
            err.print("Interrupted before anything was finished.")
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(UNREAD) from None
        except OSError as error:
            _drop_output()
            # Files are named in errors of their own; a stream has no name.
            what = "the output cannot be written" if error.filename is None else f"file {error.filename}"
            complain(DataError(what, found=error.strerror or str(error), remedy="write to another place"))
            raise typer.Exit(REFUSED) from None


def _drop_output() -> None:
    """Where standard output takes no more, send what waits for it nowhere: Python would try again at its end."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def version(wanted: bool) -> bool:
    """Print the version and stop, if it was asked for; else the option as it was given."""
    if wanted:
        from lemmata.version import __version__

        typer.echo(f"lemmata {__version__}")
        raise typer.Exit
    return wanted
