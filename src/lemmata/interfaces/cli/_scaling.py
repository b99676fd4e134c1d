"""`lemmata scaling`: fit a scaling law to a table of losses, and say which numbers the data do not determine."""

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lemmata.errors import SettingError

from ._columns import frame_of, numeric_column

if TYPE_CHECKING:
    from lemmata.subjects.scaling import AbstractFinding, ScalingLaw


def scaling(
    data: Annotated[Path, typer.Argument(help="A CSV, TSV or Parquet file with one run per row.")],
    size: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the model size n.")] = "n",
    value: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the loss.")] = "loss",
    amount: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the data size d. Default: the column d, if the table has one."),
    ] = None,
    at: Annotated[
        list[float] | None, typer.Option(metavar="N", help="Predict the loss of a model of size N. Repeatable.")
    ] = None,
    at_data: Annotated[float | None, typer.Option("--d", metavar="D", help="Data size d for --at and --loss.")] = None,
    loss: Annotated[
        list[float] | None,
        typer.Option(metavar="L", help="Estimate the model size n that reaches the loss L. Repeatable."),
    ] = None,
    compute: Annotated[
        list[float] | None,
        typer.Option(metavar="C", help="Choose the best n and d for the compute budget 6 n d = C. Repeatable."),
    ] = None,
    served: Annotated[
        float,
        typer.Option(
            metavar="D",
            help=(
                "Use with --compute: the amount of data that the trained model will serve. Serving one unit of data "
                "costs 2 n."
            ),
        ),
    ] = 0.0,
    floor: Annotated[bool, typer.Option(help="Fit a constant term E.")] = True,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.9,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Fit the scaling law loss = E + A n^-alpha (+ B d^-beta) to measured losses, with intervals.

    The command prints the fitted law, the answers to --at, --loss and --compute, and a note on every number that the
    runs do not determine.

    Exit code: 0 on success; 2 after a usage error.
    """
    from ._console import out, plain
    from ._files import strict_json

    _check(at, at_data, loss, compute, served)
    table = _columns(data, size, value, amount)
    from lemmata.subjects.scaling import fit_scaling_law

    d = table.get("d")
    law = fit_scaling_law(table["n"], table["loss"], d, floor=floor, level=level)
    answers = [(f"loss at n = {n:g}{_with(at_data)}", law.extrapolate(n, at_data)) for n in at or ()]
    answers += [(f"n for the loss {least:g}{_with(at_data)}", law.needed(least, at_data)) for least in loss or ()]
    answers += [(f"budget {budget:g}", law.allocate(budget, served=served)) for budget in compute or ()]
    if as_json:
        record = {"law": _record(law), "answers": [{"question": asked} | _record(found) for asked, found in answers]}
        plain(strict_json(record))
        return
    for line in _lines(law, answers):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _check(
    at: list[float] | None, d: float | None, loss: list[float] | None, compute: list[float] | None, served: float
) -> None:
    """Refuse invalid numbers in questions, and options that no question uses."""
    for option, values in (("--at", at), ("--d", [] if d is None else [d]), ("--loss", loss), ("--compute", compute)):
        for value in values or ():
            if not 0 < value < math.inf:
                raise SettingError(option, found=f"{value:g}", rule="a finite number above 0")
    if not 0 <= served < math.inf:
        raise SettingError("--served", found=f"{served:g}", rule="a finite number, at least 0")
    if d is not None and not (at or loss):
        raise SettingError(
            "--d without --at or --loss",
            found=f"{d:g}",
            rule="--d gives the data size for --at and --loss; --compute chooses the data size itself",
            remedy="add --at or --loss, or leave --d out",
        )
    if served and not compute:
        raise SettingError(
            "--served without --compute",
            found=f"{served:g}",
            rule="--served changes how a compute budget is spent, so it needs --compute",
            remedy="add --compute, or leave --served out",
        )


def _with(d: float | None) -> str:
    return "" if d is None else f", d = {d:g}"


def _lines(law: "ScalingLaw", answers: list[tuple[str, Any]]) -> list[str]:
    from lemmata.subjects.scaling import Allocation, stated

    lines, said = str(law).splitlines(), set(law.notes)
    for asked, found in answers:
        lines.append(f"{asked}: {str(found).splitlines()[0]}")
        if isinstance(found, Allocation):
            lines += [f"  n: {stated(found.n, found.n_interval, found.level)}"]
            lines += [f"  d: {stated(found.d, found.d_interval, found.level)}"]
        lines += [f"  - {note}" for note in found.notes if note not in said]
    return [*lines, f"The intervals rely on the claim {law.claim}. `lemmata show {law.claim}` prints it."]


def _record(found: "AbstractFinding") -> dict[str, Any]:
    """The fields of the result that are numbers or words, for JSON."""
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found) if field.repr}
    return fields | {"hypotheses": [dataclasses.asdict(condition) for condition in found.hypotheses]}


def _columns(data: Path, size: str, value: str, amount: str | None) -> dict[str, Any]:
    """Read n, the loss and, if the table has it, d for each run."""
    frame = frame_of(data, "training run")
    wanted = {"n": (size, "--size"), "loss": (value, "--value")}
    if amount is not None or "d" in frame.columns:
        wanted["d"] = (amount or "d", "--amount")
    return {name: numeric_column(frame, column, option, "run") for name, (column, option) in wanted.items()}
