"""The first page: every claim in one table that is readable as it is, and a small index of the words of statements."""

import collections
import functools
import importlib.resources
import json
import re
from typing import Any

from markupsafe import Markup

from lemmata.catalogue import PRINTED, counts

from ._pages import claim_address, page, script

_WORD = re.compile(r"[^\W\d_]{3,}")
_COMMON = 0.3  # words of more statements than this share find nothing


def index_page(known: list[dict[str, Any]]) -> str:
    """The page with the table of all claims.

    Args:
        known: rows of the catalogue.
    """
    return page(
        "index.html", "index.html", "index.html", "The catalogue of claims",
        rows=[{**row, "href": claim_address(row), "word": _place(row)} for row in known],
        found=counts(), printed=PRINTED, words=words(known), script=script(_script()),
    )  # fmt: skip


def _place(row: dict[str, Any]) -> str:
    return row["source"]


def words(known: list[dict[str, Any]]) -> Markup:
    """An index of the words that the table does not show: for each, the numbers of rows, as JSON in base 36.

    Args:
        known: rows of the catalogue, in the order of the table.
    """
    found: dict[str, list[int]] = collections.defaultdict(list)
    for place, row in enumerate(known):
        said = [row["statement"], row["controls"], row["unexplained"], row["reading"], row["name"].replace("_", " ")]
        shown = set(_WORD.findall(f"{row['title']} {row['source']}".lower()))
        for word in sorted(set(_WORD.findall(" ".join(said).lower())) - shown):
            found[word].append(place)
    kept = {word: places for word, places in sorted(found.items()) if len(places) <= _COMMON * len(known)}
    text = json.dumps(
        {word: " ".join(_base36(place) for place in places) for word, places in kept.items()},
        ensure_ascii=False, separators=(",", ":"),
    )  # fmt: skip
    return Markup(text.replace("<", "\\u003c"))


def _base36(value: int) -> str:
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    text = digits[value % 36]
    while value := value // 36:
        text = digits[value % 36] + text
    return text


@functools.cache
def _script() -> str:
    folder = importlib.resources.files("lemmata.site").joinpath("templates")
    return folder.joinpath("index.js").read_text(encoding="utf-8")
