"""`lemmata study`: study a bundled data set or the user's file."""

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lemmata.bundled import SETS
from lemmata.code_files import current_folder, in_folder
from lemmata.errors import SettingError
from lemmata.files import check_model_file, keep_inputs
from lemmata.options import StudyOptions
from lemmata.workflows.records.studies import StudyRecord

from ._job import Job
from ._options import Dask, with_options
from ._summary import describe_data, print_summary

if TYPE_CHECKING:
    from rich.console import Console

    from lemmata.interfaces.python import Given
    from lemmata.workflows.studies import Dataset


def _study(
    told: StudyOptions,
    data: Annotated[
        str,
        typer.Argument(
            help=(
                "A bundled data set (digits, breast_cancer, wine, diabetes, iris), or a file: CSV or "
                "another text table, Excel, Parquet, Feather, JSON, JSON lines, NPZ."
            )
        ),
    ],
    dask: Dask = None,
    save_model: Annotated[
        Path | None,
        typer.Option(
            "--save-model",
            metavar="FILE.skops",
            help="Write the recommended model, fitted to all rows, as a scikit-learn pipeline, and its card FILE.md.",
        ),
    ] = None,
    directory: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write report/ and study.json into this folder.")
    ] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print study.json, and nothing else, on stdout.")] = False,
) -> None:
    """How much data do I need, which model predicts best, and what would more data buy?

    The study first tests whether the columns predict the target at all. This permutation test checks whether models
    predict the true target better than a shuffled target. Then the study trains models on growing parts of the table,
    tests them on the other rows, and estimates how the error falls with more rows. Every estimate has a 90 % interval.
    All rows of the table are used. If you name a group or time column, the test, the splits and the intervals take it
    into account.

    The study prints the answer and writes DIR/report/index.html and DIR/study.json. Exit code: 0 on success; 1 if
    --save-model is given and the study recommends no model; 2 if the input is refused; 130 after Ctrl-C, when the
    finished parts are written.
    """
    here = current_folder()
    if save_model is not None:
        check_model_file(save_model, "--save-model")
        program = (told.model or "").partition(".py:")
        inputs = [data, program[0] + ".py" if program[1] else None]
        keep_inputs(inputs, (save_model, save_model.with_suffix(".md")))
    kept: list[Dataset] = []  # the data set, for saving the model

    def loaded(told: StudyOptions, data: str) -> "Dataset":
        kept.append(_load(told, data))
        return kept[0]

    say = functools.partial(print_summary, saves=save_model is not None)
    job = dataclasses.replace(_JOB, load=loaded, say=say)
    record = job(told, data, directory=directory, as_json=as_json, dask=dask)
    if save_model is not None:
        from lemmata.interfaces.python import Given

        from ._console import err, out

        with in_folder(here):  # the user's own code may have changed the folder, and may change it again
            _save(Given(data, kept[0], told), record, save_model.absolute(), err if as_json else out)


def _save(given: "Given", record: StudyRecord, path: Path, console: "Console") -> None:
    """Fit the recommended model and write it, or print why no model was saved."""
    from lemmata.interfaces.python import write_model
    from lemmata.printable import clean
    from lemmata.workflows.studies import named_model

    from ._console import err
    from ._progress import StageProgress

    try:
        named_model(record)
    except SettingError as error:
        err.print(clean(f"No model was saved: {error}"), markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(_NO_MODEL) from None
    with StageProgress(err) as progress:
        progress("Fitting the model to all rows", 0, 1)
        written = write_model(given.fitted(record, None), record, path)
    for what, place in (("Model", written), ("Model card", written.with_suffix(".md"))):
        console.print(f"{what}: {clean(str(place))}", markup=False, highlight=False, soft_wrap=True)


def _load(told: StudyOptions, data: str) -> "Dataset":
    from lemmata.interfaces.python import load
    from lemmata.workflows.studies import check_models, question

    check_models(told.model_names)
    dataset = load(data, told)
    question(dataset, told)
    return dataset


def _run(dataset: "Dataset", *how: Any) -> StudyRecord:
    from lemmata.workflows.studies import run_study

    from ._console import err

    describe_data(err, dataset)
    return run_study(dataset, *how)


_NO_MODEL = 1
"""The exit code if --save-model is given and the study recommends no model."""
_JOB = Job(StudyRecord, "report", _load, _run, print_summary, SETS)
study = with_options(_study, StudyOptions)


def check_seed(seed: int) -> None:
    """Refuse a seed that a random number generator does not accept.

    Raises:
        SettingError: if the value is not a whole number from 0 to 2³² - 1.
    """
    StudyOptions(seed=seed)
