"""A user's table becomes a `Dataset`: standardised inputs, centred targets, and a record of what was done to it."""

import dataclasses
import difflib
from collections.abc import Sequence

import numpy as np
import polars as pl
from jaxtyping import Float64, Int64

from lemmata.core import MemoryPlan, available_bytes
from lemmata.errors import DataError, SettingError, UnknownNameError

from ._columns import count, encode_inputs, encode_targets, is_present, listing, missing_counts, plain_column, shortened
from ._tables import Table, read_table

FEWEST_ROWS = 20
DEFAULT_ROWS = 2500
"""More rows than this are not used by default: a study solves many N x N systems, at N³ operations each."""
DEFAULT_BYTES = 3 * 2**30
STUDY_MATRICES = 8
"""N x N matrices that a study holds at once: Gram matrix, eigenvectors, and the workspace of the solvers."""


@dataclasses.dataclass(frozen=True)
class Duplicates:
    """Rows whose inputs repeat an earlier row: each makes one eigenvalue of every Gram matrix zero.

    Args:
        rows: how many rows repeat an earlier one.
        examples: some pairs (earlier, later), as positions in the used rows, from 0; `Dataset.index` holds
            their rows in the table.
    """

    rows: int
    examples: tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True)
class Dataset:
    """Inputs and targets that a study runs on.

    Args:
        name: the bundled name or the file's name.
        x: inputs; every column has mean 0 and variance 1 over the rows.
        y: targets, centred: one-hot columns for classes, columns of variance 1 for numbers.
        task: "classification" or "regression".
        classes: the class of each column of y, or None in regression.
        features: the name of each column of x.
        target: the name of the target column.
        y_mean: mean taken off each column of y.
        y_scale: what each column of y was divided by; the user's value is `y * y_scale + y_mean`.
        rows: rows in the table as it stands on disk.
        columns: input columns in the table, before encoding and dropping.
        notes: what loading did, in plain sentences.
        duplicates: rows with equal inputs.
        index: the row of the table on disk of each used row, counted from 0 below the header.
    """

    name: str
    x: Float64[np.ndarray, "N d"]
    y: Float64[np.ndarray, "N k"]
    task: str
    classes: tuple[str, ...] | None
    features: tuple[str, ...]
    target: str
    y_mean: Float64[np.ndarray, " k"]
    y_scale: Float64[np.ndarray, " k"]
    rows: int
    columns: int
    notes: tuple[str, ...]
    duplicates: Duplicates
    index: Int64[np.ndarray, " N"]

    @property
    def baseline_error(self) -> float:
        """Squared error of predicting the mean: the total variance of the targets, sum_k mean_i y_ik²."""
        return float((self.y**2).sum(axis=1).mean())


def load_dataset(
    data: str,
    target: str | None = None,
    *,
    task: str | None = None,
    drop_missing: bool = False,
    drop_columns: Sequence[str] = (),
    max_rows: int | None = None,
    limit_bytes: int = DEFAULT_BYTES,
    seed: int = 0,
) -> Dataset:
    """Load a bundled set or a CSV, TSV, Parquet or NPZ file, check it, and turn it into numbers.

    Args:
        data: "digits", "breast_cancer", "wine", "diabetes", "iris", or a path.
        target: the column to predict; optional for bundled sets and for NPZ files with an array y.
        task: "classification" or "regression"; by default text, booleans, and integers with at most 20 distinct values
            and 5 rows to each value are classes, everything else is regression.
        drop_missing: drop the rows that hold a missing, NaN or infinite cell instead of refusing them.
        drop_columns: columns to leave out.
        max_rows: use at most this many rows, drawn at random; by default 2500, or fewer where 8 matrices of N x N
            exceed the bytes.
        limit_bytes: bytes that a study may hold.
        seed: decides which rows are drawn.

    Raises:
        DataError: the table cannot be used; the message names the columns, the counts and the remedy.
        UnknownNameError: no such bundled set or column.
        MemoryPlanError: an NPZ file exceeds the limit.
        SettingError: an option is out of its bounds.

    >>> iris = load_dataset("iris")
    >>> iris.x.shape, iris.y.shape, iris.task, iris.classes
    ((150, 4), (150, 3), 'classification', ('setosa', 'versicolor', 'virginica'))
    >>> round(iris.baseline_error, 6)
    0.666667
    """
    limit = min(limit_bytes, available_bytes() // 2)
    table = read_table(data, limit_bytes=limit // 4, seed=seed)
    targets, label = _target_columns(table, target)
    unknown = [name for name in drop_columns if name not in table.frame.columns]
    if unknown:
        raise UnknownNameError(f"--drop-column {shortened(unknown[0])!r} is not a column", rule=_columns_rule(table))
    if set(drop_columns) & set(targets):
        raise SettingError(f"--drop-column {label!r} is the target", rule="the target cannot be left out")
    inputs = [name for name in table.frame.columns if name not in targets and name not in drop_columns]
    notes = list(table.notes)
    if drop_columns:
        notes.append(f"left out on request: {listing(list(drop_columns))}")
    plain, dated = _plain(table, inputs, targets)
    if dated:
        notes.append(f"dropped {count(dated, 'column')} of dates or times: {listing(dated)} (no natural scale)")
    frame, index = _without_missing(plain, targets, drop_missing, notes)
    frame, index = _subsample(frame, index, max_rows, limit, seed, notes)
    y = encode_targets([frame[name] for name in targets], label, task)
    x = encode_inputs(frame.select([name for name in frame.columns if name not in targets]))
    duplicates = _duplicates(x.x)
    notes += [*x.notes, *y.notes]
    if duplicates.rows:
        notes.append(
            f"{count(duplicates.rows, 'row repeats', 'rows repeat')} the inputs of an earlier row: each makes"
            " an eigenvalue of every Gram matrix zero"
        )
    return Dataset(
        table.name,
        x.x,
        y.y,
        y.task,
        y.classes,
        x.features,
        label,
        y.mean,
        y.scale,
        table.rows,
        table.frame.width - len(targets),
        tuple(notes),
        duplicates,
        index if table.kept is None else table.kept[index],
    )


def _columns_rule(table: Table) -> str:
    return f"the columns are {listing(table.frame.columns, 40)}"


def _target_columns(table: Table, target: str | None) -> tuple[list[str], str]:
    """The columns of the target (several for a matrix of an NPZ file), and its name."""
    name = target if target is not None else table.default_target
    if name is None:
        raise DataError(
            f"no target was given for {table.name}", rule=_columns_rule(table), remedy="name one with --target"
        )
    columns = table.frame.columns
    if name in columns:
        return [name], name
    several = [column for column in columns if column.startswith(f"{name}[") and column.endswith("]")]
    if several:
        return several, name
    folded = {column.casefold(): column for column in columns}
    near = [folded[match] for match in difflib.get_close_matches(name[:200].casefold(), folded, n=1)]
    raise UnknownNameError(
        f"target {shortened(name)!r} is not a column of {table.name}",
        rule=_columns_rule(table),
        remedy=f"did you mean {near[0]!r}?" if near else "name one of them with --target",
    )


def _plain(table: Table, inputs: list[str], targets: list[str]) -> tuple[pl.DataFrame, list[str]]:
    if not inputs:
        raise DataError(
            f"{table.name} has no input columns besides the target",
            found=listing(table.frame.columns),
            rule="at least one column predicts the target",
            remedy="check the separator of the file, or leave fewer columns out",
        )
    _enough(table.frame.height, table.name)
    columns, dated = [], []
    for name in [*inputs, *targets]:
        column = plain_column(table.frame[name], "target" if name in targets else "column")
        if column is not None:
            columns.append(column)
        elif name in targets:
            raise DataError(
                f"target {name!r} is a date or time",
                found=f"type {table.frame[name].dtype}",
                rule="a target is numbers or classes",
                remedy="convert it to a number, such as days",
            )
        else:
            dated.append(name)
    return pl.DataFrame(columns), dated


def _enough(rows: int, name: str, after: str = "") -> None:
    if rows < FEWEST_ROWS:
        raise DataError(
            f"{name} has too few rows{after}",
            found=count(rows, "row"),
            rule=f"a study needs at least {FEWEST_ROWS} rows",
            remedy="add data",
        )


def _without_missing(
    frame: pl.DataFrame, targets: list[str], drop: bool, notes: list[str]
) -> tuple[pl.DataFrame, np.ndarray]:
    counts = missing_counts(frame)
    index = np.arange(frame.height)
    if not counts:
        return frame, index
    void = [name for name in targets if counts.get(name) == frame.height]
    if void:
        raise DataError(
            f"target {void[0]!r} is missing, NaN or infinite in every row",
            found=f"{void[0]!r}: {counts[void[0]]} (of {count(frame.height, 'row')})",
            rule="a target has at least two different values",
            remedy="choose another --target",
        )
    lost = _incomplete(frame)
    cells = listing([f"{name!r}: {n}" for name, n in sorted(counts.items(), key=lambda item: -item[1])], 20)
    if not drop:
        raise DataError(
            "cells are missing, NaN or infinite",
            found=f"{cells} (of {frame.height} rows)",
            rule="every cell holds a finite number or a text",
            remedy=_missing_remedy(frame, counts, targets),
        )
    rows = int(lost.sum())
    if rows == frame.height and any(n == frame.height for n in counts.values()):
        raise DataError(
            "no row is left after rows with missing cells were dropped",
            found=f"{cells} (of {frame.height} rows)",
            rule="a column that is missing in every row leaves no row",
            remedy=_missing_remedy(frame, counts, targets),
        )
    notes.append(f"dropped {rows} of {count(frame.height, 'row')} with missing, NaN or infinite cells ({cells})")
    _enough(frame.height - rows, "the table", f" after {count(rows, 'row')} with missing cells were dropped")
    return frame.filter(pl.Series(~lost)), index[~lost]


def _incomplete(frame: pl.DataFrame) -> np.ndarray:
    lost = np.zeros(frame.height, bool)
    for column in frame:
        lost |= ~is_present(column).to_numpy()
    return lost


def _missing_remedy(frame: pl.DataFrame, counts: dict[str, int], targets: list[str]) -> str:
    """First leave out the columns without a value, then drop the rows that lack one of the others."""
    empty = [name for name, n in counts.items() if n == frame.height]
    rest = frame.drop(empty)
    lost = int(_incomplete(rest).sum()) if rest.width else 0
    steps = []
    if empty:
        options = " ".join(f"--drop-column {name!r}" for name in empty[:5])
        more = f" (and {len(empty) - 5} more)" if len(empty) > 5 else ""
        steps.append(f"{options}{more} leaves out {count(empty, 'column')} without any value")
    if lost and frame.height - lost >= FEWEST_ROWS:
        steps.append(f"--drop-missing drops the {count(lost, 'row')} that have such a cell")
    elif lost:
        steps.append(f"--drop-missing would drop {count(lost, 'row')} and leave too few")
    if any(name not in targets and name not in empty for name in counts):
        steps.append("--drop-column NAME leaves a column out")
    return "; ".join(steps)


def _subsample(
    frame: pl.DataFrame, index: np.ndarray, max_rows: int | None, limit: int, seed: int, notes: list[str]
) -> tuple[pl.DataFrame, np.ndarray]:
    if max_rows is not None and max_rows < FEWEST_ROWS:
        raise SettingError("--max-rows is too small", found=max_rows, rule=f"at least {FEWEST_ROWS}")
    n = frame.height
    plan = MemoryPlan(n, STUDY_MATRICES, other=8 * n * frame.width)
    fits = max(plan.largest(limit), FEWEST_ROWS)
    most = min(fits, DEFAULT_ROWS if max_rows is None else max_rows)
    if n <= most:
        return frame, index
    if fits < n:
        why = f"all {n} would need {plan}, {plan.bytes} bytes, and the limit is {limit} bytes"
    else:
        why = f"all {n} would need {plan}, and time grows as the cube of the rows; --max-rows raises the number"
    notes.append(f"used {most} of {n} rows, drawn at random: {why}")
    chosen = np.sort(np.random.default_rng(seed).choice(n, size=most, replace=False))
    return frame[chosen], index[chosen]


def _duplicates(x: np.ndarray) -> Duplicates:
    _, first, inverse = np.unique(x, axis=0, return_index=True, return_inverse=True)
    earliest = first[inverse.reshape(-1)]
    later = np.flatnonzero(earliest != np.arange(len(x)))
    return Duplicates(len(later), tuple((int(earliest[i]), int(i)) for i in later[:5]))
