"""What the ledger keeps, survives, refuses and tells."""

import json
import os
import random
import signal
import sqlite3
import time

import numpy as np
import polars as pl
import pytest
from scipy import special, stats
from typer.testing import CliRunner

from lemmata.engine.claims import AtMost, Hypothesis, find, trials_print_of, verify
from lemmata.engine.claims._trials import run_trials
from lemmata.engine.ledger import (
    _known,
    compare_runs,
    evidence_of,
    open_ledger,
    read_ledger,
    recorded_trials,
    replay,
)
from lemmata.errors import DataError
from lemmata.interfaces.cli import app
from tests.executors import ready_processes

from . import slow

CLAIM = "hoeffding_held_out"
TRIALS = 60
RUNNER = CliRunner()


def same(one, other):
    parts = ("predicted", "false", "measured", "condition", "trivial", "holds", "undefined")
    return all(
        np.array_equal(getattr(one.stacked, name), getattr(other.stacked, name), equal_nan=True) for name in parts
    )


@pytest.mark.parametrize("name", [CLAIM, "slow"])
def test_what_is_read_is_what_was_run(name, tmp_path, monkeypatch):
    claim = slow.SquareIsSmaller() if name == "slow" else find(name)[0]
    setting, path = claim.population.settings().default, tmp_path / "ledger.sqlite"
    plain = run_trials(claim, setting, 40, 3)
    first = recorded_trials(path, 1, claim, setting, 40, 3)
    monkeypatch.setattr("lemmata.engine.ledger._recorded.compiled", None)  # nothing may run again
    monkeypatch.setattr("lemmata.engine.ledger._recorded.executed", None)
    again = recorded_trials(path, 1, claim, setting, 40, 3)
    assert same(plain, first)
    assert same(first, again)
    told = lambda found: [(h.name, h.relation, str(np.asarray(h.margin).tolist())) for h in found.stacked.hypotheses]
    assert told(first) == told(again)


def test_a_verdict_from_the_ledger_is_the_verdict(tmp_path):
    claim, path = find(CLAIM)[0], tmp_path / "ledger.sqlite"
    run = lambda *given, **rest: recorded_trials(path, 1, *given, **rest)
    plain = verify(claim, budget=64, progress=False)
    for _ in range(2):
        kept = verify(claim, budget=64, progress=False, run=run)
        assert {**kept.to_json(), "seconds": 0} == {**plain.to_json(), "seconds": 0}


class SquareIsSmall(slow.SquareIsSmaller):
    """The square of a number above 1/4 is at most 9/16: false for one such number in three."""

    relation = AtMost(delta=0.3)

    def hypotheses(self, problem):
        return [Hypothesis("it is not small", problem, ">", 0.25)]

    def predict(self, problem):
        return 9 / 16

    def measure(self, problem, key):
        return problem**2


def test_the_evidence_of_all_sessions_counts_each_trial_whose_hypotheses_hold(tmp_path):
    claim, path, missed, total = SquareIsSmall(), tmp_path / "ledger.sqlite", 0, 0
    for seed, trials in ((0, 40), (7, 30)):
        drawn = np.sqrt(recorded_trials(path, 1, claim, {}, trials, seed).stacked.measured)
        count, kept = int((drawn > 0.75).sum()), int((drawn > 0.25).sum())
        assert 3 < count < kept < trials
        with read_ledger(path) as ledger:
            key = (claim.name, trials_print_of(claim))
            assert _known._misses(ledger, claim, key, "{}", seed) == (count, kept)
            assert _known._misses(ledger, claim, key, "{}", seed + 1) == (0, 0)
        missed, total = missed + count, total + kept
    with read_ledger(path) as ledger:
        found = evidence_of(ledger, claim)
    chance = stats.beta(missed + 0.5, total - missed + 0.5)
    prior = stats.beta(0.5, 0.5)
    ratio = np.exp(special.betaln(missed + 0.5, total - missed + 0.5) - special.betaln(0.5, 0.5))
    expected = ratio * chance.sf(0.3) / prior.sf(0.3) / (0.3**missed * 0.7 ** (total - missed))
    assert found == pytest.approx(expected)


def killed_at(path, moment):
    child = ready_processes().Process(target=slow.judge, args=(str(path), TRIALS))
    child.start()
    time.sleep(moment)
    os.kill(child.pid, signal.SIGKILL)
    child.join()


@pytest.mark.parametrize("kills", [8, 50])
def test_a_killed_process_loses_trials_in_flight_and_nothing_else(kills, tmp_path):
    path, rng = tmp_path / "ledger.sqlite", random.Random(kills)
    with open_ledger(path):
        pass
    counts = [0]
    for _ in range(kills):
        killed_at(path, rng.uniform(0.05, 0.6))
        with open_ledger(path) as ledger:
            assert ledger.check() == []
            counts.append(ledger.query("SELECT count(*) AS n FROM trials")[0]["n"])
    assert counts == sorted(counts)
    finished = recorded_trials(path, 1, slow.SquareIsSmaller(), {}, TRIALS, 0)
    assert same(finished, run_trials(slow.SquareIsSmaller(), {}, TRIALS, 0))


def test_two_processes_write_at_once(tmp_path):
    path = tmp_path / "ledger.sqlite"
    both = [ready_processes().Process(target=slow.judge, args=(str(path), TRIALS)) for _ in range(2)]
    for child in both:
        child.start()
    for child in both:
        child.join(120)
    assert [child.exitcode for child in both] == [0, 0]
    with open_ledger(path) as ledger:
        assert ledger.query("SELECT count(*) AS n FROM trials")[0]["n"] == TRIALS
        assert ledger.check() == []


def test_a_trial_is_replayed_bit_for_bit_and_a_changed_row_is_seen(tmp_path):
    claim, path = find(CLAIM)[0], tmp_path / "ledger.sqlite"
    setting = claim.population.settings().default
    recorded_trials(path, 1, claim, setting, 40, 0)
    text = json.dumps(setting, sort_keys=True)
    with open_ledger(path) as ledger:
        assert replay(ledger, claim, text, 0, 17)[1]
        arrays = bytearray(ledger.query("SELECT arrays FROM trials WHERE number = 17")[0]["arrays"])
    arrays[0] ^= 1  # the last bit of the first number
    with sqlite3.connect(path) as own:
        own.execute("UPDATE trials SET arrays = ? WHERE number = 17", [bytes(arrays)])
    with open_ledger(path) as ledger:
        assert not replay(ledger, claim, text, 0, 17)[1]
        assert replay(ledger, claim, text, 0, 18)[1]
        with pytest.raises(DataError, match="no such trial"):
            replay(ledger, claim, text, 0, 99)


def test_runs_are_compared_and_the_reason_is_named(tmp_path):
    path = tmp_path / "ledger.sqlite"
    record = {"name": "a.claim", "setting": {}, "seed": 0, "status": "supported", "reason": "", "seconds": 1.0}
    with open_ledger(path) as ledger:
        runs = [ledger.begin(f"lemmata verify {i}", 0) for i in range(2)]
        ledger.add_verdict(runs[0], "one", record)
        ledger.add_verdict(runs[1], "two", {**record, "status": "refuted", "seed": 1})
        (change,) = compare_runs(ledger, *runs)
        assert (change.before, change.after, change.why) == ("supported", "refuted", ("code", "seed"))
        with pytest.raises(DataError, match="runs 1 to 2"):
            compare_runs(ledger, 1, 7)


def foreign(path, kind):
    if kind == "text":
        path.write_text("not a database at all\n" * 100)
    elif kind == "other":
        with sqlite3.connect(path) as own:
            own.execute("CREATE TABLE notes (words TEXT)")
            own.execute("PRAGMA application_id = 7")
    elif kind == "newer":
        with open_ledger(path):
            pass
        with sqlite3.connect(path) as own:
            own.execute("PRAGMA journal_mode = DELETE")
            own.execute("PRAGMA user_version = 99")
    elif kind == "truncated":
        recorded_trials(path, 1, slow.SquareIsSmaller(), {}, 40, 0)
        with sqlite3.connect(path) as own:
            own.execute("PRAGMA journal_mode = DELETE")
        path.write_bytes(path.read_bytes()[:5000])
    return path


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("text", "a file of another kind"),
        ("other", "another program"),
        ("newer", "version 99"),
        ("truncated", "undamaged|read"),
    ],
)
def test_a_file_that_is_no_ledger_is_refused_and_left_alone(kind, message, tmp_path):
    path = foreign(tmp_path / "ledger.sqlite", kind)
    before = path.read_bytes()
    with pytest.raises(DataError, match=message), open_ledger(path) as ledger:
        ledger.query("SELECT count(*) FROM trials")
    assert path.read_bytes() == before


def test_a_ledger_in_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError), open_ledger(tmp_path / "file" / "ledger.sqlite"):
        pass


def test_the_command_line_keeps_lists_replays_exports_and_checks(tmp_path):
    path = ["--ledger", str(tmp_path / "ledger.sqlite")]
    assert RUNNER.invoke(app, ["verify", CLAIM, "--budget", "40", *path]).exit_code in (0, 3)
    told = RUNNER.invoke(app, ["ledger", "list", *path]).output
    assert "1 runs" in told
    assert f"verify {CLAIM}" in told or "1 verdicts" in told
    assert "40 trials" in RUNNER.invoke(app, ["ledger", "list", CLAIM, *path]).output
    done = RUNNER.invoke(app, ["ledger", "replay", CLAIM, "5", *path])
    assert done.exit_code == 0, done.output
    assert "bit for bit" in done.output
    assert RUNNER.invoke(app, ["ledger", "export", str(tmp_path / "all.parquet"), *path]).exit_code == 0
    frame = pl.read_parquet(tmp_path / "all.parquet")
    assert frame.filter(pl.col("setting").str.contains('"m": 100')).height == 40
    assert "is undamaged" in RUNNER.invoke(app, ["ledger", "check", *path]).output


@pytest.mark.parametrize(
    ("words", "message"),
    [(["burn"], "one of list"), (["compare", "1"], "RUN RUN"), (["compare", "a", "b"], "whole number"),
     (["list", "--ledger", "/nowhere/l.sqlite"], "no file")],
)  # fmt: skip
def test_bad_words_are_refused(words, message, tmp_path):
    path = [] if "--ledger" in words else ["--ledger", str(tmp_path / "l.sqlite")]
    (tmp_path / "l.sqlite").touch()
    done = RUNNER.invoke(app, ["ledger", *words, *path])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())
