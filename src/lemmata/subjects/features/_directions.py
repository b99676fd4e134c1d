"""Directions of features, read from arrays, files and autoencoders, and their inner products.

The directions are scaled to unit vectors, one in each row.
"""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Shaped

from lemmata.core import numbers_of, single_of
from lemmata.errors import DataError, MissingFileError, SettingError, ShapeError, UnknownNameError, file_error

from ._numbers import shown

_LAYOUTS = ("auto", "rows", "columns")
_UNIT = 2e-3  # largest difference from 1 of the length of a normalised direction, for half precision
_SAME = 1e-5  # two directions are equal if their inner product is above 1 minus this number
_SPANNED = 1e-6  # share of the mean eigenvalue above which a dimension counts
_ROWS, _LARGEST = 1024, 4096
_WEIGHTS = "sae_weights.safetensors"  # SAELens saves other files in the same folder


@dataclasses.dataclass(frozen=True, eq=False)
class Directions:
    """Unit vectors, and a description of their source.

    Args:
        unit: the unit vectors, one in each row.
        ratio: the length of the longest vector divided by the length of the shortest one, before scaling.
        read: a description of the array that was read, in words.
    """

    unit: Float[np.ndarray, "n d"]
    ratio: float
    read: str


@dataclasses.dataclass(frozen=True, eq=False)
class InnerProducts:
    """Statistics of the inner products of all pairs of directions.

    Args:
        largest: the largest inner product, and the indices of its two directions.
        smallest: the smallest inner product, and the indices of its two directions.
        repeated: for each direction that equals an earlier direction, the index of the first such direction and the
            index of the repetition.
        square: the mean squared inner product.
    """

    largest: tuple[float, int, int]
    smallest: tuple[float, int, int]
    repeated: tuple[tuple[int, int], ...]
    square: float


def read_directions(decoder: Any, layout: Any, name: Any) -> Directions:
    """Read the directions of a decoder, and scale them to length 1.

    Args:
        decoder: an array, a file, a mapping with arrays, or an object with the array as an attribute.
        layout: "rows", "columns", or "auto".
        name: the name of the array in a file, a mapping or an object.

    Raises:
        SettingError: if the layout is unknown, or cannot be determined.
        ShapeError, PrecisionError, DataError: if the array is not a matrix of finite numbers, or if a direction is 0.
    """
    if not isinstance(layout, str) or layout not in _LAYOUTS:
        raise SettingError("directions", found=shown(layout), rule='"auto", "rows" or "columns"')
    if not isinstance(name, str):
        raise SettingError("name", found=shown(name), rule="the name of an array, for example W_dec")
    what, values, dimension = _found(decoder, name)
    array = _floating(what, values)
    if array.ndim != 2:
        raise ShapeError(what, found=f"shape {array.shape}", rule="shape (n, d), one direction in each row")
    kind = layout if layout != "auto" else _layout(what, array, dimension)
    table = array if kind == "rows" else array.T
    if min(table.shape) < 2:
        found = f"{table.shape[0]} directions in {table.shape[1]} dimensions"
        raise ShapeError(what, found=found, rule="at least 2 directions in at least 2 dimensions")
    unit, lengths = _scaled(kind[:-1], table)
    with np.errstate(over="ignore", divide="ignore"):
        ratio = float(lengths.max() / lengths.min())
    return Directions(unit, ratio, f"{len(unit)} directions in {unit.shape[1]} dimensions: {kind} of {what}")


def _found(decoder: Any, name: str) -> tuple[str, Any, int | None]:
    """Return the name of the array, the array, and the dimension of the directions.

    The dimension is the length of the bias b_dec, or None if there is no b_dec.
    """
    if isinstance(decoder, str | os.PathLike):
        return _of_file(Path(decoder), name)
    if isinstance(decoder, Mapping):
        return name, *_of_names(decoder, name, "decoder")
    if not hasattr(decoder, "shape") and not hasattr(decoder, "columns") and hasattr(decoder, name):
        arrays = {key: getattr(decoder, key) for key in (name, "b_dec") if hasattr(decoder, key)}
        return name, *_of_names(arrays, name, "decoder")
    if hasattr(decoder, "parameters") and callable(decoder.parameters):
        found, remedy = f"a {type(decoder).__name__}", f"pass the array itself, or name an attribute other than {name}"
        raise DataError("decoder", found=found, rule="an array of directions", remedy=remedy)
    return "decoder", decoder, None


def _of_names(arrays: Mapping[str, Any], name: str, where: str) -> tuple[Any, int | None]:
    if name not in arrays:
        known = ", ".join(str(key) for key in list(arrays)[:8]) or "no array"
        more = f" and {len(arrays) - 8} more" if len(arrays) > 8 else ""
        raise UnknownNameError(
            f"{where} has no {name}",
            found=known + more,
            rule="the name of one array",
            remedy="pass the array's name as `name`",
        )
    return arrays[name], _length(arrays, "b_dec") if name == "W_dec" else None


def _length(arrays: Mapping[str, Any], key: str) -> int | None:
    shape = getattr(arrays.get(key), "shape", ())
    return int(shape[0]) if len(shape) == 1 else None


def _of_file(path: Path, name: str) -> tuple[str, Any, int | None]:
    from safetensors import SafetensorError, safe_open

    path = _in_folder(path) if path.is_dir() else path
    if path.suffix != ".safetensors":
        of_numpy = path.suffix in (".npy", ".npz")
        remedy = "pass numpy.load(path)" if of_numpy else "write the array with safetensors, or pass the array itself"
        raise DataError(f"file {path}", found=f"the suffix '{path.suffix}'", rule=".safetensors", remedy=remedy)
    if not path.exists():
        raise MissingFileError(f"file {path}", found="no such file", rule="a safetensors file")
    try:
        with safe_open(path, framework="numpy") as file:
            arrays = {key: file.get_tensor(key) for key in file.keys() if key in (name, "b_dec")}  # noqa: SIM118
            missing = {} if name in arrays else dict.fromkeys(file.keys())
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:  # or types unknown to NumPy
        found = " ".join(str(error).split())[:80]
        raise file_error(error)(f"file {path}", found=found, rule="a safetensors file") from error
    return f"{name} in {path.name}", *_of_names(missing or arrays, name, f"file {path}")


def _in_folder(folder: Path) -> Path:
    """Return the path of the weights in a folder that SAELens has saved."""
    files = sorted(own for own in folder.iterdir() if own.suffix == ".safetensors")
    files = [own for own in files if own.name == _WEIGHTS] or files
    if len(files) != 1:
        listed = ", ".join(own.name for own in files[:5]) or "none"
        raise DataError(f"folder {folder}", found=f"{len(files)} .safetensors files: {listed}", rule="one such file",
                        remedy="pass the path of the file")  # fmt: skip
    return files[0]


def _floating(what: str, values: Any) -> Shaped[np.ndarray, "..."]:
    array = single_of(what, values)
    if array.dtype.kind in "fiub" and array.size:
        return array  # `_scaled` checks for entries that are not finite, and names their directions
    return numbers_of(what, array)


def _layout(what: str, array: np.ndarray, dimension: int | None) -> str:
    """Return "rows" or "columns", depending on which are the directions.

    Three rules are tried in turn. First, directions have as many entries as the bias. Second, directions have length 1,
    if only rows or only columns do. Third, directions are rows if there are at least as many rows as columns.
    """
    n, d = array.shape
    if dimension is not None and dimension not in (n, d):
        raise ShapeError(what, found=f"shape {array.shape}", rule=f"one axis of length {dimension}, as b_dec has")
    if dimension is not None:
        return "rows" if d == dimension else "columns"
    with np.errstate(over="ignore", invalid="ignore"):
        unit = [bool((np.abs(_lengths(own) - 1) <= _UNIT).all()) for own in (array, array.T)]
    if unit[0] != unit[1]:
        return "rows" if unit[0] else "columns"
    if n >= d:
        return "rows"
    raise SettingError(
        f"directions of {what}", found=f"shape {array.shape}", rule="at least as many directions as dimensions",
        remedy=f'set directions="columns" for {d} directions in {n} dimensions, or "rows" for {n} in {d}',
    )  # fmt: skip


def _lengths(table: np.ndarray) -> np.ndarray:
    blocks = [np.asarray(table[start : start + _ROWS], float) for start in range(0, len(table), _ROWS)]
    return np.concatenate([np.sqrt(np.einsum("ij,ij->i", own, own)) for own in blocks])


def _scaled(kind: str, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows scaled to length 1 in single precision, and their original lengths up to a common factor."""
    unit, lengths = np.empty(table.shape, np.float32), np.empty(len(table))
    scales = np.empty(len(table))
    for start in range(0, len(table), _ROWS):
        block = np.asarray(table[start : start + _ROWS], float)
        part = slice(start, start + len(block))
        scales[part] = np.abs(block).max(axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            block = block / scales[part, None]
            size = np.sqrt(np.einsum("ij,ij->i", block, block))
            unit[part], lengths[part] = block / size[:, None], size
    _refuse(kind, ~np.isfinite(scales), "entries that are not finite", "finite numbers")
    _refuse(kind, scales == 0, "only zeros", "a direction of positive length")
    return unit, lengths * (scales / scales.max())


def _refuse(kind: str, wrong: np.ndarray, found: str, rule: str) -> None:
    places = np.flatnonzero(wrong)
    if len(places):
        names = ", ".join(str(place) for place in places[:5]) + (f" and {len(places) - 5} more" * (len(places) > 5))
        some = kind if len(places) == 1 else f"{kind}s"
        raise DataError(
            f"{some} {names} (from 0)", found=found, rule=rule, remedy=f"drop {'it' if len(places) == 1 else 'them'}"
        )


def inner_products(unit: Float[np.ndarray, "n d"]) -> InnerProducts:
    """Find the largest and smallest inner product of two directions, their mean square, and repeated directions.

    The inner products are computed in blocks of rows.

    Args:
        unit: directions of length 1, one in each row.
    """
    largest, smallest, repeated, squares = (-2.0, 0, 1), (2.0, 0, 1), dict[int, int](), 0.0
    for start in range(0, len(unit), _ROWS):
        block = unit[start : start + _ROWS] @ unit[start:].T
        earlier = np.tril_indices(len(block))  # each pair is used once, without pairs of equal indices
        block[earlier] = 0.0
        squares += float(np.einsum("ij,ij->", block, block, dtype=float))
        block[earlier] = -2.0
        place = np.unravel_index(int(np.argmax(block)), block.shape)
        largest = max(largest, (float(block[place]), start + int(place[0]), start + int(place[1])), key=_value)
        if block[place] > 1 - _SAME:
            same = block > 1 - _SAME
            for later in np.flatnonzero(same.any(axis=0)).tolist():
                repeated.setdefault(start + later, start + int(np.argmax(same[:, later])))
        block[earlier] = 2.0
        place = np.unravel_index(int(np.argmin(block)), block.shape)
        smallest = min(smallest, (float(block[place]), start + int(place[0]), start + int(place[1])), key=_value)
    pairs = sorted((first, later) for later, first in repeated.items())
    return InnerProducts(
        _exact(unit, largest), _exact(unit, smallest), tuple(pairs), squares / (len(unit) * (len(unit) - 1) / 2)
    )


def _value(pair: tuple[float, int, int]) -> float:
    return pair[0]


def _exact(unit: np.ndarray, pair: tuple[float, int, int]) -> tuple[float, int, int]:
    """Return a pair of directions with its inner product computed again in double precision."""
    one, other = unit[pair[1]].astype(float), unit[pair[2]].astype(float)
    cosine = one @ other / np.sqrt((one @ one) * (other @ other))
    return float(np.clip(cosine, -1.0, 1.0)), pair[1], pair[2]


def span(unit: Float[np.ndarray, "n d"]) -> int | None:
    """Return the dimension of the span of all directions, or None if there are too many.

    Too many are more than 4096 directions in more than 4096 dimensions.

    Args:
        unit: directions of length 1, one in each row.
    """
    n, d = unit.shape
    if min(n, d) > _LARGEST:
        return None
    if n < d:
        moments = unit.astype(float) @ unit.T.astype(float)
    else:
        blocks = (unit[start : start + _ROWS].astype(float) for start in range(0, n, _ROWS))
        moments = sum((block.T @ block for block in blocks), np.zeros((d, d)))
    return int(np.sum(np.linalg.eigvalsh(moments) > _SPANNED * n / d))
