"""Return the user's table in the form that a saved model takes, and how a program reads the table."""

import csv
import dataclasses
import io
import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from ._data import READ_BYTES, Dataset
from ._json_tables import is_one_object, layout_of, rows_with_constants
from ._malformed import QUOTES, ROW_NAMES
from ._memory import Table
from ._numbers import mark_shown, stripped
from ._sources import Source, encoding_of, in_utf8, source_of, with_tabs
from ._tables import header_of
from ._text_cells import MISSING_MARKS, missing_marks, scan_text
from ._titles import left_out_of
from ._unnamed import UNNAMED

PANDAS_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
"""The texts that `pandas.read_csv` and `pandas.read_excel` read as missing by default."""
_OPENERS = {".gz": "gzip", ".bz2": "bz2", ".xz": "lzma"}
_SHEET_ROWS = 1000
"""The first non-empty row of a sheet is searched for among this number of rows."""


@dataclasses.dataclass(frozen=True)
class Raw:
    """A table in the user's own form.

    Exactly those cells are missing that are missing in the study. It does not matter which cells the user's own reader
    takes for missing.

    Args:
        frame: the data frame, or an array whose columns are selected by their positions.
        cells: the cells as a polars data frame, for inspection, with columns in the order of `frame` and the study's
            names.
        reading: how the program reads the table: the name of a function, and its arguments.
        named: whether the columns have the study's names, as texts.
        source: the program's expression for the file, or the bundled name; None for data in memory.
        sparse: whether the user's array is a sparse matrix.
        marks: the texts of the file that the study has read as missing, for each column that has such texts.
        kept: the texts that are values here, but that pandas or the study's default would read as missing, for each
            column that has such texts.
        renamed: for columns without a name, the name that pandas gives and the name that the study gives.
        missing: the texts that the user has named for missing cells of this table.
        below: the target column's cells in the lines of text below the table; None without such lines. The cells of
            these lines are missing in `cells`.
    """

    frame: Any
    cells: pl.DataFrame
    reading: tuple[str, dict[str, Any]]
    named: bool = True
    source: str | None = None
    sparse: bool = False
    marks: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    kept: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    renamed: dict[str, str] = dataclasses.field(default_factory=dict)
    missing: tuple[str, ...] = ()
    below: tuple[str, ...] | None = None

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
        """Return the names that these columns have in `frame`."""
        return [list(self.frame.columns)[self.cells.columns.index(name)] for name in names]


def raw_table(data: object, dataset: Dataset, na: Sequence[str] = ()) -> Raw:
    """Return the table as `pandas.read_csv` or a similar function reads it, or the user's data frame or arrays.

    Args:
        data: the input of the study.
        dataset: the dataset made from `data`.
        na: the texts for missing cells of a text file that the user has named; empty for the study's default.
    """
    raw, body = _with_all_rows(data, dataset, na), dataset.given.body
    if body == raw.cells.height:
        return raw
    columns = [name for name in raw.cells.columns if name == dataset.target]
    texts = {str(cell) for name in columns for cell in raw.cells[name][body:].drop_nulls()}
    cells = pl.concat([raw.cells.head(body), raw.cells.clear(raw.cells.height - body)])
    return dataclasses.replace(raw, cells=cells, below=tuple(sorted(texts)))


def _with_all_rows(data: object, dataset: Dataset, na: Sequence[str]) -> Raw:
    """Return the table with the lines of text below it among its rows."""
    table = dataset.given.table
    if isinstance(data, str | os.PathLike):
        name = os.fspath(data)
        path = Path(name)
        if not path.is_file():
            return Raw(table.frame, table.frame, ("bundled", {}), source=name)
        return _of_file(path, dataset, na)
    if table.given is not None:
        named = all(isinstance(name, str) and name == name.strip() != "" for name in table.given.columns)
        return Raw(table.given, table.frame, ("memory", {}), named)
    if table.of_polars:
        named = all(name == name.strip() and not UNNAMED.fullmatch(name) for name in table.frame.columns)
        return Raw(table.frame, table.frame, ("memory", {}), named)
    if isinstance(data, tuple):
        sparse = hasattr(data[0], "toarray")
        x = np.asarray(data[0].toarray() if sparse else data[0])
        return Raw(x.reshape(len(x), -1), table.frame, ("arrays", {}), sparse=sparse)
    return Raw(table.frame, table.frame, ("memory", {}))


def _of_file(path: Path, dataset: Dataset, na: Sequence[str]) -> Raw:
    table = dataset.given.table
    source = source_of(path, READ_BYTES)
    if source is None:
        return Raw(table.frame, table.frame, ("", {}), source=repr(str(path)))
    if source.kind == "text":
        return _of_text(source, dataset, na)
    name, how = _how(source, table)
    renamed = {f"Unnamed: {int(own[1]) - 1}": own[0] for own in map(UNNAMED.fullmatch, table.frame.columns) if own}
    kept = _kept(table.frame) if source.kind == "sheet" else {}
    return Raw(table.frame, table.frame, (name, how), not renamed, _opened(source, name), kept=kept, renamed=renamed)


def _how(source: Source, table: Table) -> tuple[str, dict[str, Any]]:
    """Return the function that reads a file that is not plain text, and its arguments."""
    if source.kind == "sheet":
        return "pandas.read_excel", _how_sheet(source, table)
    if source.kind == "arrow":
        return "polars.read_ipc" if source.head(6) == b"ARROW1" else "polars.read_ipc_stream", {}
    if source.kind == "npz":
        names = dict.fromkeys(re.sub(r"\[\d+\]$", "", name) for name in table.frame.columns)
        return "numpy.load", {"names": list(names)}
    if source.kind == "parquet":
        return "polars.read_parquet", {}
    text = in_utf8(source, READ_BYTES)
    encoding = {} if text is source else {"encoding": encoding_of(source, text)}
    if source.kind == "json":
        return "pandas.read_json", _how_json(text) | encoding
    if encoding or rows_with_constants(text) is not None:
        return "pandas.read_json", {"lines": True} | encoding
    return "polars.read_ndjson", {}


def _how_sheet(source: Source, table: Table) -> dict[str, Any]:
    """Return the arguments that `pandas.read_excel` needs if the table is not in the first sheet and the first row."""
    import fastexcel

    book = fastexcel.read_excel(source.path if source.content is None else source.content)
    how: dict[str, Any] = {} if book.sheet_names[0] == table.sheet else {"sheet_name": table.sheet}
    top = book.load_sheet(table.sheet, header_row=None, skip_rows=0, n_rows=_SHEET_ROWS).to_polars()
    full = top.select(pl.any_horizontal(pl.all().is_not_null())).to_series()
    skipped = (full.arg_max() or 0) + left_out_of(table.notes)
    return how | ({"skiprows": skipped} if skipped else {})


def _how_json(text: Source) -> dict[str, Any]:
    """Return the arguments that `pandas.read_json` needs."""
    if not is_one_object(text):
        return {"lines": True} if text.head().lstrip(b" \t\r\n\xef\xbb\xbf")[:1] == b"{" else {}
    found = layout_of(text)
    if found is None:
        return {"lines": True}
    return {"key": found.key} if found.key else {} if found.orient == "columns" else {"orient": found.orient}


def _opened(source: Source, reader: str) -> str:
    """Return the program's expression for a file. It unpacks the file if the reader cannot do this itself."""
    name = repr(str(source.path))
    packed = source.path.suffix.lower()
    itself = reader in ("pandas.read_csv", "pandas.read_json")
    if source.inside and not (itself and len(zipfile.ZipFile(source.path).namelist()) == 1):
        return f"zipfile.ZipFile({name}).open({source.inside!r})" + (".read()" if reader.startswith("polars") else "")
    if packed not in _OPENERS or itself:
        return name
    return f"{_OPENERS[packed]}.open({name})" + (".read()" if reader.startswith("polars") else "")


def _of_text(source: Source, dataset: Dataset, na: Sequence[str]) -> Raw:
    table = dataset.given.table
    text = in_utf8(source, READ_BYTES, whole=any(note.startswith("its text is") for note in table.notes))
    plain = with_tabs(text, READ_BYTES)
    skipped, separator, header, _ = header_of(plain)
    how: dict[str, Any] = {}
    if plain is not text:
        how["sep"] = r"\s+"
    elif separator != ",":
        how["sep"] = separator
    if text is not source and (encoding := encoding_of(source, text)) != "utf-8":
        how["encoding"] = encoding
    if any(line.strip() for line in plain.head().decode("utf-8-sig", errors="replace").splitlines()[:skipped]):
        how["skiprows"] = skipped
    if {QUOTES, ROW_NAMES} & {*table.notes}:  # only the study's reader can split such a text into fields
        opened = _opened(source, "pandas.read_csv")
        return Raw(table.frame, table.frame, ("pandas.read_csv", how), source=opened, missing=tuple(na))
    marks = missing_marks(tuple(na) or None)
    own = scan_text(plain, skipped, separator, marks).collect_schema().names()
    named = dict(zip(header if len(own) == len(header) else own, own, strict=True))  # the study's name: polars' name
    found = _found(plain, skipped, separator, marks, {
        name: named[name] for name in table.frame.columns if name in named and table.frame[name].null_count()
    })  # fmt: skip
    frame = table.frame
    if table.kept is None:
        read = scan_text(plain, skipped, separator, marks).collect()
        read = read.select(pl.col(named[name]).alias(name) for name in frame.columns if name in named)
        # Every reader reads numbers among words as texts. With decimal commas, the study also reads 1.234 as a text. It
        # is 1234 unless its column shows decimal points, so the model gets the text.
        texts = [name for name, words in found.items() if not set(words) <= set(PANDAS_MISSING)]
        texts += [
            own.name
            for own in frame.select(pl.col(pl.String))
            if own.name in read.columns and read[own.name].dtype.is_float() and mark_shown(stripped(own)) != "."
        ]
        frame = read.with_columns(frame[name] for name in {*texts} & {*read.columns})
    first = dict(zip(header, _first_line(plain.head(), skipped, separator), strict=False))
    renamed = {
        f"Unnamed: {int(match[1]) - 1}" if not first.get(name) else "": name
        for name in dataset.given.names if (match := UNNAMED.fullmatch(name)) and not first.get(name, "").strip()
    }  # fmt: skip
    odd = [name for name in frame.columns if first.get(name, name) != name and not UNNAMED.fullmatch(name)]
    return Raw(
        frame, frame, ("pandas.read_csv", how), not odd and not renamed, _opened(source, "pandas.read_csv"),
        marks=found, kept=_kept(frame), renamed=renamed, missing=tuple(na),
    )  # fmt: skip


def _found(
    source: Source, skipped: int, separator: str, marks: Sequence[str], names: dict[str, str]
) -> dict[str, list[str]]:
    """Return, for each column by its name in the study, the texts of the file that the study reads as missing."""
    if not names:
        return {}
    words = [mark for mark in marks if mark]
    cells = scan_text(source, skipped, separator, [""], plain=True)
    own = cells.select(pl.col(column).filter(pl.col(column).is_in(words)).unique().sort().implode().alias(name)
                       for name, column in names.items()).collect()  # fmt: skip
    return {name: texts for name in names if (texts := own[name][0].to_list())}


def _kept(frame: pl.DataFrame) -> dict[str, list[str]]:
    """Return, for each text column, its values that pandas or the study's default would read as missing."""
    words = sorted({*PANDAS_MISSING, *MISSING_MARKS} - {""})
    found = {
        own.name: own.filter(own.is_in(words)).unique().sort().to_list() for own in frame.select(pl.col(pl.String))
    }
    return {name: texts for name, texts in found.items() if texts}


def _first_line(head: bytes, skipped: int, separator: str) -> list[str]:
    """Return the names of the columns as written. A name in quotes may extend over several lines."""
    text = head.decode("utf-8-sig", errors="replace").split("\n", skipped)[-1]
    return next(csv.reader(io.StringIO(text, newline=""), delimiter=separator), [])
