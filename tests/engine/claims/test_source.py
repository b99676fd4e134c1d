"""Sources: exact locators, the kinds that they tell, and claims found by them."""

import json

import pytest
from typer.testing import CliRunner

from lemmata.engine.claims import Kind, Source, find, kind_of, registry
from lemmata.interfaces.cli import app

RUNNER = CliRunner()


@pytest.mark.parametrize(
    ("locator", "kind"),
    [
        ("Theorem 4.2", Kind.THEOREM), ("Corollary 4.3", Kind.THEOREM), ("Lemma B.1, part 3", Kind.LEMMA),
        ("Proposition 1", Kind.LEMMA), ("Claim G.1", Kind.LEMMA), ("Fact A.3", Kind.LEMMA),
        ("Definition 3.1", Kind.DEFINITION), ("Assumption 6.1", Kind.DEFINITION), ("(41)", Kind.EQUATION),
        ("(58a)", Kind.EQUATION), ("Equation 9", Kind.EQUATION), ("Remark 5.2", Kind.REMARK),
        ("Table 1, exp, m", Kind.TABLE), ("proof of Lemma 1, the end", Kind.STEP), ("Section 7", Kind.STEP),
        ("p. 12", None), ("", None),
    ],
)  # fmt: skip
def test_a_locator_tells_its_kind(locator, kind):
    assert kind_of(locator) is kind
    assert Source("nobody1900", locator).kind is kind


def test_the_first_locator_tells_the_kind_and_a_proof_makes_a_step():
    assert Source("nobody1900", "Lemma 3", "(41)").kind is Kind.LEMMA
    assert Source("nobody1900", "(41)", note="proof of Lemma 3, with constants").kind is Kind.STEP
    assert Source("nobody1900", note="as printed").kind is None


def test_locators_and_note_read_as_one_place():
    source = Source("hoeffding1963", "Theorem 1", "(2.1)", "(2.3)", note="as printed")
    assert source.locators == ("Theorem 1", "(2.1)", "(2.3)")
    assert str(source) == "Hoeffding (1963), Theorem 1, (2.1) and (2.3), as printed"
    assert Source("hoeffding1963", note="main theorem").locator == "main theorem"
    assert source == Source("hoeffding1963", "Theorem 1", "(2.1)", "(2.3)", note="as printed")


def names(locator):
    return {claim.name for claim in find(locator)}


def test_claims_are_found_by_locator_in_every_source():
    assert names("lemma e.4") == {
        "softmax_training.loss_progress.progress",
        "softmax_training.loss_progress.first_order_terms",
    }
    assert names("(58)") == names("(58a)") | names("(58b)") | names("(58c)") != names("(58a)")
    assert {claim.source.key for claim in find("Theorem 1")} >= {"li2025incontext", "ahn2023", "jacot2018"}
    assert names("Lemma B.1") == {name for name in registry() if registry()[name].source.states("Lemma B.1")}
    assert len(names("Lemma B.1")) == 13


def test_the_command_line_finds_by_locator():
    shown = json.loads(RUNNER.invoke(app, ["show", "Lemma E.4", "--json"]).stdout)
    assert {record["name"] for record in shown} == names("Lemma E.4")
    listed = json.loads(RUNNER.invoke(app, ["list", "Theorem 4.2", "--json"]).stdout)
    assert {row["name"] for row in listed} == names("Theorem 4.2")


def test_the_command_line_lists_a_source_with_its_gaps():
    rows = {
        row["number"]: row
        for row in json.loads(RUNNER.invoke(app, ["list", "--source", "gu2024softmax", "--json"]).stdout)
    }
    assert "diffusion.score_error.score_error" in rows["Theorem 6.5"]["claims"]
    assert rows["Theorem G.2"] == {
        "number": "Theorem G.2", "kind": "theorem", "title": "Theorem 6.5, restated", "claims": [],
        "reason": "This repeats Theorem 6.5 word for word.", "says": "", "verdict": None, "because": "",
    }  # fmt: skip
    text = RUNNER.invoke(app, ["list", "Theorem G", "--source", "gu2024softmax"]).stdout
    assert "no claim: This repeats Theorem 6.5" in text
    assert "3 statements of the source, 1 without a claim that tests them." in text
    text = " ".join(RUNNER.invoke(app, ["list", "(13)", "--source", "foundation2025"]).stdout.split())
    assert "says: df/dt = -eta times the gradient of the loss in the parameters." in text
    assert "ill-typed: The left side has one value per row" in text
    assert "supported optimisation.attention_tangent_kernel.flow_of_outputs" in text
    assert RUNNER.invoke(app, ["list", "--source", "nobody1900"]).exit_code == 2
