"""The common steps of `lemmata study`, `compare` and `model`: load, run, print, write record and page."""

import contextlib
import dataclasses
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from lemmata.bundled import NO_NAMES, Bundled
from lemmata.files import keep_inputs
from lemmata.interruption import exit_code
from lemmata.workflows.records import StoredRecord

if TYPE_CHECKING:
    from lemmata.results import Result

    from ._progress import StageProgress


def begin(progress: "StageProgress") -> None:
    """Load JAX with float64 and with the compiled functions that earlier runs kept."""
    progress("Loading", 0, 1)
    import jax

    from ._app import at_end
    from ._compilations import kept_compilations

    jax.config.update("jax_enable_x64", True)
    at_end.enter_context(kept_compilations())


@dataclasses.dataclass(frozen=True)
class Job:
    """A computation that writes a record and its page.

    Args:
        record: the class of the record, with the name of its file.
        folder: the name of the page's folder.
        load: a function that converts options and the arguments of the command line to the input of `run`. This
            function refuses invalid input as early as possible.
        run: a function that makes the record from this input, the options, a progress display, the start time and an
            executor.
        say: a function that prints the content of a record on a console.
        names: names, such as those of bundled data sets, that the command line may give instead of a file of data.
        beside: a function that makes other files for the page's folder, as texts by name, from the result of `load` and
            the record.
        others: the names of these files.
    """

    record: type[StoredRecord]
    folder: str
    load: Callable[..., Any]
    run: Callable[..., Any]
    say: Callable[..., None]
    names: Bundled = NO_NAMES
    beside: Callable[[Any, Any], dict[str, str]] = lambda loaded, record: {}
    others: tuple[str, ...] = ()

    def __call__(
        self, told: Any, *data: str, directory: Path, as_json: bool, jobs: int = 1, dask: str | None = None
    ) -> Any:
        """Load, run, print, write, and return the record.

        Args:
            told: the options of the command, as a dataclass.
            data: the arguments of the command line.
            directory: the folder for the page and the record.
            as_json: whether only the record is printed.
            jobs: the number of processes that share the work.
            dask: the address of a Dask scheduler whose workers do the work instead.

        Raises:
            MissingFileError: if the path of the data does not exist.
            SettingError: if a result would replace a file that is read.
            FileError: if a file cannot be written; the answer is printed before.
            Exit: with code 130 after Ctrl-C; finished results are written.
        """
        import time

        from lemmata.interfaces.report import start_converter
        from lemmata.printable import clean

        from ._app import at_end
        from ._console import err, out
        from ._files import prepare_directory
        from ._progress import StageProgress

        self.names.look(data[-1])  # before anything is loaded
        started, file = time.monotonic(), self.record.file
        keep_inputs(_inputs(told, data), self._outputs(directory))
        with StageProgress(err) as progress:
            start_converter()
            begin(progress)
            from lemmata.results import writing
            from lemmata.workers import workers

            executor = at_end.enter_context(workers(jobs, dask))
            place = directory.absolute()  # the user's own code may change the folder
            with contextlib.redirect_stdout(sys.stderr):  # stdout is only for the answer
                loaded = self.load(told, *data)
            prepare_directory(place, file, f"{self.folder}/index.html")
            result = at_end.enter_context(writing(place, file))
            with contextlib.redirect_stdout(sys.stderr):
                record = self.run(loaded, told, progress, started, executor)
            record = dataclasses.replace(record, command=told.command(*data))
        with answered(self._told(record, as_json)):
            self._write(loaded, record, result, place)
        for what, path in (("Report", f"{self.folder}/index.html"), ("Record", file)) if not as_json else ():
            out.print(f"{what}: {clean(str(directory / path))}", markup=False, highlight=False, soft_wrap=True)
        if record.interrupted:
            err.print("Interrupted; the finished results were written.")
            raise typer.Exit(exit_code())
        return record

    def _outputs(self, directory: Path) -> list[Path]:
        """The files that the job writes or removes."""
        from lemmata.interfaces.report import left_by

        page = directory / self.folder / "index.html"
        beside = [page.parent / name for name in (*self.others, *left_by(page))]
        return [directory / self.record.file, page, *beside]

    def _told(self, record: Any, as_json: bool) -> Callable[[], None]:
        """The function that prints the answer."""
        from lemmata.printable import clean

        from ._console import out, plain_json

        return (lambda: plain_json(record.to_json())) if as_json else (lambda: self.say(out, clean(record)))

    def _write(self, loaded: Any, record: Any, result: "Result", directory: Path) -> None:
        """Write the record, its page and the other files."""
        from lemmata.interfaces.report import left_by, page_of
        from lemmata.results import digest

        from ._console import err
        from ._progress import StageProgress

        page = directory / self.folder / "index.html"
        with StageProgress(err) as progress:
            progress("Writing the report", 0, 1)
            text, beside = record.to_json(), self.beside(loaded, record)
            shown = page_of(record, beside={name: digest(other) for name, other in beside.items()})
            result.replace(
                {self.record.file: text + "\n", f"{self.folder}/index.html": shown}
                | {f"{self.folder}/{name}": other for name, other in beside.items()},
                gone=[f"{self.folder}/{name}" for name in left_by(page)],  # an earlier run's page
            )


def _inputs(told: Any, data: tuple[str, ...]) -> list[str]:
    """The words of the command line that may name files: arguments and texts of options. `FILE.py:f` names FILE.py."""
    values = [*data, *(getattr(told, field.name) for field in dataclasses.fields(told))]
    words = [word for value in values for word in (value if isinstance(value, tuple) else (value,))]
    texts = [word for word in words if isinstance(word, str)]
    return [f"{file}.py" if colon else file for file, colon, _ in (text.partition(".py:") for text in texts)]


@contextlib.contextmanager
def answered(say: Callable[[], None]) -> Iterator[None]:
    """Print the answer, then run the body of the context, which writes files. If one of the two fails, do the other.

    Args:
        say: the function that prints the answer.
    """
    unsaid = None
    try:
        say()
    except OSError as error:  # an error of standard output, reported after the writing
        unsaid = error
    yield
    if unsaid is not None:
        raise unsaid
