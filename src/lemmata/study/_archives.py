"""Read the arrays of an NPZ file into one table of named columns, after its headers say how much memory they need."""

import math
import zipfile
import zlib
from pathlib import Path

import numpy as np
import polars as pl
from numpy.lib import format as npy

from lemmata.errors import DataError, MemoryPlanError

from ._columns import listing

PLAIN = "biufUS"
"""Kinds of arrays that can be columns: booleans, integers, floats, text, and bytes that are text."""


def read_archive(path: Path, limit_bytes: int) -> tuple[pl.DataFrame, tuple[str, ...], str | None]:
    """Columns, notes and the default target of an NPZ file: one row an entry of the first axis of its arrays.

    A matrix gives a column for each of its entries. Objects are never unpickled.

    Args:
        path: the file.
        limit_bytes: the bytes that its arrays may take.

    Raises:
        DataError: the archive or an array is damaged, or the arrays do not form a table.
        MemoryPlanError: the arrays exceed the limit, by the shapes that their headers declare.
    """
    try:
        need, names, others = _plan(path)
        if need > limit_bytes:
            raise MemoryPlanError(
                f"the arrays of {path} are too large to read",
                found=f"a plan of {need} bytes",
                rule=f"at most {limit_bytes} bytes",
                remedy="save the table as Parquet, which is sampled",
            )
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name.removesuffix(".npy"): stored[name] for name in names}
    except (
        ValueError,
        zipfile.BadZipFile,
        EOFError,
        KeyError,
        zlib.error,
        RuntimeError,
        MemoryError,
        OverflowError,
    ) as error:
        raise DataError(
            f"{path} cannot be read as NPZ",
            found=str(error).split(". ")[0],
            rule="an NPZ file holds plain arrays; Python objects in it are never unpickled",
            remedy="save numeric or text arrays with numpy.savez",
        ) from error
    notes = [f"ignored what is no array in the file: {listing(others)}"] if others else []
    scalars = [name for name, array in arrays.items() if not array.ndim]
    if scalars:
        notes.append(f"ignored arrays that hold a single value: {listing(scalars)}")
    return _table(path, arrays, notes)


def _plan(path: Path) -> tuple[int, list[str], list[str]]:
    """Bytes that the arrays take by their headers, the members that are arrays, and those that are not."""
    need, names, others = 0, [], []
    with zipfile.ZipFile(path) as archive:
        for item in archive.infolist():
            with archive.open(item) as file:
                start = file.read(npy.MAGIC_LEN)
            if not item.filename.endswith(".npy") and not start.startswith(npy.MAGIC_PREFIX):
                others.append(item.filename)
                continue
            with archive.open(item) as file:
                version = npy.read_magic(file)
                if version not in ((1, 0), (2, 0)):
                    raise ValueError(f"array {item.filename} has a header of version {version[0]}.{version[1]}")
                read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
                shape, _, kind = read(file)
            if min(shape, default=0) < 0:
                raise ValueError(f"array {item.filename} declares the shape {shape}")
            need += max(item.file_size, math.prod(shape) * kind.itemsize)
            names.append(item.filename)
    return need, names, others


def _table(
    path: Path, arrays: dict[str, np.ndarray], notes: list[str]
) -> tuple[pl.DataFrame, tuple[str, ...], str | None]:
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items()) or "no arrays"
    arrays = {name: array for name, array in arrays.items() if array.ndim}
    if len({array.shape[0] for array in arrays.values()}) != 1:
        raise DataError(
            f"the arrays of {path} do not form a table",
            found=shapes,
            rule="all arrays have the same first dimension: one entry a row",
        )
    columns: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        plain = _plain(path, name, array)
        if plain.ndim > 2:
            notes.append(f"array {name!r} of shape {plain.shape} was flattened to one row a first index")
        width = math.prod(plain.shape[1:])
        flat = plain.reshape(len(plain), width)
        own = {name if width == 1 else f"{name}[{j}]": flat[:, j] for j in range(width)}
        twice = sorted(own.keys() & columns.keys())
        if twice:
            raise DataError(
                f"arrays of {path} give columns of the same name",
                found=listing([repr(column) for column in twice]),
                rule="every column has its own name; entry j of a matrix X is called 'X[j]'",
                remedy="rename one of the arrays",
            )
        columns |= own
    frame = pl.DataFrame({name: np.ascontiguousarray(column) for name, column in columns.items()})
    target = next((name for name in arrays if name in ("y", "Y", "target")), None)
    return frame, tuple(notes), target


def _plain(path: Path, name: str, array: np.ndarray) -> np.ndarray:
    """The array in a type that a table holds: floats as float64, bytes as text, everything in native byte order."""
    kind = array.dtype.kind
    if kind not in PLAIN:
        words, remedy = {
            "c": ("complex", "store real and imaginary parts as two arrays"),
            "M": ("of dates or times", "convert it to numbers, such as days since the first"),
            "m": ("of time differences", "convert it to numbers, such as seconds"),
        }.get(kind, ("structured or of raw bytes", "store each field as an array of its own"))
        raise DataError(
            f"array {name!r} of {path} is {words}",
            found=f"type {array.dtype}",
            rule="arrays hold real numbers, booleans or text",
            remedy=remedy,
        )
    if kind == "f":
        with np.errstate(over="ignore"):
            return array.astype(np.float64)
    if kind == "S":
        try:
            return np.char.decode(array, "utf-8")
        except UnicodeDecodeError as error:
            raise DataError(
                f"array {name!r} of {path} holds bytes that are no text",
                found=str(error),
                rule="text is UTF-8",
                remedy="store it as numbers, or decode it to text first",
            ) from error
    return array.astype(array.dtype.newbyteorder("="))
