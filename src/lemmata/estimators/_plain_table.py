"""A data frame in a form for scikit-learn's encoders. Texts that are numbers or dates become numbers."""

import re
import warnings
from typing import Any

import numpy as np
import polars as pl
from sklearn.base import BaseEstimator, TransformerMixin

from lemmata.errors import DataError, SettingError, shortened

from ._day_numbers import days

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
YEAR = 365.2425
_GAPS = "[ \u00a0\u202f'’]"
_NEGATIVE = r"^\(\s*([^()]*\d[^()]*?)\s*\)$"
"""A negative number in accountants' notation, such as (12.50)."""
_UNNAMED = re.compile(r"column \d+ \(unnamed\)")
_COUNTED = re.compile(r"(?:Unnamed: |__UNNAMED__)(\d+)")
"""The name that pandas or polars gives to a column without a name. The number is its position, counted from 0."""
_LAKHS = r"\d{1,2}(,\d{2})+,\d{3}"
"""A whole number as people in India write it: 12,34,567."""
_MARKED = rf"^[+-]?[\d.,]*\d[\d.,]*([eE][+-]?\d+)?$|^[+-]?\d[\d.,{_GAPS[1:-1]}]*[.,]\d*$"
"""A number with points and commas in any places."""
_WAVES = {"year": ("part of the year", YEAR), "day": ("time of day", 1.0)}
_TRUTH = {"true": "1", "false": "0"}


class PlainTable(TransformerMixin, BaseEstimator):
    """Convert a data frame of pandas or polars to a polars data frame that scikit-learn's encoders can read.

    A pipeline needs this step only if its table has cells or names that scikit-learn cannot read. Examples are dates,
    infinite cells, missing cells that are `pandas.NA`, and column names that are not texts. Other examples are numbers
    written as texts, with decimal commas or units, or with words for missing values.

    A date becomes the days since 1970-01-01. The parts of a date become further columns. For a column "sold", the
    columns "sold: Monday" and so on are 1 on that weekday and 0 otherwise. "sold: part of the year (sine)" and
    "(cosine)" give the part of the year. The time of day also has a sine and a cosine. All these columns are 0 if the
    date is missing.

    Args:
        columns: the names of the columns to keep, as texts. If the name of a column is a number or a tuple, use the
            text that `str` makes of it. "column 1 (unnamed)" is a first column without a name, which pandas calls
            "Unnamed: 0".
        numbers: the names of the columns whose cells are numbers. A cell that cannot be read as a number counts as
            missing; if the cell has a digit, there is a warning.
        decimal: the mark before decimals in texts, "." or ",".
        dates: for each column of dates, its parts, which are some of "weekday", "year" and "day".
        formats: for each column of dates written as texts, their format, as in "%d/%m/%Y". Without a format, the year
            comes first. "%Y-%m" and other formats without a day read a month as its first day. "quarter" reads quarters
            such as 1990Q1 and Q1 1990, and "week" reads ISO weeks such as 2021-W01, also as their first days. A cell
            with a digit that is not in this format counts as missing, with a warning.
        missing: texts that mean a missing value in columns of numbers, such as "999".
        units: the unit of each column whose cells have a unit before or after the number, for example "€".
        kept: for each column of texts, the words such as "NA" that are values in this column, although readers of
            tables take these words for missing cells. If cells are missing and no cell has one of these words, there is
            a warning.
        codes: the names of the columns whose numbers stand for categories. A number 3 or 3.0 in such a column becomes
            the text "3".
        marks: the mark before decimals of each column of numbers that has another mark than `decimal`.
        zones: the time zone of each column of dates with a zone. The dates and times of day are those of this zone.
            Instants with another zone are converted to it. Times without a zone are taken for times of this zone, with
            a warning. A zone may also be an offset from universal time, as in "+02:00", or the two offsets of a place
            in winter and summer, as in "+01:00/+02:00". With two offsets, a time with another offset counts as missing,
            with a warning.
        grouped: the names of columns of whole numbers with points between thousands, where 1.024 means 1024. Readers
            that do not know such points read the number 1.024 instead, and this class raises an error for such a
            number.

    Raises:
        DataError: if a column is missing from a table, or has fractions although it is among `grouped`.
        SettingError: if a part of a date is unknown.

    Example:
        >>> import polars as pl
        >>> from lemmata.estimators import PlainTable
        >>> table = pl.DataFrame({"price": ["1,5 €", "n.d."], "sold": ["2024-01-01", None], "other": [1, 2]})
        >>> units = {"price": "€"}
        >>> plain = PlainTable(["price", "sold"], numbers=["price"], decimal=",", dates={"sold": []}, units=units)
        >>> plain.fit_transform(table).rows()
        [(1.5, 19723.0), (None, None)]
    """

    __module__ = "lemmata.estimators"  # so stored files do not depend on the module that defines the class

    def __init__(
        self, columns, numbers=(), decimal=".", dates=None, formats=None, missing=(), units=None, kept=None, codes=(),
        marks=None, zones=None, grouped=(),
    ):  # fmt: skip
        self.columns = columns
        self.numbers = numbers
        self.decimal = decimal
        self.dates = dates
        self.formats = formats
        self.missing = missing
        self.units = units
        self.kept = kept
        self.codes = codes
        self.marks = marks
        self.zones = zones
        self.grouped = grouped

    def fit(self, X, y=None):
        """Check the settings, and raise an error for unknown ones. The rows are not used."""
        unknown = [part for parts in (self.dates or {}).values() for part in parts if part not in ("weekday", *_WAVES)]
        if unknown:
            raise SettingError(
                "dates", found=f"the unknown part {unknown[0]!r}", rule="only the parts weekday, year and day"
            )
        return self

    def __sklearn_is_fitted__(self):
        return True

    def get_feature_names_out(self, input_features=None):
        """The names of the columns of the result."""
        dates = self.dates or {}
        names = [[name, *_part_names(name, dates.get(name, ()))] for name in self.columns]
        return np.array([each for own in names for each in own], dtype=object)

    def transform(self, X):
        """The columns of the table X as numbers and texts, in a polars data frame."""
        cells = {name: (X, j) for j, name in enumerate(_names(list(X.columns), self.columns))}
        missing = [name for name in self.columns if name not in cells]
        if missing:
            raise DataError(
                "columns are missing from the table",
                found=f"a table without {', '.join(map(repr, missing[:10]))}",
                rule="every column that the model was fitted on",
                remedy="add these columns; leave unknown cells empty",
            )
        found, dates, codes = [], self.dates or {}, getattr(self, "codes", ())
        marks = getattr(self, "marks", None) or {}
        for name in self.columns:
            texts = name not in dates and name not in self.numbers and name not in codes
            zone = (getattr(self, "zones", None) or {}).get(name)
            column = _series(name, *cells[name], texts=texts, offsets="/" in (zone or ""))
            if name in dates:
                own = days(column, (self.formats or {}).get(name), zone, self.missing)
                found += [own, *_parts(own, dates[name])]
            elif name in self.numbers:
                if name in getattr(self, "grouped", ()):
                    _check_whole(column)
                bare, mark = _bare(column, (self.units or {}).get(name)), marks.get(name, self.decimal)
                found.append(_numbers(bare, mark, self.missing))
            else:
                found.append(_text(_in_digits(column) if name in codes else column))
                _warn_of_kept(found[-1], (getattr(self, "kept", None) or {}).get(name, ()))
        return pl.DataFrame(found)


def _part_names(name: str, parts: Any) -> list[str]:
    """The names of the columns that are made from a date."""
    found = []
    for part in parts:
        if part == "weekday":
            found += [f"{name}: {day}" for day in WEEKDAYS]
        else:
            found += [f"{name}: {_WAVES[part][0]} ({wave})" for wave in ("sine", "cosine")]
    return found


def _names(own: list[Any], wanted: Any) -> list[str]:
    """The names of a table's columns as the study gives them: readers give different names to an unnamed column."""
    names = [str(name).strip() for name in own]
    lost = [name for name in wanted if _UNNAMED.fullmatch(name) and name not in names]
    if not lost:
        return names
    void = [j for j, name in enumerate(names) if not name or name.startswith("_duplicated_")]
    for j, name in enumerate(names):
        counted = _COUNTED.fullmatch(name)
        if name in wanted or not (counted or j in void):
            continue
        place = int(counted[1]) if counted else j
        found = f"column {place + 1} (unnamed)"
        names[j] = lost[0] if found not in lost and len(lost) == len(void) == 1 and j in void else found
    return names


def _series(name: str, frame: Any, place: int, texts: bool = False, offsets: bool = False) -> pl.Series:
    """A column of a data frame of any library. In a column of texts, a number becomes the text that Python prints.

    If `offsets` is set, times with an offset from universal time become texts, because polars does not keep offsets.
    """
    if isinstance(frame, pl.DataFrame):
        return frame[:, place].alias(name)
    cells = frame.iloc[:, place]
    values = cells.to_numpy()
    if values.dtype.kind in "biuf":
        return pl.Series(name, values)
    if values.dtype.kind in "Mm":
        return pl.Series(name, values.astype(f"{'datetime64' if values.dtype.kind == 'M' else 'timedelta64'}[us]"))
    listed = [None if void else _plain(cell, offsets) for cell, void in zip(values.tolist(), cells.isna(), strict=True)]
    if not texts:
        try:
            return pl.Series(name, listed, strict=False)
        except pl.exceptions.PolarsError:  # dates among texts
            pass
    return pl.Series(name, [cell if cell is None else str(cell) for cell in listed], dtype=pl.String)


def _plain(cell: Any, offsets: bool) -> Any:
    """Return the first moment of a pandas period, the text of a pandas interval, and any other cell unchanged.

    If `offsets` is set, return the text of a time with an offset from universal time.
    """
    kind = type(cell).__name__
    if offsets and getattr(cell, "tzinfo", None) is not None:
        return cell.isoformat(timespec="microseconds")
    return cell.to_timestamp() if kind == "Period" else str(cell) if kind == "Interval" else cell


def _text(column: pl.Series) -> pl.Series:
    """The texts without blanks around them."""
    return column.cast(pl.String).str.strip_chars()


def _in_digits(column: pl.Series) -> pl.Series:
    """The numbers as texts, and whole numbers without a decimal point. Other cells are unchanged."""
    if not column.dtype.is_numeric():
        return column
    texts, values = column.cast(pl.String), column.cast(pl.Float64).fill_nan(None)
    whole = pl.select(pl.when(values == values.round()).then(values.cast(pl.Int64, strict=False).cast(pl.String)))
    return whole.to_series().fill_null(texts).set(values.is_null(), None).alias(column.name)


def _bare(column: pl.Series, unit: str | None) -> pl.Series:
    """The texts without the unit before or after them."""
    if not unit or column.dtype not in (pl.String, pl.Categorical, pl.Enum):
        return column
    texts = column.cast(pl.String).str.strip_chars()
    behind = texts.str.strip_suffix(unit).str.strip_chars()
    texts = pl.select(pl.when(behind == texts).then(texts.str.replace(unit, "", literal=True)).otherwise(behind))
    return texts.to_series().str.replace_all(r"^([+-]?)\s+", "$1").alias(column.name)


def _check_whole(column: pl.Series) -> None:
    """Check that numbers are whole, in a column whose texts have points between thousands."""
    if not column.dtype.is_float():
        return
    odd = column.filter(column.is_finite().fill_null(False) & (column != column.round()).fill_null(False))
    if len(odd):
        raise DataError(
            f"column {column.name!r} was read in another way than when the model was fitted",
            found=f"the number {odd[0]}",
            rule="whole numbers: the model was fitted to cells like 1.024 as 1024, with a point between thousands",
            remedy="with pandas, read the table with decimal=',' and thousands='.', or with dtype=str",
        )


def _numbers(column: pl.Series, decimal: str, missing: Any) -> pl.Series:
    """The texts as numbers. A text that is not a number, is infinite, or means a missing value becomes missing."""
    name = column.name
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    if column.dtype == pl.String:
        texts = column.str.strip_chars().str.replace(r"^\u2212([\d.,])", "-$1")  # the minus sign U+2212
        texts = texts.str.replace(_NEGATIVE, "-$1")
        texts = texts.set(texts.is_in(list(missing)).fill_null(False), None)
        lower = texts.str.to_lowercase()
        texts = pl.select(pl.when(lower.is_in(list(_TRUTH))).then(lower.replace(_TRUTH)).otherwise(texts)).to_series()
        numbers = texts.cast(pl.Float64, strict=False)
        other = "." if decimal == "," else ","
        bare = texts.str.replace_all(f"{_GAPS[:-1]}{other}]", "")
        bare = bare.str.replace(",", ".", literal=True) if decimal == "," else bare
        own = texts.str.contains(_shape(decimal)).fill_null(False)
        column = pl.select(pl.when(own).then(bare.cast(pl.Float64, strict=False)).otherwise(numbers)).to_series()
        _warn_of_marks(name, texts.filter(~own & texts.str.contains(_MARKED).fill_null(False)), decimal)
        unread = (
            column.is_null() & texts.str.contains(r"\d") & ~texts.str.contains(_MARKED) & (lower != "#div/0!")
        )  # a spreadsheet's missing number
        _warn_of_unread(name, texts.filter(unread.fill_null(False)))
    column = column.cast(pl.Float64, strict=False)
    none = [number for number in map(_number, missing) if number is not None]
    return column.set(~column.is_finite().fill_null(True) | column.is_in(none).fill_null(False), None).alias(name)


def _shape(decimal: str) -> str:
    """Return a pattern of numbers with a decimal mark, whose thousands may be separated. No thousands follow a zero."""
    apart = f"{_GAPS[:-1]}{'.' if decimal == ',' else ','}]"
    lakhs = "" if decimal == "," else "|" + _LAKHS
    return rf"^[+-]?([1-9]\d{{0,2}}({apart}\d{{3}})+{lakhs}|\d*)({re.escape(decimal)}\d*)?([eE][+-]?\d+)?$"


def _warn_of_marks(name: str, cells: pl.Series, decimal: str) -> None:
    """Warn of numbers whose marks are not those of the table: they show that its other numbers may be misread too."""
    if len(cells):
        mark, other = ("comma", "point") if decimal == "," else ("point", "comma")
        plain = int(cells.cast(pl.Float64, strict=False).is_not_null().sum())
        taken = (
            f"{plain} of these cells are read with a decimal point, and the other {len(cells) - plain} count as missing"
        )
        warnings.warn(
            (
                f"{len(cells)} cell{('s' if len(cells) > 1 else '')} of {name!r}, such as "
                f"{shortened(str(cells[0]))!r}, cannot be numbers in the format of the table that the model was "
                f"fitted to. In that table, the decimal mark is a {mark}, and a {other} stands only between groups "
                f"of three digits. {taken}. Other cells of this column may be read as wrong numbers. Write all "
                "numbers in the format of that table"
            ),
            stacklevel=4,
        )


def _warn_of_unread(name: str, cells: pl.Series) -> None:
    """Warn of cells that have digits but are not numbers, because they may be numbers in another unit."""
    if len(cells):
        warnings.warn(
            (
                f"{len(cells)} cell{('s' if len(cells) > 1 else '')} of {name!r}, such as "
                f"{shortened(str(cells[0]))!r}, cannot be read as numbers and count as missing. Write all numbers in "
                "the format of the table that the model was fitted to"
            ),
            stacklevel=4,
        )


def _warn_of_kept(column: pl.Series, kept: Any) -> None:
    """Warn of missing cells that may have been values: a reader may have read a word such as "NA" as missing."""
    if len(kept) and column.null_count() and not column.is_in(list(kept)).any():
        warnings.warn(
            (
                f"{column.null_count()} cell{('s' if column.null_count() > 1 else '')} of {column.name!r} are "
                f"missing. In the table that the model was fitted to, {' and '.join(map(repr, kept))} is a value, "
                "but pandas.read_csv reads such a cell as missing. Read the table with keep_default_na=False and "
                "na_values=['']"
            ),
            stacklevel=4,
        )


def _number(text: Any) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _parts(days: pl.Series, parts: Any) -> list[pl.Series]:
    values = np.round(days.fill_null(float("nan")).to_numpy() * 86_400) / 86_400
    columns = []
    for part in parts:
        if part == "weekday":
            columns += [np.floor(values + 3) % 7 == day for day in range(7)]  # 1970-01-01 was a Thursday
        else:
            angle = 2 * np.pi * values / _WAVES[part][1]
            columns += [np.sin(angle), np.cos(angle)]
    names = _part_names(days.name, parts)
    return [pl.Series(name, np.nan_to_num(own.astype(float))) for name, own in zip(names, columns, strict=True)]
