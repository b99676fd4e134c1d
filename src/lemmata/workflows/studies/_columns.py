"""Turn the columns of a table into numbers: raw inputs with the names of their categories, and targets."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl
from jaxtyping import Float64

from lemmata.errors import DataError, SettingError, shortened

from ._calendar import calendar, wall_clock
from ._encoder import Calendars, Categories
from ._hints import merged, not_numbers, numeric_hint, odd_numbers, wrong_cells
from ._numbers import stripped

MOST_CATEGORIES = 20
"""If a text column has more distinct values than this, its rare values are pooled in one category.

A target of numbers with more distinct values than this is not taken for classes.
"""
FEWEST_REPEATS = 5
"""The number of rows that a category needs to get its own column, if the text column has more than 20 distinct values.

The category also needs a share of 5 % of the rows.
"""
OTHER = "other"
POOLED = OTHER, f"{OTHER} (pooled)"
"""The name of the category that pools rare texts. The second name is used if the column contains the first name."""


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Raw inputs, with one column for each kept column of the table, and the changes that were made.

    Args:
        values: numbers, or codes 0, 1, ... of categories; NaN if a cell is missing.
        categories: for each column, the names of its categories; None for a column of numbers.
        calendars: for each column, its calendar if it holds dates; otherwise None.
        pooled: for each text column whose rare texts share one category, codes that distinguish all of its texts.
        texts: the names of these text columns.
        names: the name of each column.
        constant: columns of the table that were left out because they do not vary.
        free: text columns that only the user's own model can use, because nearly every row has a different text.
        notes: the changes, in plain sentences.
    """

    values: Float64[np.ndarray, "N p"]
    categories: Categories
    calendars: Calendars
    pooled: Float64[np.ndarray, "N q"]
    texts: tuple[str, ...]
    names: tuple[str, ...]
    constant: tuple[str, ...]
    free: tuple[str, ...]
    notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Targets:
    """The task, and the targets: the original `values`, and the centred `y` with `values = y * scale + mean`."""

    values: Float64[np.ndarray, "N k"]
    y: Float64[np.ndarray, "N k"]
    task: str
    classes: tuple[str, ...] | None
    mean: Float64[np.ndarray, " k"]
    scale: Float64[np.ndarray, " k"]
    notes: tuple[str, ...]


def plain_column(column: pl.Series, role: str = "column") -> pl.Series:
    """Convert the column to Float64 or String. NaN and infinite cells become null.

    Booleans become 0 and 1, numbers stored as text become numbers, and categories become text. Dates become days since
    the first date. Times of day and durations also become days.

    Raises:
        DataError: if the column is nested, binary or holds Python objects, or if it is a target of dates.
    """
    kind = column.dtype
    if kind.is_temporal():
        if role == "target":
            raise DataError(
                f"target {column.name!r} is a date or time",
                found=f"type {kind}",
                rule="a target must hold numbers or classes",
                remedy="convert it to a number, such as days",
            )
        return _days(column)
    if kind in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if not (kind.is_numeric() or kind in (pl.Boolean, pl.Null, pl.Categorical, pl.Enum, pl.String)):
        objects = kind == pl.Object
        raise DataError(
            f"{role} {column.name!r} " + ("holds Python objects" if objects else "is nested or binary"),
            found=f"type {type(column.drop_nulls()[0]).__name__ if objects else kind}",
            rule="every cell must be one number or one text",
            remedy=("convert it to numbers or texts" if objects else "flatten it into plain columns")
            + ("" if role == "target" else f", or leave it out with --drop-column {column.name!r}"),
        )
    if column.dtype == pl.String:
        column = stripped(column)
        numbers = column.cast(pl.Float64, strict=False)
        if numbers.null_count() > column.null_count():
            return column
        column = numbers
    numbers = column.cast(pl.Float64)
    return numbers.set(~numbers.is_finite().fill_null(True), None)


def _days(column: pl.Series) -> pl.Series:
    """Convert dates to days since the first date. Times of day and durations also become days."""
    if column.dtype == pl.Time:
        column = column.cast(pl.Duration("us"))
    elif not isinstance(column.dtype, pl.Duration):
        column = wall_clock(column)
        column = column - column.min()
    return (column.dt.total_microseconds().cast(pl.Float64) / 86_400e6).alias(column.name)


def raw_inputs(
    frame: pl.DataFrame, firsts: Mapping[str, float], keep: Sequence[str] = (), declared: Collection[str] = ()
) -> Inputs:
    """Keep numbers unchanged, and replace text by codes of its categories. Leave out columns that do not vary.

    If a text column has more than 20 distinct values, only values that at least one row in twenty has are kept as
    categories, and the other values are pooled. The codes of all values are stored separately. The reason is that one
    column for each of many categories can raise the error. An example is a text column that has no information on the
    target. At 320 rows, the 19 columns of its categories raised a linear model's error by 2 %. A single column of mean
    targets did not raise the error.

    Args:
        frame: the input columns, which are numbers or texts.
        firsts: for the columns that were dates, the first date in days since 1970-01-01.
        keep: text columns that are not refused, but left to the user's own model, if their values hardly repeat.
        declared: text columns whose texts are numbers that the user declared as categories.

    Raises:
        DataError: if a text has too many values that hardly repeat, or if no column varies.
    """
    values, categories, names, constant, notes, refused = [], [], [], [], [], {}
    calendars, pooled, apart = [], [], []
    for column in frame:
        own, texts = None, column
        if column.n_unique() == 1:
            constant.append(column.name)
            continue
        if column.dtype == pl.String and column.name not in declared and _are_numbers(column):
            column = plain_column(column)
        if column.dtype == pl.String:
            column, own = _text(column, notes, refused, column.name in declared)
            if own is not None and texts.drop_nulls().n_unique() > len(own):
                pooled.append(column.name)
                apart.append(texts.rank("dense").cast(pl.Float64).to_numpy())
        elif column.drop_nulls().n_unique() == 1:
            # The present cells are all equal, so the information is which cells are missing.
            own = (f"{column.drop_nulls()[0]:g}",)
            column = column * 0
        elif not _varies(column):
            constant.append(column.name)
            continue
        if column.name in refused:
            continue
        values.append(column.to_numpy())
        dates = calendar(values[-1], firsts[column.name]) if column.name in firsts and own is None else None
        if dates is not None:
            notes.append(_parts_of(column.name, dates.parts))
        categories.append(own)
        calendars.append(dates)
        names.append(column.name)
    free = tuple(name for name in refused if name in keep)
    if len(free) < len(refused):
        raise _too_many({name: what for name, what in refused.items() if name not in free})
    if not names:
        raise DataError(
            "no input column with more than one value is left",
            found=count(constant, "constant column") + (f", {count(free, 'column')} of free text" if free else ""),
            rule="at least one input column must have two different values",
            remedy="add an informative column",
        )
    matrix = np.stack(values, axis=1).astype(np.float64)
    codes = np.stack(apart, axis=1) if pooled else np.empty((len(matrix), 0))
    return Inputs(
        matrix,
        tuple(categories),
        tuple(calendars),
        codes,
        tuple(pooled),
        tuple(names),
        tuple(constant),
        free,
        tuple(notes),
    )


def _are_numbers(column: pl.Series) -> bool:
    """Whether a text column has too many categories, although all of its used cells are numbers."""
    return column.drop_nulls().n_unique() > MOST_CATEGORIES and not not_numbers(column)[0]


def _parts_of(name: str, parts: tuple[str, ...]) -> str:
    words = {
        "weekday": "weekday (one column each)",
        "year": "part of the year (sine, cosine)",
        "day": "time of day (sine, cosine)",
    }
    listed = ", ".join(["days since the first date", *(words[part] for part in parts)])
    return f"the dates of {shortened(name)!r} are encoded as {listed}"


def _varies(column: pl.Series) -> bool:
    """Whether the entries of a column differ by more than the rounding error of its largest entry."""
    values = column.drop_nulls().to_numpy()
    return bool(np.ptp(values / np.abs(values).max()) > 4 * np.finfo(float).eps)


def _text(
    column: pl.Series, notes: list[str], refused: dict[str, str], declared: bool
) -> tuple[pl.Series, tuple[str, ...] | None]:
    """Return codes of the categories, null if missing, and their names. A refused column is added to `refused`."""
    name, distinct = column.name, column.drop_nulls().n_unique()
    kind = "column" if declared else "text column"
    kept = column
    if distinct > MOST_CATEGORIES:
        sizes = column.drop_nulls().value_counts().sort(["count", name], descending=[True, False])
        least = max(FEWEST_REPEATS, (column.len() - column.null_count()) / MOST_CATEGORIES)
        frequent = sizes.filter(pl.col("count") >= least)[: MOST_CATEGORIES - 1]
        hint = "" if declared else numeric_hint(column)
        if hint or 2 * distinct > column.len() - column.null_count():
            rows = column.len() - column.null_count()
            example = f", such as {shortened(column.drop_nulls()[0])!r}"
            if not hint and merged(column):
                hint = f"it looks like merged cells, so fill the column down{example}"
            refused[name] = f"{distinct} distinct texts in {rows} rows{f' ({hint})' if hint else example}"
            return column, None
        other = POOLED[OTHER in frequent[name].to_list()]
        kept = pl.select(
            pl.when(column.is_null() | column.is_in(frequent[name].to_list())).then(column).otherwise(pl.lit(other))
        )
        kept = kept.to_series()
        most = (
            f"; the {len(frequent)} most frequent categories also have columns, and the others share the column "
            f"{other!r}"
        )
        notes.append(
            f"each of the {distinct} categories of {kind} {name!r} is encoded as the mean target of its training rows"
            + (most if len(frequent) else "")
        )
    else:
        hint = odd_numbers(column)
        notes.append(
            f"one-hot encoded {kind} {name!r} ({count(distinct, 'category', 'categories')})"
            + (f"; if they are numbers, {hint}" if hint else "")
        )
    categories = sorted(kept.drop_nulls().unique().to_list())
    codes = kept.replace_strict(categories, list(range(len(categories))), default=None, return_dtype=pl.Float64)
    return codes.alias(name), tuple(categories)


def _too_many(refused: dict[str, str]) -> DataError:
    names = [repr(shortened(name)) for name in refused]
    options = " ".join(f"--drop-column {name}" for name in names[:20])
    return DataError(
        f"text {'column' if len(names) == 1 else 'columns'} {listing(names)} {'has' if len(names) == 1 else 'have'} too"
        " many categories; this looks like free text or an identifier",
        found=listing([f"{name}: {what}" for name, what in zip(names, refused.values(), strict=True)], 5),
        rule=f"a text column must have at most {MOST_CATEGORIES} categories, or on average at least two rows for "
        "each category",
        remedy=(
            "if the cells should be numbers or dates, correct them; if the column names groups of "
            f"rows, give --group {names[0]}; to give free text to your own model only, add --keep {names[0]}; "
            f"otherwise leave {('it' if len(names) == 1 else 'them')} out with {options}"
        ),
    )


def _filled(missing: int, name: str) -> str:
    """Return the remedy if a target has one value and missing cells, because an empty cell may then mean "no"."""
    return (
        f"the study leaves out {count(missing, 'row')} without {name!r}, whatever --na says. If an empty cell means "
        "no, write a word such as 'no' in it (in pandas with fillna('no')). Otherwise choose another --target"
    )


def encode_targets(columns: list[pl.Series], name: str, task: str | None, missing: int = 0) -> Targets:
    """Encode classes as centred one-hot columns, and numbers as columns of mean 0 and variance 1.

    A target holds classes if it is text or boolean. A target of numbers holds classes if all numbers are integers, with
    at most 20 distinct values and on average at least 5 rows for each value. `task` overrides this rule.

    Args:
        columns: the target; more than one column is always regression.
        name: the name of the target in messages.
        task: "classification", "regression", or None for the rule.
        missing: the number of rows that were left out because they have no target.

    Raises:
        DataError: if the target is constant, has a single class, has nearly as many classes as rows, or is text in
            regression.
        SettingError: if `task` is neither None nor one of the two tasks.
    """
    if task not in (None, "classification", "regression"):
        raise SettingError("--task is unknown", found=repr(task), rule="the task must be classification or regression")
    texts = [column for column in columns if column.dtype == pl.String]
    text = bool(texts)
    if task == "regression" and text:
        raise DataError(
            f"target {name!r} is text",
            found=next((repr(odd[0]) for odd, _ in map(not_numbers, texts) if odd), "text that reads as numbers"),
            rule="regression needs numbers",
            remedy=odd_numbers(texts[0]) or wrong_cells(texts[0]) or "leave --task out, or choose a numeric target",
        )
    if len(columns) > 1:
        if text or task == "classification":
            raise DataError(
                f"target {name!r} has {len(columns)} columns",
                rule="the classes must be in a single column",
                remedy="store the class of each row as one number or text",
            )
        return _numbers(columns, name)
    column = columns[0]
    distinct = column.n_unique()
    if distinct == 1:
        raise DataError(
            f"target {name!r} is constant",
            found=f"only one value or class, {column[0]!r}, in {column.len()} rows",
            rule="a target must have at least two different values",
            remedy=_filled(missing, name) if missing else "choose another --target",
        )
    classes = task == "classification" or (task is None and (text or _looks_like_classes(column, distinct)))
    return _classes(column, name) if classes else _numbers(columns, name)


def _looks_like_classes(column: pl.Series, distinct: int) -> bool:
    integers = bool((column == column.round()).all())
    return integers and distinct <= MOST_CATEGORIES and 5 * distinct <= column.len()


def _classes(column: pl.Series, name: str) -> Targets:
    values, inverse, counts = np.unique(column.to_numpy(), return_inverse=True, return_counts=True)
    if 2 * len(values) > column.len():
        hint = odd_numbers(column) or wrong_cells(column)
        raise DataError(
            f"target {name!r} has too many classes",
            found=f"{len(values)} classes in {column.len()} rows"
            + ("" if hint else f", such as {shortened(str(values[0]))!r}"),
            rule="there must be at least twice as many rows as classes",
            remedy=hint or "choose another --target or --task",
        )
    labels = tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in values.tolist())
    one_hot = np.eye(len(values))[inverse]
    mean = one_hot.mean(axis=0)
    notes = []
    lonely = [label for label, n in zip(labels, counts, strict=True) if n == 1]
    if lonely:
        notes.append(f"{count(lonely, 'class', 'classes')} with a single row cannot be learned: {listing(lonely)}")
    return Targets(one_hot, one_hot - mean, "classification", labels, mean, np.ones(len(values)), tuple(notes))


def _numbers(columns: list[pl.Series], name: str) -> Targets:
    y = np.stack([column.to_numpy().astype(np.float64) for column in columns], axis=1)
    largest = np.maximum(np.abs(y).max(axis=0), np.finfo(float).tiny)
    mean, scale = (y / largest).mean(axis=0), (y / largest).std(axis=0)
    if (np.ptp(y / largest, axis=0) <= 4 * np.finfo(float).eps).any():
        raise DataError(
            f"target {name!r} has a constant column",
            rule="every output must have at least two different values",
            remedy="leave the constant output out",
        )
    return Targets(y, (y / largest - mean) / scale, "regression", None, mean * largest, scale * largest, ())


def count(items: list[str] | tuple[str, ...] | int, singular: str, plural: str | None = None) -> str:
    """Format a count with its noun: 1 column, 3 columns."""
    n = items if isinstance(items, int) else len(items)
    return f"{n} {singular if n == 1 else plural or singular + 's'}"


def listing(names: list[str] | tuple[str, ...], most: int = 10) -> str:
    """List the first names, and say how many more there are."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
