"""The application: how a command ends when it is refused or interrupted."""

import contextlib
from typing import Any

import typer
import typer.core

from lemmata.errors import LemmataError

REFUSED = 2
INTERRUPTED = 130

at_end = contextlib.ExitStack()
"""What a command enters here is left when it ends, however it ends."""


class Commands(typer.core.TyperGroup):
    """A group of commands whose errors of lemmata become one message and exit code 2, and Ctrl-C exit code 130."""

    def invoke(self, ctx: Any) -> object:
        """Run the command that the context names."""
        from ._console import complain, err

        try:
            with at_end:
                return super().invoke(ctx)
        except LemmataError as error:
            complain(error)
            raise typer.Exit(REFUSED) from None
        except KeyboardInterrupt:
            err.print("Interrupted before anything was finished.")
            raise typer.Exit(INTERRUPTED) from None


def version(wanted: bool) -> bool:
    """Print the version and stop, if it was asked for; else the option as it was given."""
    if wanted:
        from lemmata import __version__

        typer.echo(f"lemmata {__version__}")
        raise typer.Exit
    return wanted
