"""Every numbered statement of the source is a claim, or the chapter's docstring says why it cannot be one."""

import pathlib
import re

import pytest

from lemmata.chapters import in_context
from lemmata.claims import registry

SOURCE = "li2025incontext"
EQUATIONS = [*range(1, 5), *range(10, 43), 50, 51, *range(57, 135)]
NUMBERED = [
    *(f"({n})" for n in EQUATIONS), *(f"Lemma {n}" for n in range(1, 8)), "Theorem 1",
    *(f"Remark {n}" for n in (1, 2, 3)), "linear functions", "linear combinations", "two-layer networks",
]  # fmt: skip
CLAIMS = [claim for name, claim in registry().items() if name.startswith("in_context.")]


def spoken_of(text: str) -> set[str]:
    """The numbered statements that a text names: '(75a)', '(106) to (112)', 'Lemma 4', 'inequalities 130 and 131'."""
    found = {place for place in NUMBERED[-3:] if place in text}
    found |= {f"{kind} {number}" for kind, number in re.findall(r"(Lemma|Theorem|Remark) (\d)\b", text)}
    for first, last in re.findall(r"\((\d+)[a-j]?\) to \((\d+)[a-j]?\)", text):
        found |= {f"({number})" for number in range(int(first), int(last) + 1)}
    found |= {f"({number})" for number in re.findall(r"\((\d+)[a-j]?\)", text)}
    for numbers in re.findall(r"(?:equation|inequalit)\w* ((?:\d+[a-j]?(?:, | and )?)+)", text):
        found |= {f"({number})" for number in re.findall(r"\d+", numbers)}
    return found


STATED = set().union(*(spoken_of(claim.source.locator) for claim in CLAIMS if claim.source.key == SOURCE))
EXPLAINED = spoken_of(" ".join((in_context.__doc__ or "").partition("Numbered statements")[2].split()))


@pytest.mark.parametrize("statement", NUMBERED)
def test_statement_is_a_claim_or_is_explained(statement):
    assert statement in STATED | EXPLAINED, f"{statement} of the source has no claim and no reason"


def test_most_statements_are_claims():
    assert len(CLAIMS) > 80
    assert len([f"({n})" for n in EQUATIONS if f"({n})" in STATED]) > 55


def test_the_page_lists_every_claim_with_its_verdict():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "in_context.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|") and "`" in line]
    assert len(rows) == len(CLAIMS), "python docs/tables.py in_context writes the table"
    for claim in CLAIMS:
        (row,) = [row for row in rows if f"`{claim.name.removeprefix('in_context.')}`" in row]
        assert row.split("|")[3].strip(" *") == claim.expected
