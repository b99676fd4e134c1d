"""A page for each source.

The page lists the statements in order, each with its claims and their verdicts, or the reason why it has no claim.
"""

import functools
import itertools
import math
import re
from typing import Any

from lemmata.engine.catalogue import PRINTED, counts
from lemmata.engine.sources import chapters, references, sources, tables

from ._folds import fitting
from ._pages import claim_address, counted, page, source_address, work_name
from ._problems import entries_of
from ._prose import sentence
from ._works import title_of, work

SURVEY = "foundation2025"
"""The key of the survey whose open problems are numbered in the classification."""
MOST = 300
"""The largest number of statements on one page; further statements of a source follow on further pages."""


def source_pages(known: list[dict[str, Any]], addresses: dict[str, str]) -> dict[str, str]:
    """The pages of all sources and their first page.

    Args:
        known: rows of the catalogue.
        addresses: the addresses of pages by the names that reasons use.
    """
    listed = tables()
    keys = dict.fromkeys([*listed, *(row["key"] for row in known)])
    found = {key: _source(key, [row for row in known if row["key"] == key], listed.get(key)) for key in keys}
    link = lambda name: None if addresses.get(name) is None else f"../{addresses[name]}"
    pages = {}
    for key, source in found.items():
        parts = _parts(key, source)
        for place, part in enumerate(parts):
            pages[part["address"]] = fitting(functools.partial(
                page, "source.html", part["address"], "sources/index.html", source["name"],
                about=_about(source), source={**source, "statements": part["statements"]},
                said=lambda text: sentence(text, link), first=place == 0,
                problems=entries_of(key, known, link) if place == 0 else (),
                references=references(key) if key in sources() and place == 0 else (),
                listed=len(source["statements"]), divided=parts if len(parts) > 1 else (), place=place,
            ))  # fmt: skip
    order = sorted(found.values(), key=lambda source: re.sub(r"^(A|An|The) |\W", "", source["name"]).lower())
    pages["sources/index.html"] = page(
        "sources.html", "sources/index.html", "sources/index.html", "Sources",
        sources=order, found=counts(), printed=PRINTED, problems=entries_of(SURVEY, known, link), survey=SURVEY,
    )  # fmt: skip
    return pages


def _parts(key: str, source: dict[str, Any]) -> list[dict[str, Any]]:
    """Divide the statements of a source evenly among its pages, and give the addresses of these pages."""
    first, statements = source_address(key), source["statements"]
    count = max(math.ceil(len(statements) / MOST), 1)
    ends = [len(statements) * i // count for i in range(count + 1)]
    divided = [statements[start:end] for start, end in itertools.pairwise(ends)]
    addresses = [first, *(first.replace(".html", f"-{i}.html") for i in range(2, len(divided) + 1))]
    return [
        {"address": address, "href": address.rpartition("/")[2], "statements": own}
        for address, own in zip(addresses, divided, strict=True)
    ]


def _about(source: dict[str, Any]) -> str:
    """A sentence about a source for search engines."""
    claims = counted(source["claims"], "claim")
    return f"{source['who']}: {source['name']}. {claims}, each tested numerically, {source['refuted']} refuted."


def _source(key: str, own: list[dict[str, Any]], table: Any) -> dict[str, Any]:
    """A source with its name, its statements, and the claims that belong to none of the statements."""
    statements = [{**row, "claims": _judging(own, row["number"])} for row in table] if table else _places(own)
    placed = {claim["name"] for row in statements for claim in row["claims"]}
    gaps = sum(not row["claims"] for row in statements)
    reference = own[0]["reference"] if own else key
    return {
        "key": key,
        "name": title_of(own[0]) if own else key,
        "who": work_name(own[0]) if own else "",
        "work": work(key),
        "reference": reference,
        "listed": table is not None,
        "chapters": chapters(key) if table else (),
        "statements": statements,
        "others": [_brief(row) for row in own if row["name"] not in placed],
        "claims": len(own),
        "gaps": gaps,
        "judged": len(statements) - gaps,
        "refuted": sum(row["passage"] is not None for row in own),
    }


def _judging(own: list[dict[str, Any]], number: str) -> list[dict[str, Any]]:
    return [_brief(row) for row in own if number in row["locators"]]


def _places(own: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For a source without a list of its statements: the places in the source that claims name, with these claims."""
    places = dict.fromkeys(place for row in own for place in row["locators"])
    blank = {"kind": "", "title": "", "reason": None, "says": "", "verdict": None, "because": ""}
    return [{"number": place, **blank, "claims": _judging(own, place)} for place in places]


def _brief(row: dict[str, Any]) -> dict[str, Any]:
    note = row["source"].partition(", ")[2]
    return {**row, "href": f"../{claim_address(row)}", "note": note, "name": row["name"]}
