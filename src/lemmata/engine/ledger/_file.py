"""The ledger's file: an SQLite database with a write-ahead log, and one row for each trial and each verdict."""

import contextlib
import datetime
import importlib.metadata
import io
import json
import os
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax

from lemmata.directories import data_directory
from lemmata.errors import DataError, FileError, shortened
from lemmata.files import check_database, encoded, open_file, replace_bytes

from ._export import check_export
from ._rows import numbers_of

_APPLICATION = 0x6C656D61  # "lema"
_VERSION = 1
_WAIT = 60.0  # seconds that one process waits for another to finish a write
_NO_PLACE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)
"""Codes of the errors that SQLite raises if it cannot create its two extra files, for example on a full disk."""
_CHECKED = 2**26  # the largest file, in bytes, that is searched for damage before it is written to
_EXTRA = 2**16  # bytes that SQLite needs for its two extra files
_HEADER = b"SQLite format 3\x00"
_TABLES = """
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, began TEXT, command TEXT, seed INTEGER, versions TEXT, device TEXT
);
CREATE TABLE trials (
    claim TEXT, fingerprint TEXT, setting TEXT, seed INTEGER, number INTEGER, size INTEGER, run INTEGER, holds INTEGER,
    undefined INTEGER, hypotheses TEXT, arrays BLOB, shapes TEXT, dtype TEXT, seconds REAL,
    PRIMARY KEY (claim, fingerprint, setting, seed, number)
) WITHOUT ROWID;
CREATE TABLE verdicts (
    id INTEGER PRIMARY KEY, run INTEGER, claim TEXT, fingerprint TEXT, setting TEXT, seed INTEGER, status TEXT,
    reason TEXT, record TEXT, seconds REAL
);
CREATE INDEX verdicts_of_runs ON verdicts (run, claim);
"""
TRIAL = ("claim", "fingerprint", "setting", "seed", "number", "size", "run", "holds", "undefined", "hypotheses",
         "arrays", "shapes", "dtype", "seconds")  # fmt: skip


def default_path() -> Path:
    """The ledger in the platform's data directory. Set `LEMMATA_DATA_DIR` to use another directory."""
    return data_directory() / "ledger.sqlite"


class FullDiskError(FileError):
    """Raised if trials can be run but not recorded: the disk is full or fails, or the ledger was removed."""


class Ledger:
    """An open ledger. To open a ledger, call `open_ledger` or `read_ledger`.

    Every write is a separate transaction. So a process that is killed loses only rows that it has not written yet.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection):
        self.path = path
        self._connection = connection
        self._state = path.stat()

    def query(self, sql: str, *values: Any) -> list[sqlite3.Row]:
        """Return the rows that a query finds.

        Raises:
            DataError: if the file is damaged.
        """
        with _told(self.path):
            return self._connection.execute(sql, values).fetchall()

    def add_trials(self, rows: list[dict[str, Any]]) -> None:
        """Write finished trials, either all or none. Trials that the ledger already has are not changed."""
        marks = ", ".join("?" * len(TRIAL))
        with _told(self.path), self._connection:
            self._connection.executemany(
                f"INSERT OR IGNORE INTO trials ({', '.join(TRIAL)}) VALUES ({marks})",
                [[_in_utf_8(row[name]) for name in TRIAL] for row in rows],
            )
        self._check_stays()

    def add_verdict(self, run: int, fingerprint: str, record: dict[str, Any]) -> None:
        """Write a verdict: its record as JSON, and its most used fields also in columns."""
        own = [record[name] for name in ("seed", "status", "reason")]
        setting, text = json.dumps(record["setting"], sort_keys=True), json.dumps(record)
        with _told(self.path), self._connection:
            if not self.query("SELECT 1 FROM runs WHERE id = ?", run):
                raise _replaced(self.path)
            self._connection.execute(
                "INSERT INTO verdicts (run, claim, fingerprint, setting, seed, status, reason, record, seconds) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                list(map(_in_utf_8, [run, record["name"], fingerprint, setting, *own, text, record["seconds"]])),
            )
        self._check_stays()

    def _check_stays(self) -> None:
        """Raise an error if the file was removed or replaced, because SQLite goes on writing into a removed file."""
        try:
            stays = os.path.samestat(self.path.stat(), self._state)
        except OSError:
            stays = False
        if not stays:
            raise _replaced(self.path)

    def begin(self, command: str, seed: int) -> int:
        """Record the start of a run, with its versions and device, and return the number of this run."""
        versions = {name: importlib.metadata.version(name) for name in ("lemmata", "jax", "numpy")}
        device = str(jax.devices()[0])
        now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
        with _told(self.path), self._connection:
            found = self._connection.execute(
                "INSERT INTO runs (began, command, seed, versions, device) VALUES (?, ?, ?, ?, ?)",
                [now, _in_utf_8(command), seed, json.dumps(versions), device],
            )
        assert found.lastrowid is not None
        return found.lastrowid

    def check(self) -> list[str]:
        """The faults that SQLite finds in the ledger's file, in SQLite's words; empty if there are none."""
        return [str(row[0]) for row in self.query("PRAGMA integrity_check") if row[0] != "ok"]

    def export(self, path: str | Path) -> int:
        """Write all trials to a Parquet file, with arrays as lists of numbers. Return the number of trials.

        Args:
            path: a file name that ends in .parquet. An existing file is replaced only if it is an earlier export.

        Raises:
            SettingError: if the path has another ending, or is a file of the ledger or a file of another kind.
            FileError: if the file cannot be written.
        """
        import polars as pl

        check_export(self.path, path)
        rows = [dict(row) for row in self.query(f"SELECT {', '.join(TRIAL)} FROM trials")]
        frame = [{**{k: v for k, v in row.items() if k not in ("arrays", "shapes")}, **numbers_of(row)} for row in rows]
        content = io.BytesIO()  # because polars reports a full disk as an error of the data
        pl.DataFrame(frame, infer_schema_length=None).write_parquet(content)
        replace_bytes(path, content.getvalue())
        return len(rows)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


def _in_utf_8(value: Any) -> Any:
    """The value in a form that SQLite can store, because the text of an error may contain invalid characters."""
    return encoded(value).decode() if isinstance(value, str) else value


@contextlib.contextmanager
def read_ledger(path: str | Path) -> Iterator[Ledger]:
    """Open a ledger for reading. The ledger may be on a disk that cannot be written to.

    If a killed run has not merged its data into the file, and the disk is read-only, the data are read from a copy.

    Args:
        path: the path of the file.

    Raises:
        DataError: if the file is not a ledger, is empty, is damaged, or has a newer version.
    """
    path = Path(path)
    with contextlib.ExitStack() as stack:
        if not _recognised(path):
            found, remedy = "no run", "run `lemmata verify` first, or name another file with --ledger PATH"
            raise DataError(f"ledger {path}", found=found, rule="a ledger that `lemmata verify` wrote", remedy=remedy)
        with _told(path):
            connection = stack.enter_context(_reading(path))
            connection.row_factory = sqlite3.Row
        yield Ledger(path, connection)


@contextlib.contextmanager
def _reading(path: Path, shortly: bool = False) -> Iterator[sqlite3.Connection]:
    """A connection that only reads the ledger. SQLite may make its two extra files next to the ledger.

    Args:
        path: the path of the file.
        shortly: whether the connection is used only briefly. If so, and if the ledger has no data that are not merged
            yet, SQLite makes no extra files.
    """
    log = path.with_name(f"{path.name}-wal")
    pending = log.exists() and log.stat().st_size > 0
    with contextlib.ExitStack() as stack:
        beside = os.access(path.parent, os.W_OK) and (pending or not shortly)
        if beside and not path.with_name(f"{path.name}-shm").exists():
            beside = _has_room(path.parent)
        own = _shared(path, pending) if beside else None
        if own is None:
            where, options = path.resolve(), "mode=ro&immutable=1"
            if pending:
                where, options = Path(stack.enter_context(tempfile.TemporaryDirectory())) / path.name, "mode=rw"
                shutil.copyfile(path, where)
                shutil.copyfile(log, where.with_name(log.name))
            own = sqlite3.connect(f"{where.as_uri()}?{options}", uri=True, timeout=_WAIT)
        yield stack.enter_context(contextlib.closing(own))


def _has_room(folder: Path) -> bool:
    """Whether the folder has room for SQLite's two extra files. Without room, SQLite would leave parts of them."""
    try:
        with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
            return file.write(bytes(_EXTRA)) == _EXTRA
    except OSError:
        return False


def _shared(path: Path, pending: bool) -> sqlite3.Connection | None:
    """A connection during which other processes may write. None if SQLite cannot make its extra files.

    When the connection is closed, SQLite may remove its extra files, unless they contain data that are not merged yet.
    """
    own = sqlite3.connect(f"{path.resolve().as_uri()}?mode={'ro' if pending else 'rw'}", uri=True, timeout=_WAIT)
    try:
        own.execute("PRAGMA query_only = ON")
        own.execute("SELECT count(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        own.close()
        if error.sqlite_errorcode & 0xFF in _NO_PLACE:
            return None
        raise
    except BaseException:
        own.close()
        raise
    return own


@contextlib.contextmanager
def open_ledger(path: str | Path | None = None) -> Iterator[Ledger]:
    """Open a ledger, and create it if it does not exist.

    Args:
        path: the path of the file; None means the file in the platform's data directory.

    Raises:
        DataError: if the file is not a ledger, is damaged, has a newer version, or cannot be written. The file is not
            changed. A file above 64 MiB is not searched for damage. If the disk of the file is full, the error is a
            `FullDiskError`.
    """
    path = default_path() if path is None else Path(path)
    existed = _recognised(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _unwritable(path, error.strerror or str(error)) from error
    with _told(path):
        connection = sqlite3.connect(path, timeout=_WAIT)
        connection.row_factory = sqlite3.Row
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            if not existed:
                _make(connection)
            ledger = Ledger(path, connection)
            if existed and path.stat().st_size <= _CHECKED and (faults := ledger.check()):
                raise _damaged(path, shortened(faults[0]))
        except BaseException:
            connection.close()
            raise
    try:
        yield ledger
    finally:
        ledger.close()


def _make(connection: sqlite3.Connection) -> None:
    """Create the tables, unless another process has just created them."""
    with connection:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in _TABLES.split(";"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {_APPLICATION}")
            connection.execute(f"PRAGMA user_version = {_VERSION}")


def _recognised(path: Path) -> bool:
    """Whether a path has a ledger; False if the file is missing or empty. The file is checked without being changed.

    Raises:
        DataError: if the file at this path is not a ledger, or has a newer version.
    """
    try:
        check_database(path)
        if not stat.S_ISREG(path.stat().st_mode):
            return _foreign(path, "a folder" if path.is_dir() else "not a regular file")
        with open_file(path) as file:
            head = file.read(len(_HEADER))
    except FileNotFoundError:
        return False
    except OSError as error:
        found = error.strerror or str(error)
        beside = error.filename not in (None, str(path), path)
        raise _unwritable(path, f"{error.filename}: {found}" if beside else found) from error
    if not head:
        return False
    if head != _HEADER:
        raise DataError(f"ledger {path}", found="a file of another kind", rule="a ledger that lemmata wrote",
                        remedy="name another file with --ledger PATH")  # fmt: skip
    with _told(path), _reading(path, shortly=True) as own:
        application = own.execute("PRAGMA application_id").fetchone()[0]
        version = own.execute("PRAGMA user_version").fetchone()[0]
        tables = own.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if (application, version, tables) == (0, 0, 0):
        return False
    if application != _APPLICATION:
        return _foreign(path, "a database of another program")
    if version > _VERSION:
        raise DataError(f"ledger {path}", found=f"version {version}", rule=f"at most {_VERSION}",
                        remedy="upgrade lemmata, because a newer version wrote this file, or name another file with "
                "--ledger PATH")  # fmt: skip
    return True


def _foreign(path: Path, found: str) -> bool:
    raise DataError(
        f"ledger {path}", found=found, rule="a ledger that lemmata wrote", remedy="name another file with --ledger PATH"
    )


def _unwritable(path: Path, found: str, kind: type[FileError] = FileError) -> FileError:
    return kind(
        f"ledger {path}",
        found=found,
        rule="a file that can be read and written",
        remedy="name another file with --ledger PATH",
    )


def _replaced(path: Path) -> FileError:
    return FullDiskError(
        f"ledger {path}",
        found="that the file was removed or replaced during the run",
        rule="a run writes its trials and its verdict into one file",
        remedy="repeat the command, and leave the ledger in its place",
    )


def _damaged(path: Path, found: str) -> DataError:
    return DataError(
        f"ledger {path}",
        found=found,
        rule="an undamaged SQLite file",
        remedy="restore the file from a copy, or name another file with --ledger PATH",
    )


@contextlib.contextmanager
def _told(path: Path) -> Iterator[None]:
    """A context in which errors of SQLite become errors of lemmata."""
    try:
        yield
    except sqlite3.OperationalError as error:
        code = getattr(error, "sqlite_errorcode", None)  # a text that is not UTF-8 has no code of SQLite
        if code is None:
            raise _damaged(path, str(error)) from error
        full = code & 0xFF in (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR)
        raise _unwritable(path, str(error), FullDiskError if full else FileError) from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, str(error)) from error
