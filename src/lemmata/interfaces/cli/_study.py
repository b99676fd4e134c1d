"""`lemmata study`: the main job on a bundled set or a file of the user's; `lemmata report`: its page again."""

import dataclasses
from pathlib import Path
from typing import Annotated, Any

import typer

from lemmata.options import StudyOptions

from ._options import Dask, Jobs, with_options


def _study(
    data: Annotated[
        str, typer.Argument(help="digits, breast_cancer, wine, diabetes, iris, or a CSV/TSV/Parquet/NPZ file.")
    ],
    jobs: Jobs = 1,
    dask: Dask = None,
    directory: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where report/ and study.json go.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print study.json alone on stdout.")] = False,
    **options: Any,
) -> None:
    """How much data do I need, which model predicts best, and what would more data buy?

    Says first whether the columns predict the target at all: whether models do better than with the target shuffled (a
    permutation test). Then trains models on growing parts of the table, tests them on the rest, and says with an
    interval how the error falls with more rows. All rows of the table are used; if you name groups or times,
    the test, the splits and the intervals use them.

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
        from lemmata.interfaces.python import load
        from lemmata.interfaces.report import write_report
        from lemmata.workers import workers
        from lemmata.workflows.studies import check_models, question, run_study

        executor = at_end.enter_context(workers(jobs, dask))
        check_models(told.model_names)
        dataset = load(data, told)
        question(dataset, told)
        prepare_directory(directory)
        describe_data(err, dataset)
        record = run_study(dataset, told, progress, started, executor)
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
    records: Annotated[list[Path], typer.Argument(help="A study.json or model.json; or two of one kind to compare.")],
    directory: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where index.html goes.")] = Path("report"),
) -> None:
    """Make the page of a study or of an examined model again, or one that compares two.

    Reads study.json, which `lemmata study` writes, or model.json of `lemmata model`, and computes nothing anew: the
    page opens offline. Two records, say of a table before and after more rows, are set side by side.

    Exit code 0; 2 where a file is no such record, or the two are of different kinds.
    """
    from lemmata.errors import SettingError

    from ._console import plain

    if len(records) > 2:
        raise SettingError("lemmata report takes one or two records", found=len(records), rule="a study.json, or two")
    models = [_is_of_model(path) for path in records]
    if len(set(models)) > 1:
        other = records[models.index(False)]
        found = f"a record of a model, and {other.name}, which is none"
        raise SettingError("lemmata report", found=found, rule="two records of one kind")
    plain(f"Report: {_model_page(records, directory) if models[0] else _study_page(records, directory)}")


def _is_of_model(path: Path) -> bool:
    """Whether a file begins as model.json does, also where it was cut; what is wrong with it, its reader says."""
    import json

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return False
    try:
        return "gauges" in json.loads(text)
    except (ValueError, TypeError):
        return '"gauges":' in text


def _study_page(records: list[Path], directory: Path) -> Path:
    from lemmata.interfaces.report import write_comparison, write_report
    from lemmata.workflows.studies import Record

    from ._files import prepare_directory

    found = [Record.load(path) for path in records]
    prepare_directory(directory, folders=(), files=("index.html",))
    return write_report(found[0], directory) if len(found) == 1 else write_comparison(found[0], found[1], directory)


def _model_page(records: list[Path], directory: Path) -> Path:
    from lemmata.interfaces.report import write_model, write_models
    from lemmata.workflows.examinations import Record

    from ._files import prepare_directory

    found = [Record.load(path) for path in records]
    prepare_directory(directory, folders=(), files=("index.html",))
    return write_model(found[0], directory) if len(found) == 1 else write_models(found[0], found[1], directory)


def check_seed(seed: int) -> None:
    """Refuse a seed that no generator takes.

    Raises:
        SettingError: not a whole number from 0 to 2³² - 1.
    """
    StudyOptions(seed=seed)
