"""The pages of the papers list every claim with its place and its last verdict."""

import pathlib
import re

import pytest

from lemmata.engine.catalogue import catalogue, entries
from lemmata.engine.sources import chapters, statements

DOCS = pathlib.Path(__file__).parents[3] / "docs"
PAGES = {"gu2024softmax": "softmax.md", "li2025incontext": "in_context.md"}


@pytest.mark.parametrize("key", PAGES)
def test_the_page_lists_every_claim_with_its_place_and_verdict(key):
    claims = [entry for entry in entries().values() if entry["key"] == key]
    assert len(claims) > 80
    page = (DOCS / PAGES[key]).read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|") and "`" in line]
    assert len(rows) == len(claims), "python docs/tables.py writes the table"
    for claim in claims:
        (row,) = [row for row in rows if f" `{claim['name']}` " in row]
        cells = re.split(r"(?<!\\)\|", row)
        assert cells[1].strip() == (", ".join(claim["locators"]) or claim["source"])
        assert cells[3].strip() == claim["kind"]
        assert cells[4].strip(" *") == claim["verdict"]["status"]


@pytest.mark.parametrize("key", PAGES)
def test_the_page_lists_the_gaps_with_their_reasons(key):
    page = (DOCS / PAGES[key]).read_text(encoding="utf-8")
    gaps = [statement for statement in catalogue()["sources"][key] if statement["reason"]]
    assert gaps
    for gap in gaps:
        assert f"* {gap['number']}: {gap['reason']}" in page


def test_the_page_of_the_monograph_has_every_statement_of_its_chapters():
    page = (DOCS / "monograph.md").read_text(encoding="utf-8")
    *first, last = map(str, chapters("emergence2026"))
    assert (
        f"The page covers chapters {', '.join(first)} and {last}, in {len(statements('emergence2026'))} statements"
        in page
    )
    for statement in statements("emergence2026"):
        assert f"* **{statement.number}** {statement.says} *{str(statement.verdict).capitalize()}*" in page
    judged = [entry for entry in entries().values() if entry["key"] == "emergence2026"]
    assert all(f"`{entry['name']}` {entry['verdict']['status']}" in page for entry in judged), "python docs/tables.py"
