"""Files that are written whole or not at all. Without JAX, since the catalogue stands on it."""

import contextlib
import errno
import os
from pathlib import Path

from lemmata.errors import FileError

_FULL = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))


def replace_bytes(path: str | Path, content: bytes) -> Path:
    """Write a file in one step, as `replace_text` does.

    Args:
        path: the file; its directory is made.
        content: what it holds afterwards.

    Raises:
        FileError: the system does not write it.
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
            rule="it is written whole or not at all; what stood there before is untouched",
            remedy=full if error.errno in _FULL else closed,
        ) from error
    return path


def replace_text(path: str | Path, text: str) -> Path:
    """Write a text file in one step: at every moment the old file stands there, or the whole new one.

    The text goes to a file beside it, reaches the disk, and takes the name; a failure leaves nothing of it.

    Args:
        path: the file; its directory is made.
        text: what it holds afterwards, in UTF-8.

    Returns:
        The path.

    Raises:
        FileError: the system does not write it: the disk is full, the directory cannot be written to.

    >>> import tempfile
    >>> page = replace_text(Path(tempfile.mkdtemp()) / "page.html", "<p>whole</p>")
    >>> page.read_text(), [entry.name for entry in page.parent.iterdir()]
    ('<p>whole</p>', ['page.html'])
    """
    return replace_bytes(path, text.encode())
