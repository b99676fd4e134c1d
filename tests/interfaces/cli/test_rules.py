"""Claims against a rule of the grammar are named, and no record of them is written."""

import re

import pytest
from typer.testing import CliRunner

from lemmata.engine.claims import Integer, Space, check_claim, check_writing, registry
from lemmata.errors import ClaimError
from lemmata.interfaces.cli import app

RUNNER = CliRunner()
NAME = "optimisers.decay.adamw_solves_box"


def test_judging_writes_no_record_of_a_claim_against_a_rule(monkeypatch, tmp_path):
    written = []
    monkeypatch.setattr("lemmata.engine.claims.write_record", lambda claim, record: written.append(claim.name))
    monkeypatch.setattr("lemmata.engine.catalogue.write_costs", lambda seconds: None)
    monkeypatch.setattr("lemmata.engine.catalogue.give_tags", list)
    words = ["judge", NAME, "--write", "--ledger", str(tmp_path / "ledger.sqlite")]
    result = RUNNER.invoke(app, words)
    assert result.exit_code == 0, result.output
    assert written == [NAME]
    monkeypatch.setattr(type(registry()[NAME]), "title", "lower case")
    result = RUNNER.invoke(app, words)
    assert result.exit_code == 4, result.output
    assert "a title that begins with a capital letter" in " ".join(result.stderr.split())
    assert "its record was not changed" in " ".join(result.output.split())
    assert written == [NAME]


def test_a_verification_names_the_rules_that_a_claim_breaks(monkeypatch):
    monkeypatch.setattr(type(registry()[NAME]), "title", "lower case")
    result = RUNNER.invoke(app, ["verify", NAME, "--budget", "8", "--corners", "0"])
    assert "This claim breaks a rule: claim optimisers.decay.adamw_solves_box" in " ".join(result.stderr.split())


def test_a_class_is_no_claim():
    with pytest.raises(ClaimError, match=r"found a class; .* AdamwSolvesBox\(\)"):
        check_claim(type(registry()[NAME]))


def test_a_default_beyond_its_bounds_is_against_a_rule(monkeypatch):
    claim = registry()[NAME]
    beyond = lambda self: Space(d=Integer(100, 1, 64, "dimension"))
    monkeypatch.setattr(type(claim.population), "settings", beyond)
    with pytest.raises(ClaimError, match=re.escape("a default from 1 to 64")):
        check_writing(claim)
