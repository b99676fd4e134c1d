"""What a ledger knows of a claim before a run, and what differs between runs: made verdicts and rows."""

import dataclasses
import json
import math
import sqlite3

import numpy as np
import pytest

from lemmata.engine.claims import (
    Corner,
    Integer,
    Space,
    Status,
    Verdict,
    _entries,
    _family,
    fingerprint_of,
    nearness,
    trials_print_of,
)
from lemmata.engine.ledger import _known, changes_in, compare_runs, known_of, open_ledger, prospects
from lemmata.engine.ledger._rows import ARRAYS, numbers_of

from . import slow


class Sized(slow.Numbers):
    """Numbers with a size that nothing uses."""

    def settings(self) -> Space:
        return Space(n=Integer(8, 2, 64))


class Squares(slow.SquareIsSmaller):
    """The square of a number between 0 and 1 is at most the number."""

    population = Sized()


CLAIM = Squares()
DEFAULT = {"n": 8}
VERDICT = Verdict(
    CLAIM.name, CLAIM.source, DEFAULT, 0, 1e-3, 100, 100, 2.0, Status.SUPPORTED, "said", judged=90, estimate=0.25
)


def verdict(seed=0, corners=3, **more):
    found = tuple(Corner(own, Status.SUPPORTED, "well") for own in CLAIM.population.settings().corners(corners, seed))
    return dataclasses.replace(VERDICT, seed=seed, corners=found, **more)


@pytest.fixture(autouse=True)
def _unrecorded(monkeypatch):
    """The catalogue has no verdict on these claims; it takes seconds to read those on all others."""
    monkeypatch.setattr(_entries, "records", dict)
    monkeypatch.setattr(_family, "family_size", lambda: 8192)


@pytest.fixture
def ledger(tmp_path):
    with open_ledger(tmp_path / "ledger.sqlite") as opened:
        yield opened


def kept(ledger, *verdicts, run=None, code=None):
    """The run in which the verdicts stand."""
    run = ledger.begin("lemmata verify", 0) if run is None else run
    for own in verdicts:
        ledger.add_verdict(run, code or fingerprint_of(CLAIM), own.to_json())
    return run


def known(ledger, seed=0, **more):
    (found,) = known_of(ledger, ledger.begin("lemmata judge", 0), [CLAIM], seed, **{"budget": 100, **more})
    return found


def test_nothing_is_known_of_an_empty_ledger(ledger):
    assert known(ledger) == _known.Known(CLAIM, 0, None, None, 0, 0, 0, None)


def test_a_verdict_of_the_same_session_stands(ledger):
    kept(ledger, verdict(seconds=2.0), verdict(seed=4, seconds=5.0, status=Status.REFUTED))
    found = known(ledger)
    assert found.verdict == verdict(seconds=2.0)
    assert found.last is not None
    assert (found.last.seed, found.last.status) == (4, Status.REFUTED)
    assert (found.sessions, found.seconds, found.seed) == (2, 5.0, 0)
    other = known(ledger, seed=4)
    assert other.verdict is not None
    assert other.verdict.seed == 4
    assert known(ledger, seed=1).verdict is None
    assert known(ledger, fresh=True).seed == 1
    assert known(ledger, fresh=True).verdict is None
    assert known(ledger, fresh=True, seed=4).seed == 5
    assert known(ledger, fresh=True, seed=3).seed == 3


@pytest.mark.parametrize(
    ("own", "asked", "stands"),
    [
        ({}, {}, True), ({}, {"budget": 101}, False), ({}, {"level": 1e-3}, True), ({}, {"level": 1e-2}, False),
        ({}, {"corners": 3}, True), ({}, {"corners": 2}, False), ({"corners": 2}, {"corners": 2}, True),
        ({"corners": 0}, {}, False), ({"corners": 0, "status": Status.REFUTED}, {}, True),
        ({"interrupted": True}, {}, False), ({"status": Status.FAILED}, {}, False),
        ({"reason": f"{_known.UNSEEN}: more"}, {}, False), ({"status": Status.INCONCLUSIVE}, {}, True),
        ({"setting": {"n": 9}}, {}, False),
    ],
)  # fmt: skip
def test_a_verdict_stands_if_it_is_complete_and_answers_the_same_question(own, asked, stands, ledger):
    kept(ledger, verdict(**own))
    found = known(ledger, **asked)
    assert (found.verdict is not None) is stands
    whole = not own.get("interrupted") and own.get("status") is not Status.FAILED and "setting" not in own
    assert found.sessions == int(whole)


def test_only_the_first_verdict_of_a_run_and_only_earlier_runs_count(ledger):
    kept(ledger, verdict(seconds=1.0), verdict(seconds=9.0, status=Status.INCONCLUSIVE))
    found = known(ledger)
    assert found.verdict is not None
    assert (found.verdict.status, found.seconds, found.sessions) == (Status.SUPPORTED, 1.0, 1)
    kept(ledger, verdict(seconds=3.0, status=Status.INCONCLUSIVE))
    found = known(ledger)
    assert found.verdict is not None
    assert found.verdict.status is Status.INCONCLUSIVE, "the last that stands"
    run = ledger.begin("lemmata judge", 0)
    kept(ledger, verdict(status=Status.REFUTED), run=run)
    (found,) = known_of(ledger, run, [CLAIM], 0, 100)
    assert found.verdict is not None
    assert found.verdict.status is Status.INCONCLUSIVE, "not of the run itself"


def test_a_verdict_of_other_code_or_another_machine_does_not_stand(ledger):
    kept(ledger, verdict(), code="another")
    assert known(ledger).last is None
    run = kept(ledger, verdict())
    assert known(ledger).verdict is not None
    with sqlite3.connect(ledger.path) as own:
        own.execute("UPDATE runs SET device = 'another' WHERE id = ?", [run])
    found = known(ledger)
    assert found.verdict is None
    assert found.last is not None


def row(number, predicted, measured, holds=1, undefined=0, setting=DEFAULT, seed=0, code=None):
    arrays = {"predicted": predicted, "false": 0.0, "measured": measured, "condition": 1.0, "trivial": math.nan}
    return {
        "claim": CLAIM.name, "fingerprint": code or trials_print_of(CLAIM), "setting": json.dumps(setting),
        "seed": seed, "number": number, "run": 1, "size": 0, "holds": holds, "undefined": undefined, "hypotheses": "[]",
        "arrays": b"".join(np.asarray(arrays[name], float).tobytes() for name in ARRAYS),
        "shapes": json.dumps([[] for _ in ARRAYS]), "dtype": "float64", "seconds": 0.1,
    }  # fmt: skip


def test_trials_are_counted_over_sessions_at_the_default_setting(ledger):
    ledger.add_trials([row(k, 1.0, 0.5, seed=seed) for seed, count in ((0, 3), (2, 4)) for k in range(count)])
    ledger.add_trials([row(9, 1.0, 0.5, setting={"n": 9}), row(9, 1.0, 0.5, code="another")])
    found = known(ledger)
    assert (found.trials, found.waiting) == (7, 3)
    assert known(ledger, seed=2).waiting == 4
    assert known(ledger, seed=1).waiting == 0


def test_misses_are_counted_where_hypotheses_hold_and_are_defined(ledger):
    ledger.add_trials([
        row(0, 1.0, 0.5), row(1, 1.0, 1.5), row(2, 1.0, 1.5), row(3, 1.0, 1.5, holds=0), row(4, 1.0, 1.5, undefined=1),
        row(5, 1.0, 1.0), row(6, 1.0, 1.5, seed=1),
    ])  # fmt: skip
    key = (CLAIM.name, trials_print_of(CLAIM))
    assert _known._misses(ledger, CLAIM, key, json.dumps(DEFAULT), 0) == (2, 4)
    assert _known._misses(ledger, CLAIM, key, json.dumps(DEFAULT), 1) == (1, 1)
    assert _known._misses(ledger, CLAIM, key, json.dumps({"n": 9}), 0) == (0, 0)


def test_prospects_take_the_usual_time_and_the_trials_that_are_missing():
    of = lambda seconds, waiting, trials=5: _known.Known(CLAIM, 0, None, VERDICT, 1, trials, waiting, seconds)
    found = prospects([of(1.0, 30), of(None, 100), of(4.0, 120), of(7.0, 0, 9)], 100)
    assert [own.seconds for own in found] == [1.0, 4.0, 4.0, 7.0]
    assert [own.fresh for own in found] == [70, 0, 0, 100]
    assert [own.known for own in found] == [5, 5, 5, 9]
    assert {own.nearness for own in found} == {nearness(VERDICT)}
    assert [own.seconds for own in prospects([of(None, 0)])] == [10.0]
    assert prospects([of(None, 0)])[0].fresh > 100, "as many as support needs"


def test_arrays_of_a_row_are_read_in_their_order():
    assert numbers_of(row(0, 2.0, 3.0)) == {
        "predicted": [2.0], "false": [0.0], "measured": [3.0], "condition": [1.0],
        "trivial": [pytest.approx(math.nan, nan_ok=True)],
    }  # fmt: skip
    own = row(0, 0.0, 0.0) | {"arrays": np.arange(9.0).tobytes(), "shapes": json.dumps([[2], [], [2, 2], [1], []])}
    assert numbers_of(own) == {
        "predicted": [0, 1], "false": [2], "measured": [3, 4, 5, 6], "condition": [7], "trivial": [8]
    }  # fmt: skip


RECORD = {"name": "a.b", "setting": {}, "seed": 0, "status": "supported", "reason": "", "seconds": 1.0, "requested": 10}


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({}, "nothing that is known"), ({"seed": 1}, "seed"), ({"setting": {"n": 1}}, "setting"),
        ({"requested": 11}, "more trials"), ({"requested": 9}, "fewer trials"),
        ({"seed": 1, "requested": 11}, "seed, more trials"),
    ],
)  # fmt: skip
def test_a_changed_verdict_names_what_differs(more, why, ledger):
    first, second = (ledger.begin("lemmata verify", 0) for _ in range(2))
    ledger.add_verdict(first, "code", {**RECORD, "name": "c.d"})
    ledger.add_verdict(first, "code", RECORD)
    ledger.add_verdict(second, "code", {**RECORD, "status": "refuted", **more})
    assert [str(own) for own in compare_runs(ledger, first, second)] == [f"a.b: supported -> refuted ({why})"]
    assert [str(own) for own in changes_in(ledger, second)] == [f"a.b: supported -> refuted ({why})"]
    assert changes_in(ledger, first) == []


def test_versions_and_devices_that_differ_are_named(ledger):
    first, second = (ledger.begin("lemmata verify", 0) for _ in range(2))
    ledger.add_verdict(first, "one", RECORD)
    ledger.add_verdict(second, "two", {**RECORD, "status": "refuted"})
    with sqlite3.connect(ledger.path) as own:
        own.execute("UPDATE runs SET versions = ? WHERE id = 1", [json.dumps({"jax": "1", "numpy": "2"})])
        own.execute("UPDATE runs SET versions = ?, device = 'd' WHERE id = 2", [json.dumps({"jax": "3", "numpy": "2"})])
    (change,) = compare_runs(ledger, first, second)
    assert change.why == ("code", "jax 1 -> 3", "device")


def test_a_change_is_one_from_the_last_verdict_of_an_earlier_run(ledger):
    for status in ("refuted", "supported", "supported"):
        ledger.add_verdict(ledger.begin("lemmata verify", 0), "code", {**RECORD, "status": status})
    last = ledger.begin("lemmata verify", 0)
    for name, status in (("a.b", "vacuous"), ("new", "refuted"), ("a.b", "inconclusive")):
        ledger.add_verdict(last, "code", {**RECORD, "name": name, "status": status})
    found = changes_in(ledger, last)
    assert [(own.claim, own.before, own.after) for own in found] == [("a.b", "supported", "inconclusive")]
    assert changes_in(ledger, 3) == []
    assert [own.before for own in changes_in(ledger, 2)] == ["refuted"]
