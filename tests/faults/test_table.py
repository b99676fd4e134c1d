"""The table has every command and every fault, stands in docs/trust.md, and what must hold is really looked at."""

import os
import signal

import pytest

from lemmata.interfaces.cli import commands
from tests.faults import table
from tests.faults.commands import COMMANDS
from tests.faults.faults import FAULTS
from tests.faults.holds import amiss, drafts, lost, torn
from tests.faults.world import Ended, World

REPORT = COMMANDS["report"]


def test_every_command_of_the_help_has_a_row():
    assert {command.verb for command in COMMANDS.values()} == set(commands)


def test_a_fault_that_does_not_apply_has_a_reason():
    for fault in FAULTS.values():
        reasons = [fault.spared(command) for command in COMMANDS.values()]
        assert not all(reasons), fault.name
        assert all(len(reason.split()) > 3 for reason in reasons if reason)


def test_the_page_has_the_table_without_an_empty_cell():
    text = table.PAGE.read_text(encoding="utf-8")
    begin, end = table.MARKS
    lines = text.partition(begin)[2].partition(end)[0].strip().splitlines()
    assert lines == table.table(), "run `python -m tests.faults.table --write`"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    assert rows[0] == ["command", *FAULTS]
    assert [row[0].strip("`") for row in rows[2:]] == list(COMMANDS)
    for row in rows[2:]:
        assert len(row) == len(FAULTS) + 1
        assert all(row), row


@pytest.fixture(scope="module")
def world():
    with World() as found:
        yield found


def ended(folder, **own):
    """A run that printed its answer, wrote its results and left nothing else."""
    own = {"code": 0, "late": False, "out": "Report: out/index.html", "err": "", "orphans": [], **own}
    return Ended(folder=folder, seconds=1.0, cpu=1.0, moments=[], **own)


class Known:
    """A world in which the first run wrote one page and the second another."""

    def __init__(self, folder):
        self.folders = {}
        for name, seed in (("old", 5), ("new", 7)):
            (folder / name / "out").mkdir(parents=True)
            (folder / name / "out/index.html").write_text(f"<html>--seed {seed}</html>")
            self.folders[name] = folder / name

    def before(self, name):
        return self.folders["old"]

    def clean(self, name):
        return ended(self.folders["new"])


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({}, ""),
        ({"late": True}, "did not end"),
        ({"code": 1}, "exit code 1 instead of 0 or 2"),
        ({"code": -signal.SIGTRAP}, "exit code -5"),
        ({"err": "Traceback (most recent call last):\n  here\nKeyError: 1"}, "KeyError: 1"),
        ({"out": ""}, "without an answer"),
        ({"code": 2, "out": ""}, "without a word"),
        ({"orphans": ["python -c spawn"]}, "left 1 processes"),
    ],
)
def test_what_does_not_hold_is_told(tmp_path, own, said):
    known = Known(tmp_path)
    found = amiss(known, REPORT, ended(known.folders["new"], **own), {0, 2})
    assert said in " ".join(found) if said else found == []


def test_torn_results_and_drafts_are_told(tmp_path):
    known = Known(tmp_path)
    page = known.folders["new"] / "out/index.html"
    assert torn(known, REPORT, known.folders["old"], new=True) == ["done, but: out/index.html old"]
    page.write_text("<html>--seed 7")
    assert "torn" in torn(known, REPORT, known.folders["new"])[0]
    run = tmp_path / "run/out"
    run.mkdir(parents=True)
    (run / "index.html").touch()
    assert drafts(known, REPORT, run.parent) == []
    (run / ".index.html.7").touch()
    assert drafts(known, REPORT, run.parent) == ["left 1 files: out/.index.html.7"]


def test_a_lost_ledger_is_told(tmp_path):
    verify = COMMANDS["verify"]
    assert lost(verify, ended(tmp_path)) == ["the ledger is gone"]
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept/ledger.sqlite").write_bytes(b"no database" * 100)
    assert "cannot be read" in lost(verify, ended(tmp_path))[0]


@pytest.mark.seconds(6)
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a child is watched by its descriptor, which Linux alone has")
def test_a_planted_fault_hits_at_its_moment(world):
    command = COMMANDS["scaling"]
    first = world.run(command, world.folder())
    assert (first.code, first.orphans) == (0, [])
    kinds = [moment.kind for moment in first.moments]
    assert (kinds[0], kinds[-1]) == ("start", "end")
    assert "open" in kinds
    killed = world.run(command, world.folder(), plan={"at": {kinds.index("open"): ["signal", signal.SIGKILL]}})
    assert killed.code == -signal.SIGKILL
    assert len(killed.moments) == kinds.index("open") + 1
    closed = world.run(command, world.folder(), stdout="closed")
    assert (closed.code, closed.out) == (0, "")


@pytest.mark.seconds(5)
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a child is watched by its descriptor, which Linux alone has")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("command", ["scaling", "show"])
def test_a_signal_while_the_words_are_read_ends_the_command_in_a_line(world, command, number):
    own = COMMANDS[command]
    found = world.run(own, world.folder(), plan={"at": {0: ["signal", number]}})
    assert found.code == 128 + number
    assert found.err.strip() == "Interrupted before any result was finished."


@pytest.mark.seconds(8)
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a child is watched by its descriptor, which Linux alone has")
@pytest.mark.parametrize("name", [b"f\xff", b"\xe9t\xe9", b"\xc3("])
def test_claims_in_a_folder_whose_name_is_no_text_are_judged(world, name):
    verify = COMMANDS["verify"]
    found = world.run(verify, world.folder(name=name))
    assert found.code == verify.clean, found.out
    assert "every trial raised" not in found.out


@pytest.mark.seconds(3)
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a child is watched by its descriptor, which Linux alone has")
def test_runs_at_the_same_time_are_one_process_each(world):
    command, folders = COMMANDS["scaling"], [world.folder() for _ in range(3)]
    found = world.together([world.request(command, folder) for folder in folders])
    for run in found:
        assert [moment.kind for moment in run.moments].count("start") == 1
        assert (run.code, run.folder) == (0, folders[found.index(run)])


@pytest.mark.seconds(4)
@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="a child is watched by its descriptor, which Linux alone has")
@pytest.mark.parametrize("line", ["raise BaseException('mine')", "raise GeneratorExit('mine')", "raise Own('mine')"])
def test_what_is_no_exception_is_told_in_lines(world, line):
    folder = world.folder()
    (folder / "own.py").write_text(f"class Own(BaseException):\n    pass\n\n\n{line}\n")
    found = world.run(COMMANDS["study"], folder, words=["study", "table.csv", "--target", "y", "--model", "own.py:f"])
    assert found.code == 2, found.err
    assert "the command was ended by a program that it ran" in found.err
    assert "mine" in found.err
    assert "Traceback" not in found.err
