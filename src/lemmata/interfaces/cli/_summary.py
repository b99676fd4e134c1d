"""Print the result of a study: the data first, then the answers, and a table of the models."""

from typing import TYPE_CHECKING

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lemmata.workflows.records.studies import ModelResult, StudyRecord

if TYPE_CHECKING:
    from lemmata.workflows.studies import Dataset

UNSURE = "*"
"""Marks a model that is not significantly better than guessing. Dim letters alone would be lost in a file or pipe."""
NEAR = "="
"""The sign after the name of a model that may be as good as the best."""


def describe_data(console: Console, dataset: "Dataset") -> None:
    """Print the size and the task of the data, and how loading changed the data."""
    from lemmata.printable import clean

    kind = f" with {len(dataset.classes)} classes" if dataset.classes else ""
    columns = f"{len(dataset.raw_features)} input column{'s' if len(dataset.raw_features) != 1 else ''}"
    lines = [
        f"{dataset.name}: {len(dataset.targets):,} rows, {columns}; {dataset.task} of {dataset.target!r}{kind}",
        *(f"  - {note}" for note in dataset.notes),
    ]
    for line in lines:
        console.print(clean(line), markup=False, highlight=False, soft_wrap=True)


def print_summary(console: Console, record: StudyRecord, saves: bool = False) -> None:
    """Print the answers, a table with one row per model, and what to know before relying on the answers.

    Args:
        console: the console to print on.
        record: the record of a study, with control characters removed.
        saves: whether the command also saves the model.
    """
    from lemmata.interfaces.report import told_save, warnings

    for sentence in record.answers.sentences:
        console.print(sentence, markup=False, highlight=False)
    if record.models:
        console.print()
        console.print(_table(record))
        console.print(_explained(record), style="dim", markup=False, highlight=False)
    for line in warnings(record):
        console.print(f"Note: {line}", markup=False, highlight=False)
    if told_save(record) and not saves:
        console.print(told_save(record), markup=False, highlight=False)


def _explained(record: StudyRecord) -> str:
    """In a sentence, the meaning of the signs and words that occur in the table in place of numbers."""
    from lemmata.interfaces.report import told_marks

    weak = any(not model.learns for model in record.models)
    unsure = f"{UNSURE} marks a model that is not significantly better than guessing." if weak else ""
    near = f"{NEAR} marks a model that may be as good as the best model." if record.answers.near else ""
    return " ".join(part for part in ("Brackets show 90 % intervals.", near, unsure, told_marks(record)) if part)


def _table(record: StudyRecord) -> Table:
    """A table with one row for each model. The table fits into a terminal of 80 columns."""
    from lemmata.interfaces.report import told_asked

    table = Table(box=box.SIMPLE, header_style="bold", pad_edge=False, padding=(0, 1, 0, 0))
    answers, unit, total = record.answers, record.unit, record.data.total
    table.add_column("\nmodel")
    table.add_column(Text(f"{unit.name}\nwith {total:,} rows"), justify="right")
    if answers.needed is not None:
        table.add_column(Text(f"rows for {unit.name}\n{told_asked(answers, unit)}"), justify="right")
    for model in record.models:
        style = "bold" if model.name == answers.best else None if model.learns else "dim"
        table.add_row(*(Text(cell) for cell in _cells(model, record)), style=style)
    return table


def _cells(model: ModelResult, record: StudyRecord) -> list[str]:
    from lemmata.interfaces.report import told_interval, told_rows

    marks = (NEAR if model.name in record.answers.near else "") + (UNSURE if not model.learns else "")
    cells = [f"{model.title} {marks}".strip(), told_interval(model.now, record.unit)]
    if record.answers.needed is not None:
        told = model.learns or model.name == record.answers.best
        cells.append(told_rows(model.needed, record.data.total, endless="∞") if told else "–")
    return cells
