"""`lemmata model`: what theory predicts about a trained model, and whether it came true."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lemmata.files import MODEL
from lemmata.options import ModelOptions
from lemmata.workflows.records.examinations import ROWS, ExaminationRecord

from ._job import Job
from ._options import with_options

if TYPE_CHECKING:
    from lemmata.subjects.trained_models import Trained
    from lemmata.workflows.examinations import RowNames

_FAILED = 3


def _model(
    told: ModelOptions,
    program: Annotated[
        str,
        typer.Argument(
            help=(
                "A Python file, which lemmata executes. Its function build() returns the model; the functions fit and "
                "decay are optional. You can also give a scikit-learn pipeline FILE.skops, written by `lemmata study "
                "--save-model`."
            )
        ),
    ],
    data: Annotated[
        str,
        typer.Argument(
            help="Training rows: a CSV, TSV or Parquet file, an NPZ file with arrays x and y, or a bundled data set."
        ),
    ],
    directory: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write model/ and model.json into this folder.")
    ] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print model.json, and nothing else, on stdout.")] = False,
) -> None:
    """What does theory predict about this trained model, and did it come true?

    Each check applies one theoretical result. The check first tests whether the hypotheses of the result hold for this
    model and these rows. Then the check predicts a number, such as the error on new rows, and measures this number by
    another method. The prediction uses the training rows and the weights, or one half of the held-out rows. The answer
    says whether prediction and measurement agree, and what the result does not explain.

    The command prints the answer and writes DIR/model/index.html, DIR/model/rows.csv (a line for each row of data) and
    DIR/model.json. Exit code: 0 on success; 1 if a condition of --require does not hold; 2 if the input is refused; 3
    if no check was run, because the output for a row depends on other rows, or the classes are not in the order of the
    outputs; 130 after Ctrl-C, when the finished parts are written.
    """
    from ._console import err

    record = _JOB(told, program, data, directory=directory, as_json=as_json)
    from lemmata.workflows.examinations import check_required

    if any(check.holds is False for check in record.preflight):
        raise typer.Exit(_FAILED)
    broken = check_required(record, told.require)
    for sentence in broken:
        err.print(sentence, markup=False, highlight=False)
    if broken:
        raise typer.Exit(1)


def _load(told: ModelOptions, program: str, data: str) -> tuple["Trained", str, str, "RowNames"]:
    from lemmata.workflows.examinations import load_trained, posable, read_required

    found = load_trained(program, data, told)
    read_required(told.require, [claim.name for claim in posable(found[0])])
    return found


def _run(
    found: tuple["Trained", str, str, "RowNames"], told: ModelOptions, progress: Any, started: float, _: None
) -> ExaminationRecord:
    from lemmata.workflows.examinations import run_examination

    trained, name, rows_name, names = found
    record = run_examination(
        trained,
        name=name,
        rows_name=rows_name,
        time_limit=told.time_limit,
        progress=progress,
        started=started,
        names=names,
    )
    return dataclasses.replace(record, notes=[*record.notes, *([] if name.endswith(MODEL) else _notes(told))])


def _notes(told: ModelOptions) -> list[str]:
    words = "No weights were given, so lemmata examined the model that build() returned, without changes."
    return [] if told.weights is not None else [words]


def _print(console: Any, record: ExaminationRecord) -> None:
    """Print the sentences, one row for each check, the checks without a result, and the checks that wait for facts."""
    from rich import box
    from rich.table import Table

    from lemmata.interfaces.report import action_sentences, model_sentences, silence

    for sentence in [*model_sentences(record), *(f"Next: {line}" for line in action_sentences(record))]:
        console.print(sentence, markup=False, highlight=False)
    shown = [own for own in record.gauges if own.predicted is not None]
    if shown:
        table = Table(box=box.SIMPLE, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
        for title in ("theory predicts", "value", "interval", "level", "measured", ""):
            table.add_column(title, justify="left" if title in ("theory predicts", "") else "right")
        for own in shown:
            assert own.predicted is not None
            measured = "" if own.measured is None else f"{own.measured.value:.3g}"
            sign = {"upper": "≤ ", "lower": "≥ "}.get(own.label, "")
            ends = f"{own.predicted.lower:.3g} to {own.predicted.upper:.3g}" if own.label == "estimate" else ""
            value, level = f"{sign}{own.predicted.value:.3g}", own.predicted.at
            table.add_row(own.title, value, ends, level, measured, own.status)
        console.print(table)
    for finding in record.findings:
        console.print(f"* {finding.text}", markup=False, highlight=False)
    for note in record.notes:
        console.print(note, markup=False, highlight=False)
    silent, waiting = silence(record)
    for title, lines in (
        ("These checks say nothing here:", silent),
        (
            "More checks are possible if you add the following inputs:",
            [f"with {what}: {'; '.join(titles)}" for what, titles in waiting],
        ),
    ):
        if lines:
            console.print(title, style="dim", markup=False)
        for line in lines:
            console.print(f"  {line}", style="dim", markup=False, highlight=False)


def _rows(found: tuple["Trained", str, str, "RowNames"], record: ExaminationRecord) -> dict[str, str]:
    """The text of the file with one line for each row; no file if the model was refused."""
    from lemmata.workflows.examinations import row_table

    whole = all(check.holds is not False for check in record.preflight)
    return {ROWS: row_table(found[0], record.left_out, found[3]).write_csv()} if whole else {}


_JOB = Job(ExaminationRecord, "model", _load, _run, _print, beside=_rows, others=(ROWS,))
model = with_options(_model, ModelOptions)
