"""`lemmata model`: what theory predicts about a trained model, and whether it came true."""

import contextlib
import dataclasses
import sys
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
            help="Your Python file, which is executed: build() returns the model; fit and decay are optional. Or a"
            " scikit-learn pipeline in FILE.skops, as `lemmata study --save-model` writes it."
        ),
    ],
    data: Annotated[
        str, typer.Argument(help="Training rows: CSV, TSV, Parquet; or NPZ with x and y; or a bundled set.")
    ],
    directory: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where model/ and model.json go.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print model.json alone on stdout.")] = False,
) -> None:
    """What does theory predict about this trained model, and did it come true?

    Each check takes one result of theory. It tests whether the hypotheses hold for this model and these rows. It
    predicts a number from the training rows and the weights, or from one half of the held-out rows for the other half.
    It measures that number in another way, and says whether the two agree and what stays unexplained.

    Writes DIR/model/index.html, DIR/model/rows.csv (a line for each row of data) and DIR/model.json, and prints the
    answer. Exit code 0; 1 if a condition of --require does not hold; 2 if the input is refused; 3 if the output for a
    row depends on other rows or the classes are in another order, and nothing else was run; 130 after Ctrl-C, with
    finished results written.
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

    with contextlib.redirect_stdout(sys.stderr):  # whatever the user's own program prints
        found = load_trained(program, data, told)
        read_required(told.require, [claim.name for claim in posable(found[0])])
    return found


def _run(
    found: tuple["Trained", str, str, "RowNames"], told: ModelOptions, progress: Any, started: float, _: None
) -> ExaminationRecord:
    from lemmata.workflows.examinations import run_examination

    trained, name, rows_name, names = found
    with contextlib.redirect_stdout(sys.stderr):
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
    words = "No weights were given, so lemmata examined the model as build() returned it."
    return [] if told.weights is not None else [words]


def _print(console: Any, record: ExaminationRecord) -> None:
    """The sentences, a row a gauge, what says nothing here, and what others wait for."""
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
            "More checks run if you add what they need:",
            [f"with {what}: {'; '.join(titles)}" for what, titles in waiting],
        ),
    ):
        if lines:
            console.print(title, style="dim")
        for line in lines:
            console.print(f"  {line}", style="dim", markup=False, highlight=False)


def _rows(found: tuple["Trained", str, str, "RowNames"], record: ExaminationRecord) -> dict[str, str]:
    """The file of all rows; none where the model was refused."""
    from lemmata.workflows.examinations import row_table

    whole = all(check.holds is not False for check in record.preflight)
    return {ROWS: row_table(found[0], record.left_out, found[3]).write_csv()} if whole else {}


_JOB = Job(ExaminationRecord, "model", _load, _run, _print, beside=_rows)
model = with_options(_model, ModelOptions)
