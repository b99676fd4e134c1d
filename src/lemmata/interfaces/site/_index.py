"""The first page: every claim in one table that is readable as it is, and a small index of the words of statements."""

import collections
import functools
import importlib.resources
import itertools
import re
import string
from typing import Any

from markupsafe import Markup

from lemmata.engine.catalogue import PRINTED, TIGHTNESS, counts

from ._pages import claim_address, page, script, work_name

_WORD = re.compile(r"[^\W\d_]{3,}")
_COMMON = 0.15  # words of more statements than this share find too much to be of use
_SHOWN = ("title", "subject", "tool", "architecture", "object", "kind", "label", "status", "tightness", "source")
_SAID = ("statement", "controls", "unexplained", "reading", "name", "note")
PLACES = "".join(each for each in map(chr, range(0x21, 0x7F)) if each not in string.ascii_lowercase + "<")
"""The characters that numbers of rows are written in. No word has one of them, and `<` would end the script."""
LAST = 52
"""How many of `PLACES` end a number; the others go on."""
_MARKS = {"refuted": "r", "failed": "r", "supported": ""}
"""What colours a row's verdict, where it is not the usual one."""


def index_page(known: list[dict[str, Any]]) -> str:
    """The page with the table of all claims.

    Args:
        known: rows of the catalogue.
    """
    told = [_told(row) for row in known]
    return page(
        "index.html", "index.html", "index.html", "The catalogue of claims",
        rows=told, found=counts(), printed=PRINTED, words=words(told), script=script(_script()),
    )  # fmt: skip


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the table shows it: its source without the note, which is searched and not shown."""
    return {
        **row,
        "href": claim_address(row),
        "subject": row["subject"].replace("_", " "),
        "name": row["name"].replace("_", " "),
        "tightness": row["tightness"] if row["tightness"] != TIGHTNESS[-1] else "",
        "source": ", ".join([work_name(row), *row["locators"]]),
        "note": row["source"].partition(", ")[2],
        "mark": _MARKS.get(row["status"], "w"),
    }


def words(told: list[dict[str, Any]]) -> Markup:
    """An index of the words that the table does not show, in their order.

    Each is a letter, which says how many of the first letters it has from the word before it (a: none), its other
    letters, and the rows that it finds, each by its distance from the row before it (see `_number`). What begins with
    a word that is typed is found, so that the shorter of two words of one row, "bound" of "bounds", is left out.

    Args:
        told: rows of the table, in its order.
    """
    found: dict[str, list[int]] = collections.defaultdict(list)
    for place, row in enumerate(told):
        shown = " ".join(row[name] for name in _SHOWN).lower()
        said = set(_WORD.findall(" ".join(row[name] for name in _SAID).lower()))
        for word in said:
            if word not in shown and not any(other != word and other.startswith(word) for other in said):
                found[word].append(place)
    kept = [(word, places) for word, places in sorted(found.items()) if len(places) <= _COMMON * len(told)]
    text, before = "", ""
    for word, places in kept:
        shared = next((i for i, (a, b) in enumerate(zip(word, before, strict=False)) if a != b), len(before))
        shared = min(shared, len(string.ascii_lowercase) - 1)
        numbers = "".join(_number(b - a - 1) for a, b in itertools.pairwise([-1, *places]))
        text, before = text + string.ascii_lowercase[shared] + word[shared:] + numbers, word
    return Markup(text)


def _number(value: int) -> str:
    """A number in `PLACES`: the last character is below `LAST`, those before it count on from there.

    >>> _number(0), _number(51), _number(52)
    ('!', 'U', 'V!')
    """
    value, last = divmod(value, LAST)
    text = PLACES[last]
    while value:
        value, digit = divmod(value - 1, len(PLACES) - LAST)
        text = PLACES[LAST + digit] + text
    return text


@functools.cache
def _script() -> str:
    folder = importlib.resources.files("lemmata.interfaces.site").joinpath("templates")
    return folder.joinpath("index.js").read_text(encoding="utf-8")
