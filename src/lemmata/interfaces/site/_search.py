"""The items of the site's search: claims, pages (documentation, subjects, works), public names of the library."""

import re
from typing import Any

from lemmata.interfaces.search import Item, Shelf, claim_shelf, shelf, written

from ._code import module_words
from ._documents import Document, documents
from ._front import questions
from ._house import public_rooms
from ._pages import claim_address, page, script, source_address
from ._prose import first_sentence
from ._reference import entries, full_name, shelves
from ._works import title_of

_HIDDEN = re.compile(r"^```.*?^```|\]\([^)]*\)|<[^>]+>", re.M | re.S)


_HOUSE = ("interfaces.cli", "interfaces.search", "interfaces.site")
"""Subpackages whose functions users do not call: the commands, which have help texts, and the builder of this site."""


def search_pages(known: list[dict[str, Any]]) -> dict[str, str]:
    """The page of the search, and the script with its index, which the page loads when someone searches.

    Args:
        known: rows of the catalogue.
    """
    return {
        "search.html": page(
            "search.html", "search.html", "", "Search", about="Search", script=script("search_page.js")
        ),
        "search.js": written(all_shelves(known)),
    }


def all_shelves(known: list[dict[str, Any]]) -> list[Shelf]:
    """The shelves (search indices) of the site.

    Args:
        known: rows of the catalogue.
    """
    pages = [item for document in documents() for item in _of_document(document)]
    pages += _subjects(known) + _works(known)
    return [claim_shelf(known, claim_address), shelf("pages", pages), shelf("reference", _names())]


def _of_document(document: Document) -> list[Item]:
    """One search item for each section of a page."""
    own = [each["asked"] for each in questions() if each["page"] == document.address]
    found = [
        Item(
            f"doc:{document.name}",
            asked,
            document.address,
            "documentation",
            document.name,
            ((6.0, asked), (3.0, ""), (1.0, "")),
        )
        for asked in own
    ]
    for anchor, heading, text in document.sections:
        title = f"{document.title}: {heading}" if heading else document.title
        address = document.address_of(anchor)
        plain = _HIDDEN.sub(" ", text)
        fields = ((6.0, heading or " ".join((document.title, *own))), (3.0, document.title), (1.0, plain))
        found.append(Item(f"doc:{document.name}", title, address, "documentation", document.name, fields))
    return found


def _subjects(known: list[dict[str, Any]]) -> list[Item]:
    found = []
    for subject in dict.fromkeys(row["subject"] for row in known):
        words, title = module_words(f"subjects/{subject}/__init__.py"), subject.replace("_", " ").capitalize()
        number = sum(row["subject"] == subject for row in known)
        fields = ((6.0, title), (3.0, first_sentence(words)), (1.0, words))
        about = f"subject, {number} claims"
        found.append(Item(f"subject:{subject}", title, f"subjects/{subject}.html", about, "subjects", fields))
    return found


def _works(known: list[dict[str, Any]]) -> list[Item]:
    found = []
    for key in dict.fromkeys(row["key"] for row in known):
        own = [row for row in known if row["key"] == key]
        title = title_of(own[0])
        fields = ((6.0, title), (3.0, own[0]["reference"]), (0.5, " ".join(row["title"] for row in own)))
        about = f"source, {own[0]['reference'].partition(' (')[0]}, {len(own)} claims"
        found.append(Item(f"work:{key}", title, source_address(key), about, key, fields))
    return found


def _names() -> list[Item]:
    """The public names that users call."""
    found = []
    for room in public_rooms():
        if room in _HOUSE:
            continue
        at = {entry.name: f"{address}#{entry.name}" for address, own in shelves(room) for entry in own}
        for entry in entries(room):
            apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", entry.name)
            first = first_sentence(entry.words)
            fields = ((6.0, f"{entry.name} {apart}"), (2.0, first), (1.0, f"{entry.words} {room}"))
            place = full_name(room, entry.name).rpartition(".")[0]
            about = f"{place}, {first}" if first else place
            found.append(Item(f"ref:{entry.name}", entry.name, at[entry.name], about, room, fields))
    return found
