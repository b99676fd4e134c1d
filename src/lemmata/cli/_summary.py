"""What a study prints: the data at the start, the answers and one table at the end."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from lemmata.studies import Dataset


def describe_data(console: Console, dataset: "Dataset") -> None:
    """The size and task of the data, and what loading did to it."""
    from lemmata.report import clean

    kind = f"{len(dataset.classes)} classes" if dataset.classes else f"{dataset.y.shape[1]} output(s)"
    lines = [
        f"{dataset.name}: {len(dataset.x)} rows, {dataset.x.shape[1]} input columns; {dataset.task} of"
        f" {dataset.target!r}, {kind}",
        *(f"  - {note}" for note in dataset.notes),
    ]
    for line in lines:
        console.print(clean(line), markup=False, highlight=False, soft_wrap=True)


def print_summary(console: Console, record: dict[str, Any], page: Path, written: Path) -> None:
    """The sentences that answer, a row an architecture, the notes, and where the files are."""
    from lemmata.report import clean, condition, interval, number, own_units

    record = clean(record)
    data = record.get("data") or {}
    rows = data.get("used_rows")
    answers = record.get("answers") or {}
    for sentence in answers.get("sentences") or []:
        console.print(sentence, markup=False, highlight=False)
    table = Table(box=box.SIMPLE, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column("\narchitecture")
    level = answers.get("error")
    asked = "an error" if level is None else f"an error of {level:.3g}"
    console.print(
        f"\nRows needed for {asked}, and errors with the most training rows that were measured:", highlight=False
    )
    for title in (
        "rows by\ntheory",
        "rows by\npower law",
        "rows\nmeasured",
        "\nn",
        "error\npredicted",
        "error\nmeasured",
        "condition\nnumber",
    ):
        table.add_column(title, justify="right")
    for architecture in record.get("architectures") or []:
        samples = architecture.get("samples") or {}
        measured = [point for point in architecture.get("curve") or [] if point.get("measured") is not None]
        point = max(measured, key=lambda point: point["n"], default={})
        best = architecture.get("name") is not None and architecture.get("name") == answers.get("best")
        cells = [
            str(architecture.get("title") or architecture.get("name") or "?"),
            _needed(samples.get("theory"), interval),
            _needed(samples.get("power_law"), interval),
            number(samples.get("measured")),
            number(point.get("n")),
            number(point.get("predicted")),
            number(point.get("measured")),
            condition(architecture.get("spectrum"), rows).partition(" (")[0],
        ]
        table.add_row(*(Text(cell) for cell in cells), style="bold" if best else None)
    if table.row_count:
        console.print(table)
        console.print(
            "Brackets hold intervals; * marks an extrapolation beyond the data; ∞ marks a singular Gram matrix.",
            style="dim",
            highlight=False,
        )
    units = own_units(data, level)
    if units:
        console.print(units, markup=False, highlight=False)
    quality = (record.get("quality") or {}).get("sentence")
    for line in [*([quality] if quality else []), *(f"Note: {note}" for note in record.get("notes") or [])]:
        console.print(line, markup=False, highlight=False)
    console.print(f"Report: {clean(str(page))}", markup=False, highlight=False, soft_wrap=True)
    console.print(f"Record: {clean(str(written))}", markup=False, highlight=False, soft_wrap=True)


def _needed(answer: dict[str, Any] | None, interval: Any) -> str:
    return interval(answer) + ("*" if answer and answer.get("extrapolates") else "")
