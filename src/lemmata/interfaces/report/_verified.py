"""The page of a run over many claims: changed verdicts, unexpected verdicts, and all verdicts."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lemmata.files import replace_text
from lemmata.printable import clean

from ._page import template

_MOST = 300  # characters of a reason in the table of a chapter; if a verdict is unexpected, the whole reason is shown


def write_verified(record: Mapping[str, Any], directory: str | Path) -> Path:
    """Write `directory/index.html`: one page that needs no other file and no network.

    Args:
        record: the record of the run, as `lemmata judge --all --json` prints it.
        directory: the folder of the page, which is created if it does not exist.

    Returns:
        The path of the page.

    Raises:
        DataError: if the page cannot be written; existing files are not changed.
    """
    return replace_text(Path(directory) / "index.html", verified_page(record))


def verified_page(record: Mapping[str, Any]) -> str:
    """The HTML of the page of a run."""
    from lemmata.version import __version__

    cleaned: Any = clean(dict(record), lines=True)
    rows = [row | {"tone": _tone(row), "short": _short(row["reason"])} for row in cleaned["rows"]]
    chapters: dict[str, list[Any]] = {}
    for row in rows:
        chapters.setdefault(row["name"].split(".")[0], []).append(row)
    parts = [
        {"name": name, "rows": own, "hint": _hint(own), "open": any(not row["as_expected"] for row in own)}
        for name, own in sorted(chapters.items())
    ]
    return template("verified.html").render(
        record=cleaned, parts=parts, counts=Counter(row["status"] for row in rows).most_common(), version=__version__,
        unexpected=[row for row in rows if not row["as_expected"] and row["status"] != "failed"],
        failed=[row for row in rows if row["status"] == "failed"], known=sum(row["known"] for row in rows),
    )  # fmt: skip


def _tone(row: Mapping[str, Any]) -> str:
    if not row["as_expected"]:
        return "failed"
    return "good" if row["status"] == "supported" else "inapplicable"


def _short(reason: str) -> str:
    return reason if len(reason) <= _MOST else reason[:_MOST].rsplit(" ", 1)[0] + " …"


def _hint(rows: list[Any]) -> str:
    unexpected = sum(not row["as_expected"] for row in rows)
    said = f"{len(rows)} claim{'s' * (len(rows) != 1)}"
    return f"{said}, {unexpected} not as expected" if unexpected else said
