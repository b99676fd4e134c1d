"""`lemmata emergence`: test whether a smooth loss explains a jump of the accuracy with scale."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lemmata.errors import DataError, SettingError

from ._columns import frame_of, numeric_column, usual_column

if TYPE_CHECKING:
    from lemmata.subjects.emergence import EmergenceReport

_SCALE = ("scale", "size", "parameters", "params", "n_params", "num_params", "model_size", "flops", "compute", "tokens")
_ACCURACY = ("accuracy", "acc", "exact_match", "score", "pass_rate", "acc_none", "exact_match_none")
_ITEMS = ("items", "n_items", "num_items", "n", "n_samples", "num_samples", "n_questions", "total")
_TASK = ("task", "benchmark", "dataset", "subset", "subtask", "task_name")


def emergence(
    data: Annotated[Path, typer.Argument(help="A CSV, TSV or Parquet file with one model per row.")],
    scale: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help=(
                "Column of the size of each model, for example its number of parameters or of training rows. Sizes "
                "like 70M are allowed. Default: a column with a usual name, such as scale or params."
            ),
        ),
    ] = None,
    accuracy: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help=(
                "Column of the share of solved items, from 0 to 1. Default: a column with a usual name, such as "
                "accuracy or acc."
            ),
        ),
    ] = None,
    items: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN|N",
            help=(
                "Column of the number of test items, or one number for all rows. Default: a column with a usual name, "
                "such as items or n."
            ),
        ),
    ] = None,
    length: Annotated[float, typer.Option(metavar="L", help="Number of tokens of an answer.")] = 1.0,
    chance: Annotated[float, typer.Option(metavar="P", help="Accuracy of random guessing.")] = 0.0,
    at_length: Annotated[
        list[float] | None,
        typer.Option(
            metavar="L", help="Predict at which scale the accuracy jumps if answers have L tokens. Repeatable."
        ),
    ] = None,
    level: Annotated[float, typer.Option(help="Confidence level of the intervals.")] = 0.9,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Test whether the accuracy jumps more sharply with scale than a smooth loss explains.

    Even if the loss per token falls smoothly with scale, the accuracy on answers of many tokens can jump. The command
    fits such a smooth curve and tests whether the jump in your table is sharper. It also prints the smallest scale at
    which your number of items can show an accuracy above chance.

    Exit code: 0 on success; 2 after a usage error.
    """
    from ._console import out, plain
    from ._files import strict_json

    table = _table(data, scale, accuracy, items)
    from lemmata.subjects.emergence import emergence_report

    found = emergence_report(*table, length=length, chance=chance, level=level)
    answers = {tokens: found.half_at(tokens) for tokens in at_length or ()}
    if as_json:
        asked = [{"length": tokens, "half": half, "interval": interval} for tokens, (half, interval) in answers.items()]
        plain(strict_json({"report": _record(found), "answers": asked}))
        return
    lines = str(found).splitlines()
    for tokens, (half, (low, high)) in answers.items():
        lines.append(
            f"for answers of {tokens:g} tokens, the accuracy reaches half of its rise at scale {half:.3g} (interval "
            f"{low:.3g} to {high:.3g})"
        )
    lines.append("These numbers rely on the following claims. `lemmata show CLAIM` prints a claim:")
    for line in [*lines, *(f"  {claim}" for claim in found.claims)]:
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _record(found: "EmergenceReport") -> dict[str, Any]:
    """The fields of the report that are numbers or words, for JSON."""
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found) if field.repr}
    columns = {name: fields[name].tolist() for name in ("scale", "accuracy", "items")}
    conditions = [dataclasses.asdict(condition) for condition in found.conditions]
    return fields | columns | {"sharper": found.sharper, "conditions": conditions}


def _table(data: Path, scale: str | None, accuracy: str | None, items: str | None) -> tuple[Any, Any, Any]:
    """Read the columns of sizes, accuracies and items; `items` may also be one number for all rows."""
    frame, number = frame_of(data, "model"), None
    _one_task(frame)
    name = usual_column(frame, _ITEMS) if items is None else items
    if name not in frame.columns:
        try:
            number = float(name)
        except ValueError:
            if items in (None, "items"):
                rule, remedy = "the number of items is needed", "name the column with --items, or pass --items 500"
                found = "no column 'items' among " + ", ".join(frame.columns[:12])
                raise SettingError("--items", found=found, rule=rule, remedy=remedy) from None
    sizes = numeric_column(frame, scale or usual_column(frame, _SCALE), "--scale", "model", sizes=True)
    shares = numeric_column(frame, accuracy or usual_column(frame, _ACCURACY), "--accuracy", "model")
    return sizes, shares, numeric_column(frame, name, "--items", "model") if number is None else number


def _one_task(frame: Any) -> None:
    """Refuse a table of several tasks, because accuracies of the same scale would be pooled across tasks."""
    name = usual_column(frame, _TASK)
    tasks = frame[name].drop_nulls().unique(maintain_order=True).to_list() if name in frame.columns else []
    if len(tasks) > 1:
        raise DataError(
            f"column {name!r}", found=f"{len(tasks)} tasks, such as {tasks[0]} and {tasks[1]}",
            rule=
                "one task, because the accuracies of different tasks jump at different scales"
            , remedy="pass a table with the rows of one task",
        )  # fmt: skip
