"""Arrays that processes share through NumPy files. Each file is written completely or not at all."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lemmata.errors import FileError, LemmataError
from lemmata.files import FULL, whole_file


@contextlib.contextmanager
def refusing_disk_errors(what: str) -> Iterator[None]:
    """Return a context in which an operating-system error becomes a FileError. Use the context while a file is written.

    Args:
        what: the name of the file or folder, for the error message.

    Raises:
        FileError: if the operating system raises an error, for example because the disk is full or the folder was
            removed.
    """
    try:
        yield
    except LemmataError:
        raise
    except OSError as error:
        full = error.errno in FULL
        raise FileError(
            what,
            found=error.strerror or str(error),
            rule="a place that can be written to (all finished results are kept)",
            remedy=("free space" if full else "choose a folder that every worker can see and write to")
            + ", then repeat the call; the new call continues where this call stopped",
        ) from error


def write_array(path: Path, array: np.ndarray) -> None:
    """Write an array to a NumPy file. At every moment, the file contains the whole array or does not exist.

    Args:
        path: the path of the file; the folder of this file is created.
        array: an array of numbers.

    Raises:
        FileError: if the file cannot be written.
    """
    array = np.ascontiguousarray(array)
    with refusing_disk_errors(f"file {path}"), whole_file(path) as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        # The array is written through Python's file object, as np.save hides the system's error when the disk is full.
        file.write(array.data.cast("B") if array.size else b"")


def read_array(path: str | Path) -> np.ndarray:
    """Read an array that `write_array` wrote. The array is memory-mapped: only the parts in use are read from the disk.

    Args:
        path: the path of the file.
    """
    return np.load(path, mmap_mode="r")
