"""The columns as the user's own reader gives them, and the scikit-learn encoder that takes them by name."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
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
from ._data import READ_BYTES, Dataset
from ._dates import format_of, with_dates
from ._encoder import FARTHEST, FOLDS
from ._json_tables import is_one_object, layout_of
from ._malformed import QUOTES, ROW_NAMES
from ._numbers import decimal_mark, signed, without_unit
from ._sources import Source, in_utf8, source_of, with_tabs
from ._tables import header_of
from ._titles import left_out_of

PANDAS_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""The texts that `pandas.read_csv` reads as missing by default."""
_FOLDS_ARE_TAKEN = tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)
"""Whether scikit-learn's TargetEncoder accepts folds from the caller."""
FILLED = "missing"
"""The category of a missing text."""


@dataclasses.dataclass(frozen=True)
class Raw:
    """A table in the user's own form.

    Args:
        frame: the data frame, or an array whose columns are taken by their positions.
        cells: the cells of the table, for inspection, in the order of its columns and with the study's names.
        reading: how the program reads the table, as a function and its arguments.
        named: whether the columns have the study's names, as texts.
        source: the path or the bundled name; None for data in memory.
        sparse: whether the user's array is a sparse matrix.
    """

    frame: Any
    cells: pl.DataFrame
    reading: tuple[str, dict[str, Any]]
    named: bool = True
    source: str | None = None
    sparse: bool = False

    @property
    def positional(self) -> bool:
        """Whether columns are taken by their positions."""
        return isinstance(self.frame, np.ndarray)

    def inputs(self, names: Sequence[str], rows: np.ndarray) -> Any:
        """Return the given rows; for a data frame, only these columns."""
        if self.positional:
            return self.frame[rows]
        if isinstance(self.frame, pl.DataFrame):
            return self.frame.select(self.own(names))[rows]
        places = [self.cells.columns.index(name) for name in names]
        return self.frame.iloc[rows, places]

    def own(self, names: Sequence[str]) -> list[Any]:
        """Return the names of these columns in the frame."""
        return [list(self.frame.columns)[self.cells.columns.index(name)] for name in names]


def raw_table(data: object, dataset: Dataset) -> Raw:
    """Return the table as `pandas.read_csv` or a similar function reads it, or the user's data frame or arrays.

    Args:
        data: the input of the study.
        dataset: the dataset made from it.
    """
    table = dataset.given.table
    if isinstance(data, str | os.PathLike):
        name = os.fspath(data)
        path = Path(name)
        if not path.is_file():
            return Raw(table.frame, table.frame, ("bundled", {}), source=name)
        return _of_file(path, dataset)
    if table.given is not None:
        named = all(isinstance(name, str) and name == name.strip() for name in table.given.columns)
        return Raw(table.given, table.frame, ("memory", {}), named)
    if table.of_polars:
        return Raw(table.frame, table.frame, ("memory", {}), all(name == name.strip() for name in table.frame.columns))
    if isinstance(data, tuple):
        sparse = hasattr(data[0], "toarray")
        x = np.asarray(data[0].toarray() if sparse else data[0])
        return Raw(x.reshape(len(x), -1), table.frame, ("arrays", {}), sparse=sparse)
    return Raw(table.frame, table.frame, ("memory", {}))


def _of_file(path: Path, dataset: Dataset) -> Raw:
    table = dataset.given.table
    source = source_of(path, READ_BYTES)
    kind = "" if source is None else source.kind
    if source is None or kind != "text":
        found = {"sheet": "pandas.read_excel", "parquet": "polars.read_parquet", "arrow": "polars.read_ipc",
                 "lines": "polars.read_ndjson", "json": "pandas.read_json"}.get(kind, "")  # fmt: skip
        how = _how_json(source) if source is not None and kind == "json" else {}
        if kind == "sheet" and (title := left_out_of(table.notes)):
            how = {"skiprows": title}
        return Raw(table.frame, table.frame, (found, how), source=str(path))
    text = in_utf8(source, READ_BYTES)
    plain = with_tabs(text, READ_BYTES)
    skipped, separator, header, _ = header_of(plain)
    how: dict[str, Any] = {}
    if plain is not text:
        how["sep"] = r"\s+"
    elif separator != ",":
        how["sep"] = separator
    if text is not source and (encoding := _encoding(text.notes)):
        how["encoding"] = encoding
    if any(line.strip() for line in plain.head().decode("utf-8-sig", errors="replace").splitlines()[:skipped]):
        how["skiprows"] = skipped
    frame = table.frame
    if table.kept is None and not {QUOTES, ROW_NAMES} & {*table.notes}:
        read = pl.read_csv(
            plain.readable, separator=separator, infer_schema_length=None, null_values=list(PANDAS_MISSING),
            skip_lines=skipped, encoding="utf8",
        )  # fmt: skip
        if read.width == len(header):
            named = list(zip(header, read.columns, strict=True))
            read.columns = header
            frame = read.select([name for name, _ in named if name in table.frame.columns])
    named = all(own.strip() == own for own in _first_line(plain.head(), skipped, separator))
    return Raw(frame, frame, ("pandas.read_csv", how), named, source=str(path))


def _how_json(source: Source) -> dict[str, Any]:
    """Return the arguments that `pandas.read_json` needs."""
    text = in_utf8(source, READ_BYTES)
    if not is_one_object(text):
        return {"lines": True} if text.head().lstrip(b" \t\r\n\xef\xbb\xbf")[:1] == b"{" else {}
    found = layout_of(text)
    if found is None:
        return {"lines": True}
    return {"key": found.key} if found.key else {} if found.orient == "columns" else {"orient": found.orient}


def _first_line(head: bytes, skipped: int, separator: str) -> list[str]:
    line = head.decode("utf-8-sig", errors="replace").split("\n")[skipped].rstrip("\r")
    return [field.strip('"') for field in line.split(separator)]


def _encoding(notes: Sequence[str]) -> str:
    """Return the encoding that `in_utf8` found, from its message."""
    found = {"Windows-1252": "cp1252", "Latin-1": "latin-1", "UTF-16": "utf-16", "UTF-32": "utf-32"}
    return next((code for words, code in found.items() if any(note.endswith(words) for note in notes)), "")


@dataclasses.dataclass(frozen=True)
class Kinds:
    """The kinds of the columns, by their names in the study.

    Args:
        numbers: columns of numbers, including parts of dates.
        spikes: columns with numbers more than ten standard deviations from their mean.
        texts: columns of texts with up to 20 categories.
        many: columns of texts with more categories.
        plain: the settings of `lemmata.estimators.PlainTable`, if scikit-learn cannot read some column; else None.
        why: for each column that scikit-learn cannot read, the reason.
        gaps: whether some texts are missing.
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


def kinds_of(raw: Raw, dataset: Dataset, missing: Sequence[str], decimal: str | None) -> Kinds:
    """Find the kinds of the columns of a table, and the columns that scikit-learn cannot read directly.

    Args:
        raw: the table.
        dataset: the dataset of the study.
        missing: the texts that the user has named for missing cells.
        decimal: the decimal mark that the user has named.
    """
    found = Kinds([], [], [], [], None, {}, False, len(dataset.targets))
    dates: dict[str, list[str]] = {}
    formats: dict[str, str] = {}
    for j, name in enumerate(dataset.raw_features):
        cells, calendar = raw.cells[name], dataset.calendars[j]
        values = dataset.inputs[:, j]
        read = with_dates(cells)
        text = cells.dtype == pl.String or cells.dtype in (pl.Categorical, pl.Enum)
        if read.dtype.is_temporal():
            dates[name] = [] if calendar is None else list(calendar.parts)
            if cells.dtype == pl.String and (form := format_of(cells)):
                formats[name] = form
            found.why[name] = "dates"
            found.numbers.append(name)
        elif text and (dataset.categories[j] is not None and not _is_number(name, dataset, j)) and not _truth(cells):
            (found.many if name in dataset.texts else found.texts).append(name)
            if cells.dtype == pl.String and stripped(cells).n_unique() < cells.n_unique():
                found.why[name] = "texts with blanks around them"
        else:
            reason = _reason(cells, missing)
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
        "dates": dates, "formats": formats, "missing": list(missing),
    }  # fmt: skip
    units = {
        name: without_unit(signed(stripped(cells)))[1]
        for name in read_as
        if (cells := raw.cells[name]).dtype == pl.String
    }
    plain["units"] = {name: unit for name, unit in units.items() if unit}
    return dataclasses.replace(found, plain=plain, gaps=True)


def mark_of(cells: pl.DataFrame, decimal: str | None) -> str:
    """Return the decimal mark."""
    return decimal or decimal_mark(stripped(column) for column in cells if column.dtype == pl.String) or "."


def _is_number(name: str, dataset: Dataset, place: int) -> bool:
    """Whether a column with one category is a number that does not vary in the rows where it is present."""
    own = dataset.categories[place]
    cells = dataset.given.table.frame[name]
    return own is not None and len(own) == 1 and cells.dtype != pl.String


def _truth(cells: pl.Series) -> bool:
    """Whether a text is true or false, which pandas reads as a boolean and polars may not."""
    if cells.dtype != pl.String:
        return False
    return set(stripped(cells).drop_nulls().str.to_lowercase().unique().to_list()) <= {"true", "false"}


def _reason(cells: pl.Series, missing: Sequence[str]) -> str:
    """Return why scikit-learn cannot read numbers as written; empty if it can."""
    if _truth(cells):
        return "true and false as texts"
    if cells.dtype == pl.String or cells.dtype in (pl.Categorical, pl.Enum):
        return "numbers among texts"
    if cells.dtype.is_float() and bool(cells.is_infinite().any()):
        return "infinite numbers"
    none = [number for number in map(_number, missing) if number is not None]
    if cells.dtype.is_numeric() and none and bool(cells.cast(pl.Float64).is_in(none).any()):
        return "numbers that stand for missing cells"
    return ""


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def encoder_of(kinds: Kinds, raw: Raw, scaled: bool, means: bool = True, numbers: bool = False) -> ColumnTransformer:
    """Return the unfitted encoder of a pipeline, which takes columns by their names, or by positions in an array.

    Args:
        kinds: the kinds of the columns.
        raw: the table.
        scaled: whether columns are standardised.
        means: whether the mean target of each category is used for texts with many categories.
        numbers: whether the target is numbers instead of classes.
    """
    scale = [StandardScaler()] if scaled else []
    median = lambda: SimpleImputer(strategy="median", add_indicator=True)
    empties: tuple[Any, ...] = (np.nan, None)  # of pandas, and of polars
    fill = [SimpleImputer(missing_values=empty, strategy="constant", fill_value=FILLED) for empty in empties]
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


def date_columns(name: str, parts: Sequence[str]) -> list[str]:
    """Return the names of the columns that are made from a date."""
    from lemmata.estimators import PlainTable

    return [str(own) for own in PlainTable([name], dates={name: list(parts)}).get_feature_names_out()[1:]]


def group_folds(groups: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]] | None:
    """Return the folds of `target_means` for rows of these groups. None if there are fewer groups than folds."""
    if len(np.unique(groups)) < FOLDS:
        return None
    return list(GroupKFold(FOLDS).split(groups, groups=groups))


def set_folds(columns: ColumnTransformer, folds: list[tuple[np.ndarray, np.ndarray]] | None) -> None:
    """Set the folds of the target encoder; None keeps its own folds. Before scikit-learn 1.9, it takes no folds."""
    if not _FOLDS_ARE_TAKEN:
        return
    for name, steps, *_ in [*columns.transformers, *getattr(columns, "transformers_", [])]:
        if name == "means":
            own = folds or KFold(FOLDS, shuffle=True, random_state=0)
            steps.named_steps["targetencoder"].set_params(cv=own)


def _target_encoder(numbers: bool) -> TargetEncoder:
    """Encode categories by mean targets. A training row gets the means of the other four fifths, in a fixed split.

    The encoder treats the target as numbers, because scikit-learn takes whole numbers for classes and gives each class
    a column.
    """
    if not _FOLDS_ARE_TAKEN:
        settings: dict[str, Any] = {"random_state": 0}
    else:
        settings = {"cv": KFold(FOLDS, shuffle=True, random_state=0)}
    return TargetEncoder(target_type="continuous" if numbers else "auto", **settings)
