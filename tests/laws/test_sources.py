"""Every statement of a source has a claim or a reason, never both, and no number of the paper is missing."""

import itertools
import pkgutil
import re
import sys

import pytest

from lemmata.engine.claims import Status, registry
from lemmata.engine.sources import (
    REFERENCES,
    REPRODUCED,
    VERDICTS,
    chapters,
    judged,
    problems,
    references,
    reproductions,
    sources,
    statements,
    unstated,
)
from lemmata.errors import UnknownNameError

CLAIMS = list(registry().values())
ROWS = [(key, row) for key in sources() for row in judged(key, CLAIMS)]
PAPERS = [key for key in sources() if reproductions(key)]
NUMBERED = r"(?:Definition|Theorem|Lemma|Proposition|Corollary|Claim|Fact|Remark|Example|Assumption) "
"""Words before numbers that a source may count together, within a section or alone."""


@pytest.mark.parametrize("key", PAPERS)
def test_what_a_paper_reports_is_told_with_size_and_verdict(key):
    found = reproductions(key)
    assert found
    for row in found:
        assert row.verdict in REPRODUCED
        assert row.headline
        assert row.ours
        assert row.size


def chapter(number: str) -> int:
    """The chapter of a statement of a source that is listed chapter by chapter."""
    return int(re.split(r"[ .]", number)[1])


def series(key: str) -> dict[str, set[int]]:
    """The numbers that a source counts, by what it counts: equations, captions, statements of a section, parts.

    Of a source that is known in part, captions and parts alone.
    """
    found: dict[str, set[int]] = {}
    for number in [statement.number for statement in statements(key)] + list(unstated(key)):
        for kind, pattern in {
            "equations": r"()\((\d+)[a-z]?\)",
            "captions": r"((?:Figure|Table) (?:\w+\.)?)(\d+)",
            "statements": rf"{NUMBERED}((?:\w+\.)?)(\d+)",
            "parts": r"(.*, part )(\d+)",
        }.items():
            match = re.fullmatch(pattern, number if kind == "parts" else number.partition(",")[0])
            if match and not (kind == "statements" and chapters(key)):
                found.setdefault(f"{kind} {match[1]}", set()).add(int(match[2]))
    return found


@pytest.mark.parametrize("row", [row for _, row in ROWS], ids=[f"{key}-{row.statement.number}" for key, row in ROWS])
def test_a_statement_has_a_claim_or_a_reason_and_never_both(row):
    assert bool(row.claims) != bool(row.reason), f"{row.statement.number}: {[claim.name for claim in row.claims]}"


@pytest.mark.parametrize("key", sources())
def test_locators_of_claims_are_statements(key):
    known = {statement.number for statement in statements(key)}
    unknown = {
        (claim.name, locator)
        for claim in CLAIMS
        if claim.source.key == key
        for locator in claim.source.locators
        if locator not in known and (not chapters(key) or chapter(locator) in chapters(key))
    }
    assert unknown == set()
    assert all(claim.source.locators for claim in CLAIMS if claim.source.key == key)


@pytest.mark.parametrize("key", sources())
def test_each_number_stands_once_and_none_between_is_missing(key):
    numbers = [statement.number for statement in statements(key)]
    assert len(set(numbers)) == len(numbers)
    assert set(unstated(key)) & set(numbers) == set()
    missing = {name: set(range(1, max(own) + 1)) - own for name, own in series(key).items()}
    assert {name: holes for name, holes in missing.items() if holes} == {}


def test_a_number_that_is_left_out_is_seen(monkeypatch):
    whole = statements("gu2024softmax")
    kept = tuple(statement for statement in whole if statement.number != "Lemma E.3")
    assert len(kept) == len(whole) - 1
    monkeypatch.setattr(sys.modules[__name__], "statements", lambda key: kept)
    with pytest.raises(AssertionError, match=r"statements E\."):
        test_each_number_stands_once_and_none_between_is_missing("gu2024softmax")


@pytest.mark.parametrize("key", sources())
def test_equations_and_parts_stand_in_their_order(key):
    found = [int(n) for s in statements(key) for n in re.findall(r"^\((\d+)[a-z]?\)$", s.number)]
    swapped = [later for earlier, later in itertools.pairwise(found) if later < earlier]
    assert swapped == []
    lettered = [s.number for s in statements(key) if re.fullmatch(r"\(\d+[a-z]\)", s.number)]
    assert lettered == sorted(lettered, key=lambda number: (int(number[1:-2]), number[-2]))


def names(text: str) -> list[str]:
    """Dotted names in backticks."""
    return re.findall(r"`([a-z_.]+\.[a-z_.]+)`", text)


@pytest.mark.parametrize("key", sources())
def test_reasons_name_claims_and_modules_that_exist(key):
    texts = [f"{s.reason or ''} {s.because}" for s in statements(key)]
    for name in itertools.chain(*map(names, texts)):
        if name not in registry():
            pkgutil.resolve_name(name if name.startswith("lemmata.") else f"lemmata.subjects.{name}")


def claims_on_what_it_says(row):
    """Its claims but those of what is often read into it: a true statement may have these refuted."""
    return [claim for claim in row.claims if claim.source.note != "as often read"]


@pytest.mark.parametrize("key", [key for key in sources() if not key.startswith(("gu2024", "li2025"))])
def test_a_verdict_on_a_statement_is_that_of_its_claims(key):
    """What is false is refuted as printed, or a reason says why that cannot be executed; what is true has support."""
    seen = 0
    for row in judged(key, CLAIMS):
        statement, expected = row.statement, {claim.expected for claim in row.claims}
        assert statement.verdict in VERDICTS
        assert statement.says
        assert statement.because
        if row.claims and statement.verdict == "false":
            corrected = any(claim.corrects for claim in row.claims)
            assert Status.REFUTED in expected or corrected, statement.number
            seen += 1
        if row.claims and statement.verdict == "true":
            said = {claim.expected for claim in claims_on_what_it_says(row)}
            assert said, statement.number
            assert Status.REFUTED not in said, statement.number
            seen += 1
        if row.claims and statement.verdict == "true but loose":
            repaired = any(claim.corrects in {type(own) for own in row.claims} for claim in CLAIMS)
            assert expected != {Status.REFUTED} or repaired, statement.number
            seen += 1
    assert seen > (25 if key in ("foundation2025", "emergence2026") else 0)


def test_what_is_often_read_into_a_statement_is_refuted_and_named_so():
    noted = {claim.name for claim in CLAIMS if claim.source.note == "as often read"}
    assert noted == {claim.name for claim in CLAIMS if type(claim).__name__.endswith("AsOftenRead")}
    assert {claim.expected for claim in CLAIMS if claim.name in noted} <= {Status.REFUTED}


def test_references_and_problems_of_the_survey():
    found = references("foundation2025")
    assert [reference.number for reference in found] == list(range(1, 23))
    assert {reference.status for reference in found} <= set(REFERENCES)
    assert all(bool(reference.note) == (reference.status != "real") for reference in found)
    assert [problem.number for problem in problems("foundation2025")] == list(range(1, 8))
    assert references("gu2024softmax") == problems("gu2024softmax") == ()


def test_references_of_the_monograph():
    found = references("emergence2026")
    assert [reference.number for reference in found] == list(range(1, 65))
    assert {(reference.status, reference.note) for reference in found} == {("real", "")}
    assert problems("emergence2026") == ()


@pytest.mark.parametrize("key", sources())
def test_a_source_in_part_lists_its_chapters_whole_and_in_order(key):
    found = [chapter(statement.number) for statement in statements(key)] if chapters(key) else []
    assert tuple(dict.fromkeys(found)) == chapters(key)
    assert found == sorted(found)


def test_captions_stand_in_their_order():
    found = [int(n) for s in statements("emergence2026") for n in re.findall(r"^Figure \d+\.(\d+)$", s.number)]
    starts = [place for place, n in enumerate(found) if n == 1]
    assert len(starts) == len(chapters("emergence2026"))
    assert all(later > earlier or later == 1 for earlier, later in itertools.pairwise(found))


@pytest.mark.parametrize("key", sources())
def test_most_statements_have_claims_or_a_reason_that_names_what_judges_them(key):
    rows = judged(key, CLAIMS)
    assert sum(bool(row.claims or names(row.reason or "")) for row in rows) > 2 * len(rows) / 3


def test_a_gap_is_seen_and_an_unknown_source_is_refused():
    (row,) = [row for row in judged("gu2024softmax", []) if row.statement.number == "Lemma E.4"]
    assert row.claims == ()
    assert row.reason is None
    with pytest.raises(UnknownNameError, match=r"emergence2026, .*foundation2025, .*gu2024softmax, .*li2025incontext"):
        statements("nobody1900")
