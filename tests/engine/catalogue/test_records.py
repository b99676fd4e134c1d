"""Records of verdicts: a file a section, which holds nothing that the code says and nothing that passes."""

import dataclasses
import json

import pytest

from lemmata.engine.catalogue import _records as room
from lemmata.engine.catalogue import _rows, costs, entries, older, prints, records, write_costs, write_records
from lemmata.engine.claims import Verdict, recorded, registry, write_beside
from lemmata.errors import DataError

FILES = sorted(room.SECTIONS.glob("*/records/*.json"))


def test_every_claim_has_a_record_in_the_file_of_its_section_in_its_order():
    assert len(FILES) > 200
    for path in FILES:
        place = f"{path.parts[-3]}.{path.stem}"
        classes = [type(claim).__name__ for name, claim in registry().items() if name.rpartition(".")[0] == place]
        assert list(json.loads(path.read_text())) == classes
    assert set(records()) == set(registry())


def test_records_say_nothing_that_passes_and_nothing_that_the_code_says():
    for name, record in records().items():
        assert not {"seconds", "versions", "setting", "title", "statement", "source"} & set(record), name
        assert set(record["fingerprint"]) == {"whole", "own", "shared"}
        verdict = recorded(registry()[name])
        assert isinstance(verdict, Verdict)
        assert verdict.status == record["status"] == entries()[name]["verdict"]["status"]


def test_a_verdict_is_older_if_and_only_if_code_has_changed_since(monkeypatch):
    name, entry = next(iter(entries().items()))
    now = dataclasses.asdict(prints(entry["module"], entry["class"]))
    kept = {name: {**records()[name], "fingerprint": now}}
    monkeypatch.setattr(_rows, "records", lambda: kept)
    assert older(entry) == ""
    kept[name]["fingerprint"] = {**now, "whole": "0" * 16, "own": "0" * 16}
    assert older(entry) == "judged with an earlier version of this section's own code"
    kept[name]["fingerprint"] = {**now, "whole": "0" * 16, "shared": {**now["shared"], "core": "0" * 8}}
    assert older(entry) == "judged with an earlier version of core"
    kept.clear()
    assert older(entry) == ""


def records_of_the_catalogue(claim):
    place, _, _ = claim.name.rpartition(".")
    path = next(path for path in FILES if f"{path.parts[-3]}.{path.stem}" == place)
    return json.loads(path.read_text())[type(claim).__name__]


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr(room, "SECTIONS", tmp_path)
    monkeypatch.setattr(room, "COSTS", tmp_path / "costs.json")
    room.records.cache_clear()
    room.costs.cache_clear()
    yield tmp_path
    room.records.cache_clear()
    room.costs.cache_clear()


def record(status, **more):
    control = {"status": "refuted", "violating": 1.0, "nearest": 2.0, "farthest": 2.0}
    code = {"whole": "a", "own": "b", "shared": {"core": "c"}}
    own = {"status": status, "reason": "so", "requested": 4, "executed": 4, "control": control, "fingerprint": code}
    return own | more


def test_a_section_is_written_whole_and_what_is_not_given_stays(elsewhere):
    corner = {"setting": {"n": 3, "rate": 0.5, "law": "uniform"}, "status": "supported", "reason": "", "slack": None,
              "gap": 1.0, "p_value": 1.0}  # fmt: skip
    first = record("supported", interval=[0.1, 0.2], corners=[corner, {**corner, "gap": None}])
    write_records("mine.section", ["A", "B"], {"A": first, "B": record("refuted")})
    assert records() == {"mine.section.a": first, "mine.section.b": record("refuted")}
    write_records("mine.section", ["B", "C"], {"C": record("vacuous")})
    assert list(records()) == ["mine.section.b", "mine.section.c"]
    text = (elsewhere / "mine" / "records" / "section.json").read_text()
    assert text.startswith('{\n"B": {\n "status": "refuted",\n "reason": "so",\n')
    assert text.endswith("\n}\n}\n")
    assert [path.name for path in elsewhere.rglob("*") if path.is_file()] == ["section.json"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", "found a list of 0; rule: an object"), ("{", "valid JSON"), ("[" * 10**5, "valid JSON"),
        (json.dumps({"A": record("supported", judged="many")}), "A.judged; found 'many'; rule: a whole number"),
        (json.dumps({"A": record("supported") | {"control": None}}), "A.control; found null; rule: an object"),
        (json.dumps({"A": record("supported", p_value=-1)}), "A.p_value; found -1; rule: a number from 0 to 1"),
        (json.dumps({"A": {"status": "supported"}}), "A.reason; found no reason"),
        (json.dumps({"A": record("supported", wurst=3)}), "A; found the field 'wurst'"),
    ],
)  # fmt: skip
def test_a_damaged_section_is_told_with_its_file_and_field(elsewhere, text, told):
    write_records("mine.section", ["A"], {"A": record("supported")})
    path = elsewhere / "mine" / "records" / "section.json"
    path.write_text(text)
    records.cache_clear()
    with pytest.raises(DataError) as error:
        records()
    assert told in str(error.value)
    assert str(path) in str(error.value)
    assert "restore the file" in str(error.value)


def test_a_cost_changes_only_where_it_is_far_off(elsewhere):
    write_costs({"A": 3.1, "B": 0.01})
    assert costs() == {"A": 4.0, "B": 0.25}
    write_costs({"A": 7.0, "B": 0.6})
    assert costs() == {"A": 4.0, "B": 0.25}, "a factor below 4"
    write_costs({"A": 17.0})
    assert costs() == {"A": 16.0, "B": 0.25}


def test_a_result_beside_a_verdict_that_does_not_exist_is_not_written_and_says_so(elsewhere):
    claim = next(iter(registry().values()))
    assert write_beside(claim, "walk", {"settings": 1}) == (
        f"the claim has no verdict in the catalogue; first run `lemmata judge {claim.name} --write`"
    )
    assert not list(elsewhere.rglob("*.json"))


def test_a_result_beside_a_verdict_keeps_the_digest_of_the_claims_own_code(elsewhere, monkeypatch):
    claim = next(iter(registry().values()))
    record = {**records_of_the_catalogue(claim), "walk": {"settings": 2}}
    monkeypatch.setattr("lemmata.engine.claims._entries.write_history", lambda statuses: None)
    write_records(claim.name.rpartition(".")[0], [type(claim).__name__], {type(claim).__name__: record})
    assert write_beside(claim, "mutations", {"left": ""}) == ""
    kept = records()[claim.name]
    assert kept["mutations"] == {"left": "", "own": prints(type(claim).__module__, type(claim).__name__).own}
    assert kept["walk"] == {"settings": 2}
    assert kept["status"] == record["status"]
