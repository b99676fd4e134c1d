"""Write the shelves (search indices) of the site, and the script that searches them, as JavaScript."""

import importlib.resources
import json
from collections.abc import Sequence

from ._shelf import Shelf
from ._terms import FILES, facts


def written(shelves: Sequence[Shelf]) -> str:
    """Return a script that defines `lemmata.search` for some shelves.

    Args:
        shelves: the shelves with the items to find.
    """
    script = importlib.resources.files("lemmata.interfaces.search").joinpath(FILES[0]).read_text(encoding="utf-8")
    told = [
        {
            "name": shelf.name,
            "items": [[item.title, item.address, item.about, item.group] for item in shelf.items],
            "postings": shelf.postings,
        }
        for shelf in shelves
    ]
    known, given = (json.dumps(value, ensure_ascii=False, separators=(",", ":")) for value in (facts(), told))
    return f"{script}window.lemmata = {{ search: lemmataSearch({known}, {given}) }};\n"
