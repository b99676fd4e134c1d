"""`lemmata model`: what theory predicts about a trained model, and whether it came true."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lemmata.options import ModelOptions

from ._options import with_options

if TYPE_CHECKING:
    from lemmata.workflows.examinations import Record

_FAILED = 3


def _model(
    program: Annotated[
        str, typer.Argument(help="Your Python file, which is executed: build() returns the model; fit, decay optional.")
    ],
    data: Annotated[
        str, typer.Argument(help="Training rows: CSV, TSV, Parquet; or NPZ with x and y; or a bundled set.")
    ],
    directory: Annotated[Path, typer.Option("--out", metavar="DIR", help="Where model/ and model.json go.")] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print model.json alone on stdout.")] = False,
    **options: Any,
) -> None:
    """What does theory predict about this trained model, and did it come true?

    Theory by theory: whether its hypotheses hold for this model and these rows, the number that it predicts from
    training rows and weights (or from a half of the held-out rows, about the other half), the number that is measured
    by another route, and what it leaves unexplained.

    Writes DIR/model/index.html and DIR/model.json, and prints the answer. Exit code 0; 1 where a condition of --require
    does not hold; 2 where the input is refused; 3 where the model is no function of one row, or its classes are in
    another order, and nothing else was run; 130 after Ctrl-C, with what was finished written.
    """
    import contextlib
    import sys
    import time

    from ._app import INTERRUPTED, at_end
    from ._compilations import kept_compilations
    from ._console import err, out, plain
    from ._files import prepare_directory, write_text
    from ._progress import StageProgress

    started = time.monotonic()
    values: Any = {name: tuple(value) if isinstance(value, list) else value for name, value in options.items()}
    told = ModelOptions(**values)
    with StageProgress(err) as progress:
        progress("Loading", 0, 1)
        import jax

        jax.config.update("jax_enable_x64", True)
        at_end.enter_context(kept_compilations())
        from lemmata.interfaces.report import write_model
        from lemmata.workflows.examinations import check_required, load_trained, posable, read_required, run_examination

        with contextlib.redirect_stdout(sys.stderr):  # whatever the user's own program prints
            trained, name, rows_name = load_trained(program, data, told)
            read_required(told.require, [claim.name for claim in posable(trained)])
            prepare_directory(directory, ("model",), ("model.json", "model/index.html"))
            record = run_examination(
                trained, name=name, rows_name=rows_name, time_limit=told.time_limit, progress=progress, started=started
            )
        record = dataclasses.replace(record, command=told.command(program, data), notes=[*record.notes, *_notes(told)])
        broken = check_required(record, told.require)
        progress("Writing the report", 0, 1)
        text = record.to_json()
        written = write_text(directory / "model.json", text)
        page = write_model(record, directory / "model")
    if as_json:
        plain(text)
    else:
        _print(out, record)
        for what, path in (("Report", page), ("Record", written)):
            out.print(f"{what}: {path}", markup=False, highlight=False, soft_wrap=True)
    if record.interrupted:
        err.print("Interrupted: what was finished is written.")
        raise typer.Exit(INTERRUPTED)
    if any(check.holds is False for check in record.preflight):
        raise typer.Exit(_FAILED)
    if broken:
        for sentence in broken:
            err.print(sentence, markup=False, highlight=False)
        raise typer.Exit(1)


def _notes(told: ModelOptions) -> list[str]:
    words = "No weights were given: the model was examined as build() returned it."
    return [] if told.weights is not None else [words]


def _print(console: Any, record: "Record") -> None:
    """The sentences, a row a gauge, what says nothing here, and what others wait for."""
    from rich import box
    from rich.table import Table

    from lemmata.interfaces.report import clean, model_sentences, silence

    record = clean(record)
    for sentence in model_sentences(record):
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
            ends = f"{own.predicted.low:.3g} to {own.predicted.high:.3g}" if own.label == "estimate" else ""
            value, level = f"{sign}{own.predicted.value:.3g}", own.predicted.at
            table.add_row(own.title, value, ends, level, measured, own.status)
        console.print(table)
    for finding in record.findings:
        console.print(f"* {finding.text}", markup=False, highlight=False)
    for note in record.notes:
        console.print(note, markup=False, highlight=False)
    silent, waiting = silence(record)
    for title, lines in (
        ("Says nothing here:", silent),
        ("More gauges would speak:", [f"with {what}: {'; '.join(titles)}" for what, titles in waiting]),
    ):
        if lines:
            console.print(title, style="dim")
        for line in lines:
            console.print(f"  {line}", style="dim", markup=False, highlight=False)


model = with_options(_model, ModelOptions)
