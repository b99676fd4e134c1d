"""Write results that consist of several files.

At any time, either the complete old result or the complete new result is valid. Only one process at a time writes a
result.

The files of a new result are first written into a hidden folder beside their final places. The new result is valid
from the moment when the folder is renamed from `.draft` to `.whole`. If the process ends before this moment, the old
result remains. If the process ends after this moment, the next reader or writer of the result moves the remaining
files. A hidden folder may come from somebody else, for example with an archive. Its files are moved only if the user
owns it, and never through a link; those of another user are kept. Its folder `files` has the new files, and `gone` an
empty file for each removed file.
"""

import contextlib
import datetime
import errno
import hashlib
import json
import os
import re
import shutil
import socket
import stat
import time
import uuid
import warnings
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import BinaryIO

from lemmata.errors import FileError, ForeignResultWarning, LemmataError
from lemmata.files import (
    check_place,
    encoded,
    read_bytes,
    replace_bytes,
    sweep_drafts,
    through_link,
    try_lock,
    unwritable,
)
from lemmata.moves import move_into, remove_from

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
            FileError: if a file cannot be written, or if a link leads out of the folder of the result. The earlier
                result is then unchanged. The error is also raised if a complete file cannot be moved to its place. The
                next reader or writer of the result then moves the file.
        """
        draft = self._folder / f"{_prefix(self._name)}{uuid.uuid4().hex}.draft"
        whole = draft.with_suffix(".whole")
        try:
            for name in files:
                check_place(self._folder, name)
            for name, content in files.items():
                _written(draft / "files" / name, content, self._folder / name)
            for name in gone:
                if name not in files and (self._folder / name).is_file() and not through_link(self._folder, name):
                    _written(draft / "gone" / name, b"", self._folder / name)
            draft.rename(whole)
        except OSError as error:
            raise error if isinstance(error, LemmataError) else unwritable(self._folder, error) from error
        finally:
            shutil.rmtree(draft, ignore_errors=True)
        try:
            _move(whole, self._folder)
        except KeyboardInterrupt:  # Ctrl-C must not leave some files of the result unmoved
            if whole.is_dir():
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
        folder: the folder of the result. If it is missing, it is made, and removed if nothing is written into it.
        name: the name of the result, which is the name of its main file. All writers of the result use this name.
        patience: seconds to wait for another writer.

    Raises:
        FileError: if another process is writing the result, or if the folder cannot be written to.
    """
    folder = Path(folder)
    made = [place for place in (folder, *folder.parents) if not os.path.lexists(place)]
    try:
        try:
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
    finally:
        for place in made:  # only empty folders are removed
            with contextlib.suppress(OSError):
                place.rmdir()


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
    folder = Path(folder)
    with contextlib.suppress(OSError, LemmataError):
        if any(_is_whole(own, folder) and _owner(own) is None for own in _left(folder, name)):
            with writing(folder, name):
                pass


def _left(folder: Path, name: str) -> list[Path]:
    """The drafts and the complete results that earlier writers of a result left."""
    pattern = re.compile(re.escape(_prefix(name)) + r"[0-9a-f]{32}\.(draft|whole)")
    return sorted(folder / own for own in os.listdir(folder) if pattern.fullmatch(own))


def _settle(folder: Path, name: str) -> None:
    """Move the files of complete results of killed writers, and remove everything else. The caller has the lock."""
    sweep_drafts(folder)
    for own in _left(folder, name):
        if not _is_whole(own, folder):
            _discard(own)
        elif _owner(own) is None:
            _move(own, folder)
        else:
            _set_aside(own, name)


def _set_aside(own: Path, name: str) -> None:
    """Keep a complete result of another user under a name that no run moves, and say so."""
    owner = _owner(own)
    kept = own.with_name(f"{name}-of-user-{owner}-{own.stem[-8:]}")
    try:
        own.rename(kept)
    except OSError:  # in a folder like /tmp, where only the owner may rename it
        kept = own
    warnings.warn(
        f"A killed run of user {owner} left the complete result {kept}. Its files were not moved to their places, "
        "because they belong to another user. Move them yourself, or remove this folder.", ForeignResultWarning, 2,
    )  # fmt: skip


def _is_whole(own: Path, folder: Path) -> bool:
    """Whether this is a complete result that a writer left, with only files that have a place."""
    try:
        if own.suffix != ".whole" or not stat.S_ISDIR(own.lstat().st_mode):
            return False
        for name in _listed(own):
            check_place(folder, name.partition("/")[2])
    except OSError:
        return False
    return True


def _owner(own: Path) -> int | None:
    """The number of the user that left a complete result; None if it is this user, or if users have no numbers."""
    owner = own.lstat().st_uid
    return None if not hasattr(os, "getuid") or owner == os.getuid() else owner


def _listed(whole: Path) -> list[str]:
    """The paths of all files of a complete result, with slashes: `files/a.json`, or `gone/b.csv` for a removed file.

    Raises:
        OSError: if there is a link, or anything else that is not a folder or a regular file.
    """
    folders, found = [""], []
    for folder in folders:
        for entry in sorted(os.listdir(whole / folder)):
            mode = (whole / folder / entry).lstat().st_mode
            if stat.S_ISDIR(mode):
                folders.append(f"{folder}{entry}/")
            elif stat.S_ISREG(mode):
                found.append(f"{folder}{entry}")
            else:
                raise OSError(errno.EINVAL, f"{whole / folder / entry} is neither a folder nor a regular file")
    return found


def _move(whole: Path, folder: Path) -> None:
    """Move the files of a complete result to their places. An interrupted move can be repeated."""
    for kind, _, name in (own.partition("/") for own in _listed(whole)):
        draft, path = whole / kind / name, folder / name
        if kind == "gone":
            with contextlib.suppress(OSError):
                remove_from(folder, name)
        elif kind == "files":
            try:
                move_into(draft, folder, name)
            except OSError as error:
                if error.errno != errno.EXDEV:  # the error EXDEV means that the place is on another disk
                    rule = f"the complete result is in {whole}; the next command moves this result to its place"
                    raise unwritable(path, error, rule) from error
                check_place(folder, name)
                replace_bytes(path, read_bytes(draft))
    _discard(whole)


def _discard(own: Path) -> None:
    """Remove a draft, or a complete result whose files were moved. What cannot be removed is at least not complete."""
    with contextlib.suppress(OSError):
        own = own.rename(own.with_suffix(".draft"))
    with contextlib.suppress(RecursionError):  # folders that are nested very deeply
        shutil.rmtree(own, ignore_errors=True)


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
        folder.mkdir(parents=True, exist_ok=True)
        try:
            file = _opened(path)
        except FileNotFoundError:
            if folder.is_dir():
                raise
            continue  # another writer, which wrote nothing, has removed the folder
        try:
            got = try_lock(file)
            if got is None:
                got = not _runs(_holder(file))
            if got and _is_at(file, path):
                now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
                own = {"pid": os.getpid(), "host": socket.gethostname(), "started": now}
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


def _opened(path: Path) -> BinaryIO:
    """Open a lock file, which is made if it is missing.

    A lock is written to, so it must not be another name of somebody else's file: a link, or a hard link.
    """
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        with contextlib.suppress(FileNotFoundError):
            if not stat.S_ISREG(path.lstat().st_mode):
                raise OSError(errno.EINVAL, "a link, a folder, or another thing that is not a regular file")
        number = os.open(path, flags, 0o666)
        state = os.fstat(number)
        if stat.S_ISREG(state.st_mode) and state.st_nlink <= 1:
            return os.fdopen(number, "r+b")
        os.close(number)
        raise OSError(errno.EMLINK, "a file that has another name too (a hard link)")
    except OSError as error:
        if isinstance(error, FileNotFoundError) or not os.path.lexists(path):  # the reason is the folder
            raise
        raise FileError(
            f"the lock {path} cannot be used",
            found=error.strerror or str(error),
            rule="a lock is a regular file that lemmata makes, and that you may write to",
            remedy="remove it, or choose another directory",
        ) from error


def _is_at(file: BinaryIO, path: Path) -> bool:
    """Whether an open lock file still exists under its name. The holder of the lock removes the file at the end."""
    try:
        return os.path.samestat(os.fstat(file.fileno()), os.lstat(path))
    except FileNotFoundError:
        return False


def _holder(file: BinaryIO) -> dict[str, object]:
    """The process that holds a lock, read from the lock file. The result is empty if the file names no process."""
    file.seek(0)
    try:
        found = json.loads(file.read(4096))
    except (ValueError, OSError, RecursionError):
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
    except (ProcessLookupError, OverflowError):  # OverflowError: no process has such a number
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
