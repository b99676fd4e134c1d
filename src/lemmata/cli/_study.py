"""`lemmata study`: the main job on a bundled set or a file of the user's; `lemmata report`: its page again."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from lemmata.options import StudyOptions

from ._options import with_options


def _study(
    data: Annotated[
        str, typer.Argument(help="digits, breast_cancer, wine, diabetes, iris, or a CSV/TSV/Parquet/NPZ file.")
    ],
    directory: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where report/ and study.json go.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print study.json alone on stdout.")] = False,
    **options: Any,
) -> None:
    """How much data do I need, which model predicts best, and what would more data buy?

    Says first whether the columns predict the target at all: whether models do better than with the target shuffled (a
    permutation test). Then fits models on growing parts of the table, tests them on the rest, and says with an interval
    how the curve goes on, and at which floor it ends.

    Writes DIR/report/index.html and DIR/study.json, and prints the answer. Exit code 0; 2 where the input is refused;
    130 after Ctrl-C, with what was finished written.
    """
    import time

    from ._app import INTERRUPTED, at_end
    from ._compilations import kept_compilations
    from ._console import err, out, plain
    from ._files import prepare_directory, write_text
    from ._progress import StageProgress
    from ._summary import describe_data, print_summary

    started = time.monotonic()
    values: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    told = StudyOptions(**values)
    with StageProgress(err) as progress:
        progress("Loading", 0, 1)
        import jax

        jax.config.update("jax_enable_x64", True)
        at_end.enter_context(kept_compilations())
        from lemmata.report import load, write_report
        from lemmata.studies import check_models, question, run_study

        check_models(told.model_names)
        dataset = load(data, told)
        question(dataset, told)
        prepare_directory(directory)
        describe_data(err, dataset)
        record = run_study(dataset, told, progress, started)
        record = dataclasses.replace(record, command=told.command(data))
        progress("Writing the report", 0, 1)
        text = record.to_json()
        written = write_text(directory / "study.json", text)
        page = write_report(record, directory / "report")
    if as_json:
        plain(text)
    else:
        print_summary(out, record, page, written)
    if record.interrupted:
        err.print("Interrupted: what was finished is written.")
        raise typer.Exit(INTERRUPTED)


study = with_options(_study, StudyOptions)


def report(
    records: Annotated[list[Path], typer.Argument(help="A study.json, or two to compare.")],
    directory: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where index.html goes.")] = Path("report"),
) -> None:
    """Make the page of a study again, or one that compares two studies.

    Reads study.json, which `lemmata study` writes, and computes nothing anew: the page opens offline. Two records, say
    of a table before and after more rows, are set side by side.

    Exit code 0; 2 where a file is no record of a study.
    """
    from lemmata.errors import SettingError

    from ._console import plain
    from ._files import prepare_directory

    if len(records) > 2:
        raise SettingError("lemmata report takes one or two records", found=len(records), rule="a study.json, or two")
    from lemmata.report import write_comparison, write_report
    from lemmata.studies import Record

    found = [Record.load(path) for path in records]
    prepare_directory(directory, folders=(), files=("index.html",))
    page = write_report(found[0], directory) if len(found) == 1 else write_comparison(found[0], found[1], directory)
    plain(f"Report: {page}")


def check_seed(seed: int) -> None:
    """Refuse a seed that no generator takes.

    Raises:
        SettingError: not a whole number from 0 to 2³² - 1.
    """
    StudyOptions(seed=seed)
