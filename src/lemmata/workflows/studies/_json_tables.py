"""Read tables that are stored as one JSON object.

pandas writes such tables by columns, by rows, split into names and cells, or with a schema. Other programs write a list
of objects together with a description.
"""

import dataclasses
import json
from typing import Any

import polars as pl

from lemmata.errors import DataError
from lemmata.files import read_bytes

from ._columns import listing
from ._sources import Source

_HEAD = 2**20
_BLANK = b" \t\r\n\xef\xbb\xbf"


@dataclasses.dataclass(frozen=True)
class Layout:
    """The layout of a table in one JSON object.

    Args:
        frame: the table.
        orient: the name of the layout in `pandas.read_json`; empty for a list of objects under `key`.
        key: the key of the list of objects; empty for other layouts.
    """

    frame: pl.DataFrame
    orient: str
    key: str = ""


def is_one_object(source: Source) -> bool:
    """Whether a file holds a single JSON object, instead of a list or one object on each line.

    Args:
        source: the file, in UTF-8.
    """
    head = source.head(_HEAD).lstrip(_BLANK)
    if head[:1] != b"{":
        return False
    first, _, rest = head.partition(b"\n")
    return not (rest.strip() and _is_json(first))


def layout_of(source: Source) -> Layout | None:
    """Return the table in a file that is one JSON object, with its layout; None if the object is a single row.

    Args:
        source: the file, in UTF-8.

    Raises:
        DataError: if the file is not JSON, or is an object without a table.
    """
    content = read_bytes(source.path) if source.content is None else source.content
    try:
        found = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(
            f"{source.path} is not valid JSON", found=str(error)[:200], rule="one list or one object"
        ) from error
    tables = {key: value for key, value in found.items() if _are_rows(value)}
    if isinstance(found.get("columns"), list) and isinstance(found.get("data"), list) and not tables:
        return Layout(
            _of_rows([dict(zip(map(str, found["columns"]), row, strict=False)) for row in found["data"]]), "split"
        )
    if "schema" in found and "data" in tables:
        return Layout(_of_rows(found["data"]), "table")
    if len(tables) == 1:
        (key,) = tables
        return Layout(_of_rows(tables[key]), "", key)
    if found and all(isinstance(value, list) for value in found.values()):
        return Layout(_of_columns(source, found), "columns")
    if found and all(isinstance(value, dict) for value in found.values()):
        return _of_labels(found)
    if not tables and all(not isinstance(value, dict | list) for value in found.values()):
        return None
    raise DataError(f"no table was found in {source.path}", found=f"an object with {listing(list(found))}",
                    rule="a list of objects, one object on each line, or a layout of pandas.DataFrame.to_json",
                    remedy="write the table as CSV or Parquet")  # fmt: skip


def rows_with_constants(source: Source) -> pl.DataFrame | None:
    """Return the table of a file of objects (a list, or one per line) with NaN or Infinity; None for other files.

    Args:
        source: the file, in UTF-8.
    """
    content = read_bytes(source.path) if source.content is None else source.content
    if not any(name in content for name in (b"NaN", b"Infinity")):
        return None
    text = content.decode("utf-8-sig", errors="replace").strip()
    try:
        rows = json.loads(text if text.startswith("[") else f"[{','.join(filter(str.strip, text.splitlines()))}]")
    except (ValueError, RecursionError):
        return None
    return _of_rows(rows) if _are_rows(rows) else None


def _is_json(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _are_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def _of_rows(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


def _of_columns(source: Source, columns: dict[str, list[Any]]) -> pl.DataFrame:
    lengths = {len(value) for value in columns.values()}
    if len(lengths) > 1:
        raise DataError(
            f"{source.path} has columns of different lengths",
            found=f"{min(lengths)} to {max(lengths)} cells",
            rule="every column must have a cell for each row",
        )
    return pl.DataFrame(columns, strict=False)


def _of_labels(found: dict[str, dict[str, Any]]) -> Layout:
    """Return the table of an object of objects. The outer keys are columns and the inner keys rows, or vice versa.

    If only one of the two kinds of keys consists of whole numbers, these keys are rows. Otherwise the more numerous
    keys are rows.
    """
    inner = list(dict.fromkeys(key for own in found.values() for key in own))
    numbered = [all(key.lstrip("-").isdigit() for key in keys) for keys in (found, inner)]
    by_rows = numbered[0] if numbered[0] != numbered[1] else len(found) > len(inner)
    if by_rows:
        return Layout(_of_rows([{key: own.get(key) for key in inner} for own in found.values()]), "index")
    return Layout(
        pl.DataFrame({name: [own.get(key) for key in inner] for name, own in found.items()}, strict=False), "columns"
    )
