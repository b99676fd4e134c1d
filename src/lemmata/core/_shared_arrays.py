"""Arrays that processes share through files of NumPy: written whole or not at all, read in part."""

import contextlib
import errno
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lemmata.errors import FileError, LemmataError

_FULL = tuple(getattr(errno, name) for name in ("ENOSPC", "EDQUOT", "EFBIG") if hasattr(errno, name))


@contextlib.contextmanager
def refusing_disk_errors(what: str) -> Iterator[None]:
    """A context in which what the system cannot write is a FileError.

    Args:
        what: is written, for the message.

    Raises:
        FileError: if the disk is full, or the folder is not writable or was removed.
    """
    try:
        yield
    except LemmataError:
        raise
    except OSError as error:
        full = error.errno in _FULL
        raise FileError(
            what,
            found=error.strerror or str(error),
            rule="a place that can be written to; everything finished so far is kept",
            remedy=("free space" if full else "choose a folder that every worker can see and write to")
            + ", then repeat the call, which continues where this one stopped",
        ) from error


def write_array(path: Path, array: np.ndarray) -> None:
    """Write an array to a file of NumPy: at every moment the file holds the whole array, or is not there.

    Args:
        path: of the file; its folder is made.
        array: of numbers.

    Raises:
        FileError: if the file cannot be written.
    """
    array = np.ascontiguousarray(array)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")  # two workers may write the same
    with refusing_disk_errors(f"file {path}"):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with draft.open("wb") as file:
                np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
                # Through Python's file, as np.save loses what the system says of a disk that is full.
                file.write(array.data.cast("B") if array.size else b"")
                file.flush()
                os.fsync(file.fileno())
            draft.replace(path)
        finally:
            with contextlib.suppress(OSError):
                draft.unlink()


def read_array(path: str | Path) -> np.ndarray:
    """An array that `write_array` wrote, of which only what is used is read.

    Args:
        path: of the file.
    """
    return np.load(path, mmap_mode="r")
