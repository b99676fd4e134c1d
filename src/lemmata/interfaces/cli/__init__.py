"""The command line, with one file per command. Commands import JAX and lower subpackages only when they run."""

import gc
import inspect
import sys
from typing import Annotated

import typer

from lemmata.code_files import forget_current_folder
from lemmata.interruption import exit_code, listening
from lemmata.printable import open_streams

from ._app import UNREAD, Commands, unread, version
from ._calibrate import calibrate
from ._compare import compare
from ._emergence import emergence
from ._flags import solve_in_turn as solve_in_turn
from ._grokking import grokking
from ._guard import guarded
from ._in_context import in_context
from ._judge import judge
from ._ledger import ledger
from ._list import list_claims
from ._map import map_catalogue
from ._model import model
from ._mutate import mutate
from ._refute import refute
from ._report import report
from ._scaling import scaling
from ._show import show
from ._stdout import forget_odd_sizes, results_alone
from ._study import study
from ._verify import verify
from ._walk import walk

app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="Deep-learning theory that you can apply to your data and models, or test claim by claim.",
)

commands = {
    "study": study, "report": report, "model": model, "compare": compare, "in-context": in_context, "scaling": scaling,
    "emergence": emergence, "grokking": grokking,
    "list": list_claims, "show": show, "map": map_catalogue, "verify": verify, "judge": judge, "walk": walk,
    "mutate": mutate, "calibrate": calibrate, "refute": refute, "ledger": ledger,
}  # fmt: skip
for name, command in commands.items():
    # A line break in a docstring would be a line break in the help, at any width of the terminal.
    paragraphs = inspect.cleandoc(command.__doc__ or "").split("\n\n")
    app.command(name, help="\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs))(
        results_alone()(command)
    )


@app.callback()
def _options(
    show_version: Annotated[
        bool, typer.Option("--version", callback=version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line. This is the entry point `lemmata`.

    Python's garbage collector runs after 50,000 new objects instead of 700. Each collection scans all code that was
    read to compute digests. With the default, the digests of all claims took three times as long. When the program
    ends, the collector frees no objects, because the system frees them faster. Otherwise, a study ended 0.6 s later.
    """
    gc.set_threshold(50_000, 20, 20)
    open_streams()
    forget_odd_sizes()
    forget_current_folder()
    solve_in_turn()
    try:
        guarded(_run, sys.argv[1:])
    finally:
        gc.freeze()


def _run() -> None:
    try:
        with listening():
            app()
    except SystemExit as end:  # typer ends with 1 if its help has no reader
        raise SystemExit(UNREAD) if unread(end) else end from None
    except KeyboardInterrupt:  # while the command line was parsed, before a command began
        sys.stderr.write("Interrupted before any result was finished.\n")
        raise SystemExit(exit_code()) from None
