"""The application: print one message and choose the exit code when a command is refused or interrupted."""

import contextlib
import os
import pathlib
import sys
import traceback
from typing import Any

import typer
import typer.core

from lemmata.errors import DataError, LemmataError, SettingError, line_of, shortened, words_of
from lemmata.interruption import exit_code
from lemmata.limits import check_open_files, lacked_memory, no_open_files

from ._flags import no_start
from ._guard import FAILED, REFUSED, left, raised_at
from ._scarce import no_memory
from ._stdout import lost_stream

TRACEBACK = "LEMMATA_TRACEBACK"
"""Name of the environment variable that makes lemmata print the whole traceback of an unexpected error."""
UNREAD = 141
"""The usual exit code of a program that a closed pipe (SIGPIPE) ends. Code 1 would mean that a claim is refuted."""

OF_A_FAMILY = (
    "--all", "--subject", "--source", "--minutes", "--continue", "--trial-seconds", "--out", "--part", "--write",
)  # fmt: skip
"""Options of `lemmata judge` that `lemmata verify` accepted in an earlier version."""

at_end = contextlib.ExitStack()
"""Contexts that a command enters. They are closed when the command ends, even if the command fails."""


class Commands(typer.core.TyperGroup):
    """A group of commands that converts an error of lemmata to one message and exit code 2.

    Ctrl-C gives exit code 130. If code of the user ends the process, a message says so, whatever the exit code is.
    """

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command for the given words.

        `verify --stale` becomes `judge --stale`, and `verify --edges` becomes `walk`.
        """
        options = [word.partition("=")[0] for word in args[1:] if word.startswith("--")]
        if args[0] == "verify" and "--stale" in options:
            args = ["judge", *args[1:]]
        if args[0] == "verify" and "--edges" in options:
            args = ["walk", *(word for word in args[1:] if word != "--edges")]
        _refuse_moved(args[0], options)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> object:
        """Run the command that the context names."""
        from ._console import complain, err, plain_warnings

        try:
            with at_end, plain_warnings():
                check_open_files()
                return super().invoke(ctx)
        except LemmataError as error:
            complain(error)
            raise typer.Exit(REFUSED) from None
        except EOFError as error:  # typer would treat it as Ctrl-D, with the exit code of a refuted claim
            complain(
                DataError(
                    "a file is shorter than its header says", found=str(error) or None, rule="a file must be complete"
                )
            )
            raise typer.Exit(REFUSED) from None
        except KeyboardInterrupt:
            err.print("Interrupted before any result was finished.")
            raise typer.Exit(exit_code()) from None
        except SystemExit as error:  # lemmata itself ends with typer.Exit
            if unread(error):
                raise typer.Exit(UNREAD) from None
            raise typer.Exit(
                left([ctx.invoked_subcommand or ""], f"sys.exit({error.code!r}){raised_at(error)}")
            ) from None
        except BrokenPipeError:
            _drop_output()
            raise typer.Exit(UNREAD) from None
        except OSError as error:
            if lacked_memory(error):
                complain(_unforeseen(error))
                raise typer.Exit(FAILED) from None
            if (told := no_open_files(error)) is not None:
                complain(told)
                raise typer.Exit(FAILED) from None
            if lost_stream(error):
                raise  # the waiting process reports this error
            _drop_output()
            complain(_of_a_file(error))
            raise typer.Exit(REFUSED) from None
        except Exception as error:
            # Typer's own errors are a usage error or the end. A lost stream is reported by the waiting process.
            if isinstance(error, typer.Abort) or hasattr(error, "exit_code") or lost_stream(error):
                raise
            if (wrong := no_start()) is not None:
                complain(wrong)
                raise typer.Exit(REFUSED) from None
            complain(_unforeseen(error))
            raise typer.Exit(FAILED) from None
        except BaseException as error:  # from a library that panics, or from the user's program
            if lacked_memory(error):
                complain(_unforeseen(error))
                raise typer.Exit(FAILED) from None
            found = line_of(error, 160) + raised_at(error)
            raise typer.Exit(left([ctx.invoked_subcommand or ""], found)) from None


def _of_a_file(error: OSError) -> DataError:
    """The error to show for an error of the operating system. Unlike a file, a stream has no name."""
    what, rule, remedy = "the output cannot be written", "a place that can be written to", "write to another place"
    if error.filename is not None:
        what = f"file {shortened(str(error.filename), 1000)}"
        rule, remedy = "a file that can be read or written", "check the length of the path, and its permissions"
    elif isinstance(error, FileNotFoundError):
        what = "the current folder does not exist any more"
        rule, remedy = "a command runs in an existing folder", "change to an existing folder, and repeat the command"
    return DataError(what, found=error.strerror or str(error), rule=rule, remedy=remedy)


def _unforeseen(error: BaseException) -> LemmataError:
    """The error to show for an unexpected exception. It reports too little memory, or a defect of lemmata."""
    if lacked_memory(error):
        return no_memory(words_of(error, 200) or None)
    if os.environ.get(TRACEBACK):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    said = words_of(error, 200)
    return LemmataError(
        "the command stopped because of a bug in lemmata",
        found=f"{type(error).__name__}: {said} ({pathlib.Path(last.filename).name}, line {last.lineno})",
        rule="an error must name what is wrong with the input, but this error does not",
        remedy=f"run the command again with {TRACEBACK}=1 in its environment, and report what it prints",
    )


def _refuse_moved(command: str, options: list[str]) -> None:
    """Refuse options that an earlier version had, and name the option or command to use now."""
    for option in options:
        if option == "--chapter":
            own = "" if command in ("judge", "list", "refute") else " with `lemmata judge`, `list` or `refute`"
            remedy = f"use --subject NAME{own}, where NAME has the form subject or subject.section"
            raise SettingError(
                "--chapter does not exist any more", rule="claims are chosen with --subject", remedy=remedy
            )
        if command == "verify" and option in OF_A_FAMILY:
            raise SettingError(
                f"verify {option}",
                rule=(
                    "`lemmata verify` judges only the claims that you name, so it does not accept options that select "
                    "many claims"
                ),
                remedy=f"use `lemmata judge {option}`",
            )


def unread(end: SystemExit) -> bool:
    """Whether a library ended the program because the reader of stdout had stopped. If so, drop stdout's buffer."""
    if not isinstance(end.__context__, BrokenPipeError):
        return False
    _drop_output()
    return True


def _drop_output() -> None:
    """If stdout accepts no more output, discard its buffer, because Python would try to write it again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def version(wanted: bool) -> bool:
    """Print the version and stop if the user asked for it; otherwise return the option unchanged."""
    if wanted:
        from lemmata.version import __version__

        typer.echo(f"lemmata {__version__}")
        raise typer.Exit
    return wanted
