"""Own results on generation, routing, features, grokking and emergence say why they hold."""

import pytest

from lemmata.engine.claims import Kind, Order, registry, words_of

SUBJECTS = ("generation", "routing", "features", "grokking", "emergence")
OWN = [
    claim
    for name, claim in registry().items()
    if claim.kind is Kind.OWN and name.split(".")[0] in SUBJECTS and not isinstance(claim.relation, Order)
]
REASONS = ("Derivation: ", "The reason", "because ", "The proof", "This is the part")


@pytest.mark.parametrize("claim", OWN, ids=lambda claim: claim.name)
def test_an_own_result_says_why_it_holds(claim):
    said = " ".join(words_of(claim)["statement"].split())
    assert any(reason in said for reason in REASONS)


def test_there_are_own_results_of_every_subject():
    assert {claim.name.split(".")[0] for claim in OWN} == set(SUBJECTS)
    assert len(OWN) >= 60
