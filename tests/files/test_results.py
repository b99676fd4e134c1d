"""Results of several files: the old one or the new one stands there after a kill, and one process at a time writes."""

import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import threading
import time

import pytest

from lemmata import results
from lemmata.errors import FileError
from lemmata.files import replace_text
from lemmata.results import finish, is_own, replace_files, writing
from tests.files.program import FILES, files

NAME = "study.json"


def killed(folder, kind, number, mark="new"):
    """Whether the program was killed at its change of that number, and did not end before."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.files.program", str(folder), kind, mark, str(number)],
        check=False, timeout=60, cwd=pathlib.Path(__file__).parents[2],
    )  # fmt: skip
    assert done.returncode in (0, -signal.SIGKILL)
    return done.returncode != 0


def marks(folder):
    """The runs of which files stand there."""
    return {name: (folder / name).read_text().removeprefix(text) for name, text in FILES.items()}


def visible(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def user_files(folder):
    (folder / "report").mkdir(parents=True, exist_ok=True)
    for name in ("notes.txt", "report/mine.txt", ".lemmata"):
        (folder / name).write_text("mine")


@pytest.mark.parametrize("number", range(1, 60, 3))
def test_a_killed_writer_leaves_the_old_result_or_the_new_one(tmp_path, number):
    user_files(tmp_path)
    replace_files(tmp_path, NAME, files("old"))
    (tmp_path / "report" / "old.csv").write_text("of the old result")
    was_killed = killed(tmp_path, "files", number)
    whole = any(own.name.endswith(".whole") for own in tmp_path.iterdir())
    found = set(marks(tmp_path).values())
    assert whole or found in ({"old"}, {"new"})
    assert was_killed or found == {"new"}
    finish(tmp_path, NAME)
    found = set(marks(tmp_path).values())
    assert found == {"new"} if whole else found in ({"old"}, {"new"})
    if found == {"new"}:
        assert not (tmp_path / "report" / "old.csv").exists()
    replace_files(tmp_path, NAME, files("next"))
    assert set(marks(tmp_path).values()) == {"next"}
    (tmp_path / "report" / "old.csv").unlink(missing_ok=True)
    assert visible(tmp_path) == sorted([*FILES, "notes.txt", "report/mine.txt", ".lemmata"])


def test_the_kills_reach_every_moment(tmp_path):
    """The numbers above pass over the whole writing, and end after it."""
    assert killed(tmp_path, "files", 1)
    assert not killed(tmp_path, "files", 60)


@pytest.mark.parametrize("number", range(1, 8))
def test_drafts_of_a_killed_writer_are_swept(tmp_path, number):
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / ".lemmata-mine.draft").write_text("mine")
    killed(tmp_path, "text", number)
    assert (tmp_path / "a.txt").read_text() in ("old", "anew")
    replace_text(tmp_path / "b.txt", "b")
    assert visible(tmp_path) == [".lemmata-mine.draft", "a.txt", "b.txt"]


def test_a_draft_that_is_being_written_is_not_swept(tmp_path):
    """A fast writer finishes while a slow one, of the same file, is at it."""
    with results_of(tmp_path / "a.txt") as file:
        file.write(b"slow")
        replace_text(tmp_path / "a.txt", "fast")
    assert (tmp_path / "a.txt").read_text() == "slow"


def results_of(path):
    from lemmata.files import whole_file

    return whole_file(path)


def test_a_second_writer_is_told_who_writes(tmp_path):
    with writing(tmp_path, NAME) as result:
        with pytest.raises(FileError, match=r"study\.json in .* is being written by another process") as error:
            replace_now(tmp_path)
        assert f"process {os.getpid()} on {socket.gethostname()}, since 2" in str(error.value.found)
        with writing(tmp_path, "compare.json"):  # another result of the folder
            result.replace(files("first"))
    assert set(marks(tmp_path).values()) == {"first"}
    assert visible(tmp_path) == sorted(FILES)


def replace_now(folder):
    with writing(folder, NAME):
        raise AssertionError


def test_a_lock_ends_with_its_process(tmp_path):
    """Whatever number and machine it names: only who holds it counts."""
    (tmp_path / ".lemmata-study.json.lock").write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname()}))
    replace_files(tmp_path, NAME, files("new"))
    assert visible(tmp_path) == sorted(FILES)


@pytest.mark.parametrize(
    ("holder", "free"),
    [({"pid": os.getpid(), "host": socket.gethostname()}, False), ({"pid": 1, "host": "elsewhere"}, False),
     ({"pid": 2**22 + 1, "host": socket.gethostname()}, True), ({}, True),
     ({"pid": 2**99, "host": socket.gethostname()}, True), ("torn", True), ({"pid": -1}, True)],
)  # fmt: skip
def test_without_locks_of_the_file_system_the_number_of_the_process_counts(tmp_path, monkeypatch, holder, free):
    monkeypatch.setattr(results, "try_lock", lambda file: None)
    (tmp_path / ".lemmata-study.json.lock").write_text(json.dumps(holder)[: -1 if holder == "torn" else None])
    if free:
        replace_files(tmp_path, NAME, files("new"))
        assert visible(tmp_path) == sorted(FILES)
    else:
        with pytest.raises(FileError, match="another process"):
            replace_now(tmp_path)


def test_many_writers_leave_one_result(tmp_path):
    def write(mark):
        for _ in range(5):
            replace_files(tmp_path, NAME, files(mark))

    threads = [threading.Thread(target=write, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(marks(tmp_path).values())) == 1
    assert visible(tmp_path) == sorted(FILES)


@pytest.mark.parametrize("place", ["report", "report/index.html"])
def test_what_cannot_be_written_leaves_the_old_result(tmp_path, place):
    """A folder where a file should be, and a file where a folder should be."""
    replace_files(tmp_path, NAME, {NAME: "old"})
    (tmp_path / place).mkdir(parents=True) if place.endswith("html") else (tmp_path / place).write_text("mine")
    with pytest.raises(FileError, match="cannot be written"):
        replace_files(tmp_path, NAME, files("new"))
    assert (tmp_path / NAME).read_text() == "old"
    assert not any(is_own(path.name) for path in tmp_path.iterdir())


def test_waiting_for_a_writer_has_an_end(tmp_path):
    begun = time.monotonic()
    with writing(tmp_path, NAME), pytest.raises(FileError, match="another process"):  # noqa: SIM117
        with writing(tmp_path, NAME, patience=0.2):
            pass
    assert time.monotonic() - begun >= 0.2
