"""Arrays that processes share through files of NumPy. A file is written completely or not at all."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from lemmata.errors import FileError, LemmataError
from lemmata.files import FULL, whole_file


@contextlib.contextmanager
def refusing_disk_errors(what: str) -> Iterator[None]:
    """A context in which an operating-system error while writing becomes a FileError.

    Args:
        what: the thing that is written, for the message.

    Raises:
        FileError: if the disk is full, or the folder is not writable or was removed.
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
            rule="a place that can be written to; all finished results are kept",
            remedy=("free space" if full else "choose a folder that every worker can see and write to")
            + ", then repeat the call, which continues where this one stopped",
        ) from error


def write_array(path: Path, array: np.ndarray) -> None:
    """Write an array to a file of NumPy. At every moment, the file contains the whole array or does not exist.

    Args:
        path: the path of the file; its folder is created.
        array: an array of numbers.

    Raises:
        FileError: if the file cannot be written.
    """
    array = np.ascontiguousarray(array)
    with refusing_disk_errors(f"file {path}"), whole_file(path) as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
        # Through Python's file, as np.save loses what the system says of a disk that is full.
        file.write(array.data.cast("B") if array.size else b"")


def read_array(path: str | Path) -> np.ndarray:
    """Read an array that `write_array` wrote. Only the parts that are used are read from the disk.

    Args:
        path: the path of the file.
    """
    return np.load(path, mmap_mode="r")
