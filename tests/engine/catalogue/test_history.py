"""The history of verdicts: what is a change, where it is kept, and that it ends with the records."""

import datetime
import itertools
import json

import pytest

from lemmata.engine.catalogue import Change, _records, history, recorded_statuses, tags, write_history
from lemmata.engine.catalogue._history import extended_history


def test_the_history_ends_with_the_status_of_every_record():
    last = {name: own[-1].status for name, own in history().items()}
    wrong = {name: status for name, status in recorded_statuses().items() if last.get(name) != status}
    assert wrong == {}, "python docs/tables.py enters them"


def test_its_days_are_in_order_and_no_status_follows_itself():
    assert set(history()) <= set(tags().values())
    for name, own in history().items():
        assert [each.day for each in own] == sorted(each.day for each in own), name
        assert all(datetime.date.fromisoformat(each.day).year >= 2026 for each in own), name
        assert all(first.status != second.status for first, second in itertools.pairwise(own)), name


@pytest.mark.parametrize(
    ("known", "status", "expected"),
    [
        ((), "supported", (("2026-03-01", "supported"),)),
        ((("2026-01-01", "supported"),), "supported", (("2026-01-01", "supported"),)),
        ((("2026-01-01", "failed"),), "supported", (("2026-01-01", "failed"), ("2026-03-01", "supported"))),
    ],
)
def test_only_another_status_is_a_change(known, status, expected):
    before = {"Own": tuple(Change(*each) for each in known), "Other": (Change("2025-01-01", "vacuous"),)}
    after = extended_history(before, {"Own": status}, "2026-03-01")
    assert after["Own"] == expected
    assert after["Other"] == before["Other"]


def test_it_is_written_beside_the_subjects_and_only_where_a_status_changes(tmp_path, monkeypatch):
    monkeypatch.setattr(_records, "SECTIONS", tmp_path)
    history.cache_clear()
    try:
        write_history({"A": "supported", "B": "failed"})
        file = tmp_path / "history.json"
        text, written = file.read_text(), file.stat().st_mtime_ns
        write_history({"A": "supported"})
        assert file.stat().st_mtime_ns == written
        write_history({"B": "supported"})
        assert [each.status for each in history()["B"]] == ["failed", "supported"]
        assert len(text.splitlines()) == 4, "a line a claim"
        assert json.loads(file.read_text())["A"] == json.loads(text)["A"]
    finally:
        history.cache_clear()
