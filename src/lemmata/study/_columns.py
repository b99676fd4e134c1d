"""Turn the columns of a table into numbers: a matrix of inputs, and a matrix of targets."""

import dataclasses
import re

import numpy as np
import polars as pl
from jaxtyping import Float64

from lemmata.errors import DataError, SettingError

MOST_CATEGORIES = 20
"""A text column with more distinct values than this is not encoded, and a numeric target with more is not classes."""

_DECIMAL_COMMA = re.compile(r"[+-]?\d[\d. ]*,\d+([eE][+-]?\d+)?")
_WITH_UNIT = re.compile(r"[+-]?(\d+([.,]\d*)?|[.,]\d+)([eE][+-]?\d+)?\s*[^\d\s.,+-][^\d\s]{0,9}|[€$£¥]\s*[\d.,]+")


@dataclasses.dataclass(frozen=True)
class Inputs:
    """Standardised inputs, the names of their columns, and what was done to get them."""

    x: Float64[np.ndarray, "N d"]
    features: tuple[str, ...]
    notes: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Targets:
    """Centred targets, the task, and what undoes the scaling: the user's value is `y * scale + mean`."""

    y: Float64[np.ndarray, "N k"]
    task: str
    classes: tuple[str, ...] | None
    mean: Float64[np.ndarray, " k"]
    scale: Float64[np.ndarray, " k"]
    notes: tuple[str, ...]


def plain_column(column: pl.Series, role: str = "column") -> pl.Series | None:
    """The column as Float64 or String; None for a date or time, which has no natural scale to be standardised by.

    Booleans become 0 and 1, numbers stored as text become numbers, categories become text.

    Raises:
        DataError: the column is nested, binary or holds Python objects.
    """
    kind = column.dtype
    if kind.is_numeric() or kind in (pl.Boolean, pl.Null):
        return column.cast(pl.Float64)
    if kind.is_temporal():
        return None
    if kind in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype != pl.String:
        raise DataError(
            f"{role} {column.name!r} is nested or binary",
            found=f"type {kind}",
            rule="every cell is one number or one text",
            remedy=f"flatten it into plain columns, or leave it out with --drop-column {column.name!r}",
        )
    stripped = column.str.strip_chars()
    numbers = stripped.cast(pl.Float64, strict=False)
    return numbers if numbers.null_count() == column.null_count() else stripped


def missing_counts(frame: pl.DataFrame) -> dict[str, int]:
    """Cells that are null, NaN or infinite, for each column that has any."""
    counts = {}
    for column in frame:
        bad = ~is_present(column)
        if bad.any():
            counts[column.name] = int(bad.sum())
    return counts


def is_present(column: pl.Series) -> pl.Series:
    """True where the cell holds a text or a finite number."""
    return column.is_finite().fill_null(False) if column.dtype == pl.Float64 else column.is_not_null()


def encode_inputs(frame: pl.DataFrame) -> Inputs:
    """One-hot encode text columns of at most 20 categories, drop constant columns, standardise the rest.

    Each kept column has mean 0 and variance 1 over the rows (dividing by N).

    Raises:
        DataError: a text column has too many categories, or every column is constant.
    """
    blocks, names, notes = [], [], []
    for column in frame:
        if column.dtype == pl.String:
            categories = _categories(column)
            values = column.to_numpy()
            blocks += [(values == category).astype(np.float64) for category in categories]
            names += [f"{column.name} = {category}" for category in categories]
            hint = odd_numbers(column)
            notes.append(
                f"one-hot encoded text column {column.name!r} ({len(categories)} categories)"
                + (f"; if they are numbers, {hint}" if hint else "")
            )
        else:
            blocks.append(column.to_numpy().astype(np.float64))
            names.append(column.name)
    matrix = np.stack(blocks, axis=1) if blocks else np.zeros((frame.height, 0))
    # Divided by the largest entry first, so that squares of huge or tiny entries neither overflow nor vanish.
    matrix = matrix / np.maximum(np.abs(matrix).max(axis=0, initial=0.0), np.finfo(float).tiny)
    varies = np.ptp(matrix, axis=0) > 4 * np.finfo(float).eps if matrix.size else np.zeros(matrix.shape[1], bool)
    constant = [name for name, keep in zip(names, varies, strict=True) if not keep]
    if not varies.any():
        raise DataError(
            "no input column is left that varies",
            found=f"{len(constant)} constant columns",
            rule="at least one input column has two different values",
            remedy="add an informative column",
        )
    if constant:
        notes.append(f"dropped {count(constant, 'constant column')}: {listing(constant)}")
    kept = matrix[:, varies]
    notes.append("standardised every input column to mean 0 and variance 1")
    features = tuple(name for name, keep in zip(names, varies, strict=True) if keep)
    return Inputs((kept - kept.mean(axis=0)) / kept.std(axis=0), features, tuple(notes))


def _categories(column: pl.Series) -> list[str]:
    categories = sorted(column.unique().to_list())
    if len(categories) <= MOST_CATEGORIES:
        return categories
    numbers = column.cast(pl.Float64, strict=False)
    odd = column.filter(numbers.is_null())
    hint = ""
    numeric = odd_numbers(column)
    if numeric:
        hint = f"{numeric}, or "
    elif odd.len() < column.len() / 2:
        hint = f"correct the cells that are not numbers (such as {odd[0]!r}), or "
    raise DataError(
        f"text column {column.name!r} has too many categories",
        found=f"{len(categories)} distinct texts",
        rule=f"text is one-hot encoded up to {MOST_CATEGORIES} categories",
        remedy=f"{hint}leave it out with --drop-column {column.name!r}",
    )


def encode_targets(columns: list[pl.Series], name: str, task: str | None) -> Targets:
    """Classes become one-hot columns, centred; numbers become columns of mean 0 and variance 1.

    A target is classes when it is text or boolean, or when its numbers are integers with at most 20 distinct values
    and at least 5 rows to each value on average; `task` overrides the rule.

    Args:
        columns: the target; more than one column is always regression.
        name: what to call the target in messages.
        task: "classification", "regression", or None for the rule.

    Raises:
        DataError: the target is constant, has a single class, nearly as many classes as rows, or is text in regression.
        SettingError: `task` is not one of the two.
    """
    if task not in (None, "classification", "regression"):
        raise SettingError("--task is unknown", found=repr(task), rule="the task is classification or regression")
    text = any(column.dtype == pl.String for column in columns)
    if task == "regression" and text:
        raise DataError(
            f"target {name!r} is text",
            found=repr(columns[0][0]),
            rule="regression needs numbers",
            remedy=odd_numbers(columns[0]) or "leave --task out, or choose a numeric target",
        )
    if len(columns) > 1:
        if text or task == "classification":
            raise DataError(
                f"target {name!r} has {len(columns)} columns",
                rule="classes stand in a single column",
                remedy="store the class of each row as one number or text",
            )
        return _numbers(columns, name)
    column = columns[0]
    distinct = column.n_unique()
    if distinct == 1:
        raise DataError(
            f"target {name!r} is constant",
            found=f"only one value or class, {column[0]!r}, in {column.len()} rows",
            rule="a target has at least two different values",
            remedy="choose another --target",
        )
    classes = task == "classification" or (task is None and (text or _looks_like_classes(column, distinct)))
    return _classes(column, name) if classes else _numbers(columns, name)


def _looks_like_classes(column: pl.Series, distinct: int) -> bool:
    integers = bool((column == column.round()).all())
    return integers and distinct <= MOST_CATEGORIES and 5 * distinct <= column.len()


def _classes(column: pl.Series, name: str) -> Targets:
    values, inverse, counts = np.unique(column.to_numpy(), return_inverse=True, return_counts=True)
    if 2 * len(values) > column.len():
        raise DataError(
            f"target {name!r} has too many classes",
            found=f"{len(values)} classes in {column.len()} rows",
            rule="there are at least twice as many rows as classes",
            remedy=odd_numbers(column) or "choose another --target or --task",
        )
    labels = tuple(f"{value:g}" if isinstance(value, float) else str(value) for value in values.tolist())
    one_hot = np.eye(len(values))[inverse]
    mean = one_hot.mean(axis=0)
    notes = [f"one-hot encoded and centred target {name!r}: {len(values)} classes"]
    lonely = [label for label, n in zip(labels, counts, strict=True) if n == 1]
    if lonely:
        notes.append(f"{count(lonely, 'class', 'classes')} with a single row cannot be learned: {listing(lonely)}")
    return Targets(one_hot - mean, "classification", labels, mean, np.ones(len(values)), tuple(notes))


def _numbers(columns: list[pl.Series], name: str) -> Targets:
    y = np.stack([column.to_numpy().astype(np.float64) for column in columns], axis=1)
    largest = np.maximum(np.abs(y).max(axis=0), np.finfo(float).tiny)
    mean, scale = (y / largest).mean(axis=0), (y / largest).std(axis=0)
    if (np.ptp(y / largest, axis=0) <= 4 * np.finfo(float).eps).any():
        raise DataError(
            f"target {name!r} has a constant column",
            rule="every output has at least two different values",
            remedy="leave the constant output out",
        )
    note = f"standardised target {name!r} to mean 0 and variance 1, so an error of 1 is that of predicting the mean"
    if len(columns) > 1:
        note = f"standardised the {len(columns)} outputs of target {name!r} to mean 0 and variance 1 each"
    return Targets((y / largest - mean) / scale, "regression", None, mean * largest, scale * largest, (note,))


def odd_numbers(column: pl.Series) -> str:
    """What to do about texts that would be numbers but for a decimal comma or a unit; empty where they are not so."""
    texts = column.drop_nulls().cast(pl.String) if column.dtype == pl.String else pl.Series([], dtype=pl.String)
    odd = texts.filter(texts.cast(pl.Float64, strict=False).is_null()).to_list()
    for pattern, remedy in (
        (_DECIMAL_COMMA, "write decimal points instead of decimal commas"),
        (_WITH_UNIT, "keep the number alone, without its unit"),
    ):
        if odd and sum(pattern.fullmatch(text) is not None for text in odd) > texts.len() / 2:
            return f"{remedy} (such as {shortened(odd[0])!r})"
    return ""


def shortened(text: str, most: int = 120) -> str:
    """The text, or its beginning and its length where it is longer than a message should hold."""
    return text if len(text) <= most else f"{text[: most // 2]}… ({len(text)} characters)"


def count(items: list[str] | tuple[str, ...] | int, singular: str, plural: str | None = None) -> str:
    """A count with its noun: 1 column, 3 columns."""
    n = items if isinstance(items, int) else len(items)
    return f"{n} {singular if n == 1 else plural or singular + 's'}"


def listing(names: list[str] | tuple[str, ...], most: int = 10) -> str:
    """The first names, and how many more there are."""
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
