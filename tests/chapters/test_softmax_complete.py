"""Every numbered statement of the source is a claim, or the chapter's docstring says why it cannot be one."""

import pathlib
import re

import pytest

from lemmata.chapters import softmax
from lemmata.claims import registry

NUMBERED = [
    *(f"Definition {n}" for n in ("3.1", "3.2", "3.3", "3.5", "3.6", "3.7", "4.1", "A.2", "F.1")),
    *(f"Claim {n}" for n in ("3.4", "A.1", "E.5", "E.6", "E.7", "G.1")),
    *(f"Theorem {n}" for n in ("4.2", "6.5", "C.1", "F.2", "G.2", "G.4", "G.5")),
    *(f"Lemma {n}" for n in ("5.1", "5.3", "A.9", "A.10", "B.2", "C.2", "C.3", "C.4", "D.1", "D.2", "D.3")),
    *(f"Lemma {n}" for n in ("E.1", "E.2", "E.3", "E.4")),
    *(f"Lemma B.1, part {n}" for n in range(1, 14)),
    *(f"Lemma B.2, part {n}" for n in (1, 2)),
    *(f"Fact {n}" for n in ("A.3", "A.4", "A.5", "A.6", "A.7", "A.8")),
    *(f"Assumption {n}" for n in ("6.1", "6.2", "6.3", "6.4", "G.3")),
    *(f"Equation {n}" for n in range(1, 28)),
    "Corollary 4.3", "Remark 5.2", "Table 1", "tensor trick", "SVM trick",
]  # fmt: skip

CLAIMS = [claim for name, claim in registry().items() if name.startswith("softmax.")]


def spoken_of(text: str) -> set[str]:
    """The numbered statements that a text names: 'Lemmas D.1 and D.2', 'equations (24) and (25)', 'part 3'."""
    found = {trick for trick in ("tensor trick", "SVM trick") if trick in text}
    for kind, numbers in re.findall(
        r"(Definition|Claim|Theorem|Lemma|Fact|Assumption|Corollary|Remark|Table)s? "
        r"((?:[A-G0-9]\.?\d*)(?:(?:, | and |, and | to )[A-G0-9]\.\d+)*)",
        text,
    ):
        found |= {f"{kind} {number}" for number in re.findall(r"[A-G]\.\d+|\d\.\d+|\d", numbers)}
    for numbers in re.findall(r"[Ee]quations? ((?:\(?\d+\)?(?:, | and )?)+)", text):
        found |= {f"Equation {number}" for number in re.findall(r"\d+", numbers)}
    for lemma, part in re.findall(r"Lemma (B\.[12]), part (\d+)", text):
        found.add(f"Lemma {lemma}, part {part}")
    return found


STATED = set().union(*(spoken_of(claim.source.locator) for claim in CLAIMS))
EXPLAINED = spoken_of(" ".join((softmax.__doc__ or "").split()))


@pytest.mark.parametrize("statement", NUMBERED)
def test_statement_is_a_claim_or_is_explained(statement):
    assert statement in STATED | EXPLAINED, f"{statement} of the source has no claim and no reason"


def test_nothing_is_both_a_claim_and_explained_away():
    assert set() == EXPLAINED & STATED
    assert len(CLAIMS) > 80


def test_the_page_lists_every_claim_with_its_verdict():
    page = (pathlib.Path(__file__).parents[2] / "docs" / "softmax.md").read_text(encoding="utf-8")
    rows = [line for line in page.splitlines() if line.startswith("|") and "`" in line]
    assert len(rows) == len(CLAIMS), "python docs/tables.py writes the table"
    for claim in CLAIMS:
        (row,) = [row for row in rows if f"`{claim.name.removeprefix('softmax.')}`" in row]
        assert row.split("|")[3].strip(" *") == claim.expected
