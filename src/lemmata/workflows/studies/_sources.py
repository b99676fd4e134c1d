"""Prepare the file of a table for reading: find its kind, unpack its bytes, and convert its text to UTF-8."""

import bz2
import codecs
import csv
import dataclasses
import gzip
import io
import itertools
import lzma
import re
import zipfile
import zlib
from pathlib import Path

from lemmata.errors import DataError, MemoryPlanError
from lemmata.files import open_file, read_bytes

TEXTS = (".csv", ".tsv", ".txt", ".tab", ".dat", ".data")
KINDS = {
    **dict.fromkeys(TEXTS, "text"),
    ".parquet": "parquet", ".pq": "parquet", ".npz": "npz", ".feather": "arrow", ".arrow": "arrow", ".ipc": "arrow",
    ".jsonl": "lines", ".ndjson": "lines", ".json": "json", ".xlsx": "sheet", ".xls": "sheet", ".ods": "sheet",
}  # fmt: skip
"""How a file is read, depending on its extension."""
BLANKS = "fields are separated by spaces"
"""The note about a text whose fields are separated by blanks."""
_UNPACK = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open}
PACKED = (*_UNPACK, ".zip")
"""Extensions of packed files. The file inside has its own extension; otherwise it is read as CSV."""
_HEAD = 2**20
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"),
)  # fmt: skip
_STARTS = {
    b"PAR1": (".parquet",),
    b"ARROW1\0\0": (".arrow", ".feather", ".ipc"),
    b"\x1f\x8b\x08": (".gz",),
    b"BZh91AY&SY": (".bz2",),
    b"\xfd7zXZ\0": (".xz",),
    b"PK\x03\x04": (".xlsx", ".ods", ".zip", ".npz"),
    b"\xd0\xcf\x11\xe0": (".xls",),
}
"""The first bytes of some kinds of files, and the extensions that such files may have."""
_QUOTED = re.compile(r'"(?:[^"\\]|\\.|"")*"')
_WORD = re.compile(r'"((?:[^"\\]|\\.|"")*)"(?=\s|$)|(\S+)')
"""One field of a line whose fields are separated by blanks. The field is in quotes, or contains no blanks."""
_NAMED = {"cp1252": "Windows-1252", "latin-1": "Latin-1"}


@dataclasses.dataclass(frozen=True)
class Source:
    """A file that a table is read from.

    Args:
        path: the path as the user gave it.
        kind: how the file is read, a value of `KINDS`.
        suffix: the extension; for a packed file, the extension of the file inside.
        content: the bytes to read if they differ from the bytes of the file; else None.
        notes: remarks on how the bytes were read.
        inside: the name of the table in a ZIP file; empty for other files.
    """

    path: Path
    kind: str
    suffix: str
    content: bytes | None = None
    notes: tuple[str, ...] = ()
    inside: str = ""

    @property
    def readable(self) -> Path | io.BytesIO:
        """The source for polars, which is the file itself or its bytes in memory."""
        return self.path if self.content is None else io.BytesIO(self.content)

    @property
    def size(self) -> int:
        """The number of bytes to read."""
        return self.path.stat().st_size if self.content is None else len(self.content)

    def head(self, most: int = _HEAD) -> bytes:
        """Return at most the first `most` bytes."""
        if self.content is not None:
            return self.content[:most]
        with open_file(self.path) as file:
            return file.read(most)


def source_of(path: Path, limit_bytes: int) -> Source | None:
    """Return the unpacked file and its kind; None if the extension is unknown.

    Args:
        path: the path of the file.
        limit_bytes: the largest number of bytes of the unpacked file.

    Raises:
        DataError: if a packed file is damaged or holds more than one table, or the extension of a file is wrong.
        MemoryPlanError: if the unpacked file is too large.
    """
    suffix = path.suffix.lower()
    if KINDS.get(suffix) in ("text", "lines", "json", "sheet"):
        _check_name(path, suffix)
    if suffix not in PACKED:
        return Source(path, KINDS[suffix], suffix, _unnamed(path, limit_bytes)) if suffix in KINDS else None
    try:
        name, content = _unzipped(path, limit_bytes) if suffix == ".zip" else (path.stem, _unpacked(path, limit_bytes))
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, RuntimeError, gzip.BadGzipFile) as error:
        raise DataError(
            f"{path} cannot be unpacked",
            found=str(error) or type(error).__name__,
            rule=f"a {suffix} file must be complete and have no password",
            remedy="unpack it, and name the file inside",
        ) from error
    inner = Path(name).suffix.lower()
    inner = inner if inner in KINDS else ".csv"
    if KINDS[inner] == "npz":
        raise DataError(f"{path} holds an NPZ file", rule="an NPZ file is already compressed", remedy="unpack it first")
    inside = name if suffix == ".zip" else ""
    return Source(path, KINDS[inner], inner, content, (f"unpacked {name!r}",) if inside else (), inside)


def _check_name(path: Path, suffix: str) -> None:
    """Raise an error if a packed or binary file has a text file's extension, or a text file that of a spreadsheet."""
    with open_file(path) as file:
        head = file.read(16)
    own = next((names for start, names in _STARTS.items() if head.startswith(start)), ())
    ended = head[:4] != b"PAR1" or _ends(path) == b"PAR1"  # the first column of a text may have the name PAR1
    if own and suffix not in own and ended:
        raise DataError(
            f"{path} has the wrong extension",
            found=f"the content of a {' or '.join(own[:3])} file",
            rule="the extension of a file must be that of its content",
            remedy=f"rename it to {path.with_suffix(own[0]).name}"
            if own[0] not in PACKED
            else f"rename it to {path.name}{own[0]}",
        )
    if KINDS[suffix] == "sheet" and not own and head.strip():
        raise DataError(
            f"{path} has the wrong extension",
            found=f"a file that begins with {head[:12]!r}",
            rule="a spreadsheet must be an .xlsx, .xls or .ods file",
            remedy=(
                f"if the file is text, rename it to {path.with_suffix('.csv').name}; otherwise save it again as a "
                "spreadsheet"
            ),
        )


def _ends(path: Path) -> bytes:
    with open_file(path) as file:
        file.seek(-4, io.SEEK_END)
        return file.read()


def _unnamed(path: Path, limit_bytes: int) -> bytes | None:
    """Return the bytes of a file whose name is not UTF-8, because polars cannot open such a file; None otherwise."""
    try:
        str(path).encode()
    except UnicodeEncodeError:
        _fits(path, path.stat().st_size, limit_bytes)
        return read_bytes(path)
    return None


def _unpacked(path: Path, limit_bytes: int) -> bytes:
    with _UNPACK[path.suffix.lower()](path, "rb") as file:
        content = file.read(limit_bytes + 1)
    _fits(path, len(content), limit_bytes)
    return content


def _unzipped(path: Path, limit_bytes: int) -> tuple[str, bytes]:
    """Return the name and the bytes of the single table in a ZIP file. Folders and a Mac's extra files are ignored."""
    with zipfile.ZipFile(path) as archive:
        inside = [item for item in archive.infolist() if not item.is_dir() and not _hidden(item.filename)]
        tables = [item for item in inside if Path(item.filename).suffix.lower() in KINDS] or inside
        if len(tables) != 1:
            named = ", ".join(item.filename for item in tables[:5]) or "no file"
            raise DataError(
                f"{path} does not hold one table",
                found=f"{len(tables)} files: {named}" if tables else named,
                rule="a ZIP file must hold a single table",
                remedy="unpack it, and name the file that you mean",
            )
        _fits(path, tables[0].file_size, limit_bytes)
        with archive.open(tables[0]) as file:
            content = file.read(limit_bytes + 1)
        _fits(path, len(content), limit_bytes)
        return tables[0].filename, content


def _hidden(name: str) -> bool:
    return name.startswith("__MACOSX/") or Path(name).name.startswith(".")


def _fits(path: Path, size: int, limit_bytes: int) -> None:
    if size > limit_bytes:
        raise MemoryPlanError(
            f"{path} is too large when it is unpacked",
            found=f"more than {limit_bytes} bytes",
            rule=f"at most {limit_bytes} bytes",
            remedy="unpack it; lemmata reads random rows of a large unpacked file",
        )


def in_utf8(source: Source, limit_bytes: int, whole: bool = False) -> Source:
    """Return a text in UTF-8, converted from UTF-16, UTF-32 or Windows-1252 if it is not UTF-8.

    If the lines end with carriage returns alone, newlines replace the carriage returns.

    Args:
        source: the text file.
        limit_bytes: the largest number of bytes of the converted text.
        whole: whether to look at the whole file and not only at its first megabyte.

    Raises:
        DataError: if the file is not text.
        MemoryPlanError: if the converted text would be too large.
    """
    head = source.head(source.size if whole else _HEAD)
    encoding = _encoding(head, whole or len(head) < _HEAD)
    if encoding is None:
        raise DataError(
            f"{source.path} is not text",
            found="a zero byte near its start",
            rule="a CSV file must be text",
            remedy="save the table as CSV in UTF-8, or as Parquet",
        )
    returns = b"\n" not in head and b"\r" in head
    if encoding == "utf-8" and not returns:
        return source
    _fits(source.path, 2 * source.size, limit_bytes)
    raw = source.head(source.size)
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError:
        encoding = "latin-1" if encoding == "cp1252" else encoding
        text = raw.decode(encoding, errors="replace")
    notes = list(source.notes)
    if encoding != "utf-8":
        notes.append(f"its text is {_NAMED.get(encoding, encoding.upper().removesuffix('-LE').removesuffix('-BE'))}")
    if "\n" not in text and "\r" in text:
        text = text.replace("\r", "\n")
    return dataclasses.replace(source, content=text.removeprefix("\ufeff").encode(), notes=tuple(notes))


def encoding_of(source: Source, text: Source) -> str:
    """Return Python's name of the encoding of a text.

    Args:
        source: the text file.
        text: the text in UTF-8, from `in_utf8`.
    """
    for name, words in _NAMED.items():
        if any(note.endswith(f"its text is {words}") for note in text.notes):
            return name
    head = source.head()
    return _encoding(head, len(head) < _HEAD) or "utf-8"


def _encoding(head: bytes, whole: bool) -> str | None:
    """Return the encoding of a text, judged by its first bytes; None if the file is not text."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if max(even, odd) > 10 * min(even, odd) and 4 * max(even, odd) > len(head) / 2:
            return "utf-16-be" if even > odd else "utf-16-le"
        return None
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, final=whole)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def with_tabs(source: Source, limit_bytes: int) -> Source:
    """Separate the fields of a text by tabs if they are separated by blanks. Other texts are unchanged.

    The lines of a text with blanks as separators have equal numbers of words, at least two. Its first line contains
    none of the usual separators. A word may be in quotes, with blanks inside. Lines at the top that begin with '#' are
    not changed, except the last of these lines if it is the header of columns of numbers. R writes a name of the row in
    each line, but no header for these names. So each line may have one word more than the header, and the header then
    gets an empty first name.
    """
    lines = source.head().decode("utf-8-sig", errors="replace").splitlines()[:200]
    lines = [line for line in lines[: -1 if len(lines) > 100 else None] if line.strip()]
    lines = list(itertools.dropwhile(lambda line: line.startswith("#"), lines))
    if len(lines) < 2 or "\t" in lines[-1]:  # the last line is part of the table even if there is a title
        return source
    first, *rest = map(_words, lines)
    row_names = _has_row_names(first, rest)
    if {len(words) - row_names for words in rest} != {len(first)} or len(first) < 2:
        return source
    if any(mark in _QUOTED.sub("", lines[0]) for mark in ',;\t|"'):
        return source
    _fits(source.path, 2 * source.size, limit_bytes)
    text = source.head(source.size).decode("utf-8-sig")
    lines = list(itertools.dropwhile(lambda line: not line.strip(), text.splitlines()))
    above = list(itertools.takewhile(lambda line: not line.strip() or line.startswith("#"), lines))
    below = [_words(line) for line in lines[len(above) :]]
    names = above[-1].removeprefix("#").split() if above else []
    if len(names) == len(first) and all(map(_is_number, below[0])):
        above, below = above[:-1], [names, *below]
    if row_names:
        below[0] = ["", *below[0]]
    written = io.StringIO()
    csv.writer(written, delimiter="\t", lineterminator="\n").writerows(below)
    content = "".join(f"{line}\n" for line in above) + written.getvalue()
    return dataclasses.replace(source, content=content.encode(), notes=(*source.notes, BLANKS))


def _words(line: str) -> list[str]:
    """Return the words of a line. A word in quotes may contain blanks, and quotes that are escaped or doubled."""
    if '"' not in line:
        return line.split()
    found = (match.groups() for match in _WORD.finditer(line))
    return [
        plain if quoted is None else re.sub(r'\\(.)|""', lambda own: own[1] or '"', quoted) for quoted, plain in found
    ]


def _has_row_names(first: list[str], rest: list[list[str]]) -> bool:
    """Whether each line has one word more than the header, the header has no number, and the line below it has one."""
    if any(len(words) != len(first) + 1 for words in rest):
        return False
    return not any(map(_is_number, first)) and any(map(_is_number, rest[0]))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
