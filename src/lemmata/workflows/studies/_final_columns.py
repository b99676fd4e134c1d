"""Find the kinds of a table's columns as the user's own reader returns them, and make a scikit-learn encoder."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import sklearn
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GroupKFold, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler, TargetEncoder

from ._columns import FEWEST_REPEATS, MOST_CATEGORIES, stripped
from ._data import Dataset
from ._dates import format_of, with_dates, zone_of
from ._encoder import FARTHEST, FOLDS
from ._final_table import Raw
from ._numbers import are_truths, decimal_mark, mark_shown, signed, without_unit
from ._readings import codes

_FOLDS_ARE_TAKEN = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
"""Whether scikit-learn's TargetEncoder accepts folds from the caller."""
FILLED = "missing"
"""The name of the category of missing texts. If the table contains this text, the name is put in brackets."""

NOT_AVAILABLE, NOT_TEXTS = "missing cells that are pandas.NA", "cells of other types among texts"
"""Reasons why scikit-learn cannot read a column of a data frame."""
CODES = "categories that are numbers"
"""Another reason: new cells of such a column may be numbers, numbers with decimals, or texts."""
_GROUPS = r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$"


@dataclasses.dataclass(frozen=True)
class Kinds:
    """The kinds of the columns, by their names in the study.

    Args:
        numbers: columns of numbers, including parts of dates.
        spikes: columns with numbers more than ten standard deviations from their mean.
        texts: columns of texts with up to 20 categories.
        many: columns of texts with more than 20 categories.
        plain: the settings of `lemmata.estimators.PlainTable`, if scikit-learn cannot read some column; else None.
        why: for each column that scikit-learn cannot read, the reason.
        gaps: whether some cells of text columns are missing.
        rows: the number of rows of the table.
    """

    numbers: list[str]
    spikes: list[str]
    texts: list[str]
    many: list[str]
    plain: dict[str, Any] | None
    why: dict[str, str]
    gaps: bool
    rows: int


def kinds_of(raw: Raw, dataset: Dataset, decimal: str | None) -> Kinds:
    """Find the kinds of the columns of a table, and the columns that scikit-learn cannot read directly.

    Args:
        raw: the table.
        dataset: the dataset of the study.
        decimal: the decimal mark that the user has named; None if there is none.
    """
    found = Kinds([], [], [], [], None, {}, False, len(dataset.targets))
    dates: dict[str, list[str]] = {}
    formats: dict[str, str] = {}
    zones: dict[str, str] = {}
    for j, name in enumerate(dataset.raw_features):
        cells, calendar = raw.cells[name], dataset.calendars[j]
        values = dataset.inputs[:, j]
        read = with_dates(cells)
        code = dataset.categories[j] is not None and codes(dataset.given.table, name) is not None
        text = code or cells.dtype in (pl.String, pl.Categorical, pl.Enum)
        if read.dtype.is_temporal():
            dates[name] = [] if calendar is None else list(calendar.parts)
            if cells.dtype == pl.String and (form := format_of(cells)):
                formats[name] = form
            if zone := zone_of(cells):
                zones[name] = zone
            found.why[name] = "dates"
            found.numbers.append(name)
        elif (
            text and (dataset.categories[j] is not None and not _is_number(name, dataset, j)) and not are_truths(cells)
        ):
            (found.many if name in dataset.texts else found.texts).append(name)
            if reason := CODES if code else _reason_of_texts(raw, name):
                found.why[name] = reason
        else:
            reason = _reason(cells, raw.marks.get(name, [])) or _reason_of_pandas(raw, name)
            if reason:
                found.why[name] = reason
            spread = np.nanstd(values)
            far = np.nanmax(np.abs(values - np.nanmean(values))) > FARTHEST * spread > 0
            (found.spikes if far else found.numbers).append(name)
    if not raw.named:
        found.why.update(
            {name: "a name that is not plain text" for name in dataset.raw_features if name not in found.why}
        )
    gaps = any(raw.cells[name].null_count() for name in [*found.texts, *found.many])
    if not found.why:
        return dataclasses.replace(found, gaps=gaps)
    read_as = [name for name in [*found.numbers, *found.spikes] if name not in dates]
    plain: dict[str, Any] = {
        "columns": list(dataset.raw_features), "numbers": read_as, "decimal": mark_of(raw.cells, decimal),
        "dates": dates, "formats": formats, "missing": list(raw.missing),
    }  # fmt: skip
    if marks := marks_of(dataset, read_as, plain["decimal"]):
        plain["marks"] = marks
    if zones:
        plain["zones"] = zones
    if plain["decimal"] == "," and (whole := [name for name in read_as if _is_grouped(raw.cells[name])]):
        plain["grouped"] = whole
    if apart := [name for name, reason in found.why.items() if reason == CODES]:
        plain["codes"] = apart
    units = {
        name: without_unit(signed(stripped(cells)))[1]
        for name in read_as
        if (cells := raw.cells[name]).dtype == pl.String
    }
    plain["units"] = {name: unit for name, unit in units.items() if unit}
    if kept := {name: raw.kept[name] for name in [*found.texts, *found.many] if name in raw.kept}:
        plain["kept"] = kept
    return dataclasses.replace(found, plain=plain, gaps=True)


def _is_grouped(cells: pl.Series) -> bool:
    """Whether all points of a column of texts stand between groups of three digits, and no cell has a comma."""
    texts = stripped(cells).drop_nulls() if cells.dtype == pl.String else pl.Series([], dtype=pl.String)
    pointed = texts.filter(texts.str.contains(".", literal=True))
    return bool(len(pointed)) and bool(pointed.str.contains(_GROUPS).all()) and not texts.str.contains(",").any()


def mark_of(cells: pl.DataFrame, decimal: str | None) -> str:
    """Return the decimal mark that the user has named, or else the mark that the cells show; "." if they show none."""
    return decimal or decimal_mark(stripped(column) for column in cells if column.dtype == pl.String) or "."


def marks_of(dataset: Dataset, names: Sequence[str], decimal: str) -> dict[str, str]:
    """Return the decimal mark of each of the named columns whose texts show another mark than the table's."""
    frame = dataset.given.table.frame
    texts = [name for name in names if name in frame.columns and frame[name].dtype == pl.String]
    shown = {name: mark_shown(stripped(frame[name])) for name in texts}
    return {name: mark for name, mark in shown.items() if mark in (",", ".") and mark != decimal}


def _is_number(name: str, dataset: Dataset, place: int) -> bool:
    """Whether a column with one category is a number that does not vary in the rows where it is present."""
    own = dataset.categories[place]
    cells = dataset.given.table.frame[name]
    return own is not None and len(own) == 1 and cells.dtype not in (pl.String, pl.Categorical, pl.Enum)


def _reason_of_texts(raw: Raw, name: str) -> str:
    """Return why scikit-learn cannot read texts as written; empty if it can."""
    cells = raw.cells[name]
    if cells.dtype == pl.String and stripped(cells).n_unique() < cells.n_unique():
        return "texts with blanks around them"
    if name in raw.kept:
        return "texts that other programs, such as pandas, read as missing cells"
    return _reason_of_pandas(raw, name, texts=True)


def _reason_of_pandas(raw: Raw, name: str, texts: bool = False) -> str:
    """Return why scikit-learn cannot read a column of pandas; empty if it can, or if the frame is not of pandas."""
    if not hasattr(raw.frame, "iloc"):
        return ""
    cells = raw.frame.iloc[:, raw.cells.columns.index(name)]
    if not texts and cells.dtype.kind != "O":
        return ""  # scikit-learn accepts pandas.NA among numbers
    objects = cells[cells.isna()].tolist() if cells.dtype.kind == "O" else []
    empties = [getattr(cells.dtype, "na_value", None), *objects]
    if any(type(own).__name__ == "NAType" for own in empties):
        return NOT_AVAILABLE
    if texts and not all(isinstance(own, str) for own in cells[cells.notna()].to_numpy(dtype=object)):
        return NOT_TEXTS
    return ""


def _reason(cells: pl.Series, marks: Sequence[str]) -> str:
    """Return why scikit-learn cannot read a column of numbers with these marks of missing cells; empty if it can."""
    if are_truths(cells):
        return "true and false as texts"
    if cells.dtype == pl.String or cells.dtype in (pl.Categorical, pl.Enum):
        return "numbers among texts"
    if cells.dtype.is_float() and bool(cells.is_infinite().any()):
        return "infinite numbers"
    if any(_number(mark) is not None for mark in marks):
        return "numbers that stand for missing cells"
    return "words for missing cells among numbers" if marks else ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def encoder_of(kinds: Kinds, raw: Raw, scaled: bool, means: bool = True, numbers: bool = False) -> ColumnTransformer:
    """Return the unfitted encoder of a pipeline.

    The encoder takes columns by their names, or by their positions in an array.

    Args:
        kinds: the kinds of the columns.
        raw: the table.
        scaled: whether columns are standardised.
        means: whether the mean target of each category is used for texts with many categories.
        numbers: whether the target is numbers instead of classes.
    """
    scale = [StandardScaler()] if scaled else []
    median = lambda: SimpleImputer(strategy="median", add_indicator=True)
    empties: tuple[Any, ...] = (np.nan, None)  # the missing texts of pandas and of polars
    words: set[Any] = {mark for name in [*kinds.texts, *kinds.many] for mark in raw.marks.get(name, [])}
    filled = _filled([raw.cells[name] for name in [*kinds.texts, *kinds.many]])
    fill = [SimpleImputer(missing_values=empty, strategy="constant", fill_value=filled)
            for empty in (*empties, *sorted(words))]  # fmt: skip
    fill = fill if kinds.gaps else []
    plain = kinds.plain or {}
    dated = [part for name, parts in plain.get("dates", {}).items() for part in date_columns(name, parts)]
    hot: dict[str, Any] = {"sparse_output": False}
    few = OneHotEncoder(handle_unknown="ignore", **hot)
    pooled = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, **hot,
                           min_frequency=max(FEWEST_REPEATS, -(-kinds.rows // MOST_CATEGORIES)))  # fmt: skip
    steps = [
        ("numbers", [median(), *scale], [*kinds.numbers, *dated]),
        ("spikes", [median(), *([MinMaxScaler(clip=True)] if scaled else []), *scale], kinds.spikes),
        ("texts", [*fill, few, *scale], kinds.texts),
        ("many", [*fill, pooled, *scale], kinds.many),
        ("means", [*fill, _target_encoder(numbers), *scale], kinds.many if means else []),
    ]
    place = (lambda names: [raw.cells.columns.index(name) for name in names]) if raw.positional else list
    return ColumnTransformer([(name, make_pipeline(*parts), place(names)) for name, parts, names in steps if names])


def _filled(texts: list[pl.Series]) -> str:
    """Return a name for the category of missing texts that differs from all texts."""
    filled = FILLED
    while any((own.cast(pl.String).str.strip_chars() == filled).any() for own in texts):
        filled = f"({filled})"
    return filled


def date_columns(name: str, parts: Sequence[str]) -> list[str]:
    """Return the names of the columns that are made from a date."""
    from lemmata.estimators import PlainTable

    return [str(own) for own in PlainTable([name], dates={name: list(parts)}).get_feature_names_out()[1:]]


def group_folds(groups: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """Return the folds of `target_means` for rows of these groups; None if there are fewer groups than folds."""
    if len(np.unique(groups)) < FOLDS:
        return None
    return list(GroupKFold(FOLDS).split(groups, groups=groups))


def set_folds(columns: ColumnTransformer, folds: list[tuple[np.ndarray, np.ndarray]] | None) -> None:
    """Set the folds of the target encoder; None restores the default folds. Before scikit-learn 1.9, do nothing."""
    if not _FOLDS_ARE_TAKEN:
        return
    for name, steps, *_ in [*columns.transformers, *getattr(columns, "transformers_", [])]:
        if name == "means":
            own = folds or KFold(FOLDS, shuffle=True, random_state=0)
            steps.named_steps["targetencoder"].set_params(cv=own)


def _target_encoder(numbers: bool) -> TargetEncoder:
    """Return an encoder of categories by mean targets. A training row gets the means of the other four fifths.

    The split into fifths is fixed. The type of a target of numbers is set explicitly, because scikit-learn would take
    whole numbers for classes and give each class a column.
    """
    if not _FOLDS_ARE_TAKEN:
        settings: dict[str, Any] = {"random_state": 0}
    else:
        settings = {"cv": KFold(FOLDS, shuffle=True, random_state=0)}
    return TargetEncoder(target_type="continuous" if numbers else "auto", **settings)
