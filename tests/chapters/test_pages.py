"""The pages of the chapters list every claim with its verdict."""

import pathlib

import pytest

from lemmata.claims import registry

DOCS = pathlib.Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize("chapter", ["softmax", "in_context"])
def test_the_page_lists_every_claim_with_its_place_and_verdict(chapter):
    claims = [claim for name, claim in registry().items() if name.startswith(f"{chapter}.")]
    assert len(claims) > 80
    page = (DOCS / f"{chapter}.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|") and "`" in line]
    assert len(rows) == len(claims), f"python docs/tables.py {chapter} writes the table"
    for claim in claims:
        (row,) = [row for row in rows if f"`{claim.name.removeprefix(f'{chapter}.')}`" in row]
        cells = row.split("|")
        assert cells[1].strip() == claim.source.locator
        assert cells[3].strip(" *") == claim.expected
