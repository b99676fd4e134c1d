"""Write files completely or not at all, and read only regular files. This module does not need JAX."""

import contextlib
import errno
import os
import re
import stat
import sys
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from lemmata.errors import FileError, SettingError, shortened

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl
    import resource

FULL = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))
"""The operating system's error numbers for a full disk, an exceeded quota, and a file that is too large."""
MODEL = ".skops"
"""The extension of a file with a fitted model."""
_DRAFT = re.compile(r"\.lemmata-[0-9a-f]{32}\.draft")
_DAY = 86400.0
_FAR = 2**30  # position of the byte that is locked on Windows; no program reads or writes this byte
_REMEDIES = dict.fromkeys(FULL, "free space there, or choose another directory") | {
    errno.EFBIG: "raise the limit on the size of files, or choose another directory",
    errno.ENAMETOOLONG: "choose a shorter name",
    **dict.fromkeys((errno.EEXIST, errno.EISDIR, errno.ENOTDIR), "choose another name, or another directory"),
}
"""What the user can do, by the operating system's error number."""
_KINDS = (
    (stat.S_ISDIR, "a directory"), (stat.S_ISFIFO, "a named pipe"), (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"),
)  # fmt: skip


def open_file(path: str | Path) -> BinaryIO:
    """Open a regular file for reading. Every file that a user names is opened by this function.

    A reader of a named pipe could wait for ever, and a device may never end. So this function opens the path without
    waiting, and then checks the open file. Between the check and the reading, nothing can replace an open file.

    Args:
        path: the path of the file.

    Raises:
        OSError: if the file does not exist or cannot be read, or if the path is a directory, a named pipe, a socket or
            a device.
    """
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    try:
        number = os.open(path, flags)
    except OSError as error:
        if error.errno == errno.ENXIO:  # the error for a socket
            _check_kind(os.stat(path).st_mode, path)
        raise
    try:
        _check_kind(os.fstat(number).st_mode, path)
        return os.fdopen(number, "rb")
    except BaseException:
        os.close(number)
        raise


def check_file(path: str | Path) -> None:
    """Raise an error if a path is not a regular file. A library that opens such a path could wait for ever.

    Args:
        path: the path of the file.

    Raises:
        OSError: for the same reasons as `open_file`.
    """
    _check_kind(os.stat(path).st_mode, path)


def check_database(path: str | Path) -> None:
    """Raise OSError if a file that SQLite opens next to a database is not regular. SQLite could wait for ever."""
    for end in ("-journal", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            check_file(os.fspath(path) + end)


def _check_kind(mode: int, path: str | Path) -> None:
    for is_kind, name in _KINDS:
        if is_kind(mode):
            code, more = (errno.EISDIR, "") if is_kind is stat.S_ISDIR else (errno.EINVAL, ", and not a file")
            raise OSError(code, f"it is {name}{more}", os.fspath(path))


def read_bytes(path: str | Path) -> bytes:
    """The content of a file.

    Args:
        path: the path of the file.

    Raises:
        OSError: for the same reasons as `open_file`.
    """
    with open_file(path) as file:
        return file.read()


def read_text(path: str | Path) -> str:
    """The text of a file in UTF-8.

    Args:
        path: the path of the file.

    Raises:
        OSError: for the same reasons as `open_file`.
        UnicodeDecodeError: if the file is not UTF-8.
    """
    return read_bytes(path).decode()


def encoded(text: str) -> bytes:
    r"""The text in UTF-8. Characters that UTF-8 cannot encode are escaped as in Python and JSON.

    Python represents the bytes of a file name that is not UTF-8 by surrogates, which UTF-8 cannot encode.

    Args:
        text: any text.

    >>> encoded("a\udcff")
    b'a\\udcff'
    """
    return text.encode(errors="backslashreplace")


def unwritable(path: str | Path, error: OSError, rule: str = "") -> FileError:
    """The error about a file that could not be written.

    Args:
        path: the path of the file.
        error: the error of the operating system.
        rule: the rule that must hold; by default, that a file is written completely or not at all.
    """
    rule = rule or "a file is written completely or not at all; the earlier file is unchanged"
    return FileError(f"file {path} cannot be written", rule=rule, **faults(error))


def faults(error: Exception) -> dict[str, str]:
    """What is wrong with a file or folder that cannot be written (`found`), and what the user can do (`remedy`).

    Args:
        error: the error of the operating system, or an error of lemmata.
    """
    number = getattr(error, "errno", None)
    found = getattr(error, "found", None) or getattr(error, "strerror", None) or str(error)
    if number == errno.EFBIG and sys.platform != "win32":
        most = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
        if most != resource.RLIM_INFINITY:
            found += f"; this process may write at most {most:,} bytes into a file (RLIMIT_FSIZE, `ulimit -f`)"
    remedy = getattr(error, "remedy", None) or _REMEDIES.get(number or 0)
    return {"found": str(found), "remedy": remedy or "make the directory writable, or choose another one"}


def through_link(folder: Path, name: str) -> Path | None:
    """The first folder on the way to a file that is a link, which may lead out of the folder; None if there is none.

    Args:
        folder: the folder of the result, which itself may be a link.
        name: the path of the file below the folder, with slashes.
    """
    ways = reversed(PurePosixPath(name).parents[:-1])
    return next((folder / way for way in ways if (folder / way).is_symlink()), None)


def check_place(folder: Path, name: str) -> None:
    """Raise an error if a file of a result cannot stand at its place, or if a link would lead it to another place.

    Args:
        folder: the folder of the result, which itself may be a link.
        name: the path of the file below the folder, with slashes.

    Raises:
        FileError: if a folder on the way is a link or a file, or if a folder stands in the place of the file.
    """
    path, link = folder / name, through_link(folder, name)
    if link is not None:
        raise FileError(
            f"file {path} cannot be written",
            found=f"{link}, which is a link",
            rule="a result is written only into its own folder, but a link may lead to another folder",
            remedy="remove the link, or choose another directory",
        )
    for way in path.parents[: len(PurePosixPath(name).parts) - 1]:
        if way.exists() and not way.is_dir():
            raise unwritable(path, NotADirectoryError(errno.ENOTDIR, f"{way}, which is not a directory"))
    if path.is_dir():
        raise unwritable(path, IsADirectoryError(errno.EISDIR, f"{path}, which is a directory"))


def check_folder(folder: Path) -> None:
    """Raise an error if no file can be written into a folder. The folder is not made.

    Args:
        folder: the folder. If it is missing, the nearest folder above it is checked.

    Raises:
        OSError: if the folder cannot be written to, or if a file or a link to nothing stands in its place.
        ValueError: if no folder can have this name.
    """
    for place in (folder, *folder.parents):
        try:
            mode = os.stat(place).st_mode
        except FileNotFoundError:
            if place.is_symlink():
                raise FileExistsError(errno.EEXIST, f"{place}, which is a link to nothing") from None
            continue
        if not stat.S_ISDIR(mode):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(place))
        with tempfile.TemporaryFile(dir=place):
            return


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """A context in which a file is written. The file gets its name at the end, when its content is on the disk.

    Until then, the content is in a draft, a file in the same folder. The name of a draft is unique among all processes
    of all machines. A draft is locked while it is written. So the next writer in the folder recognises the drafts of
    killed processes, and removes them.

    Args:
        path: the path of the file; its directory is created.

    Raises:
        OSError: if the file cannot be written; no part of it remains.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    sweep_drafts(path.parent)
    draft, file = _opened_draft(path.parent)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # some operating systems report a full disk only in this call
            if sys.platform != "win32":
                draft.replace(path)
        if sys.platform == "win32":  # Windows cannot rename an open file
            draft.replace(path)
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def _opened_draft(folder: Path) -> tuple[Path, BinaryIO]:
    """A new draft, open and locked. If another process removes the draft before the lock, a new draft is made."""
    while True:
        draft = folder / f".lemmata-{uuid.uuid4().hex}.draft"
        file = draft.open("xb")
        if try_lock(file) is not False and draft.exists():
            return draft, file
        file.close()


def try_lock(file: BinaryIO) -> bool | None:
    """Lock an open file until it is closed. Return whether this worked, or None if the file system has no locks.

    Args:
        file: the file, which other processes and threads then cannot lock.
    """
    try:
        if sys.platform == "win32":
            file.seek(_FAR)
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
            file.seek(0)
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return False if error.errno in (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK) else None
    return True


def sweep_drafts(folder: Path) -> None:
    """Remove drafts of files from a folder if the processes that wrote them have ended.

    If the file system has no locks, remove drafts that are older than a day.

    Args:
        folder: the folder; only files with the names of drafts are considered.
    """
    with contextlib.suppress(OSError):
        drafts = [folder / name for name in os.listdir(folder) if _DRAFT.fullmatch(name)]
        for draft in drafts:
            with contextlib.suppress(OSError), open_file(draft) as file:
                ended = try_lock(file)
                if ended or (ended is None and time.time() - os.fstat(file.fileno()).st_mtime > _DAY):
                    draft.unlink()


def replace_bytes(path: str | Path, content: bytes) -> Path:
    """Write a file in one step, as `replace_text` does.

    Args:
        path: the path of the file; its directory is created.
        content: the new content.

    Raises:
        FileError: if the file cannot be written.
    """
    path = Path(path)
    try:
        with whole_file(path) as file:
            file.write(content)
    except (OSError, ValueError) as error:
        raise unwritable(path, error if isinstance(error, OSError) else OSError(str(error))) from error
    return path


def replace_text(path: str | Path, text: str) -> Path:
    """Write a text file in one step, so that at every moment either the old or the complete new file exists.

    The text is first written to the disk as another file in the same directory, which is then renamed. A failure leaves
    no part of the text.

    Args:
        path: the path of the file; its directory is created.
        text: the new content, in UTF-8.

    Returns:
        The path.

    Raises:
        FileError: if the file cannot be written, for example because the disk is full or the directory is not writable.

    >>> import tempfile
    >>> page = replace_text(Path(tempfile.mkdtemp()) / "page.html", "<p>whole</p>")
    >>> page.read_text(), [entry.name for entry in page.parent.iterdir()]
    ('<p>whole</p>', ['page.html'])
    """
    return replace_bytes(path, encoded(text))


def keep_inputs(inputs: Iterable[object], outputs: Iterable[str | Path]) -> None:
    """Raise an error if results would replace a file from which they are computed.

    Call this function before the computation.

    Args:
        inputs: the files that are read. Other values, and names without a file, are ignored.
        outputs: the files that will be written.

    Raises:
        SettingError: if an output is the same file as an input, even if it has another name.
    """
    read = [Path(given) for given in inputs if isinstance(given, str | Path)]
    for output in map(Path, outputs):
        for given in read:
            try:
                same = given.samefile(output)
            except (OSError, ValueError):  # one of the two files does not exist
                continue
            if same:
                raise SettingError(
                    f"file {output} would be overwritten",
                    found=f"{given} as an input, and {output} as an output",
                    rule="results must not replace an input of the computation",
                    remedy="choose another place for the results, or rename the input",
                )


def check_model_file(path: str | Path, option: str) -> None:
    """Raise an error if no model can be written to a path. Call this function before the computation.

    Args:
        path: the file of the model. The model's card is written next to it.
        option: the name of the option, for error messages.

    Raises:
        SettingError: if the path does not end in `MODEL`, is a directory, or cannot be written to.
    """
    path = Path(path)
    rule = f"the model needs a file that ends in {MODEL}; its card gets the same name with the ending .md"
    if path.suffix != MODEL:
        name = Path(path.name or "model").with_suffix(MODEL)
        raise SettingError(
            f"{option} {shortened(str(path), 1000)} does not end in {MODEL}",
            rule=rule,
            remedy=f"name it {shortened(str(name))}",
        )
    files = path, path.with_suffix(".md")
    try:
        check_folder(path.parent)
        for file in files:
            check_place(file.parent, file.name)
            if file.exists() and not os.access(file, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(file))
    except (OSError, ValueError) as error:
        raise SettingError(
            f"{option} {shortened(str(path), 1000)} cannot be written", rule=rule, **faults(error)
        ) from error
