"""Turn a user's table into a `Dataset`: raw inputs and targets, an encoder, and findings about the table."""

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from jaxtyping import Float64, Int64
from sklearn.compose import ColumnTransformer

from lemmata.core import available_bytes
from lemmata.errors import MemoryPlanError, SettingError
from lemmata.workflows.records.studies import Finding

from ._columns import MOST_CATEGORIES, Inputs, Targets, count, encode_targets, listing, raw_inputs
from ._copies import first_equal
from ._encoder import Calendars, Categories, encoded_names, encoder, target_means
from ._findings import examine_columns, examine_rows
from ._footnotes import without_footnotes
from ._metrics import Metric
from ._named_columns import named_target
from ._near_copies import near_copies
from ._roles import (
    FEWEST_ROWS,
    Roles,
    assign_roles,
    plain_frame,
    role_notes,
    usable_rows,
    without_identifiers,
    without_target,
)
from ._sampling import drawn, group_codes, how_drawn
from ._splits import check_times, numbered_groups
from ._tables import Reading, Table, read_table
from ._text_cells import check_marks_apply
from ._texts import free_texts, rare_texts

MOST_CELLS = 10**8
"""The largest number of encoded cells (rows times encoded columns). Random rows are drawn from a larger table."""
READ_BYTES = 4 * 2**30
"""The largest size of a table in memory, in bytes. Random rows of a larger table are drawn while it is read."""
COPIES_HELD = 5
"""The number of copies of the encoded rows that a study holds at once. The study computes the needed memory from it."""


@dataclasses.dataclass(frozen=True)
class Duplicates:
    """The rows whose inputs equal those of an earlier row. Each of them makes one eigenvalue of a Gram matrix zero.

    Args:
        rows: the number of rows that repeat an earlier row.
        examples: some pairs (earlier, later) of equal rows, as positions in the used rows, from 0. `Dataset.index`
            holds their rows in the table.
    """

    rows: int
    examples: tuple[tuple[int, int], ...]


@dataclasses.dataclass(frozen=True)
class Given:
    """The columns in the user's own form.

    Args:
        table: the table as it was read.
        names: the input columns, the columns that were left out because they do not vary, and columns of free text.
        rows: for each used row, its row in `table.frame`.
        body: the number of rows of `table.frame` that come before any lines of text below the table.
    """

    table: Table
    names: tuple[str, ...]
    rows: Int64[np.ndarray, " N"]
    body: int


@dataclasses.dataclass(frozen=True)
class Dataset:
    """Inputs and targets that a study runs on.

    In each split, a study fits `encoder()` to the training rows of `inputs` and centres `targets` by these rows. `x`
    and `y` are the result if all rows are training rows. `x` and `y` are used for spectra and conditions of theorems,
    never for held-out errors.

    Args:
        name: the bundled name or the file's name.
        inputs: one column for each kept column of the table: numbers unchanged, codes 0, 1, ... for categories; NaN if
            a cell is missing.
        categories: for each column of `inputs`, the names of its categories; None for a column of numbers.
        calendars: for each column of `inputs`, its calendar if it holds dates, as days since the first date; else None.
        raw_features: the name of each column of `inputs`.
        targets: the user's own numbers, or one-hot columns for classes.
        groups: the group of each row, from 0 (rows of one group are never split), or None.
        order: the time of each row (training rows come before held-out ones), or None.
        findings: properties of the table that the user should check.
        y: the centred targets: one-hot columns for classes, columns of variance 1 for numbers.
        task: "classification" or "regression".
        classes: the class of each column of y, or None in regression.
        features: the name of each column of x.
        target: the name of the target column.
        y_mean: the mean that was subtracted from each column of y.
        y_scale: the number by which each column of y was divided; the user's value is `y * y_scale + y_mean`.
        rows: the number of rows of the table on disk, without lines of text below the last row.
        columns: the number of input columns in the table, before columns are encoded or left out.
        notes: remarks on how the table was loaded.
        duplicates: the rows with equal inputs.
        index: for each used row, its row in the table on disk, counted from 0 below the header.
        available: the number of rows with a target (and without missing cells, if `drop_missing` is set).
        pooled: for each text column whose rare texts share one category, codes that distinguish all of its texts.
        texts: the names of these text columns.
        given: the columns as the user gave them.
        unit: the metric of the study; None before a study runs.
    """

    name: str
    inputs: Float64[np.ndarray, "N p"]
    categories: Categories
    calendars: Calendars
    raw_features: tuple[str, ...]
    targets: Float64[np.ndarray, "N k"]
    groups: Int64[np.ndarray, " N"] | None
    order: Float64[np.ndarray, " N"] | None
    findings: tuple[Finding, ...]
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
    available: int
    pooled: Float64[np.ndarray, "N q"]
    texts: tuple[str, ...]
    given: Given
    unit: Metric | None = None

    @functools.cached_property
    def x(self) -> Float64[np.ndarray, "N d"]:
        """The inputs, encoded with all rows and computed at first use. Every column has mean 0 and variance 1."""
        return self.encoded(np.arange(len(self.inputs)))

    def encoded(
        self, train: Int64[np.ndarray, " n"], others: Int64[np.ndarray, " m"] | None = None
    ) -> Float64[np.ndarray, "rows d"]:
        """Encode training rows and other rows for the models. The encoding is learned from the training rows alone.

        >>> iris = load_dataset("iris")
        >>> iris.encoded(np.arange(100), np.arange(100, 150)).shape
        (150, 4)
        """
        others = train[:0] if others is None else others
        rows = np.concatenate([train, others])
        x = np.asarray(self.encoder().fit(self.inputs[train]).transform(self.inputs[rows]), dtype=np.float64)
        if not self.texts:
            return x
        groups = None if self.groups is None else self.groups[train]
        codes = self.pooled[train], self.pooled[others]
        return np.concatenate([x, target_means(*codes, self.targets[train][:, self._told], groups)], axis=1)

    @property
    def _told(self) -> slice:
        """The target columns whose means encode texts. For two classes, one column is enough: the two add up to 1."""
        return slice(1, None) if self.classes is not None and len(self.classes) == 2 else slice(None)

    def as_given(self, rows: Int64[np.ndarray, " m"]) -> Any:
        """Return some rows with the user's own columns, as a data frame of pandas or polars.

        >>> load_dataset("iris").as_given(np.array([0, 149])).shape
        (2, 4)
        """
        return self.given.table.as_given(self.given.names, self.given.rows[rows])

    def some(self, rows: Int64[np.ndarray, " m"]) -> "Dataset":
        """Return the dataset with only these rows."""
        part = lambda array: None if array is None else array[rows]
        given = dataclasses.replace(self.given, rows=self.given.rows[rows])
        return dataclasses.replace(
            self, inputs=self.inputs[rows], targets=self.targets[rows], y=self.y[rows], index=self.index[rows],
            pooled=self.pooled[rows], given=given, groups=part(self.groups), order=part(self.order),
        )  # fmt: skip

    @property
    def baseline_error(self) -> float:
        """The squared error of predicting the mean: the total variance of the targets, sum_k mean_i y_ik²."""
        return float((self.y**2).sum(axis=1).mean())

    def encoder(self) -> ColumnTransformer:
        """Return an unfitted scikit-learn transformer that imputes, encodes and standardises `inputs`.

        The transformer does not use targets. So its columns do not include the mean targets of texts with many
        categories.

        >>> iris = load_dataset("iris")
        >>> x = iris.encoder().fit(iris.inputs[:100]).transform(iris.inputs)
        >>> x.shape, bool(abs(x[:100].mean(axis=0)).max() < 1e-12)
        ((150, 4), True)
        """
        return encoder(self.inputs, self.categories, self.calendars)


def load_dataset(
    data: object,
    target: str | None = None,
    *,
    task: str | None = None,
    drop_missing: bool = False,
    drop_columns: Sequence[str] = (),
    keep_columns: Sequence[str] = (),
    group: str | None = None,
    time: str | None = None,
    max_rows: int | None = None,
    na: Sequence[str] = (),
    decimal: str | None = None,
    limit_bytes: int = READ_BYTES,
    seed: int = 0,
) -> Dataset:
    """Load a bundled set, a file or a table in memory, check it, and turn it into numbers.

    Args:
        data: "digits", "breast_cancer", "wine", "diabetes" or "iris"; the path of a text file with a header (.csv,
            .tsv, .txt, also packed), of a spreadsheet, or of a Parquet, Feather, JSON lines or NPZ file; a pandas or
            polars data frame; a pair (x, y) of arrays; or a scikit-learn bunch.
        target: the column to predict. The target is optional for bundled sets, pairs and NPZ files with an array y.
        task: "classification" or "regression". By default, text, booleans, and integers with at most 20 distinct values
            and 5 rows for each value are classes; all other targets are regression.
        drop_missing: drop rows with a missing, NaN or infinite cell instead of imputing the cell.
        drop_columns: the names of columns to leave out.
        keep_columns: columns to keep as inputs although they look like identifiers, or give groups or times.
        group: a column. Rows with equal values in this column stay in one part of every split, and are drawn together.
        time: a column of dates or numbers. In every split, training rows come before held-out rows.
        max_rows: use at most this many random rows, in whole groups if `group` is given. By default all rows are used,
            up to 100 million encoded cells.
        na: texts that mark a missing cell in a text file; by default NA, NULL, ? and similar words.
        decimal: the decimal mark in texts, "." or ","; by default it is read from the cells.
        limit_bytes: the bytes that the table may take in memory. If a file is larger, random rows of it are read.
        seed: the seed of the random rows.

    Raises:
        DataError: if the table cannot be used; the message names the columns, the counts and the remedy.
        UnknownNameError: if an option names a column that the table does not have.
        MissingFileError: if `data` is the name of neither a file nor a bundled set.
        MemoryPlanError: if an NPZ file exceeds the limit, or the rows exceed the free memory.
        SettingError: if an option is out of its bounds.

    >>> iris = load_dataset("iris")
    >>> iris.inputs.shape, iris.targets.shape, iris.task, iris.classes
    ((150, 4), (150, 3), 'classification', ('setosa', 'versicolor', 'virginica'))
    >>> round(iris.baseline_error, 6)
    0.666667
    """
    table = read_table(data, Reading(limit_bytes, seed, group, tuple(na) or None, decimal, named_target(target)))
    check_marks_apply(table, na)
    roles = assign_roles(table, target, drop_columns, keep_columns, group, time)
    body = without_footnotes(table, [*roles.inputs, *roles.asked, *roles.targets], roles.targets, decimal)
    notes = [*body.notes, *role_notes(roles, drop_columns)]
    plain = plain_frame(body, roles, decimal)
    whole, dated = plain.frame, plain.dated
    notes += plain.notes
    roles, findings = without_identifiers(whole, roles, dated)
    findings = [*_about(table.findings, roles), *plain.findings, *without_target(whole, roles), *findings]
    frame, index = usable_rows(whole, roles, drop_missing, notes)
    available = frame.height if table.kept is None else round(frame.height * body.rows / body.frame.height)
    frame, index = _subsample(frame, index, max_rows, roles, seed, notes)
    lost = int(whole.select(pl.any_horizontal(pl.col(roles.targets).is_null()).sum()).item())
    targets = encode_targets([frame[name] for name in roles.targets], roles.label, task, lost)
    inputs = raw_inputs(frame.select(roles.inputs), plain.firsts, roles.keep, plain.declared)
    earliest, used = first_equal(inputs.values), {*inputs.names, *inputs.constant, *inputs.free}
    numbers = tuple(name for name, own in zip(inputs.names, inputs.categories, strict=True) if own is None)
    written = table.frame.select(pl.col(pl.String)).columns if table.in_memory else ()
    findings += examine_columns(whole.select(roles.inputs), dated, roles.group, roles.time, numbers, written)
    groups = None if roles.group is None else group_codes(frame[roles.group])
    order = None if roles.time is None else frame[roles.time].to_numpy()
    if order is not None and roles.time is not None:
        check_times(order, roles.time, body.frame[roles.time].drop_nulls()[0])
    findings += examine_rows(inputs, targets, earliest, roles.label, groups, order)
    findings += near_copies(inputs, groups, order)
    findings += [*rare_texts(inputs), *free_texts(inputs)]
    notes += [*_imputed(inputs), *inputs.notes, *targets.notes]
    if targets.classes is None and targets.values.shape[1] > 1:
        notes.append(f"{roles.label!r} has {targets.values.shape[1]} columns; their squared errors are added")
    return Dataset(
        name=table.name,
        inputs=inputs.values,
        categories=inputs.categories,
        calendars=inputs.calendars,
        raw_features=inputs.names,
        targets=targets.values,
        groups=None if roles.group is None else numbered_groups(frame[roles.group], roles.time is not None, notes),
        order=order,
        findings=tuple(findings),
        y=targets.y,
        task=targets.task,
        classes=targets.classes,
        features=encoded_names(inputs.values, inputs.categories, inputs.names, inputs.calendars)
        + _mean_names(inputs.texts, targets),
        target=roles.label,
        y_mean=targets.mean,
        y_scale=targets.scale,
        rows=body.rows,
        columns=table.frame.width - len(roles.targets),
        notes=tuple(notes),
        duplicates=_duplicates(earliest),
        index=index if table.kept is None else table.kept[index],
        available=available,
        pooled=inputs.pooled,
        texts=inputs.texts,
        given=Given(table, tuple(name for name in roles.inputs if name in used), index, body.frame.height),
    )


def _mean_names(texts: Sequence[str], targets: Targets) -> tuple[str, ...]:
    """Return the names of the encoded columns with the mean targets of texts with many categories."""
    if targets.classes is None:
        each = [""] if targets.values.shape[1] == 1 else [f" {j}" for j in range(targets.values.shape[1])]
    else:
        each = [f" is {name}" for name in (targets.classes[1:] if len(targets.classes) == 2 else targets.classes)]
    return tuple(f"{text}: mean target{output}" for output in each for text in texts)


def _about(findings: Sequence[Finding], roles: Roles) -> list[Finding]:
    """Return the findings that are about the whole table or about columns in use."""
    used = {*roles.inputs, *roles.asked, *roles.targets}
    return [own for own in findings if not own.columns or used & set(own.columns)]


def _imputed(inputs: Inputs) -> list[str]:
    """Return remarks on how missing cells are replaced."""
    missing = np.isnan(inputs.values).sum(axis=0)
    notes = []
    for texts, words in ((False, "are replaced by the median of the training rows and marked in an indicator column"),
                         (True, "are a category of their own")):  # fmt: skip
        columns = [
            (int(n), name)
            for n, name, own in zip(missing, inputs.names, inputs.categories, strict=True)
            if n and (own is not None) == texts
        ]
        cells = listing([f"{name!r}: {n}" for n, name in sorted(columns, key=lambda item: -item[0])])
        if cells:
            notes.append(f"missing, NaN or infinite cells {words} ({cells})")
    if notes:
        rows = int(np.isnan(inputs.values).any(axis=1).sum())
        notes[-1] += f"; --drop-missing drops the {count(rows, 'row')} with such cells instead"
    return notes


def _subsample(
    frame: pl.DataFrame, index: np.ndarray, max_rows: int | None, roles: Roles, seed: int, notes: list[str]
) -> tuple[pl.DataFrame, np.ndarray]:
    """Return the used rows: all rows, unless fewer are requested or the encoded table would have too many cells."""
    if max_rows is not None and max_rows < FEWEST_ROWS:
        raise SettingError("--max-rows is too small", found=max_rows, rule=f"at least {FEWEST_ROWS}")
    n = frame.height
    width = sum(MOST_CATEGORIES if frame[name].dtype == pl.String else 1 for name in roles.inputs)
    fits = max(MOST_CELLS // width, FEWEST_ROWS)
    most = min(fits, n if max_rows is None else max_rows)
    groups = None if roles.group is None else group_codes(frame[roles.group])
    chosen = drawn(n, most, seed, groups)
    needed = COPIES_HELD * 8 * len(chosen) * width
    if needed > available_bytes():
        raise MemoryPlanError(
            f"{len(chosen):,} rows of {width} encoded columns do not fit into memory",
            found=f"{needed:,} bytes needed, {available_bytes():,} bytes free",
            rule="a study keeps five copies of the encoded rows in memory",
            remedy=f"use fewer rows: --max-rows {max(available_bytes() // (COPIES_HELD * 8 * width), FEWEST_ROWS)}",
        )
    if len(chosen) == n:
        return frame, index
    why = (
        "as --max-rows asks"
        if most < fits
        else f"because all {n:,} rows would have more than {MOST_CELLS:,} encoded cells"
    )
    notes.append(f"used {len(chosen):,} of {n:,} rows, {how_drawn(groups, chosen)}, {why}")
    return frame[chosen], index[chosen]


def _duplicates(earliest: np.ndarray) -> Duplicates:
    later = np.flatnonzero(earliest != np.arange(len(earliest)))
    return Duplicates(len(later), tuple((int(earliest[i]), int(i)) for i in later[:5]))
