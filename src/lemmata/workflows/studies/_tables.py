"""Read a bundled set, a file or a table in memory into one table of named columns, or say clearly why not."""

import csv
import dataclasses
import itertools
import math
import os
from pathlib import Path

import numpy as np
import polars as pl

from lemmata.errors import DataError, LemmataError, file_error

from ._archives import read_archive
from ._bundled import SETS, SUFFIXES, Bundled
from ._columns import shortened
from ._memory import Table, check_names, check_width, table_in_memory
from ._sampling import drawn, group_codes, how_drawn

HEAD = 2**20
"""Bytes from the start of a CSV file that must hold its first line."""
MISSING_MARKS = ["", "NA", "N/A", "n/a", "na", "NaN", "nan", "NULL", "Null", "null", "None", "?"]


def read_table(
    data: object, *, limit_bytes: int, seed: int, group: str | None = None, bundled: Bundled = SETS
) -> Table:
    """Read `data`: a table in memory, the name of a bundled set, or the path of a CSV, TSV, Parquet or NPZ file.

    A file whose plan exceeds `limit_bytes` is not read whole: rows are drawn from it without replacement, and a
    note says the plan in bytes and how many rows were kept.

    Args:
        data: a bundled name, a path, a data frame (polars or pandas), a pair of arrays, or a scikit-learn bunch.
        limit_bytes: the bytes that the table may take in memory.
        seed: decides which rows are kept of a table that is too large.
        group: a column; of a table that is too large, whole groups are kept.
        bundled: the names that DATA may be, and what its caller takes beside them, for messages.

    Raises:
        MissingFileError: neither a file nor anything bundled.
        DataError: the file is unreadable, empty, garbled or of an unknown kind, or the table has columns
            of one name or too many columns.
        MemoryPlanError: an NPZ file whose arrays exceed the limit (its arrays cannot be read in part).
    """
    if not isinstance(data, str | os.PathLike):
        return table_in_memory(data)
    data = os.fspath(data)
    if not data.strip():
        raise DataError(
            "DATA is empty",
            found=repr(shortened(data)),
            rule=f"DATA is a single {bundled.rule}",
            remedy=bundled.remedy,
        )
    path = Path(data)
    try:
        exists = path.exists()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise DataError("the data cannot be opened", found=repr(shortened(data)), rule=reason) from error
    if data in bundled.sets and not path.is_file():
        from sklearn import datasets

        table = table_in_memory(getattr(datasets, f"load_{data}")())
        return dataclasses.replace(table, name=data, notes=("bundled with scikit-learn",))
    if not exists:
        raise bundled.absent(data)
    if path.is_dir():
        raise DataError(
            f"{data} is a directory",
            rule=f"DATA is a single {bundled.rule}",
            remedy=f"name a file inside it ({', '.join(SUFFIXES)})",
        )
    return _file(data, path, limit_bytes, seed, group)


def _file(data: str, path: Path, limit_bytes: int, seed: int, group: str | None) -> Table:
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        raise DataError(
            f"{data} is of an unknown kind",
            found=f"extension {suffix!r}",
            rule=f"the extension is one of {', '.join(SUFFIXES)}",
            remedy="save the table as CSV or Parquet",
        )
    try:
        if path.stat().st_size == 0:
            raise DataError(f"{data} is empty", found="0 bytes", rule="a table has a header and at least 20 rows")
        if suffix in (".csv", ".tsv"):
            return _csv(path, limit_bytes, seed, group)
        if suffix == ".npz":
            return read_archive(path, limit_bytes)
        return _parquet(path, limit_bytes, seed, group)
    except LemmataError:
        raise
    except OSError as error:
        raise file_error(error)(
            f"{data} cannot be read",
            found=error.strerror or str(error),
            rule="the file must be readable by you",
            remedy="check its permissions",
        ) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError) as error:
        reason = (str(error).strip() or "garbage").splitlines()[0]
        raise DataError(
            f"{data} cannot be understood as {suffix[1:].upper()}",
            found=reason,
            rule="every row has the fields of the header, in UTF-8 text"
            if suffix in (".csv", ".tsv")
            else "the file is complete and of the kind its extension says",
            remedy="repair the file, or save it again as Parquet",
        ) from error


def _csv(path: Path, limit_bytes: int, seed: int, group: str | None) -> Table:
    skipped, separator, header, notes = _header(path)
    frame = pl.scan_csv(
        path,
        separator=separator,
        infer_schema_length=None,
        null_values=MISSING_MARKS,
        glob=False,
        skip_lines=skipped,
        encoding="utf8",
    )
    size = path.stat().st_size
    own = frame.collect_schema().names()  # polars' names, by place: the user's are those of the header
    if group in header and len(own) == len(header):
        group = own[header.index(group)]
    read, rows, more, kept = _collect(
        path.name, frame, limit_bytes, seed, planned=lambda _rows, _columns: 2 * size, group=group
    )
    if read.width == len(header):
        read.columns = header
    counter = header[0] if header[0] == "column 1 (unnamed)" else None
    if counter and read[counter].dtype.is_integer() and read.height > 1 and rows == read.height:
        values = read[counter].to_numpy()
        if np.array_equal(values, values[0] + np.arange(read.height)) and values[0] in (0, 1):
            read = read.drop(counter)
            notes = (*notes, "dropped the unnamed first column, which only counts the rows")
    return Table(path.name, read, rows, notes + more, kept=kept)


def _header(path: Path) -> tuple[int, str, list[str], tuple[str, ...]]:
    """Blank lines at the start, separator and column names: polars renames duplicates and takes numbers as names."""
    with path.open("rb") as file:
        head = file.read(HEAD)
    if b"\0" in head:
        raise DataError(
            f"{path} is not text",
            found="a zero byte near its start",
            rule="a CSV file is UTF-8 text",
            remedy="save the table as CSV in UTF-8, or as Parquet",
        )
    lines = head.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    if not any(line.strip() for line in lines):
        raise DataError(f"{path} is empty", found="only blank lines", rule="a table has a header and at least 20 rows")
    skipped = next(i for i, line in enumerate(head.removeprefix(b"\xef\xbb\xbf").split(b"\n")) if line.strip())
    lines = list(itertools.dropwhile(lambda line: not line.strip(), lines))
    separators = "\t,;|" if path.suffix.lower() == ".tsv" else ",;\t|"
    # A line that is cut off at the end of what was read would lose its last names.
    fields = {s: _fields(lines, s) for s in separators} if len(lines) > 1 or len(head) < HEAD else {}
    separator = max(separators, key=lambda s: len(fields.get(s, ())))
    if not fields.get(separator):
        with path.open("rb") as file:
            line = file.readline(2**26)
        check_width(path, max(line.count(s.encode()) for s in separators) + 1)
        raise DataError(
            f"{path} has a first line that is no header",
            found=f"{len(line)} bytes, beginning {shortened(lines[0][:200])!r}",
            rule="the first line names the columns",
            remedy="shorten the names of the columns, or save the table as Parquet",
        )
    _no_comment(path, lines, separator)
    names = [field.strip() or f"column {j + 1} (unnamed)" for j, field in enumerate(fields[separator])]
    numbers = [value for value in map(_number, names) if value is not None]
    increasing = all(b > a and a.is_integer() and b.is_integer() for a, b in itertools.pairwise(numbers))
    if 2 * len(numbers) >= len(names) and not increasing:
        raise DataError(
            f"{path} seems to have no header",
            found=f"first line {', '.join(names[:6])[:120]}",
            rule="the first line names the columns",
            remedy="add a first line with a name for each column",
        )
    check_names(path, names)
    notes = () if separator == "," else (f"fields are separated by {separator!r}",)
    return skipped, separator, names, notes


def _fields(lines: list[str], separator: str) -> list[str]:
    try:
        return next(csv.reader(lines, delimiter=separator), [])
    except csv.Error:  # a field longer than the reader takes
        return []


def _no_comment(path: Path, lines: list[str], separator: str) -> None:
    """Refuse lines of comment above the header; '#' may begin a name where the next line has as many fields."""
    below = next((line for line in lines if line.strip() and not line.startswith("#")), "")
    if lines[0].startswith("#") and max(below.count(mark) for mark in ",;\t|") != lines[0].count(separator):
        raise DataError(
            f"{path} begins with a comment",
            found=shortened(lines[0].strip()),
            rule="the first line names the columns",
            remedy="delete the lines that begin with '#' above the header",
        )


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _parquet(path: Path, limit_bytes: int, seed: int, group: str | None) -> Table:
    frame = pl.scan_parquet(path, glob=False)
    read, rows, notes, kept = _collect(
        path.name, frame, limit_bytes, seed, planned=lambda rows, columns: 8 * rows * columns, group=group
    )
    return Table(path.name, read, rows, notes, kept=kept)


def _collect(
    name: str, frame: pl.LazyFrame, limit_bytes: int, seed: int, planned, group: str | None
) -> tuple[pl.DataFrame, int, tuple[str, ...], np.ndarray | None]:
    """The whole table where its plan fits into the limit, else as many randomly drawn rows as do, and which."""
    schema = frame.collect_schema()
    columns = max(len(schema), 1)
    check_width(name, columns)
    rows = int(frame.select(pl.len()).collect().item())
    need = planned(rows, columns)
    if need <= limit_bytes or rows == 0:
        return frame.collect(), rows, (), None
    keep = max(int(rows * limit_bytes / need), 1)
    groups = None
    if group is not None and group in schema and not schema[group].is_nested():
        groups = group_codes(frame.select(pl.col(group)).collect().to_series())
    chosen = drawn(rows, keep, seed, groups)
    index = "\0row"
    picked = frame.with_row_index(index).filter(pl.col(index).is_in(pl.Series(chosen, dtype=pl.UInt32).implode()))
    read = picked.drop(index).collect(engine="streaming")
    note = (
        f"the table is too large to read whole: {rows} rows of {columns} columns plan {need} bytes and the limit is"
        f" {limit_bytes} bytes, so {len(chosen)} rows, {how_drawn(groups, chosen)}, were read"
    )
    return read, rows, (note,), chosen
