"""The search index (shelf) of claims, with a weight for each text of a claim."""

import re
from typing import Any

from ._kept import kept_shelf
from ._shelf import Item, Shelf

_WEIGHTS = {
    "title": 8.0, "name": 3.0, "tags": 2.0, "place": 3.0, "source": 2.0, "statement": 2.0, "beside": 0.5,
    "section": 0.5, "number": 8.0,
}  # fmt: skip


def claim_shelf(known: list[dict[str, Any]], address: Any = lambda row: "") -> Shelf:
    """Make the shelf of claims.

    Args:
        known: the rows of the catalogue.
        address: a function that returns the address of a row's page.
    """
    return kept_shelf("claims", [_item(row, address(row)) for row in known])


def _item(row: dict[str, Any], address: str) -> Item:
    texts = {
        "title": row["title"],
        "name": re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", row["class"]),
        "tags": " ".join(row[name] for name in ("tool", "architecture", "object", "kind", "label", "status")),
        "place": row["place"].replace("_", " ").replace(".", " "),
        "source": f"{row['source']} {row['reference']}",
        "statement": row["statement"],
        "beside": " ".join((row["controls"], row["unexplained"], row["reading"], row["control"]["statement"])),
        "section": row["section"],
        "number": f"tag {row['tag']}" if row["tag"] else "",
    }
    about = f"{row['status']}, {row['source']}"
    return Item(
        row["name"], row["title"], address, about, row["place"], tuple((_WEIGHTS[name], texts[name]) for name in texts)
    )
