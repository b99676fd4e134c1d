"""`lemmata compare`: which way of mixing a sequence fits the rows of a task or of the user's table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lemmata.options import ComparisonOptions
from lemmata.workflows.records.comparisons import ComparisonRecord

from ._job import Job
from ._options import Dask, Jobs, with_options

if TYPE_CHECKING:
    from lemmata.workflows.comparisons import Sequences


def _compare(
    told: ComparisonOptions,
    data: Annotated[
        str,
        typer.Argument(
            help=(
                "A bundled task (lookup, filter, motif, smooth, noise, hold), the bundled data set digits, or a CSV, "
                "TSV, Parquet or NPZ file. An NPZ file needs arrays y and x of shape (rows, tokens, channels). An "
                "array mask is optional."
            )
        ),
    ],
    jobs: Jobs = 1,
    dask: Dask = None,
    directory: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="Write compare/ and compare.json into this folder.")
    ] = Path(),
    as_json: Annotated[bool, typer.Option("--json", help="Print compare.json, and nothing else, on stdout.")] = False,
) -> None:
    """Which way of mixing a sequence fits these rows: none, local windows, a linear recurrence, or attention?

    The comparison uses four families of models. Each family mixes the tokens without learned parameters, and a head of
    the same kind follows. All families get the same rows and splits, and leave-one-out on the training rows chooses
    their settings. The answer names the family that wins, or says that no family wins. The answer also gives the error
    predicted from the training rows alone, the error expected with more rows, and the cost of longer sequences.

    The comparison prints the answer and writes DIR/compare/index.html and DIR/compare.json. Exit code: 0 on success;
    2 if the input is refused; 130 after Ctrl-C, when the finished parts are written.
    """
    _JOB(told, data, directory=directory, as_json=as_json, jobs=jobs, dask=dask)


def _load(told: ComparisonOptions, data: str) -> "Sequences":
    from lemmata.workflows.comparisons import load_sequences

    return load_sequences(data, told)


def _run(*how: Any) -> ComparisonRecord:
    from lemmata.workflows.comparisons import run_comparison

    return run_comparison(*how)


def _print(console: Any, record: ComparisonRecord) -> None:
    """Print the sentences of the answer, a table with one row for each family, and the notes."""
    from rich import box
    from rich.table import Table

    for sentence in record.sentences:
        console.print(sentence, markup=False, highlight=False)
    if record.families:
        table = Table(box=box.SIMPLE, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
        table.add_column("\nfamily")
        for title in (f"error with\n{record.data.training:,} rows", "\n95 % interval", "predicted from\ntraining rows",
                      "effective\ndimension", "\nseconds"):  # fmt: skip
            table.add_column(title, justify="right")
        for own in sorted(record.families, key=lambda own: own.error.value):
            predicted = own.ratio * own.error.value if own.ratio is not None else None
            cells = (
                f"{own.error.value:.3g}", f"{own.error.lower:.3g} to {own.error.upper:.3g}",
                "" if predicted is None else f"{predicted:.3g}",
                "" if own.effective_dimension is None else f"{own.effective_dimension:.0f}", f"{own.seconds:.1f}",
            )  # fmt: skip
            table.add_row(own.title, *cells, style="bold" if own.name in record.leaders else None)
        console.print(table)
        channels = f"{record.data.channels} channel{'s' * (record.data.channels != 1)}"
        console.print(
            f"{record.data.name}: {record.data.used_rows:,} rows of {record.data.length} tokens with {channels}. "
            "Each error is a fraction of the target's variance. Always predicting the mean has error 1.",
            style="dim", highlight=False, markup=False,
        )  # fmt: skip
    titles = {own.name: own.title for own in record.families}
    for own in record.finite:
        console.print(
            f"Trained network, {titles[own.name]}: error {own.error:.3g} with "
            f"{own.parameters:,} parameters (the kernel of this family has error "
            f"{own.kernel:.3g} on the same split).", markup=False, highlight=False,
        )  # fmt: skip
    for line in dict.fromkeys([*record.data.notes, *record.notes]):
        console.print(f"Note: {line}", markup=False, highlight=False)


_JOB = Job(ComparisonRecord, "compare", _load, _run, _print)
compare = with_options(_compare, ComparisonOptions)
