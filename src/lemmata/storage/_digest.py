"""Write and read safetensors files with a digest of all bytes, which is checked before arrays are read."""

import hashlib
import os
import pathlib
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import safetensors.numpy
from safetensors import SafetensorError, safe_open

from lemmata.errors import DataError, FileError, SettingError, file_error
from lemmata.files import check_file, open_file, whole_file

_BLANK = b"0" * 64
# The digest is in the file's header between quotes. Quotes inside other texts of the header are escaped.
_PLACE = re.compile(rb'"digest":"([0-9a-f]{64})"')
_CHUNK = 2**24


def as_path(path: Any) -> pathlib.Path:
    """Return the path of a file, or raise SettingError.

    Args:
        path: a text or a path.
    """
    if not isinstance(path, str | os.PathLike):
        found, remedy = repr(path)[:60], "pass 'model.safetensors', for example"
        raise SettingError("path", found=found, rule="a text or a pathlib.Path", remedy=remedy)
    return pathlib.Path(path)


def write_file(tensors: dict[str, np.ndarray], metadata: dict[str, str], path: str | pathlib.Path) -> pathlib.Path:
    """Write a safetensors file with a SHA-256 digest of the file in its metadata.

    The digest is computed from a file in which each of the 64 digits of the digest is the character 0.

    Args:
        tensors: arrays by name.
        metadata: texts by name, for the header of the file.
        path: the path of the file; its folder must exist.

    Raises:
        FileError: if the file cannot be written; an earlier file of this name is not changed.
        SettingError: if the path is not a text or a path.
    """
    path = as_path(path)
    try:
        if not path.parent.is_dir():
            raise FileNotFoundError(f"there is no folder {path.parent}")
        data = bytearray(safetensors.numpy.save(tensors, {**metadata, "digest": _BLANK.decode()}))
        place = _PLACE.search(data)
        assert place is not None
        data[place.start(1) : place.end(1)] = hashlib.sha256(data).hexdigest().encode()
        with whole_file(path) as file:
            file.write(data)
    except (OSError, SafetensorError) as error:
        raise FileError(f"file {path}", found=str(error), rule="a file that can be written") from error
    return path


def read_file(
    path: str | pathlib.Path, has_digest: Callable[[dict[str, str]], bool]
) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Read the tensors and the metadata of a file, after checking its digest.

    Args:
        path: the file.
        has_digest: a function of the metadata that returns whether the file was written with a digest. For another
            format, the function raises an error.

    Raises:
        MissingFileError: if the file does not exist.
        SettingError: if the path is not a text or a path.
        DataError: if the file is not a safetensors file, or if the digest in the file is not the digest of its bytes.
    """
    path = as_path(path)
    try:
        check_file(path)
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            if has_digest(metadata) or "digest" in metadata:
                _compare(path)
            return {name: file.get_tensor(name) for name in file.keys()}, metadata  # noqa: SIM118 (no mapping)
    except (OSError, SafetensorError) as error:
        if isinstance(error, DataError):
            raise
        raise file_error(error)(
            f"file {path}", found=str(error), rule="a safetensors file that exists and can be read"
        ) from error


def _compare(path: str | pathlib.Path) -> None:
    with open_file(path) as file:
        start = file.read(8)
        header = file.read(int.from_bytes(start, "little"))
        place = _PLACE.search(header)
        found: Any = hashlib.sha256(start)
        found.update(header if place is None else header[: place.start(1)] + _BLANK + header[place.end(1) :])
        while chunk := file.read(_CHUNK):
            found.update(chunk)
    if place is None or found.hexdigest().encode() != place.group(1):
        raise DataError(
            f"file {path}",
            found="damaged contents: their SHA-256 digest differs from the digest that the file states",
            rule="a file that has not changed since it was written",
            remedy="copy the original file again, or save the object again",
        )
