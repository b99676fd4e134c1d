"""Reading and writing `catalogue.json`."""

import functools
import json
import pathlib
from typing import Any

from lemmata.files import replace_text

from ._tags import give_tags

PATH = pathlib.Path(__file__).with_name("catalogue.json")


@functools.cache
def catalogue() -> dict[str, Any]:
    """The whole file: `claims` by name, `sources` by key; empty where it has not been written yet.

    >>> sorted(catalogue())
    ['claims', 'sources']
    """
    if not PATH.exists():
        return {"claims": {}, "sources": {}}
    return json.loads(PATH.read_text(encoding="utf-8"))


def entries() -> dict[str, dict[str, Any]]:
    """The entry of every claim by name, in the order of the registry."""
    return catalogue()["claims"]


def write(claims: dict[str, dict[str, Any]], sources: dict[str, list[dict[str, Any]]]) -> None:
    """Replace the file in one step, so that an interruption leaves the old one or the new one; tag new claims.

    Args:
        claims: an entry a claim, by name.
        sources: the statements of every source, by BibTeX key.

    Raises:
        DataError: the file cannot be written; it stays as it was.
    """
    text = json.dumps({"claims": claims, "sources": sources}, indent=1, ensure_ascii=False, allow_nan=False)
    replace_text(PATH, text + "\n")
    catalogue.cache_clear()
    give_tags(entry["class"] for entry in claims.values())
