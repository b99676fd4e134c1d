"""A ledger that is only read: on a disk that cannot be written, empty, or a file of another program."""

import os
import sqlite3
import subprocess
import sys

import pytest

from lemmata.engine.claims import Trials
from lemmata.engine.ledger import FullDiskError, TolerantTrials, open_ledger, read_ledger
from lemmata.errors import DataError, FileError
from tests.engine.ledger import slow

KILLED = """
import os, sys
from lemmata.engine.ledger import open_ledger
with open_ledger(sys.argv[1]) as ledger:
    ledger.begin("of a run that is killed", 0)
    os._exit(0)
"""


def runs(ledger):
    return [row["command"] for row in ledger.query("SELECT command FROM runs")]


def test_a_ledger_on_a_disk_that_is_read_only_is_read_and_gets_no_file_beside_it(tmp_path, monkeypatch):
    path = tmp_path / "l.sqlite"
    with open_ledger(path) as ledger:
        ledger.begin("a run", 0)
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    before = path.read_bytes()
    with read_ledger(path) as ledger:
        assert runs(ledger) == ["a run"]
        assert [entry.name for entry in tmp_path.iterdir()] == ["l.sqlite"]
        with pytest.raises(DataError, match="readonly"):
            ledger.begin("another run", 0)
    assert path.read_bytes() == before


def test_what_a_killed_run_left_beside_a_ledger_is_read_there_too(tmp_path, monkeypatch):
    path = tmp_path / "l.sqlite"
    subprocess.run([sys.executable, "-c", KILLED, str(path)], check=True, timeout=120)
    log = tmp_path / "l.sqlite-wal"
    assert log.stat().st_size > 0
    before = path.read_bytes(), log.read_bytes()
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with read_ledger(path) as ledger:
        assert runs(ledger) == ["of a run that is killed"]
    assert (path.read_bytes(), log.read_bytes()) == before


@pytest.mark.parametrize("read", [open_ledger, read_ledger])
@pytest.mark.parametrize(("page", "journal"), [(512, "DELETE"), (4096, "DELETE"), (4096, "WAL")])
def test_a_database_of_another_program_is_refused_and_stays_as_it_is(tmp_path, read, page, journal):
    path = tmp_path / "photographs.db"
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA page_size = {page}")
    connection.execute(f"PRAGMA journal_mode = {journal}")
    connection.execute("CREATE TABLE photographs (name)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    with pytest.raises(DataError, match="another program"), read(path):
        pass
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["photographs.db"]


def test_a_pipe_and_a_folder_are_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path, words in ((tmp_path / "pipe", "not a regular file"), (tmp_path, "a folder")):
        for read in (open_ledger, read_ledger):
            with pytest.raises(DataError, match=words), read(path):
                pass


@pytest.mark.parametrize("end", ["-journal", "-wal", "-shm"])
def test_a_pipe_in_the_place_of_a_file_of_sqlite_is_refused_without_waiting(tmp_path, end):
    with open_ledger(tmp_path / "old.sqlite"):
        pass
    for name in ("old.sqlite", "new.sqlite"):
        os.mkfifo(tmp_path / (name + end))
        for read in (open_ledger, read_ledger):
            with pytest.raises(FileError, match=f"{name}{end}: it is a named pipe"), read(tmp_path / name):
                pass


def test_an_empty_file_is_no_ledger_to_read_and_stays_empty(tmp_path):
    path = tmp_path / "l.sqlite"
    path.touch()
    with pytest.raises(DataError, match="no run"), read_ledger(path):
        pass
    assert path.stat().st_size == 0


def test_trials_go_on_without_a_ledger_that_cannot_be_written():
    calls = []

    def full(*given):
        calls.append(given)
        raise FullDiskError("ledger l.sqlite", found="database or disk is full")

    run, claim = TolerantTrials(full), slow.SquareIsSmaller()
    for _ in range(2):
        found = run(claim, {}, 2, 0)
        assert isinstance(found, Trials)
        assert list(found.numbers) == [0, 1]
    assert len(calls) == 1
    assert "full" in run.unrecorded
    again = TolerantTrials(full)
    again.add(run.sent(claim, 0))
    assert again.unrecorded == run.unrecorded
