"""A search that judged nothing is never survived, one setting is always searched, and Ctrl-C ends a search."""

import os
import sqlite3

import optuna
import pytest

from lemmata.engine.claims import Status, verify
from lemmata.engine.refutations import Survived, Untested, _search, measure_tightness, refute
from lemmata.errors import SettingError, SolverError
from lemmata.interruption import listening
from tests.engine.refutations import untested as own

SPENT = 1e-9
"""A budget that is spent before the first setting."""


@pytest.mark.parametrize(
    ("claim", "status", "words"),
    [
        (own.Raises, Status.FAILED, "ValueError: no measurement"),
        (own.MeanRaises, Status.FAILED, "ValueError: no measurement"),
        (own.Leaves, Status.FAILED, "SystemExit"),
        (own.NotANumber, Status.FAILED, "no problem gave a number"),
        (own.NotANumberOften, Status.FAILED, "no problem gave a number"),
        (own.Misfits, Status.FAILED, "shapes (2,) of the prediction and () of the measurement"),
        (own.TracedMisfits, Status.FAILED, "shapes (2,) of the prediction and () of the measurement"),
        (own.Outside, Status.INAPPLICABLE, "no problem satisfied the hypotheses"),
    ],
)
def test_a_search_that_judged_nothing_is_not_survived(claim, status, words):
    found = refute(claim(), SPENT)
    assert isinstance(found, Untested)
    assert (found.status, found.settings) == (status, 1)
    assert words in found.reason
    assert f"was not tested ({status})" in str(found)


def test_one_setting_is_searched_when_the_budget_is_spent_at_once(tmp_path):
    ticks = iter(range(10**9))
    for storage in (None, str(tmp_path / "new.db"), str(tmp_path / "new.db")):
        found = refute(own.Holds(), 0.5, clock=lambda: next(ticks) / 10, storage=storage)
        assert isinstance(found, Survived)
        assert (found.settings, found.trials, found.failed) == (1, 64, 0)


def test_a_setting_whose_contradiction_cannot_be_confirmed_counts_once(monkeypatch):
    def raises(*_):
        raise ValueError("no confirmation")

    monkeypatch.setattr(_search, "_confirmed", raises)
    found = refute(own.Fails(), SPENT)
    assert isinstance(found, Survived | Untested)
    assert (found.settings, found.failed) == (1, 1)


@pytest.mark.parametrize(("claim", "result"), [(own.Holds, Survived), (own.Raises, Untested)])
def test_the_first_setting_of_a_slow_claim_is_cut_short(claim, result):
    """The clock moves on by 8 s each time that it is looked at; a setting may take 10 s beyond the budget."""
    ticks = iter(range(0, 10**9, 8))
    found = refute(claim(), 0.5, clock=lambda: float(next(ticks)))
    assert isinstance(found, result)
    assert found.settings == 1
    assert 1 <= found.trials + found.failed < 5


@pytest.mark.parametrize("claim", [own.Catches, own.OftenCatches])
def test_a_claim_that_catches_ctrl_c_is_stopped_all_the_same(claim, monkeypatch):
    monkeypatch.setattr(claim, "done", 0)
    with listening(), pytest.raises(KeyboardInterrupt):
        refute(claim(), 100.0)
    assert claim.done == 3
    monkeypatch.setattr(claim, "done", 0)
    with listening():
        found = verify(claim(), budget=9, corners=0, progress=False)
    assert found.interrupted
    assert found.executed == claim.done == 3


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_a_pipe_in_the_place_of_a_file_of_the_database_is_refused(tmp_path, end):
    os.mkfifo(tmp_path / f"s.db{end}")
    with pytest.raises(SettingError, match=f"s.db{end}: it is a named pipe"):
        refute(own.Holds(), SPENT, storage=str(tmp_path / "s.db"))


def test_a_tightness_that_rests_on_nothing_is_an_error():
    with pytest.raises(SolverError, match="at least one problem"):
        measure_tightness(own.Raises(), SPENT)


@pytest.mark.parametrize("claim", [own.CutShort, own.OftenCutShort, own.MeanCutShort])
def test_ctrl_c_ends_a_search_and_the_setting_that_it_cut_short_does_not_count(claim, monkeypatch):
    monkeypatch.setattr(claim, "done", 0)
    monkeypatch.setattr(claim, "after", 1, raising=False)
    with pytest.raises(KeyboardInterrupt):
        refute(claim(), 100.0)
    seen = []
    monkeypatch.setattr(claim, "after", 10**9)
    monkeypatch.setattr(claim, "done", 0)

    def progress(settings, ratio):
        seen.append(settings)
        monkeypatch.setattr(claim, "after", claim.done + 1)

    found = refute(claim(), 100.0, progress=progress)
    assert isinstance(found, Survived)
    assert (found.interrupted, found.settings, seen) == (True, 1, [1])
    assert "interrupted" in str(found)


@pytest.mark.parametrize(
    ("end", "status", "words"),
    [
        (KeyboardInterrupt, Status.INCONCLUSIVE, "interrupted while it confirmed a contradiction"),
        (ValueError, None, "1 problems could not be judged"),
        (None, None, "1 contradictions"),
    ],
)
def test_a_contradiction_that_is_not_confirmed_is_no_counterexample(end, status, words, monkeypatch):
    def confirm(*arguments):
        if end is not None:
            raise end

    monkeypatch.setattr("lemmata.engine.refutations._search.confirm", confirm)
    found = refute(own.Fails(), SPENT)
    assert isinstance(found, Survived if status is None else Untested)
    assert (found.interrupted, getattr(found, "status", None)) == (status is not None, status)
    assert words in str(found)


def test_a_search_goes_on_where_it_can_no_longer_be_stored(tmp_path, monkeypatch):
    tell, told = optuna.Study.tell, []

    def full(self, *arguments, **options):
        told.append(self)
        if len(told) == 2:
            raise optuna.exceptions.StorageInternalError("the disk is full")
        return tell(self, *arguments, **options)

    monkeypatch.setattr(optuna.Study, "tell", full)
    ticks = iter(range(10**9))
    found = refute(own.Holds(), 300.0, clock=lambda: float(next(ticks)), storage=str(tmp_path / "s.db"))
    assert isinstance(found, Survived)
    assert "the disk is full" in found.unstored
    assert found.settings >= 2


def _database(path, page=4096, application=0, journal="DELETE"):
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA page_size = {page}")
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute(f"PRAGMA application_id = {application}")
    connection.execute("CREATE TABLE photographs (name)")
    connection.commit()
    connection.close()
    return path


@pytest.mark.parametrize("how", [{"page": 512}, {"application": 7}, {"journal": "WAL"}, {"text": "a letter"}])
def test_a_file_of_another_program_is_not_taken_for_a_storage_and_stays_as_it_is(tmp_path, how):
    path = tmp_path / "other.db"
    path.write_text(how["text"]) if "text" in how else _database(path, **how)
    before = path.read_bytes()
    with pytest.raises(SettingError, match="of another"):
        refute(own.Holds(), SPENT, storage=str(path))
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["other.db"]
