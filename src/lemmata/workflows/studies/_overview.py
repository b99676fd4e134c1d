"""Describe the columns of a table: kind, missing cells and distribution."""

import collections
from typing import Any

import numpy as np
import polars as pl

from lemmata.errors import DataError, shortened
from lemmata.subjects.approximation import intrinsic_dimension
from lemmata.workflows.records.studies import Column, Data

from ._calendar import Calendar
from ._data import Dataset
from ._dates import with_dates, zone_of
from ._numbers import are_truths

BINS, MOST_COLUMNS = 12, 200
ROWS_OF_DIMENSION, LEAST_DISTINCT = 2000, 20


def describe(dataset: Dataset) -> Data:
    """Return the description of a study's table. Only the first 200 columns are described one by one."""
    spread = dataset.targets.std(axis=0)
    written = [dataset.given.table.frame[name][dataset.given.rows] for name in dataset.raw_features[:MOST_COLUMNS]]
    columns = zip(dataset.raw_features, dataset.inputs.T, dataset.categories, dataset.calendars, strict=True)
    return Data(
        name=dataset.name,
        rows=dataset.rows,
        used_rows=len(dataset.targets),
        available=dataset.available,
        task=dataset.task,
        target=dataset.target,
        classes=None if dataset.classes is None else list(dataset.classes),
        columns=[_column(*own, cells) for own, cells in zip(columns, written, strict=False)],
        notes=list(dataset.notes),
        target_mean=float(dataset.targets.mean()),
        target_sd=float(np.sqrt((spread**2).sum())),
        dimension=_dimension(dataset),
    )


def _dimension(dataset: Dataset) -> tuple[float, float, float] | None:
    """Return an estimate of the intrinsic dimension of the standardised columns of numbers, with its interval.

    Columns with few values are left out, because distances on a grid are often equal. The result is None if fewer than
    two columns are left, if the estimate is not below the number of columns, or if a condition of the estimate fails.
    """
    rng = np.random.default_rng(0)
    rows = dataset.inputs[np.sort(rng.permutation(len(dataset.inputs))[:ROWS_OF_DIMENSION])]
    numbers = [
        column for column, names in zip(rows.T, dataset.categories, strict=True)
        if names is None and len(np.unique(column[np.isfinite(column)])) >= LEAST_DISTINCT
    ]  # fmt: skip
    if len(numbers) < 2:
        return None
    table = np.stack(numbers, axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        table = (table - np.nanmean(table, axis=0)) / np.nanstd(table, axis=0)
    try:
        found = intrinsic_dimension(np.nan_to_num(table, posinf=0.0, neginf=0.0))
    except DataError:
        return None
    sure = not any(condition.holds is False for condition in found.conditions[:3])
    return (found.dimension, *found.interval) if sure and found.dimension < len(numbers) else None


def _column(
    name: str, values: np.ndarray, names: tuple[str, ...] | None, dates: Calendar | None, written: pl.Series
) -> Column:
    """Describe a column. Texts and truth values are shown as they are written, because a saved model takes them so.

    Args:
        name: the name of the column.
        values: the numbers or the codes of the categories that the study uses.
        names: the names of the categories; None for numbers.
        dates: the calendar of a column of dates; otherwise None.
        written: the cells of the table.
    """
    known = np.isfinite(values)
    there = values[known]
    missing, distinct = int(len(values) - len(there)), len(np.unique(there))
    if names is not None:
        counts = np.bincount(there.astype(int), minlength=len(names))
        order = np.argsort(-counts, kind="stable")
        shown = [names[i] for i in order]
        if not written.dtype.is_numeric():  # the name of a category may stand for several texts, or be a number
            shown = _most_frequent(written.filter(known))
        text = ", ".join(shown[:3]) + (", ..." if len(shown) > 3 else "")
        return Column(name, "category", missing, distinct, counts[order][:BINS].tolist(), text)
    if not len(there):
        return Column(name, "number", missing, 0, [], "")
    with np.errstate(over="ignore"):
        low, high = float(there.min()), float(there.max())
        scaled = (there / max(abs(low), abs(high), np.finfo(float).tiny)) if high > low else np.zeros(len(there))
    counts = np.histogram(scaled, bins=BINS)[0].tolist()
    if written.dtype == pl.Boolean or are_truths(written):
        shown = ", ".join(_most_frequent(written.filter(known)))
        return Column(name, "true or false", missing, distinct, counts, shown)
    cells = written.filter(known)
    first, last = (shortened(_cell(cells[int(place)])) for place in (there.argmin(), there.argmax()))
    read = with_dates(written).dtype
    if dates is not None:
        zone = f" (time zone {found})" if (found := zone_of(written)) else ""
        text = f"{first} to {last}" if written.dtype == pl.String else f"{dates.day(low)} to {dates.day(high)}"
        return Column(name, "date", missing, distinct, counts, text + zone)
    kind = "time of day" if read == pl.Time else "duration" if isinstance(read, pl.Duration) else "number"
    text = f"{low:.4g} to {high:.4g}" if written.dtype.is_numeric() else f"{first} to {last}"
    return Column(name, kind, missing, distinct, counts, text)


def _most_frequent(cells: pl.Series) -> list[str]:
    """Return the different cells as texts, the most frequent first."""
    counts = collections.Counter(map(_cell, cells.to_list()))
    return sorted(counts, key=lambda text: (-counts[text], text))


def _cell(cell: Any) -> str:
    return str(cell).strip()
