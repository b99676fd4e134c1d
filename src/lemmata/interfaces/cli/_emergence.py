"""`lemmata emergence`: accuracies by scale, and whether a smooth loss explains their jump."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from lemmata.errors import SettingError

from ._columns import frame_of, numeric_column

if TYPE_CHECKING:
    from lemmata.subjects.emergence import EmergenceReport


def emergence(
    data: Annotated[Path, typer.Argument(help="A CSV, TSV or Parquet file with one model per row.")],
    scale: Annotated[
        str,
        typer.Option(
            metavar="COLUMN", help="Column of the size of each model, for example its parameters or its training rows."
        ),
    ] = "scale",
    accuracy: Annotated[
        str, typer.Option(metavar="COLUMN", help="Column of the share of solved items, from 0 to 1.")
    ] = "accuracy",
    items: Annotated[
        str, typer.Option(metavar="COLUMN|N", help="Column of the number of items, or the number itself.")
    ] = "items",
    length: Annotated[float, typer.Option(metavar="L", help="Number of tokens of an answer.")] = 1.0,
    chance: Annotated[float, typer.Option(metavar="P", help="Accuracy of random guessing.")] = 0.0,
    at_length: Annotated[
        list[float] | None,
        typer.Option(metavar="L", help="Predict the scale of the jump for answers of L tokens. Repeatable."),
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
        lines.append(f"half of the rise for {tokens:g} tokens: at {half:.3g}, interval {low:.3g} to {high:.3g}")
    lines.append("The numbers rely on these claims. `lemmata show CLAIM` prints one:")
    for line in [*lines, *(f"  {claim}" for claim in found.claims)]:
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _record(found: "EmergenceReport") -> dict[str, Any]:
    """The fields of the report that are numbers or words."""
    fields = {field.name: getattr(found, field.name) for field in dataclasses.fields(found) if field.repr}
    columns = {name: fields[name].tolist() for name in ("scale", "accuracy", "items")}
    conditions = [dataclasses.asdict(condition) for condition in found.conditions]
    return fields | columns | {"sharper": found.sharper, "conditions": conditions}


def _table(data: Path, scale: str, accuracy: str, items: str) -> tuple[Any, Any, Any]:
    """The three columns; items may be a number."""
    frame, number = frame_of(data, "model"), None
    if items not in frame.columns:
        try:
            number = float(items)
        except ValueError:
            if items == "items":
                rule, remedy = "the number of items is needed", "name the column with --items, or pass --items 500"
                found = "no column 'items' among " + ", ".join(frame.columns[:12])
                raise SettingError("--items", found=found, rule=rule, remedy=remedy) from None
    column = lambda name, option: numeric_column(frame, name, option, "model")
    asked = column(items, "--items") if number is None else number
    return column(scale, "--scale"), column(accuracy, "--accuracy"), asked
