"""Files that are written whole or not at all. Without JAX, since the catalogue stands on it."""

import contextlib
import errno
import os
import tempfile
from pathlib import Path

from lemmata.errors import FileError, SettingError

_FULL = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))
MODEL = ".skops"
"""What a file with a fitted model ends in."""


def replace_bytes(path: str | Path, content: bytes) -> Path:
    """Write a file in one step, as `replace_text` does.

    Args:
        path: the file; its directory is made.
        content: what it holds afterwards.

    Raises:
        FileError: if the file cannot be written.
    """
    path = Path(path)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())  # some systems find out only here that the disk is full
            draft.replace(path)
        finally:
            with contextlib.suppress(OSError):
                draft.unlink()
    except OSError as error:
        full = "free space there, or choose another directory"
        closed = "make the directory writable, or choose another one"
        raise FileError(
            f"file {path} cannot be written",
            found=error.strerror or str(error),
            rule="a file is written whole or not at all; the earlier file is unchanged",
            remedy=full if error.errno in _FULL else closed,
        ) from error
    return path


def check_model_file(path: str | Path, option: str) -> None:
    """Refuse a file that no model can be written into, before anything is computed.

    Args:
        path: where the model is to go; its card goes beside it.
        option: what names it, for the message.

    Raises:
        SettingError: for another suffix, a directory, or a place that cannot be written to.
    """
    path = Path(path)
    rule = f"the model needs a file that ends in {MODEL}; its card gets the same name with the ending .md"
    if path.suffix != MODEL:
        name = Path(path.name or "model").with_suffix(MODEL)
        raise SettingError(f"{option} {path} does not end in {MODEL}", rule=rule, remedy=f"name it {name}")
    files = path, path.with_suffix(".md")
    for file in files:
        if file.is_dir():
            raise SettingError(f"{option}: {file} is a directory", rule=rule, remedy="choose another name")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path.parent):
            pass
        closed = [file for file in files if file.exists() and not os.access(file, os.W_OK)]
        if closed:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(closed[0]))
    except (OSError, ValueError) as error:
        raise SettingError(
            f"{option} {path} cannot be written",
            found=getattr(error, "strerror", None) or str(error),
            rule=rule,
            remedy="choose a directory that you may write to",
        ) from error


def replace_text(path: str | Path, text: str) -> Path:
    """Write a text file in one step: at every moment the old file stands there, or the whole new one.

    The text goes to a file beside it, reaches the disk, and takes the name; a failure leaves nothing of it.

    Args:
        path: the file; its directory is made.
        text: what it holds afterwards, in UTF-8.

    Returns:
        The path.

    Raises:
        FileError: if the file cannot be written, for example because the disk is full or the directory is not writable.

    >>> import tempfile
    >>> page = replace_text(Path(tempfile.mkdtemp()) / "page.html", "<p>whole</p>")
    >>> page.read_text(), [entry.name for entry in page.parent.iterdir()]
    ('<p>whole</p>', ['page.html'])
    """
    return replace_bytes(path, text.encode())
