"""Read the arrays of an NPZ file into one table. Their headers show in advance how much memory the arrays need."""

import dataclasses
import math
import zipfile
import zlib
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from lemmata.errors import DataError, LemmataError, MemoryPlanError

from ._columns import listing
from ._memory import Table, arrays_table, check_width


def read_archive(path: Path, limit_bytes: int) -> Table:
    """Return the table of an NPZ file, with one row for each entry of the first axis of the arrays.

    A matrix gives one column for each entry of its rows. Python objects are never unpickled.

    Args:
        path: the file.
        limit_bytes: the bytes that the arrays may take in memory.

    Raises:
        DataError: if the archive or an array is damaged, or the arrays do not form a table.
        MemoryPlanError: if the arrays exceed the limit, by the shapes that their headers declare.
    """
    arrays, notes = read_arrays(path, limit_bytes)
    return dataclasses.replace(arrays_table(path, arrays, notes), name=path.name)


def read_arrays(path: Path, limit_bytes: int) -> tuple[dict[str, np.ndarray], list[str]]:
    """Return the arrays of an NPZ file by their names, and notes about ignored entries and single values.

    Args:
        path: the file.
        limit_bytes: the bytes that the arrays may take in memory.

    Raises:
        DataError: if the archive or an array is damaged.
        MemoryPlanError: if the arrays exceed the limit, by the shapes that their headers declare.
    """
    try:
        need, names, others = _plan(path)
        if need > limit_bytes:
            raise MemoryPlanError(
                f"the arrays of {path} are too large to read",
                found=f"{need} bytes needed",
                rule=f"at most {limit_bytes} bytes",
                remedy="save the table as Parquet; lemmata reads random rows of a large Parquet file",
            )
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name.removesuffix(".npy"): stored[name] for name in names}
    except LemmataError:
        raise
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
            rule="an NPZ file must hold plain arrays, because lemmata never unpickles Python objects",
            remedy="save numeric or text arrays with numpy.savez",
        ) from error
    notes = [f"ignored entries that are not arrays: {listing(others)}"] if others else []
    scalars = [name for name, array in arrays.items() if not array.ndim]
    if scalars:
        notes.append(f"ignored arrays that hold a single value: {listing(scalars)}")
    return arrays, notes


def _plan(path: Path) -> tuple[int, list[str], list[str]]:
    """Return the bytes that the arrays need by their headers, the members that are arrays, and the other members."""
    need, width, names, others = 0, 0, [], []
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
            width += math.prod(shape[1:])
            need += max(item.file_size, math.prod(shape) * kind.itemsize)
            names.append(item.filename)
    check_width(path, width)
    return need, names, others
