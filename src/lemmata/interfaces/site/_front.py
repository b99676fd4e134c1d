"""The first page: the questions that lemmata answers, and results that were found with it."""

import functools
import importlib.resources
import tomllib
from typing import Any

from markupsafe import Markup

from lemmata.engine.catalogue import counts, history

from ._documents import pictures
from ._pages import claim_address, page
from ._pictures import panels, svg, words
from ._prose import sentence
from ._sizes import size_of

_NEWEST = 6


@functools.cache
def _chosen() -> dict[str, Any]:
    file = importlib.resources.files("lemmata.interfaces.site").joinpath("front.toml")
    return tomllib.loads(file.read_text(encoding="utf-8"))


def questions() -> list[dict[str, str]]:
    """The questions on the first page, each with a command, its output, and the page that explains more."""
    return _chosen()["question"]


def front_page(known: list[dict[str, Any]]) -> str:
    """The text of the first page.

    Args:
        known: the rows of the catalogue.
    """
    by_class = {row["class"]: row for row in known}
    pairs = [
        (_printed(by_class[each["claim"]], each["printed"]), _told(by_class[each["correction"]], each["instead"]))
        for each in _chosen()["false"]
        if each["claim"] in by_class and each["correction"] in by_class
    ]
    own = [_told(by_class[name]) for name in _chosen()["own"] if name in by_class]
    asked = [
        (each | {"about": sentence(each.get("about", ""))}, _picture(each, by_class)) for each in questions()
    ]  # fmt: skip
    return page(
        "index.html", "index.html", "index.html", "Learning theory for your data and your model",
        about=ABOUT, lead=ABOUT, questions=asked,
        pairs=pairs, own=own, changed=[_told(row) for row in last_changed(known)[:_NEWEST]], found=counts(),
    )  # fmt: skip


ABOUT = (
    "lemmata tells you how many rows of data you need and how far you can trust a trained model, each with an "
    "interval. It also tests published statements of deep-learning theory numerically, and shows which of them are "
    "false."
)
"""The purpose of lemmata, in two sentences."""


def newest(known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The claims with a tag, the fixed number of a claim. The newest (highest tag) comes first.

    Args:
        known: rows of the catalogue.
    """
    return sorted((row for row in known if row["tag"]), key=lambda row: int(row["tag"]), reverse=True)


def last_changed(known: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The claims whose verdict changed last, with the latest change first.

    Each claim has the day of the change as `since`, and the earlier status as `before`.

    Among claims that changed on the same day, claims with an earlier verdict come before new claims.

    Args:
        known: rows of the catalogue.
    """
    found = []
    for row in newest(known):
        if changes := history().get(row["class"]):
            *earlier, last = changes
            found.append({**row, "since": last.day, "before": earlier[-1].status if earlier else ""})
    return sorted(found, key=lambda row: (row["since"], row["before"] != ""), reverse=True)


def _told(row: dict[str, Any], words: str = "") -> dict[str, Any]:
    return {**row, "href": claim_address(row), "said": sentence(words or row["title"])}


def _printed(row: dict[str, Any], said: str) -> dict[str, Any]:
    """A refuted claim in plain words, with the change to its source's statement that would make it true."""
    return _told(row, said) | {"right_if": sentence(row["passage"]["right_if"])}


def _picture(question: dict[str, str], by_class: dict[str, dict[str, Any]]) -> Markup:
    """The picture of a question: a file of the documentation, or the picture of a claim."""
    if question["picture"] in pictures():
        narrow = question["picture"].replace(".png", "_narrow.png")
        return Markup(
            '<a href="docs/{0}"><picture>'
            '<source media="(max-width: 520px)" srcset="docs/{1}" width="{3}" height="{4}">'
            '<img src="docs/{0}" alt="{2}" width="1120" height="700" loading="lazy"></picture></a>'
        ).format(question["picture"], narrow, question["alt"], *(size_of(pictures()[narrow]) or (780, 1120)))
    row = by_class.get(_chosen()["pictured"])
    if row is None:
        return Markup("")
    found = panels(row)
    return Markup(svg(found, words(found)))
