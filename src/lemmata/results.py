"""Write results that consist of several files.

At any time, there is either the complete old result or the complete new one, and only one process writes.

The files of a new result are first written into a hidden folder beside their final places. The new result is valid
from the moment when the folder is renamed from `.draft` to `.whole`. If the process ends before this moment, the old
result remains. If it ends after this moment, the next reader or writer of the result moves the remaining files.
"""

import contextlib
import datetime
import errno
import hashlib
import json
import os
import shutil
import socket
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from lemmata.errors import FileError, LemmataError
from lemmata.files import check_file, encoded, read_bytes, replace_bytes, sweep_drafts, try_lock, unwritable

_MOVES = "moves.json"
_OWN = ".lemmata-"
_PAUSE = 0.05
Files = Mapping[str, str | bytes]


def digest(content: str | bytes) -> str:
    """The SHA-256 of the content of a file, as 64 hexadecimal digits.

    Args:
        content: the content of the file.
    """
    return hashlib.sha256(encoded(content) if isinstance(content, str) else content).hexdigest()


def is_own(name: str) -> bool:
    """Whether a file or folder with this name is a lock or a draft of lemmata.

    Args:
        name: the name without its folder.
    """
    return name.startswith(_OWN) and name.endswith((".lock", ".draft", ".whole"))


class Result:
    """A result that only this process may write; `writing` makes this object."""

    def __init__(self, folder: Path, name: str):
        self._folder, self._name = folder, name

    def replace(self, files: Files, gone: Iterable[str] = ()) -> None:
        """Write all files of the result. Other files of the folder are not changed.

        Args:
            files: the content of each file, by its path below the folder, with slashes.
            gone: paths below the folder of earlier files that the new result lacks.

        Raises:
            FileError: a file cannot be written; the earlier result is unchanged.
        """
        draft = self._folder / f"{_prefix(self._name)}{uuid.uuid4().hex}.draft"
        whole = draft.with_suffix(".whole")
        try:
            for name in files:
                if (self._folder / name).is_dir():
                    raise unwritable(self._folder / name, OSError(errno.EISDIR, os.strerror(errno.EISDIR)))
            for name, content in files.items():
                _written(draft / "files" / name, content, self._folder / name)
                (self._folder / name).parent.mkdir(parents=True, exist_ok=True)
            moves = {"files": list(files), "gone": [name for name in gone if name not in files]}
            _written(draft / _MOVES, json.dumps(moves), self._folder)
            draft.rename(whole)
        except OSError as error:
            raise error if isinstance(error, LemmataError) else unwritable(self._folder, error) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        try:
            _move(whole, self._folder)
        except KeyboardInterrupt:  # a stop between two files of one result is not possible
            _move(whole, self._folder)
            raise


@contextlib.contextmanager
def writing(folder: str | Path, name: str, patience: float = 0.0) -> Iterator[Result]:
    """A context in which only this process writes a result into a folder.

    If a killed process left a result partly moved, the move is finished; other remains of that process are removed.
    The lock ends with its process, even if the process is killed. If the file system has no locks, the lock is valid
    while its process runs on this machine.

    Args:
        folder: the folder of the result; it is made if it is missing.
        name: the name of the result, which is the name of its main file. All its writers use this name.
        patience: seconds to wait for another writer.

    Raises:
        FileError: another process is writing the result, or the folder cannot be written to.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock, file = _locked(folder, name, time.monotonic() + patience)
    except OSError as error:
        raise error if isinstance(error, LemmataError) else unwritable(folder, error) from error
    try:
        _settle(folder, name)
        yield Result(folder, name)
    finally:
        with contextlib.suppress(OSError):
            lock.unlink()
        file.close()


def replace_files(folder: str | Path, name: str, files: Files, gone: Iterable[str] = ()) -> None:
    """Write a result of several files in one step, as `Result.replace` does, after any other writer has finished.

    Args:
        folder: the folder of the result; it is made if it is missing.
        name: the name of the result.
        files: the content of each file, by its path below the folder, with slashes.
        gone: earlier files that the new result lacks.

    Raises:
        FileError: a file cannot be written, or another process writes the result for half a minute.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> replace_files(place, "a.json", {"a.json": "{}", "report/index.html": "<p>"})
    >>> sorted(str(path.relative_to(place)) for path in place.rglob("*"))
    ['a.json', 'report', 'report/index.html']
    """
    with writing(folder, name, patience=30.0) as result:
        result.replace(files, gone)


def finish(folder: str | Path, name: str) -> None:
    """Move the files of a result that a killed process left partly moved. If there are none, do nothing.

    Args:
        folder: the folder of the result.
        name: the name of the result.
    """
    with contextlib.suppress(OSError, LemmataError):
        prefix = _prefix(name)
        if any(own.startswith(prefix) and own.endswith(".whole") for own in os.listdir(folder)):
            with writing(folder, name):
                pass


def _settle(folder: Path, name: str) -> None:
    """Finish complete results that a killed writer left, and remove incomplete ones. The caller holds the lock."""
    sweep_drafts(folder)
    prefix = _prefix(name)
    for own in sorted(own for own in os.listdir(folder) if own.startswith(prefix)):
        if own.endswith(".whole"):
            _move(folder / own, folder)
        elif own.endswith(".draft"):
            shutil.rmtree(folder / own, ignore_errors=True)


def _move(whole: Path, folder: Path) -> None:
    """Move the files of a complete result to their places. An interrupted move can be repeated."""
    moves = json.loads(read_bytes(whole / _MOVES)) if (whole / _MOVES).exists() else {"files": [], "gone": []}
    for name in filter(_is_below, moves["files"]):
        draft, path = whole / "files" / name, folder / name
        if not draft.exists():
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            draft.replace(path)
        except OSError as error:
            if error.errno != errno.EXDEV:  # an error for another reason than a place on another disk
                raise unwritable(
                    path, error, f"the whole result is in {whole}; the next command moves it to its place"
                ) from error
            replace_bytes(path, read_bytes(draft))
    for name in filter(_is_below, moves["gone"]):
        with contextlib.suppress(OSError):
            (folder / name).unlink()
    shutil.rmtree(whole, ignore_errors=True)


def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def _written(draft: Path, content: str | bytes, path: Path) -> None:
    """Write a file of a draft and flush it to the disk; errors name the final file."""
    try:
        draft.parent.mkdir(parents=True, exist_ok=True)
        with draft.open("wb") as file:
            file.write(encoded(content) if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise unwritable(
            path, error, "a result is written whole or not at all; the earlier one is unchanged"
        ) from error


def _prefix(name: str) -> str:
    """The beginning that the names of a result's locks and drafts share."""
    return f"{_OWN}{name if len(os.fsencode(name)) < 100 else digest(name)[:16]}-"


def _locked(folder: Path, name: str, until: float) -> tuple[Path, BinaryIO]:
    """The lock of a result; the file contains the name of its holder."""
    path = folder / f"{_prefix(name).removesuffix('-')}.lock"
    while True:
        with contextlib.suppress(FileNotFoundError):
            check_file(path)
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        try:
            got = try_lock(file)
            if got is None:
                got = not _runs(_holder(file))
            if got and _is_at(file, path):
                own = {"pid": os.getpid(), "host": socket.gethostname(), "started": _now()}
                file.seek(0)
                file.truncate()
                file.write(json.dumps(own).encode())
                file.flush()
                return path, file
            if not got and time.monotonic() >= until:
                raise _taken(folder, name, _holder(file))
        except BaseException:
            file.close()
            raise
        file.close()
        time.sleep(0.0 if got else _PAUSE)


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Whether an open lock file still exists under its name. The lock's holder removes the name at the end."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _holder(file: BinaryIO) -> dict[str, object]:
    """The holder of a lock, read from the lock file. Empty if the file names no holder."""
    file.seek(0)
    try:
        found = json.loads(file.read(4096))
    except (ValueError, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def _runs(holder: dict[str, object]) -> bool:
    """Whether a process that claims a lock may still run. A process of another machine counts as running."""
    number = holder.get("pid")
    if not isinstance(number, int) or number <= 0:
        return False
    if holder.get("host") != socket.gethostname():
        return True
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _taken(folder: Path, name: str, holder: dict[str, object]) -> FileError:
    who = f"process {holder['pid']} on {holder.get('host')}, since {holder.get('started')}" if "pid" in holder else ""
    return FileError(
        f"{name} in {folder} is being written by another process",
        found=who or "a process whose number is not known yet",
        rule="one process at a time writes a result into a folder",
        remedy="wait until it ends, or choose another directory",
    )
