"""Read files of stored records as bytes, and keep caches that detect changes."""

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from lemmata.errors import DataError, LemmataError, file_error
from lemmata.files import open_file

MOST_BYTES = 2**28
"""A stored record with more bytes is refused before it is read; records that lemmata writes have a few MB."""


def read_bytes(path: str | Path, what: str, rule: str, most: int = MOST_BYTES) -> bytes:
    """Read the bytes of a regular file of moderate size. Stored records are opened only by this function.

    Args:
        path: the file.
        what: the beginning of error messages, such as "record study.json".
        rule: the expected kind of file for error messages, for example "a record that lemmata wrote".
        most: the largest number of bytes that the file may have.

    Raises:
        MissingFileError: if the file does not exist.
        FileError: if the file cannot be read.
        DataError: if the path is not a regular file, or the file is too large.
    """
    try:
        with open_file(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise DataError(
                    f"{what} cannot be read", found=f"{size:,} bytes", rule=f"{rule}, of at most {most:,} bytes",
                    remedy="name another file",
                )  # fmt: skip
            return file.read(most + 1)
    except LemmataError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name that no file can have
        found = getattr(error, "strerror", None) or str(error)
        raise file_error(error)(
            f"{what} cannot be read", found=found, rule=rule, remedy="check the path and its permissions"
        ) from error


def sealed(key: str, values: dict[str, Any]) -> str:
    """The text of a cache file: JSON, whose first line contains a key and a digest of the rest.

    Args:
        key: a text that changes if the source of the cached values changes.
        values: the cached values, which must be plain values.
    """
    rest = json.dumps(values, ensure_ascii=False, allow_nan=False).removeprefix("{")
    return f"{_seal(key, rest.encode())}\n{rest}"


def unsealed(path: Path, key: str) -> dict[str, Any] | None:
    """The values in a file of text from `sealed`; None if the file is missing, has another key, or was changed.

    Args:
        path: the path of the file.
        key: the expected key.
    """
    with contextlib.suppress(DataError):
        head, _, rest = read_bytes(path, str(path), "a file of a cache").partition(b"\n")
        if head == _seal(key, rest).encode():
            return json.loads(b"{" + rest)
    return None


def _seal(key: str, rest: bytes) -> str:
    return f'{{"key": {json.dumps(key)}, "digest": "{hashlib.sha256(rest).hexdigest()}",'
