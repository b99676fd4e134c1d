"""Write results that consist of several files.

At any time, either the complete old result or the complete new result is valid. Only one process at a time writes a
result.

The files of a new result are first written into a hidden folder beside their final places. The new result is valid
from the moment when the folder is renamed from `.draft` to `.whole`. If the process ends before this moment, the old
result remains. If the process ends after this moment, the next reader or writer of the result moves the remaining
files.
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
    """A result that only this process may write. The context `writing` makes this object."""

    def __init__(self, folder: Path, name: str):
        self._folder, self._name = folder, name

    def replace(self, files: Files, gone: Iterable[str] = ()) -> None:
        """Write all files of the result. Other files of the folder are not changed.

        Args:
            files: the content of each file, by its path below the folder, with slashes.
            gone: paths, below the folder, of files of the earlier result that the new result does not have. These
                files are removed.

        Raises:
            FileError: if a file cannot be written. The earlier result is then unchanged. The error is also raised if a
                complete file cannot be moved to its place. The next reader or writer of the result then moves the file.
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
        except KeyboardInterrupt:  # Ctrl-C must not leave some files of the result unmoved
            _move(whole, self._folder)
            raise


@contextlib.contextmanager
def writing(folder: str | Path, name: str, patience: float = 0.0) -> Iterator[Result]:
    """A context in which only this process writes a result into a folder.

    If a killed process moved only some files of a result, the remaining files are moved first. Incomplete results are
    removed. A lock file keeps out other writers. The lock ends with its process, even if the process is killed. If the
    file system has no locks, the lock file names a process, and the lock is valid while this process runs. A process of
    another machine counts as running.

    Args:
        folder: the folder of the result; it is made if it is missing.
        name: the name of the result, which is the name of its main file. All writers of the result use this name.
        patience: seconds to wait for another writer.

    Raises:
        FileError: if another process is writing the result, or if the folder cannot be written to.
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
        gone: files of the earlier result that the new result does not have; they are removed.

    Raises:
        FileError: if a file cannot be written, or if another process still writes the result after half a minute.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp())
    >>> replace_files(place, "a.json", {"a.json": "{}", "report/index.html": "<p>"})
    >>> sorted(str(path.relative_to(place)) for path in place.rglob("*"))
    ['a.json', 'report', 'report/index.html']
    """
    with writing(folder, name, patience=30.0) as result:
        result.replace(files, gone)


def finish(folder: str | Path, name: str) -> None:
    """Move the remaining files of a result if a killed process moved only some of them. Otherwise, do nothing.

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
    """Move the files of complete results of killed writers, and remove incomplete results. The caller has the lock."""
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
            if error.errno != errno.EXDEV:  # the error EXDEV means that the place is on another disk
                raise unwritable(
                    path, error, f"the complete result is in {whole}; the next command moves this result to its place"
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
            path, error, "a result is written completely or not at all; the earlier result is unchanged"
        ) from error


def _prefix(name: str) -> str:
    """The beginning that the names of a result's locks and drafts share."""
    return f"{_OWN}{name if len(os.fsencode(name)) < 100 else digest(name)[:16]}-"


def _locked(folder: Path, name: str, until: float) -> tuple[Path, BinaryIO]:
    """Lock a result, if necessary after waiting until the time `until`. Return the path and the open lock file.

    The lock file names the process that holds the lock.
    """
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
    """Whether an open lock file still exists under its name. The holder of the lock removes the file at the end."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    except FileNotFoundError:
        return False


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def _holder(file: BinaryIO) -> dict[str, object]:
    """The process that holds a lock, read from the lock file. The result is empty if the file names no process."""
    file.seek(0)
    try:
        found = json.loads(file.read(4096))
    except (ValueError, OSError):
        return {}
    return found if isinstance(found, dict) else {}


def _runs(holder: dict[str, object]) -> bool:
    """Whether the process that a lock file names may still run. A process of another machine counts as running."""
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
