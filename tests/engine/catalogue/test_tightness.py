"""Searches of the claims are recorded beside the catalogue, and names of free fields change no fingerprint."""

import ast
import dataclasses
import pathlib

import pytest

import lemmata
from lemmata.engine.catalogue import _records, described, entries, is_loose, searched, searches, told_search
from lemmata.engine.claims import Status, registry
from lemmata.engine.refutations import has_tightness


def test_no_verdict_can_read_them():
    """Whoever reads an attribute `free` is the search, or a population that has a field of that name."""
    root = pathlib.Path(lemmata.__file__).parent
    for file in sorted(root.rglob("*.py")):
        if file.relative_to(root).parts[0] in ("refutations", "cli"):
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef) and any(_names_free_fields(one) for one in node.body):
                read = [one for one in ast.walk(node) if isinstance(one, ast.Attribute) and one.attr == "free"]
                assert not read, f"{file}: {node.name} reads its free fields"


def test_free_fields_are_numbers_that_problems_have():
    moved = 0
    for own in {repr(claim.population): claim.population for claim in registry().values()}.values():
        fields = {one.name: one for one in dataclasses.fields(own.problem)}
        for name in _names(own):
            assert "jaxtyping.Float[" in str(fields[name].type), f"{own}: {name}"
            assert not fields[name].metadata.get("static"), f"{own}: {name} sets shapes"
            moved += 1
    assert moved > 80


def _names_free_fields(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and [ast.unparse(one) for one in statement.targets] == ["free"]


def _names(population: object) -> tuple[str, ...]:
    """The free fields; the populations of prompts have a field of that name for something else."""
    return () if "free" in getattr(type(population), "__dataclass_fields__", {}) else getattr(population, "free", ())


def test_records_are_of_claims_and_in_their_order():
    known = [name for name in registry() if name in searches()]
    assert list(searches()) == known
    for name, record in searches().items():
        claim = registry()[name]
        assert has_tightness(claim) or claim.expected is Status.REFUTED
        assert set(record) - {"own"} == {
            "fingerprint", "ratio", "refuted", "settings", "trials", "climbed", "place", "moved"
        }  # fmt: skip
        assert record["ratio"] is None or 0 <= record["ratio"] < 1 + 1e-6, name
        assert not (record["refuted"] and record["ratio"] is not None)


def test_no_search_refutes_a_claim_that_is_held_true():
    assert not [n for n, one in searches().items() if one["refuted"] and registry()[n].expected is not Status.REFUTED]


def _entry_with(name, whole, own):
    entry = entries()[name]
    return {**entry, "fingerprint": {**entry["fingerprint"], "whole": whole, "own": own}}


def test_a_record_of_other_code_is_dropped():
    name, record = next((name, record) for name, record in searches().items() if "own" in record)
    same = _entry_with(name, record["fingerprint"], record["own"])
    assert described(same)["search"] == record
    changed = _entry_with(name, "0" * 16, "0" * 16)
    assert searched(changed) is None
    assert described(changed)["search"] is None
    assert not described(changed)["loose"]


def test_a_record_stays_if_only_shared_code_has_changed_and_says_so():
    name, record = next((name, record) for name, record in searches().items() if "own" in record)
    found = described(_entry_with(name, "0" * 16, record["own"]))["search"]
    assert found == {**record, "earlier": True}
    assert told_search(found) == told_search(record) + "; measured with an earlier version of the shared code"


def test_a_record_without_the_digest_of_its_own_code_counts_only_with_the_same_code(monkeypatch):
    name, record = next((name, record) for name, record in searches().items() if "own" in record)
    old = {key: value for key, value in record.items() if key != "own"}
    monkeypatch.setattr(_records, "records", lambda: {name: {"search": old}})
    assert searched(_entry_with(name, record["fingerprint"], record["own"])) == old
    assert searched(_entry_with(name, "0" * 16, record["own"])) is None


@pytest.mark.parametrize(
    ("ratio", "refuted", "loose", "said"),
    [(0.099, "", True, "loose: holds with 0.099 of the constant on all that was tried"), (0.1, "", False, "0.1 of"),
     (None, "", False, "no ratio"), (None, "how", False, "refuted by search")],
)  # fmt: skip
def test_a_bound_is_loose_below_a_tenth(ratio, refuted, loose, said):
    place = {"setting": {"d": 3, "tau": 0.1234567}, "seed": 0, "number": 1}
    record = {"ratio": ratio, "refuted": refuted, "trials": 64, "settings": 2, "climbed": 0, "place": place}
    assert is_loose(record) is loose
    assert said in told_search(record)
    assert ratio is None or "at d=3, tau=0.1235" in told_search(record)
    assert told_search(None) == ""
    assert not is_loose(None)
