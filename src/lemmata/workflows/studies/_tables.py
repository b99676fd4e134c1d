"""Read a bundled set, a file or a table in memory into one table of named columns, or raise a clear error."""

import csv
import dataclasses
import errno
import functools
import itertools
import math
import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from lemmata.bundled import SETS, SUFFIXES, Bundled
from lemmata.errors import DataError, LemmataError, file_error, shortened
from lemmata.files import check_file
from lemmata.limits import no_open_files
from lemmata.workflows.records.studies import Finding

from ._archives import read_archive
from ._columns import count, listing
from ._hints import OTHER_DIGITS
from ._json_tables import is_one_object, layout_of, rows_with_constants
from ._malformed import mended
from ._memory import Table, check_names, check_width, table_in_memory
from ._numbers import as_numbers, mark_shown, stripped
from ._sampling import drawn, group_codes, how_drawn
from ._sheets import sheet_of
from ._sources import BLANKS, KINDS, PACKED, Source, in_utf8, source_of, with_tabs
from ._text_cells import MISSING_MARKS, missing_marks, scan_text
from ._texts import ZEROS, merged_texts
from ._titles import comment_lines, title_lines, told
from ._unnamed import filled, note_on_names, unnamed

HEAD = 2**20
"""The number of bytes at the start of a CSV file that must contain its first line."""
_NAMED_SEPARATOR = re.compile('"?sep=(.)"?', re.IGNORECASE)
"""A first line such as "sep=;". It names the separator of the fields for a spreadsheet program."""
_COUNTED = 2**28
"""If a text has at least this number of bytes, the words that were read as missing are not counted."""


@dataclasses.dataclass(frozen=True)
class Reading:
    """How a file is read.

    Args:
        limit_bytes: the bytes that the table may take in memory.
        seed: the seed of the random rows that are kept if a table is too large.
        group: a column. If a table is too large, whole groups with equal values in this column are kept.
        na: texts that mark a missing cell; None means `MISSING_MARKS`.
        decimal: the decimal mark; None means that it is read from the cells.
        columns: the columns that a sheet of a spreadsheet must have. If no sheet has them, the first table is read.
    """

    limit_bytes: int
    seed: int
    group: str | None = None
    na: tuple[str, ...] | None = None
    decimal: str | None = None
    columns: tuple[str, ...] = ()


def read_table(data: object, how: Reading, bundled: Bundled = SETS) -> Table:
    """Return the table of `data`: a table in memory, the name of a bundled set, or the path of a file.

    Files are texts with a header, Parquet, Arrow (Feather), JSON lines, JSON, spreadsheets, and NPZ. Fields of a text
    file are separated by commas, tabs, semicolons, bars or spaces. Its encoding is UTF-8, UTF-16 or Windows-1252, and
    it may be packed (gz, bz2, xz, zip).

    A file that needs more than `limit_bytes` is not read whole. Rows are then drawn at random without replacement, and
    a note gives the needed bytes and the number of rows that were kept.

    Args:
        data: a bundled name, a path, a polars or pandas data frame, a pair of arrays, or a scikit-learn bunch.
        how: how a file is read.
        bundled: the names of the bundled sets, and the words for all accepted inputs in error messages.

    Raises:
        MissingFileError: if `data` is neither a file nor a bundled name.
        DataError: if the file is unreadable, empty, garbled or of an unknown kind, or if the table has too many
            columns or two columns of the same name.
        MemoryPlanError: if the arrays of an NPZ file exceed the limit, because they cannot be read in part.
    """
    table = _read(data, how, bundled)
    return dataclasses.replace(table, notes=(*table.notes, *note_on_names(table.frame.columns)))


def _read(data: object, how: Reading, bundled: Bundled) -> Table:
    if not isinstance(data, str | os.PathLike):
        return table_in_memory(data)
    data = os.fspath(data)
    if not data.strip():
        raise DataError(
            "DATA is empty",
            found=repr(shortened(data)),
            rule=f"DATA must be a single {bundled.rule}",
            remedy=bundled.remedy,
        )
    path = Path(data)
    try:
        exists = path.exists()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        rule = f"DATA must be a single {bundled.rule}"
        what = f"{shortened(repr(data))} cannot be opened"
        raise DataError(what, found=reason, rule=rule, remedy=bundled.remedy) from error
    if data in bundled.sets and not path.is_file():
        from sklearn import datasets

        table = table_in_memory(getattr(datasets, f"load_{data}")())
        return dataclasses.replace(table, name=data, notes=("bundled with scikit-learn",))
    if not exists:
        raise bundled.absent(data)
    if path.is_dir():
        raise DataError(
            f"{data} is a directory",
            rule=f"DATA must be a single {bundled.rule}",
            remedy=f"name a file inside it ({', '.join(SUFFIXES)})",
        )
    return _file(data, path, how)


def _file(data: str, path: Path, how: Reading) -> Table:
    suffix = path.suffix.lower()
    try:
        check_file(path)
        if suffix in (*KINDS, *PACKED) and path.stat().st_size == 0:
            raise DataError(f"{data} is empty", found="0 bytes", rule="a table must have a header and rows")
        source = source_of(path, how.limit_bytes)
        if source is None:
            raise DataError(
                f"{data} is of an unknown kind",
                found=f"extension {suffix!r}",
                rule=f"the extension must be one of {', '.join((*KINDS, *PACKED))}",
                remedy="save the table as CSV or Parquet",
            )
        return _READ[source.kind](source, how)
    except LemmataError:
        raise
    except OSError as error:
        if (told := no_open_files(error)) is not None:
            raise told from error
        raise file_error(error)(
            f"{data} cannot be read",
            found=error.strerror or str(error),
            rule="a file that you may read",
            remedy="check its permissions" if error.errno == errno.EACCES else "name a file that holds the table",
        ) from error
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, UnicodeError) as error:
        if (told := no_open_files(error)) is not None:
            raise told from error
        reason = (str(error).strip() or "garbage").splitlines()[0]
        raise DataError(
            f"{data} cannot be read as {suffix[1:].upper()}",
            found=reason,
            rule="every row must have the fields of the header"
            if KINDS.get(suffix) == "text"
            else "the file must be complete, and of the kind that its extension says",
            remedy="repair the file, or save it again as Parquet",
        ) from error


def _text(source: Source, how: Reading) -> Table:
    try:
        return _csv(with_tabs(in_utf8(source, how.limit_bytes), how.limit_bytes), how)
    except pl.exceptions.PolarsError:  # the first bytes that are not UTF-8 may be late in the file
        plain = with_tabs(in_utf8(source, how.limit_bytes, whole=True), how.limit_bytes)
    try:
        return _csv(plain, how)
    except pl.exceptions.PolarsError as error:
        cell = re.search(r"could not parse `(.*?)` as dtype", str(error))
        if cell and any(own.isdecimal() and not own.isascii() for own in cell[1]):
            raise DataError(f"{source.path} has numbers in the digits of another script", found=shortened(cell[1]),
                            rule="numbers have the digits 0 to 9", remedy=OTHER_DIGITS) from error  # fmt: skip
        if 2 * plain.size > how.limit_bytes:
            raise
        skipped, separator, header, _ = header_of(plain)
        return _csv(mended(plain, skipped, separator, len(header)), how)


def _csv(source: Source, how: Reading) -> Table:
    skipped, separator, header, notes = header_of(source)
    missing = missing_marks(how.na)
    scan = functools.partial(scan_text, source, skipped, separator)
    frame = scan(missing)
    own = frame.collect_schema().names()  # polars may rename columns; the user's names are those of the header
    group = how.group
    if group in header and len(own) == len(header):
        group = own[header.index(group)]
    asked = dataclasses.replace(how, group=group)
    planned = lambda _rows, _columns: 2 * source.size
    read, rows, more, kept = _collect(source.path.name, frame, asked, planned)
    # With decimal commas, 1.234 may be a whole number.
    if how.decimal == "," or any("," in mark_shown(stripped(column)) for column in read.select(pl.col(pl.String))):
        real = read.select(pl.selectors.float()).columns
        read = _collect(source.path.name, scan(missing, real), asked, planned)[0] if real else read
    findings = _read_as_missing(scan([""]), read, header) if how.na is None and source.size < _COUNTED else ()
    if source.size < _COUNTED:
        findings = (*findings, *_one_number(scan([""], plain=True), read, header))
    if read.width == len(header):
        read.columns = header
    counter = header[0] if header[0] == unnamed(0) else None
    if counter and read[counter].dtype.is_integer() and read.height > 1 and rows == read.height:
        values = read[counter].to_numpy()
        if np.array_equal(values, values[0] + np.arange(read.height)) and values[0] in (0, 1):
            read = read.drop(counter)
            notes = (*notes, "dropped the unnamed first column, which only numbers the rows")
    notes = (*source.notes, *notes, *more)
    return Table(source.path.name, read, rows, notes, kept=kept, findings=findings, text=True)


def _read_as_missing(whole: pl.LazyFrame, read: pl.DataFrame, header: list[str]) -> tuple[Finding, ...]:
    """Report words that may be values of a text column but were read as missing."""
    texts = [column.name for column in read.select(pl.col(pl.String)) if column.null_count()]
    texts = [name for name in texts if as_numbers(stripped(read[name]), None) is None]
    if not texts:
        return ()
    marks = [mark for mark in MISSING_MARKS if mark]
    cells = whole.select(pl.col(texts).cast(pl.String).str.strip_chars()).collect()
    found = {
        name: dict(cells[name].filter(cells[name].is_in(marks)).value_counts(sort=True).iter_rows()) for name in texts
    }
    named = dict(zip(read.columns, header, strict=True)) if read.width == len(header) else {}
    told = [
        f"{mark!r} in {named.get(name, name)!r} ({count(number, 'cell')})"
        for name, own in found.items() for mark, number in own.items()
    ]  # fmt: skip
    if not told:
        return ()
    text = (
        f"{listing(told, 5)} {'was' if len(told) == 1 else 'were'} read as missing. If such a text is a value, add "
        "--na ''."
    )
    return (Finding("missing", tuple(named.get(name, name) for name, own in found.items() if own), text),)


def _one_number(whole: pl.LazyFrame, read: pl.DataFrame, header: list[str]) -> list[Finding]:
    """Report texts of a file that were read as one number although they differ."""
    texts = whole.select(pl.col(read.select(pl.selectors.numeric()).columns))
    odd = texts.select(pl.all().filter(pl.all().str.contains(ZEROS)).len() > 0).collect()
    named = dict(zip(read.columns, header, strict=True)) if read.width == len(header) else {}
    cells = texts.select(own.name for own in odd if own[0]).collect()
    return merged_texts([own.alias(named.get(own.name, own.name)) for own in cells], in_memory=False)


def header_of(source: Source) -> tuple[int, str, list[str], tuple[str, ...]]:
    """Return the number of lines above the header, the separator, the column names as written, and notes."""
    path, head = source.path, source.head(HEAD)
    lines = head.decode("utf-8-sig", errors="replace").splitlines(keepends=True)
    if not any(line.strip() for line in lines):
        raise DataError(f"{path} is empty", found="only blank lines", rule="a table must have a header and rows")
    skipped = next(i for i, line in enumerate(head.removeprefix(b"\xef\xbb\xbf").split(b"\n")) if line.strip())
    lines = list(itertools.dropwhile(lambda line: not line.strip(), lines))
    separators = "\t,;|" if source.suffix in (".tsv", ".tab") else ",;\t|"
    if len(lines) > 1 and (named := _NAMED_SEPARATOR.fullmatch(lines[0].strip("\r\n"))):
        skipped, lines, separators = skipped + 1, lines[1:], named[1]
    title = (comment_lines if lines[0].startswith("#") else title_lines)(lines, separators)
    said = (told(lines[:title]),) if title else ()
    skipped, lines = skipped + title, lines[title:]
    # If only a part of the first line was read, its last names would be missing.
    fields = {s: _fields(lines, s) for s in separators} if len(lines) > 1 or len(head) < HEAD else {}
    separator = max(separators, key=lambda s: len(fields.get(s, ())))
    if not fields.get(separator):
        line = source.head(2**26).partition(b"\n")[0]
        check_width(path, max(line.count(s.encode()) for s in separators) + 1)
        raise DataError(
            f"{path} has a first line that is not a header",
            found=f"{len(line)} bytes, beginning {shortened(lines[0][:200])!r}",
            rule="the first line names the columns",
            remedy="shorten the names of the columns, or save the table as Parquet",
        )
    names = [field.strip() or unnamed(j) for j, field in enumerate(fields[separator])]
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
    blanks = separator == "\t" and BLANKS in source.notes
    notes = () if separator == "," or blanks else (f"fields are separated by {separator!r}",)
    return skipped, separator, names, (*said, *notes)


def _fields(lines: list[str], separator: str) -> list[str]:
    try:
        return next(csv.reader(lines, delimiter=separator), [])
    except csv.Error:  # a field is longer than the limit of the reader
        return []


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _scanned(source: Source, frame: pl.LazyFrame, how: Reading) -> Table:
    names = frame.collect_schema().names()
    frame = frame.rename(dict(zip(names, filled(names), strict=True)))
    read, rows, notes, kept = _collect(source.path.name, frame, how, lambda rows, columns: 8 * rows * columns)
    return Table(source.path.name, read, rows, (*source.notes, *notes), kept=kept)


def _parquet(source: Source, how: Reading) -> Table:
    return _scanned(source, pl.scan_parquet(source.readable, glob=False), how)


def _arrow(source: Source, how: Reading) -> Table:
    """Read Feather or Arrow's file format, which can be memory-mapped, or Arrow's stream format."""
    if source.head(6) == b"ARROW1":
        return _scanned(source, pl.scan_ipc(source.readable, glob=False), how)
    if source.head(4) == b"FEA1":
        remedy = "write it again with pandas.DataFrame.to_feather, or as Parquet"
        raise DataError(
            f"{source.path} is Feather of version 1", rule="a Feather file must have version 2", remedy=remedy
        )
    return _scanned(source, pl.read_ipc_stream(source.readable).lazy(), how)


def _lines(source: Source, how: Reading) -> Table:
    source = in_utf8(source, how.limit_bytes)
    return _objects(source, how, lambda: pl.scan_ndjson(source.readable, infer_schema_length=None))


def _json(source: Source, how: Reading) -> Table:
    """Read a list of objects, one object per line, or one object that holds the table."""
    source = in_utf8(source, how.limit_bytes)
    if is_one_object(source) and (found := layout_of(source)) is not None:
        return _scanned(source, found.frame.lazy(), how)
    if source.head().lstrip(b" \t\r\n\xef\xbb\xbf")[:1] == b"{":
        return _lines(source, how)
    return _objects(source, how, lambda: pl.read_json(source.readable, infer_schema_length=None).lazy())


def _objects(source: Source, how: Reading, scan: Callable[[], pl.LazyFrame]) -> Table:
    """Read objects with polars. Objects with NaN or Infinity, which JSON does not allow, are read with Python."""
    try:
        return _scanned(source, scan(), how)
    except pl.exceptions.PolarsError:
        if (rows := rows_with_constants(source)) is None:
            raise
        return _scanned(source, rows.lazy(), how)


def _archive(source: Source, how: Reading) -> Table:
    return read_archive(source.path, how.limit_bytes)


def _sheet(source: Source, how: Reading) -> Table:
    """Read the first sheet whose table has the named columns, or else the first sheet that holds a table."""
    source, frame, name, others = sheet_of(source, how.columns)
    table = dataclasses.replace(_scanned(source, frame.lazy(), how), sheet=name, others=others)
    said = f"sheet {name!r} was read, and not {listing([repr(other) for other in others], 5)}"
    return dataclasses.replace(table, notes=((said,) if others else ()) + table.notes)


_READ = {"text": _text, "parquet": _parquet, "arrow": _arrow, "lines": _lines, "json": _json, "sheet": _sheet,
         "npz": _archive}  # fmt: skip


def _collect(
    name: str, frame: pl.LazyFrame, how: Reading, planned: Callable[[int, int], int]
) -> tuple[pl.DataFrame, int, tuple[str, ...], np.ndarray | None]:
    """Return the whole table if it fits into the limit, otherwise as many random rows as fit.

    The other results are the number of rows of the whole table, notes, and the drawn rows (None for the whole table).
    """
    limit_bytes, group = how.limit_bytes, how.group
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
    chosen = drawn(rows, keep, how.seed, groups)
    index = "\0row"
    picked = frame.with_row_index(index).filter(pl.col(index).is_in(pl.Series(chosen, dtype=pl.UInt32).implode()))
    read = picked.drop(index).collect(engine="streaming")
    note = (
        f"the table is too large to read whole: {rows} rows of {columns} columns need {need} bytes, but the limit is"
        f" {limit_bytes} bytes. So {len(chosen)} rows, {how_drawn(groups, chosen)}, were read"
    )
    return read, rows, (note,), chosen
