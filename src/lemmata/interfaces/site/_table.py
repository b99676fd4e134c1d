"""The table of all claims. The table can be read without a script. A script filters and searches it."""

from typing import Any

from lemmata.engine.catalogue import TIGHTNESS, accusation, counts

from ._pages import claim_address, page, script, work_name

_MARKS = {"refuted": "r", "failed": "r", "supported": ""}
"""The style of a verdict in a row. Verdicts that are not listed have the style "w"."""

_FILTERS = ("subject", "tool", "architecture", "object", "kind", "label", "verdict", "tightness", "source")
"""The columns after the first one, in their order: each has a filter."""


def table_page(known: list[dict[str, Any]]) -> str:
    """The page with the table of all claims.

    Args:
        known: rows of the catalogue.
    """
    return page(
        "claims.html", "claims.html", "claims.html", "The catalogue of claims",
        about=f"{len(known)} statements of deep-learning theory that lemmata can test, each with its last verdict.",
        rows=[_told(row) for row in sorted(known, key=_rank)], filters=_FILTERS, found=counts(),
        script=script("claims.js"),
    )  # fmt: skip


def _rank(row: dict[str, Any]) -> tuple[int, ...]:
    """The place of a claim before a search: refuted, then supported with the tightest first, then the others."""
    if row["status"] == "refuted":
        return (0, accusation(row))
    return (1 if row["status"] == "supported" else 2, TIGHTNESS.index(row["tightness"]))


def _told(row: dict[str, Any]) -> dict[str, Any]:
    """A row as the table shows it, with the name of the work as its source."""
    return {
        **row,
        "href": claim_address(row),
        "subject": row["subject"].replace("_", " "),
        "tightness": row["tightness"] if row["tightness"] != TIGHTNESS[-1] else "",
        "source": work_name(row),
        "mark": _MARKS.get(row["status"], "w"),
    }
