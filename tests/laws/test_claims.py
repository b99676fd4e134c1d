"""Laws of claims: every registered claim conforms, ran trials, and refutes its control."""

import pytest

from lemmata.claims import Status, bibliography, check_claim, cite, registry

CLAIMS = list(registry().values())


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_claim_conforms(claim):
    conformance = check_claim(claim)
    assert conformance.verdict.executed == claim.trials > 0
    assert conformance.verdict.judged > 0
    assert conformance.verdict.control is Status.REFUTED
    assert cite(claim)


def test_the_catalogue_is_not_empty_and_misprints_have_corrections():
    assert len(CLAIMS) >= 14
    printed = {claim.name for claim in CLAIMS if claim.expected is Status.REFUTED}
    corrected = {claim.corrects for claim in CLAIMS if claim.corrects}
    assert printed == corrected, "each statement entered as printed has its correction beside it"


def test_every_reference_is_used_or_cited_in_a_docstring():
    used = {claim.source.key for claim in CLAIMS}
    import pathlib

    text = "".join(path.read_text() for path in pathlib.Path(__file__).parents[2].joinpath("src").rglob("*.py"))
    assert {key for key in bibliography() if key not in used and key not in text} == set()
