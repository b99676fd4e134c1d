"""`lemmata grokking`: find when the runs of a training log fit and when they generalise."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ._columns import frame_of

if TYPE_CHECKING:
    from lemmata.subjects.grokking import GrokkingReport


def grokking(
    log: Annotated[Path, typer.Argument(help="A CSV, TSV or Parquet file with one logged step per row.")],
    step: Annotated[str | None, typer.Option(metavar="COLUMN", help="Column of the steps.")] = None,
    train: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the training accuracy or loss.")
    ] = None,
    test: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the validation accuracy or loss.")
    ] = None,
    weight_decay: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of the weight decay. Rows with the same weight decay form one run."
        ),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Write accuracy or loss if the column names contain neither word."),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(
            metavar="A",
            help=(
                "A run counts as fitted when its training accuracy reaches this value, and as generalised when its "
                "validation accuracy reaches it. Repeatable. Default: 0.5, 0.9 and 0.99."
            ),
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Find the grokking delay in a training log: when each run fits, and when it generalises.

    For each accuracy threshold, the command prints the first step at which the training accuracy reaches the threshold,
    the first step at which the validation accuracy reaches it, and the ratio of the two steps. The command says whether
    this ratio is the same at every threshold. If the log has several weight decays, the command also tests whether the
    delay is proportional to 1/weight decay. The command finds columns such as step, train_accuracy, validation_accuracy
    and weight_decay by their names.

    Exit code: 0 on success; 2 after a usage error.
    """
    from lemmata.subjects.grokking import grokking_report

    from ._console import out, plain
    from ._files import strict_json

    frame = frame_of(log, "logged step")
    report = grokking_report(
        frame, thresholds=threshold or (0.5, 0.9, 0.99), step=step, train=train, test=test, weight_decay=weight_decay,
        metric=metric,
    )  # fmt: skip
    if as_json:
        plain(strict_json(_record(report)))
        return
    for line in str(report).splitlines():
        out.print(line, markup=False, highlight=False, soft_wrap=True)
    own = report.claims[0]
    out.print(
        f"The test for one or two clocks (time scales) relies on the claim {own}. `lemmata show {own}` prints it."
    , markup=False,
              highlight=False, soft_wrap=True)  # fmt: skip


def _record(report: "GrokkingReport") -> dict[str, Any]:
    """The fields of the result that are numbers or words, for JSON."""
    runs = [
        {field.name: getattr(run, field.name) for field in dataclasses.fields(run) if field.repr}
        | {"crossings": [dataclasses.asdict(own) for own in run.crossings]}
        for run in report.runs
    ]
    slope = None if report.slope is None else dataclasses.asdict(report.slope) | {"inverse": report.slope.inverse}
    conditions = [dataclasses.asdict(condition) for condition in report.conditions]
    columns = dict(zip(("step", "train", "test"), report.columns, strict=True))
    return {"metric": report.metric, "columns": columns, "runs": runs, "slope": slope, "conditions": conditions,
            "claims": report.claims}  # fmt: skip
